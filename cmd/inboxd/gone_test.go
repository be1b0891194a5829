package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWhatWasAcceptedGoesOut: of sends answered with 202 each reaches its server, although the
// inbox was burnt or deleted at once and the process killed. Nobody reads them meanwhile.
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
	told := map[string]int{}
	for cursor, seen := "", 0; seen < 2*sends+1; {
		page := u.do(t, 200, "GET", "/events?wait=10&after="+cursor, nil)
		cursor = page["next"].(string)
		for _, e := range page["events"].([]any) {
			e := e.(map[string]any)
			seen++
			told[fmt.Sprint(e["event"], " ", e["send_error"])]++
			if e["gone"] != true || e["to"] != nil || e["recipients"].([]any)[0].(map[string]any)["email"] != nil {
				t.Errorf("event: %v", e)
			}
		}
	}
	if told["message.delivered <nil>"] != 2*sends || told["message.failed Deleted before it was delivered"] != 1 {
		t.Errorf("told: %v", told)
	}
	if left := admin(t, dir, "queue", "list"); strings.Contains(left, "far.test") {
		t.Errorf("left in the queue: %s", left)
	}
}
