package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// setPassword fills the form of the reset page and returns what the page says then.
func (b *browser) setPassword(password string) string {
	b.t.Helper()
	return b.run(`new Promise(done => {
		const said = document.querySelector("p");
		new MutationObserver(() => done(said.textContent)).observe(said, {childList: true});
		const field = document.querySelector("#password");
		field.value = ` + strconv.Quote(password) + `;
		if (!document.querySelector("form").checkValidity()) done("the form refuses: " + field.validationMessage);
		document.querySelector("button").click();
	})`)
}

// TestResetPage sets a password where the operator's link leads.
func TestResetPage(t *testing.T) {
	b := openBrowser(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	s.signUp(t, "me@example.test")
	link, _, _ := strings.Cut(admin(t, dir, "account", "reset-link", "me@example.test"), "\n")

	const bad = "This password reset link is not valid: it is unknown, used or older than an hour. Ask for a new one"
	b.visit("http://" + s.http + "/reset")
	if said := b.setPassword("another horse"); said != bad {
		t.Errorf("without a token the page says %q", said)
	}
	b.visit(link)
	if said := b.setPassword("another horse"); said != "The password is set. Every session has ended: sign in anew." {
		t.Fatalf("the page says %q", said)
	}
	if b.run(`String(document.querySelector("form").hidden)`) != "true" {
		t.Error("the form is still there")
	}
	s.wants(t, 200, "POST", "/api/auth/login", nil, map[string]any{"email": "me@example.test", "password": "another horse"})
	b.visit(link)
	if said := b.setPassword("a third horse"); said != bad {
		t.Errorf("a used link: the page says %q", said)
	}
}

// TestDocsFitASmallScreen: nothing is wider than a phone, and no link of the page leads nowhere.
func TestDocsFitASmallScreen(t *testing.T) {
	b := openBrowser(t)
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 375, "height": 700, "deviceScaleFactor": 1, "mobile": true})
	b.visit("http://" + s.http + "/docs")
	if width := b.run(`String(document.documentElement.scrollWidth)`); width != "375" {
		t.Errorf("the page is %s wide", width)
	}
	if dead := b.run(`[...document.querySelectorAll("a[href^='#']")].map(a => a.hash.slice(1)).filter(id => !document.getElementById(id)).join()`); dead != "" {
		t.Errorf("links to nowhere: %s", dead)
	}
}
