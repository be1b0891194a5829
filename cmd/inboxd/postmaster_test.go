package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestPostmaster: messages to postmaster and abuse go to the configured inbox, from outside and
// from an inbox of the node. Without the setting they are refused.
func TestPostmaster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	boss, agent := u.inbox(t, "boss"), u.inbox(t, "agent")
	rcpt := func(path string) int { return s.rcpt(t, path) }
	paths := []string{"<postmaster>", "<Postmaster>", "<postmaster@inbox.localhost>", "<ABUSE@Inbox.localhost>", "<abuse+x@inbox.localhost>"}
	for _, path := range append(paths, "<hostmaster@inbox.localhost>") {
		if code := rcpt(path); code != 550 {
			t.Errorf("%s without a postmaster: %d", path, code)
		}
	}
	s.kill()
	for _, wrong := range []string{"boss", "boss@", "a b@x.test", "boss+tag@inbox.localhost"} {
		if _, err := tryLaunch(dir, "--postmaster", wrong); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--postmaster: invalid address %q (use the address of an inbox", wrong)) {
			t.Errorf("--postmaster %q: %v", wrong, err)
		}
	}
	t.Setenv("INBOXD_POSTMASTER", "Boss@inbox.localhost")
	s = launch(t, dir)
	u.server = s
	for _, path := range paths {
		if code := rcpt(path); code != 250 {
			t.Errorf("%s: %d", path, code)
		}
	}
	for _, path := range []string{"<hostmaster@inbox.localhost>", "<postmaster@team.inbox.localhost>", "<postmaster@example.org>"} {
		if code := rcpt(path); code != 550 {
			t.Errorf("%s: %d", path, code)
		}
	}
	if err := s.mail("abuse@inbox.localhost", "482913"); err != nil {
		t.Fatal(err)
	}
	if m := u.latest(t, boss, ""); m["otp_code"] != "482913" || m["envelope_to"] != "abuse@inbox.localhost" {
		t.Errorf("from outside: %v", m)
	}
	id := u.send(t, agent, map[string]any{"to": "postmaster@inbox.localhost", "subject": "Who is there", "body": "x"})
	u.until(t, agent, id, "sent")
	if m := u.latest(t, boss, ""); m["subject"] != "Who is there" || m["envelope_to"] != "postmaster@inbox.localhost" {
		t.Errorf("from an inbox of the node: %v", m)
	}
	u.do(t, 400, "POST", "/inboxes", map[string]any{"prefix": "postmaster"})
	u.do(t, 200, "DELETE", "/inboxes/"+boss, nil)
	if code := rcpt("<postmaster>"); code != 550 {
		t.Errorf("when the inbox is gone: %d", code)
	}
}
