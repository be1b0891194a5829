package main

import (
	"encoding/base64"
	"fmt"
	netsmtp "net/smtp"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestSmarthostTakesAllMailAfterALogin, with the password from the environment and in no log.
func TestSmarthostTakesAllMailAfterALogin(t *testing.T) {
	const password = "correct-horse-battery"
	t.Setenv("INBOXD_SMARTHOST_PASSWORD", password)
	var in atomic.Int64
	host := receive(t, "127.0.0.1", "0", func(line string) string {
		switch {
		case strings.HasPrefix(line, "EHLO"):
			return "250-host\r\n250-AUTH PLAIN LOGIN\r\n250 PIPELINING"
		case line == "AUTH PLAIN "+base64.StdEncoding.EncodeToString([]byte("\x00me\x00"+password)):
			in.Add(1)
			return "235 2.7.0 welcome"
		case strings.HasPrefix(line, "AUTH"):
			return "535 5.7.8 wrong"
		case strings.HasPrefix(line, "MAIL") && in.Load() == 0:
			return "530 5.7.0 log in first"
		}
		return ""
	})
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--smarthost", host.addr, "--smarthost-user", "me", "--log-level", "debug")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	id := u.send(t, address, map[string]any{"to": "bob@somewhere.test", "cc": []string{"carol@elsewhere.test"}, "body": "x"})
	u.until(t, address, id, "sent")
	for _, want := range []string{"[bob@somewhere.test]", "[carol@elsewhere.test]"} {
		if c := <-host.arrived; fmt.Sprint(c.rcpt) != want {
			t.Errorf("envelope: %v, want %s", c.rcpt, want)
		}
	}
	s.terminate(t)
	if log := s.stderr.String(); strings.Contains(log, password) || strings.Contains(log, base64.StdEncoding.EncodeToString([]byte("\x00me\x00"+password))) {
		t.Errorf("the log holds the password:\n%s", log)
	}
}

func TestSendingFlagsThatCannotWork(t *testing.T) {
	for want, args := range map[string][]string{
		`--smarthost: invalid address "mail.example.com" (use HOST:PORT`: {"--smarthost", "mail.example.com"},
		"require --smarthost":                     {"--smarthost-user", "me", "--smarthost-password", "x"},
		"must be set together":                    {"--smarthost", "mail.example.com:587", "--smarthost-user", "me"},
		"unencrypted":                             {"--smarthost", "mail.example.com:587", "--smarthost-user", "me", "--smarthost-password", "x", "--smarthost-tls", "none"},
		"--mx-port: invalid port 70000 (1-65535)": {"--mx-port", "70000"},
		"--mx-port: invalid port 0 (1-65535)":     {"--mx-port", "0"},
		"must be one of":                          {"--smarthost", "mail.example.com:587", "--smarthost-tls", "perhaps"},
	} {
		out, err := command(append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data")}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
}

// TestPasswordResetArrivesAsMail: its link sets a new password once.
func TestPasswordResetArrivesAsMail(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", nil)
	s := postal(t, filepath.Join(t.TempDir(), "data"), farZone(t), far.port, "--base-url", "https://inbox.example.test", "--signup=unverified")
	s.signUp(t, "me@far.test")
	post := func(path string, body map[string]any) answerOf {
		t.Helper()
		a, err := s.call("POST", path, nil, body)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, email := range []string{"me@far.test", "nobody@far.test"} {
		if a := post("/api/auth/password-reset", map[string]any{"email": email}); a.status != 202 || a.body["ok"] != true {
			t.Errorf("%s: %v", email, a)
		}
	}
	c := <-far.arrived
	token := linkedToken(c.raw, "https://inbox.example.test/reset")
	if token == "" || c.from != "" || strings.Join(c.rcpt, " ") != "me@far.test" || headerOf(c.raw, "Auto-Submitted") != "auto-generated" || strings.Count(c.raw, "DKIM-Signature:") != 2 {
		t.Fatalf("%+v", c)
	}
	confirm := map[string]any{"token": token, "password": "another horse"}
	if a := post("/api/auth/password-reset/confirm", confirm); a.status != 200 {
		t.Fatalf("confirm: %v", a)
	}
	if a := post("/api/auth/password-reset/confirm", confirm); a.status == 200 {
		t.Errorf("the link works twice: %v", a)
	}
	if a := post("/api/auth/login", map[string]any{"email": "me@far.test", "password": "another horse"}); a.status != 200 {
		t.Errorf("login with the new password: %v", a)
	}
	if a := post("/api/auth/login", map[string]any{"email": "me@far.test", "password": "correct horse"}); a.status != 401 {
		t.Errorf("login with the old password: %v", a)
	}
	s.terminate(t)
	if strings.Contains(s.stderr.String(), token) {
		t.Error("the log holds the token")
	}
	if n := len(far.taken()); n != 1 {
		t.Errorf("%d mails were sent", n)
	}
}

// linkedToken returns the token of the link to a page in a message, or "".
func linkedToken(raw, page string) string {
	text := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(raw)
	_, rest, _ := strings.Cut(text, page+"#token=")
	token, _, _ := strings.Cut(rest, "\r\n")
	return token
}

// TestASignUpSendsOnceItsAddressIsVerified: until the link in a message was used, no message is
// sent in any way, also after a kill and while sign-up is closed. A change of the encryption key is
// reported to the address.
func TestASignUpSendsOnceItsAddressIsVerified(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", nil)
	zone, dir := farZone(t), filepath.Join(t.TempDir(), "data")
	s := postal(t, dir, zone, far.port, "--signup=open")
	u := s.signUp(t, "owner@far.test")
	agent, own := u.inbox(t, "agent"), u.inbox(t, "own")
	message := <-far.arrived
	token := linkedToken(message.raw, "http://"+s.http+"/verify")
	if token == "" || message.from != "" || strings.Join(message.rcpt, " ") != "owner@far.test" || headerOf(message.raw, "Auto-Submitted") != "auto-generated" {
		t.Fatalf("%+v", message)
	}
	path := "/inboxes/" + agent
	u.do(t, 200, "PUT", path+"/calendar/owner", map[string]any{"enabled": true})
	invite := strings.Join([]string{"From: guest@far.test", "To: " + agent, "Subject: Plan", "MIME-Version: 1.0", "Content-Type: text/calendar; method=REQUEST", "",
		"BEGIN:VCALENDAR", "VERSION:2.0", "METHOD:REQUEST", "BEGIN:VEVENT", "UID:u1", "DTSTAMP:20260101T000000Z", "DTSTART:20300410T100000Z", "SUMMARY:Plan",
		"ORGANIZER:mailto:guest@far.test", "ATTENDEE:mailto:" + agent, "END:VEVENT", "END:VCALENDAR", ""}, "\r\n")
	if err := netsmtp.SendMail(s.smtp, nil, "guest@far.test", []string{agent}, []byte(invite)); err != nil {
		t.Fatal(err)
	}
	event := u.do(t, 200, "GET", path+"/latest?wait=10", nil)["email"].(map[string]any)["calendar_event"].(map[string]any)["event_id"]
	refused := func() {
		t.Helper()
		for _, c := range []struct {
			path string
			body map[string]any
		}{
			{"/send", map[string]any{"to": "bob@far.test", "body": "x"}},
			{"/send", map[string]any{"to": own, "bcc": []string{"bob@far.test"}, "body": "x"}},
			{"/calendar/events", map[string]any{"title": "Plan", "start": "2030-01-01T10:00:00Z", "attendees": []any{own, "guest@far.test"}}},
			{fmt.Sprintf("/calendar/events/%v/rsvp", event), map[string]any{"response": "accepted"}},
		} {
			if a := u.do(t, 400, "POST", path+c.path, c.body); !strings.HasPrefix(fmt.Sprint(a["detail"]), "The sign-in address owner@far.test is not verified yet, so this account can send only to its own inboxes.") {
				t.Errorf("%s: %v", c.path, a)
			}
		}
	}
	refused()
	u.do(t, 202, "POST", path+"/calendar/events", map[string]any{"title": "Plan", "start": "2030-01-01T10:00:00Z", "attendees": []any{own}})
	u.until(t, agent, u.send(t, agent, map[string]any{"to": own, "body": "x"}), "sent")
	if set := u.do(t, 200, "GET", path+"/calendar/owner", nil); set["available"] != false {
		t.Errorf("the owner's copies: %v", set)
	}
	s.kill()
	s = postal(t, dir, zone, far.port, "--signup=closed")
	u.server = s
	refused()
	if n := len(far.taken()); n != 1 {
		t.Errorf("%d messages left", n)
	}
	confirm := map[string]any{"token": token}
	s.wants(t, 200, "POST", "/api/auth/verify-email/confirm", nil, confirm)
	s.wants(t, 400, "POST", "/api/auth/verify-email/confirm", nil, confirm)
	u.send(t, agent, map[string]any{"to": "bob@far.test", "body": "x"})
	if c := <-far.arrived; strings.Join(c.rcpt, " ") != "bob@far.test" {
		t.Errorf("sent to %v", c.rcpt)
	}
	u.setKey(t, newAgeKey(t))
	if c := <-far.arrived; strings.Join(c.rcpt, " ") != "owner@far.test" || headerOf(c.raw, "Subject") != "The encryption key of your account was changed" {
		t.Errorf("about the key: %+v", c)
	}
}
