package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/persist"
)

// TestWhatWasAcceptedGoesOut: each message whose send got a 202 reaches its server, although its
// inbox was burned or deleted immediately and the process was killed. Nobody can read the messages
// meanwhile.
func TestWhatWasAcceptedGoesOut(t *testing.T) {
	const sends = 30
	var open atomic.Bool
	far := receive(t, "127.0.0.1", "0", func(line string) string {
		if !open.Load() && strings.HasPrefix(line, "RCPT TO:") {
			return "451 4.7.1 Greylisted, come back later"
		}
		return ""
	})
	dns, dir := farZone(t), filepath.Join(t.TempDir(), "data")
	s := postal(t, dir, dns, far.port)
	u := s.signUp(t, "me@example.test")
	burnt, deleted := u.inbox(t, "burnt"), u.inbox(t, "deleted")
	want := map[string]bool{}
	var last int64
	for n := range sends {
		for _, address := range []string{burnt, deleted} {
			to := fmt.Sprintf("%d.%.5s@far.test", n, address)
			last = u.send(t, address, map[string]any{"to": to, "subject": "secret", "body": "x"})
			want[to] = true
		}
	}
	u.do(t, 200, "POST", "/inboxes/"+burnt+"/burn", nil)
	u.do(t, 200, "DELETE", "/inboxes/"+deleted, nil)
	if list := u.do(t, 200, "GET", "/inboxes/"+burnt+"/messages?direction=all", nil)["emails"].([]any); len(list) != 0 {
		t.Errorf("listed: %v", list)
	}
	u.do(t, 404, "GET", fmt.Sprintf("/inboxes/%s/messages/%d", burnt, last), nil)
	taken := u.send(t, burnt, map[string]any{"to": "taken-back@far.test", "body": "x"})
	u.do(t, 200, "DELETE", fmt.Sprintf("/inboxes/%s/messages/%d", burnt, taken), nil)
	s.kill()
	open.Store(true)
	s = postal(t, dir, dns, far.port)
	u.server = s
	for end := time.After(60 * time.Second); len(want) > 0; {
		select {
		case c := <-far.arrived:
			for _, rcpt := range c.rcpt {
				if delete(want, rcpt); rcpt == "taken-back@far.test" {
					t.Error("a mail that was taken back arrived")
				}
			}
		case <-end:
			t.Fatalf("%d never arrived: %s", len(want), s.stderr)
		}
	}
	reported := map[string]int{}
	for cursor, seen := "", 0; seen < 2*sends+1; {
		page := u.do(t, 200, "GET", "/events?wait=10&after="+cursor, nil)
		cursor = page["next"].(string)
		for _, e := range page["events"].([]any) {
			e := e.(map[string]any)
			seen++
			reported[fmt.Sprint(e["event"], " ", e["send_error"])]++
			if e["gone"] != true || e["to"] != nil || e["recipients"].([]any)[0].(map[string]any)["email"] != nil {
				t.Errorf("event: %v", e)
			}
		}
	}
	if reported["message.delivered <nil>"] != 2*sends || reported["message.failed Deleted before it was delivered"] != 1 {
		t.Errorf("told: %v", reported)
	}
	if left := admin(t, dir, "queue", "list"); strings.Contains(left, "far.test") {
		t.Errorf("left in the queue: %s", left)
	}
}

// TestGoneIsGoneForReaders: after a burn, no event, stream, record or call contains anything of the
// messages. After the next start, neither do the rows of the folder.
func TestGoneIsGoneForReaders(t *testing.T) {
	const secret = "482913"
	r := receiveHooks(t, "127.0.0.1:0", func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(500)
		}
		fmt.Fprint(w, "thanks for ", secret)
	})
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, append(allowLoopback, "--webhook-schedule", "0s,2s,2s")...)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	u.subscribe(t, r.URL+"/hook", "*")
	if err := s.mail(address, secret); err != nil {
		t.Fatal(err)
	}
	if call := r.wait(t, 1)[0]; !strings.Contains(call.body, secret) {
		t.Fatalf("called with %s", call.body)
	}
	u.do(t, 200, "POST", "/inboxes/"+address+"/burn", nil)
	read := func(when string) {
		t.Helper()
		for _, path := range []string{"/events", "/inboxes/" + address + "/events"} {
			e := u.do(t, 200, "GET", path, nil)["events"].([]any)[0].(map[string]any)
			if e["gone"] != true || e["from"] != nil || e["subject"] != nil || e["otp"] != nil || e["message_id"] != 1.0 {
				t.Errorf("%s %s tells %v", when, path, e)
			}
		}
		d := u.account(t, 200, "GET", "/webhooks/deliveries", nil)["deliveries"].([]any)[0].(map[string]any)
		if d["gone"] != true || d["response"] != nil {
			t.Errorf("%s the record is %v", when, d)
		}
	}
	read("at once")
	if call := r.wait(t, 2)[1]; strings.Contains(call.body, secret) || !strings.Contains(call.body, `"gone":true`) {
		t.Errorf("called again with %s", call.body)
	}
	s.kill()
	for end := time.Now().Add(60 * time.Second); ; {
		s = launch(t, dir, allowLoopback...)
		u.server = s
		read("after a kill")
		s.terminate(t)
		if !rowsTell(t, dir, secret) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("rows of the folder still tell it")
		}
	}
	s = launch(t, dir, allowLoopback...)
	u.server = s
	u.do(t, 200, "DELETE", "/inboxes/"+address, nil)
	u.account(t, 404, "POST", "/webhooks/deliveries/1/redeliver", nil)
}

// rowsTell reports whether events or deliveries in a closed folder contain text.
func rowsTell(t *testing.T, dir, text string) bool {
	t.Helper()
	store, err := persist.Open(dir, persist.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ids, err := store.JournalAccounts(account.ID{}, 10)
	if len(ids) != 1 || err != nil {
		t.Fatalf("accounts with events: %v, %v", ids, err)
	}
	page, err := store.JournalPage(ids[0], 0, "", time.Time{}, changefeed.EntryLimit(10))
	if len(page.Entries) != 1 || err != nil {
		t.Fatalf("events: %v, %v", page, err)
	}
	all, err := store.ListDeliveries(ids[0], 0, 0, 10)
	if len(all) != 1 || err != nil {
		t.Fatalf("deliveries: %v, %v", all, err)
	}
	return strings.Contains(fmt.Sprintf("%+v %+v %s", page.Entries[0], all[0], all[0].Body), text)
}
