package http

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"inboxd/internal/core/account"
)

func TestPasswordReset(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	ask := func(email string) reply {
		return w.call(methodPost, "/api/auth/password-reset", "", fmt.Sprintf(`{"email":%q}`, email))
	}
	known, unknown := w.expect(202, ask(" Alice@Example.com")), w.expect(202, ask("nobody@example.com"))
	if known.body != `{"ok":true}` || unknown.body != known.body {
		t.Errorf("known %s, unknown %s", known.body, unknown.body)
	}
	if got := fmt.Sprint(w.accounts.resets); got != "[alice@example.com nobody@example.com]" {
		t.Errorf("asked for: %s", got)
	}
	w.expect(422, ask("no address"))
	token := w.resetToken(alice)
	confirm := func(token, password string) reply {
		w.advance(tryTime) // other tests cover the rate limit
		return w.call(methodPost, "/api/auth/password-reset/confirm", "", fmt.Sprintf(`{"token":%q,"password":%q}`, token, password))
	}
	w.expect(422, confirm(token, "short"))
	w.expect(400, confirm("svc_reset_guess", "another horse"))
	w.expect(200, w.call(methodGet, "/api/account", session, ""))
	if r := w.expect(200, confirm(token, "another horse")); r.body != `{"ok":true,"sessions":1,"keys":0,"webhooks":0,"calendar_links":0}` {
		t.Errorf("confirmed: %s", r.body)
	}
	w.expect(401, w.call(methodGet, "/api/account", session, ""))
	if r := w.expect(400, confirm(token, "another horse")); r.detail() != "This password reset link is invalid: it is unknown, was used, or is older than an hour. Request a new one" {
		t.Errorf("used: %s", r.detail())
	}
	w.expect(200, w.call(methodPost, "/api/auth/login", "", `{"email":"alice@example.com","password":"another horse"}`))
	w.advance(tryTime)
	for range maxTries {
		w.expect(202, ask(bob))
	}
	if r := w.expect(429, ask(bob)); r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.expect(429, confirmWithoutRest(w, token))
}

// TestVerifyEmail: the account reports whether its address is verified, and a link verifies it
// once.
func TestVerifyEmail(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	verified := func() bool {
		return strings.Contains(w.expect(200, w.call(methodGet, "/api/account", session, "")).body, `"email_verified":true`)
	}
	confirm := func() reply {
		w.advance(tryTime)
		return w.call(methodPost, "/api/auth/verify-email/confirm", "", fmt.Sprintf(`{"token":%q}`, alice))
	}
	w.expect(400, confirm())
	if r := w.expect(202, w.call(methodPost, "/api/auth/verify-email", session, "")); r.body != `{"ok":true}` || verified() {
		t.Errorf("asked for: %s", r.body)
	}
	w.expect(422, w.call(methodPost, "/api/auth/verify-email/confirm", "", `{}`))
	if w.expect(200, confirm()); !verified() {
		t.Error("not verified")
	}
	w.expect(400, confirm())
	w.advance(tryTime)
	last := 0
	for range 2 * maxTries { // the fake refuses a sixth link
		if last = w.call(methodPost, "/api/auth/verify-email", session, "").status; last != 202 && last != 400 {
			break
		}
	}
	if last != 429 {
		t.Errorf("the last request for a link is answered with %d", last)
	}
}

// TestSessionsOfAnAccount: a signed-in client lists the sessions, ends one, and changes the
// password.
func TestSessionsOfAnAccount(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	w.signUpSession(alice)
	list := func() []any {
		return w.expect(200, w.call(methodGet, "/api/account/sessions", session, "")).object(t, "sessions").([]any)
	}
	current := 0
	other := ""
	for _, s := range list() {
		if s := s.(map[string]any); s["current"] == true {
			current++
		} else {
			other = s["id"].(string)
		}
	}
	if current != 1 {
		t.Fatalf("%d sessions are the current one", current)
	}
	w.expect(404, w.call(methodDelete, "/api/account/sessions/nobody", session, ""))
	w.expect(200, w.call(methodDelete, "/api/account/sessions/"+other, session, ""))
	change := func(old, new string) reply {
		return w.call(methodPost, "/api/account/password", session, fmt.Sprintf(`{"old":%q,"new":%q}`, old, new))
	}
	w.expect(422, change("correct horse", "short"))
	w.expect(403, change("wrong", "another horse"))
	if n := len(list()); n != 1 {
		t.Errorf("%d sessions", n)
	}
	last := 403
	for n := 0; n < maxTries && last == 403; n++ {
		last = change("wrong", "another horse").status
	}
	if last != 429 {
		t.Errorf("guesses end with %d", last)
	}
}

