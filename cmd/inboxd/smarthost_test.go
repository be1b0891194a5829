package main

import (
	"encoding/base64"
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
	if c := <-host.arrived; len(c.rcpt) != 2 {
		t.Errorf("envelope: %+v", c)
	}
	s.terminate(t)
	if log := s.stderr.String(); strings.Contains(log, password) || strings.Contains(log, base64.StdEncoding.EncodeToString([]byte("\x00me\x00"+password))) {
		t.Errorf("the log holds the password:\n%s", log)
	}
}

func TestSendingFlagsThatCannotWork(t *testing.T) {
	for want, args := range map[string][]string{
		`--smarthost "mail.example.com" must be HOST:PORT`: {"--smarthost", "mail.example.com"},
		"there is none":              {"--smarthost-user", "me", "--smarthost-password", "x"},
		"go together":                {"--smarthost", "mail.example.com:587", "--smarthost-user", "me"},
		"in clear":                   {"--smarthost", "mail.example.com:587", "--smarthost-user", "me", "--smarthost-password", "x", "--smarthost-tls", "none"},
		"--mx-port 70000 is no port": {"--mx-port", "70000"},
		"--mx-port 0 is no port":     {"--mx-port", "0"},
		"must be one of":             {"--smarthost", "mail.example.com:587", "--smarthost-tls", "perhaps"},
	} {
		out, err := command(append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data")}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
}

// TestPasswordResetArrivesAsMail and its link sets a new password, once.
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
	text := strings.ReplaceAll(c.raw, "=\r\n", "")
	text = strings.ReplaceAll(text, "=3D", "=")
	_, rest, found := strings.Cut(text, "https://inbox.example.test/reset#token=")
	token, _, _ := strings.Cut(rest, "\r\n")
	if !found || c.from != "" || strings.Join(c.rcpt, " ") != "me@far.test" || headerOf(c.raw, "Auto-Submitted") != "auto-generated" || strings.Count(c.raw, "DKIM-Signature:") != 2 {
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
