package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	netsmtp "net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"inboxd/internal/core/webhook"
	"inboxd/internal/testutil/testtools"
)

// signedCall is a delivery as passed to the official libraries.
type signedCall struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func signed(secret string, c hookCall) signedCall {
	s := signedCall{secret, map[string]string{}, c.body}
	for name := range c.header {
		s.Headers[strings.ToLower(name)] = c.header.Get(name)
	}
	return s
}

// verify passes calls to the official libraries, which must also refuse changed ones.
func verify(t testing.TB, calls []signedCall) {
	t.Helper()
	if _, err := os.Stat(filepath.Join("testdata", "npm", "node_modules")); err != nil {
		t.Fatal("the libraries are missing: make deps")
	}
	in, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command(testtools.ProgramPath(t, "node"), filepath.Join("testdata", "npm", "verify.js"))
	node.Stdin = bytes.NewReader(in)
	out, err := node.CombinedOutput()
	if want := fmt.Sprintf("verified %d\n", len(calls)); err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}

// TestOfficialLibrariesVerifyTestCalls for every subscription.
func TestOfficialLibrariesVerifyTestCalls(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), allowLoopback...)
	u := s.signUp(t, "me@example.test")
	var calls []signedCall
	for _, event := range webhook.Subscriptions() {
		r := receiveHooks(t, "127.0.0.1:0", nil)
		path, secret := u.subscribe(t, r.URL, event)
		if a := u.account(t, 200, "POST", path+"/test", nil); a["ok"] != true || a["status_code"] != 200.0 || a["error"] != nil {
			t.Errorf("test of %s: %v", event, a)
		}
		got := r.wait(t, 1)[0]
		if name := got.header.Get("X-Service-Event"); !webhook.MatchesEvent(event, name) {
			t.Errorf("test of %s: %s", event, name)
		}
		calls = append(calls, signed(secret, got))
		checkLegacy(t, got, secret)
		u.account(t, 200, "DELETE", path, nil)
	}
	verify(t, calls)
}

// TestOfficialLibrariesVerifyRealEvents: messages that arrived, were delivered, refused, or
// returned. Each is reported once, with exactly the fields of its kind, to the subscribers of it
// and of all events, under one id.
func TestOfficialLibrariesVerifyRealEvents(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", func(line string) string {
		if strings.Contains(line, "RCPT TO:<never@") {
			return "550 5.1.1 No such user"
		}
		return ""
	})
	s := postal(t, filepath.Join(t.TempDir(), "data"), farZone(t), far.port, allowLoopback...)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	everything := receiveHooks(t, "127.0.0.1:0", nil)
	path, old := u.subscribe(t, everything.URL, "*")
	var calls []signedCall
	count := 0
	// reported causes an event and returns its body without the parts that differ between runs.
	reported := func(event string, happen func()) map[string]any {
		t.Helper()
		one := receiveHooks(t, "127.0.0.1:0", nil)
		only, secret := u.subscribe(t, one.URL, event)
		happen()
		count++
		got, all := one.wait(t, 1)[0], everything.wait(t, count)[count-1]
		if got.body != all.body || got.header.Get("webhook-id") != all.header.Get("webhook-id") || got.header.Get("X-Service-Event") != event {
			t.Errorf("told %v, and to everything %v", got, all)
		}
		checkLegacy(t, got, secret)
		checkLegacy(t, all, old)
		calls = append(calls, signed(secret, got), signed(old, all))
		u.account(t, 200, "DELETE", only, nil)
		var body map[string]any
		if err := json.Unmarshal([]byte(got.body), &body); err != nil {
			t.Fatalf("%v in %s", err, got.body)
		}
		for _, stamp := range []string{"received_at", "at"} {
			if at, there := body[stamp].(string); there {
				if !strings.HasSuffix(at, "Z") {
					t.Errorf("%s is %s", stamp, at)
				}
				body[stamp] = "then"
			}
		}
		return body
	}
	same := func(got, want map[string]any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	}

	became := func(email, status string) []any { return []any{map[string]any{"email": email, "status": status}} }
	same(reported("message.received", func() {
		if err := s.mail(address, "482913"); err != nil {
			t.Fatal(err)
		}
	}), map[string]any{"event": "message.received", "inbox": address, "from": "no-reply@shop.test", "message_id": 1., "received_at": "then", "subject": "Your sign-in code", "otp": "482913"})

	var sent, refused int64
	same(reported("message.delivered", func() { sent = u.send(t, address, map[string]any{"to": "bob@far.test", "body": "x"}) }),
		map[string]any{"event": "message.delivered", "inbox": address, "message_id": float64(sent), "to": []any{"bob@far.test"}, "send_status": "sent", "send_error": nil, "recipients": became("bob@far.test", "sent"), "at": "then"})

	got := reported("message.failed", func() { refused = u.send(t, address, map[string]any{"to": "never@far.test", "body": "x"}) })
	if why, _ := got["send_error"].(string); !strings.Contains(why, "No such user") {
		t.Errorf("send_error %v", got["send_error"])
	}
	got["send_error"] = "why"
	same(got, map[string]any{"event": "message.failed", "inbox": address, "message_id": float64(refused), "to": []any{"never@far.test"}, "send_status": "failed", "send_error": "why", "recipients": became("never@far.test", "failed"), "at": "then"})

	got = reported("message.bounced", func() {
		if err := netsmtp.SendMail(s.smtp, nil, "", []string{(<-far.arrived).from}, []byte(bounceOf("bob@far.test"))); err != nil {
			t.Fatal(err)
		}
	})
	if why, _ := got["send_error"].(string); !strings.Contains(why, "5.1.1") {
		t.Errorf("send_error %v", got["send_error"])
	}
	got["send_error"] = "why"
	same(got, map[string]any{"event": "message.bounced", "inbox": address, "message_id": float64(sent), "to": []any{"bob@far.test"}, "send_status": "sent", "send_error": "why", "at": "then"})

	fresh := u.account(t, 200, "POST", path+"/rotate-secret", nil)["secret"].(string)
	if err := s.mail(u.inbox(t, "other"), "123456"); err != nil {
		t.Fatal(err)
	}
	count++
	rotated := everything.wait(t, count)[count-1]
	checkLegacy(t, rotated, fresh)
	verify(t, append(calls, signed(fresh, rotated), signed(old, rotated))) // both sign for a day
}