func confirmWithoutRest(w *world, token string) reply {
	return w.call(methodPost, "/api/auth/password-reset/confirm", "", fmt.Sprintf(`{"token":%q,"password":"another horse"}`, token))
}

// TestKeysArePaged also across inbox keys.
func TestKeysArePaged(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	for n := range 5 {
		w.expect(201, w.call(methodPost, "/api/keys", session, fmt.Sprintf(`{"label":"k%d"}`, n)))
	}
	address := w.newInbox(alice, "own")
	w.expect(201, w.call(methodPost, "/api/inboxes/"+address+"/key", session, ""))
	var seen []any
	for cursor := ""; ; {
		r := w.expect(200, w.call(methodGet, "/api/keys?limit=2&cursor="+cursor, session, ""))
		page := r.object(t, "keys").([]any)
		if len(page) > 2 {
			t.Fatalf("a page of %d", len(page))
		}
		for _, k := range page {
			seen = append(seen, k.(map[string]any)["id"])
		}
		next, more := r.object(t, "next_cursor").(string)
		if !more {
			break
		}
		cursor = next
	}
	if got := fmt.Sprint(seen); got != "[1 2 3 4 5 6]" {
		t.Errorf("keys %s", got)
	}
	for _, q := range []string{"limit=0", "limit=1001", "limit=x", "cursor=!"} {
		w.expect(422, w.call(methodGet, "/api/keys?"+q, session, ""))
	}
	if r := w.call(methodGet, "/api/account", session, ""); r.object(t, "account", "usage", "keys") != 6.0 {
		t.Errorf("usage: %s", r.body)
	}
}

// TestLinkPages: they run only their own script and do not contain the token, which is in the URL
// fragment.
func TestLinkPages(t *testing.T) {
	w := start(t)
	w.checkLinkPage(t, "/reset", `"api/auth/password-reset/confirm"`)
	w.checkLinkPage(t, "/verify", `"api/auth/verify-email/confirm"`)
}

func (w *world) checkLinkPage(t *testing.T, path, calls string) {
	t.Helper()
	r := w.expect(200, w.call(methodGet, path, "", ""))
	if r.header.Get("Content-Type") != "text/html; charset=utf-8" || r.header.Get("Referrer-Policy") != "no-referrer" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", r.header)
	}
	policy := r.header.Get("Content-Security-Policy")
	for _, element := range []string{"script", "style"} {
		parts := regexp.MustCompile("(?s)<" + element + ">(.*)</" + element + ">").FindStringSubmatch(r.body)
		if len(parts) != 2 || strings.Count(r.body, "<"+element) != 1 {
			t.Fatalf("not one inline %s", element)
		}
		sum := sha256.Sum256([]byte(parts[1]))
		if want := element + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("policy %s lacks %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(r.body, "://") || !strings.Contains(r.body, calls) {
		t.Errorf("policy %s of page\n%s", policy, r.body)
	}
}

// resetToken returns a token that resets the password of an account.
func (w *world) resetToken(email string) string {
	w.t.Helper()
	token := account.MintToken(account.KindReset, 0, [32]byte{1})
	w.accounts.mu.Lock()
	defer w.accounts.mu.Unlock()
	if err := w.accounts.decide(w.accounts.byEmail[email], account.StartReset{Hash: account.HashToken([]byte(token))}); err != nil {
		w.t.Fatal(err)
	}
	return token
}
