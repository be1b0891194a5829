package http

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// TestShortcutsAskNobody: who may have an answer is asked once, then only who they are.
func TestShortcutsAskNobody(t *testing.T) {
	w, c, polls := wirePolls(t)
	for name, request := range polls {
		for i := range 4 {
			before := w.accounts.asked.Load()
			if ok, err := w.server.answerPoll(c, request, time.Now()); !ok || err != nil {
				t.Fatal(name, ok, err)
			}
			if asked := w.accounts.asked.Load() > before; i > 0 && asked {
				t.Errorf("%s: poll %d asked again", name, i+1)
			}
		}
	}
}

// TestShortcutsEnd tries, after a poll has opened the shortcut, all that makes its answer
// wrong or its reader a stranger.
func TestShortcutsEnd(t *testing.T) {
	type change struct {
		name   string
		do     func(w *world, key string) // before the next poll
		status int
		body   string
	}
	const address = "own@inbox.test"
	for _, c := range []change{
		{"nothing", func(*world, string) {}, 200, `"subject":"Your code"`},
		{"newer mail", func(w *world, _ string) { w.deliver(address, inbox.Receive{Subject: "Newer"}) }, 200, `"subject":"Newer"`},
		{"read mark", func(w *world, key string) {
			w.expect(200, w.call(post, "/api/v1/inboxes/"+address+"/messages/1/read", key, ""))
		}, 200, `"is_read":true`},
		{"message deleted", func(w *world, key string) {
			w.expect(200, w.call(remove, "/api/v1/inboxes/"+address+"/messages/1", key, ""))
		}, 200, `{"email":null}`},
		{"burned", func(w *world, key string) { w.expect(200, w.call(post, "/api/v1/inboxes/"+address+"/burn", key, "")) }, 200, `{"email":null}`},
		{"inbox deleted", func(w *world, key string) { w.expect(200, w.call(remove, "/api/v1/inboxes/"+address, key, "")) }, 403, "No inbox own@inbox.test"},
		{"message expired", func(w *world, _ string) { w.advance(25 * time.Hour) }, 200, `{"email":null}`},
		{"key expired", func(w *world, key string) { w.accounts.principals[key].ExpiresAt = w.now() }, 401, "A valid API key"},
		{"key revoked", func(w *world, key string) { w.accounts.principals[key].Revoke() }, 401, "A valid API key"},
		{"key forgotten, then revoked", func(w *world, key string) {
			w.accounts.principals[key].Drop()
			delete(w.accounts.principals, key) // a revocation finds nobody to tell
		}, 401, "A valid API key"},
	} {
		for _, wire := range []bool{true, false} {
			w, poll := wireWorld(t)
			full := w.key(alice, account.ScopeFull)
			poll = keyed(poll, full)
			conn := w.speak(t)
			for range 3 { // rendered, allowed, by the shortcut
				if resp, body := conn.ask(poll); resp.StatusCode != 200 {
					t.Fatal(resp.Status, body)
				}
			}
			if r := w.server.shortcuts.find([]byte(address)); r == nil || r.Reader() != w.accounts.principals[full] {
				t.Fatalf("%s: no shortcut", c.name)
			}
			c.do(w, full)
			if !wire {
				conn = w.speak(t) // fasthttp reads what comes first on a connection
			}
			if resp, body := conn.ask(poll); resp.StatusCode != c.status || !strings.Contains(body, c.body) {
				t.Errorf("%s (wire %v): %s %s", c.name, wire, resp.Status, body)
			}
		}
	}
}

// TestShortcutsAreNobodyElses: with the answer at hand, every other credential is still
// judged by all rules.
func TestShortcutsAreNobodyElses(t *testing.T) {
	w, poll := wireWorld(t)
	w.signUp(bob)
	other := w.newInbox(alice, "other")
	conn := w.speak(t)
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"another account":     {keyed(poll, w.key(bob, account.ScopeFull)), 403},
		"another inbox's key": {keyed(poll, w.keyFor(alice, other, account.ScopeRead)), 403},
		"another permission":  {keyed(poll, w.key(alice, account.ScopeSend)), 403},
		"unknown":             {keyed(poll, "svc_live_nobody"), 401},
		"account key inside":  {strings.Replace(poll, "/v1", "", 1), 403},
	} {
		for range 3 {
			if resp, _ := conn.ask(poll); resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			if resp, body := conn.ask(c.request); resp.StatusCode != c.status || strings.Contains(body, "123456") {
				t.Errorf("%s: %s %s", name, resp.Status, body)
			}
		}
	}
}

// answers makes n answers for addresses of their own.
func answers(n int) (out []*inbox.Rendered) {
	for i := range n {
		out = append(out, rendered(fmt.Sprint(i, "@x.test"), []byte(strings.Repeat("x", i%7)), []byte(`"1"`), time.Time{}))
	}
	return out
}

// TestShortcutsNeverLeadElsewhere: addresses that meet in the table take each other's place,
// and never get each other's answer.
func TestShortcutsNeverLeadElsewhere(t *testing.T) {
	var s shortcuts
	s.init()
	crowd := answers(5 * firstShortcuts * shortcutWays)
	for range 2 {
		for _, r := range crowd {
			s.keep(r)
			if s.find(r.Address()) != r {
				t.Fatalf("%s was kept and is not found", r.Address())
			}
		}
		for _, r := range crowd {
			if got := s.find(r.Address()); got != nil && got != r {
				t.Errorf("%s: the answer of %s", r.Address(), got.Address())
			}
		}
	}
	if s.find([]byte("nobody@x.test")) != nil {
		t.Error("an address that nobody kept has an answer")
	}
}

// TestShortcutsMakeRoom: the table grows with the fleet, so that nearly all find a place,
// and not beyond its bound.
func TestShortcutsMakeRoom(t *testing.T) {
	var s shortcuts
	s.init()
	crowd := answers(10_000)
	for range 3 { // what was kept in a table that was too small comes back when it is polled
		for _, r := range crowd {
			if s.find(r.Address()) == nil {
				s.keep(r)
			}
		}
	}
	missing := 0
	for _, r := range crowd {
		if s.find(r.Address()) == nil {
			missing++
		}
	}
	lines := len(*s.table.Load())
	if missing > len(crowd)/50 || lines*shortcutWays > 8*len(crowd) {
		t.Errorf("%d of %d have no place in %d lines", missing, len(crowd), lines)
	}
	s.resize(mostShortcuts)
	if s.crowded() || len(*s.table.Load()) != mostShortcuts {
		t.Error("the table outgrows its bound")
	}
}

// TestALineOfShortcutsIsACacheLine, and the table is as large as is said.
func TestALineOfShortcutsIsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(shortcutLine{}); size != 64 || size*mostShortcuts != 4<<20 {
		t.Errorf("%d bytes", size)
	}
}

// TestAPollByShortcutCountsAsAUse: the credential is seen as used, and so is the inbox.
func TestAPollByShortcutCountsAsAUse(t *testing.T) {
	w, poll := wireWorld(t)
	conn := w.speak(t)
	for range 3 {
		conn.ask(poll)
	}
	w.advance(time.Hour)
	conn.ask(poll)
	p := w.server.shortcuts.find([]byte("own@inbox.test")).Reader()
	view, err := w.inboxes.View(context.Background(), "own@inbox.test")
	if err != nil || p.Used.Load() != w.now().Unix() || view.PolledAt() != w.now().Unix() {
		t.Errorf("key used at %d, inbox at %d, now %d; %v", p.Used.Load(), view.PolledAt(), w.now().Unix(), err)
	}
}
