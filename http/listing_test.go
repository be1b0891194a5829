package http

import (
	"fmt"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// TestDefaultsOfLists: 50 messages, 100 inboxes and keys. Unknown parameters are ignored
// (specification, Order of checks).
func TestDefaultsOfLists(t *testing.T) {
	w, address, key, _ := lone(t)
	for n := range 51 {
		w.deliver(address, inbox.Receive{Subject: fmt.Sprint(n)})
	}
	list := "/api/v1/inboxes/" + address + "/messages"
	for query, want := range map[string]int{"": 50, "?limit=": 50, "?limit=200": 51, "?nonsense=1&limit=51": 51} {
		r := w.expect(200, w.call(methodGet, list+query, key, ""))
		if got := ids(t, r); len(got) != want || r.object(t, "has_more") != (want == 50) {
			t.Errorf("%q: %d messages, more: %v", query, len(got), r.object(t, "has_more"))
		}
	}
	w.accounts.plans[account.PlanFree] = account.DefaultPlans()[account.PlanPaid]
	session := w.signUpSession(alice)
	for n := range 100 {
		w.newInbox(alice, fmt.Sprintf("i%d", n))
		w.key(alice, account.ScopeRead)
	}
	for path, member := range map[string]string{"/api/v1/inboxes": "inboxes", "/api/inboxes": "inboxes", "/api/keys": "keys"} {
		r := w.expect(200, w.call(methodGet, path, session, ""))
		if n := len(r.object(t, member).([]any)); n != 100 || r.object(t, "next_cursor") == nil {
			t.Errorf("%s: %d, next %v", path, n, r.object(t, "next_cursor"))
		}
		r = w.expect(200, w.call(methodGet, path+"?limit=1000&nonsense=1", session, ""))
		if n := len(r.object(t, member).([]any)); n != 101 || r.object(t, "next_cursor") != nil {
			t.Errorf("%s: %d in all, next %v", path, n, r.object(t, "next_cursor"))
		}
	}
}

// TestASearchReadsAMailOnce: later searches use the texts that the first one folded.
func TestASearchReadsAMailOnce(t *testing.T) {
	w, address, key, _ := lone(t)
	for n := range 20 {
		w.deliver(address, inbox.Receive{Subject: fmt.Sprint(n), Content: &inbox.Content{Doc: message.ParsedMessage{Text: fmt.Sprintf("Straße %d.", n)}}})
	}
	list := "/api/v1/inboxes/" + address + "/messages?fields=id&q="
	for i, query := range []string{"nowhere", "strasse", "stra%C3%9Fe+7.", "STRA%C3%9FE+7."} {
		if got := ids(t, w.expect(200, w.call(methodGet, list+query, key, ""))); len(got) != i/2 {
			t.Errorf("%s: %v", query, got)
		}
	}
	if w.inboxes.reads > 20 {
		t.Errorf("four searches in 20 mails read %d", w.inboxes.reads)
	}
	// A different message with the same number is read.
	w.expect(200, w.call(methodDelete, "/api/v1/inboxes/"+address, key, ""))
	delete(w.inboxes.states, address) // no tombstone either
	w.advance(time.Millisecond)
	w.newInbox(alice, "own")
	w.deliver(address, inbox.Receive{Content: &inbox.Content{Doc: message.ParsedMessage{Text: "another"}}})
	if got := ids(t, w.expect(200, w.call(methodGet, list+"stra%C3%9Fe", key, ""))); len(got) != 0 {
		t.Errorf("what was there before is found: %v", got)
	}
}

// TestSearchesTakeTurns: an account may have few searches in progress, and further ones get 503.
// Other requests continue.
func TestSearchesTakeTurns(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "a"})
	w.deliver(address, inbox.Receive{Subject: "b"}) // the first is no longer cached
	w.inboxes.held = make(chan struct{})
	const all = 12
	answers := make(chan reply, all)
	for range all {
		go func() {
			r, err := w.try(methodGet, "/api/v1/inboxes/"+address+"/messages?fields=id&q=nowhere", key, "")
			if err != nil {
				t.Error(err)
			}
			answers <- r
		}()
	}
	statuses := map[int]int{}
	for n := range all {
		if n == all-4 { // the ones in progress
			w.expect(200, w.call(methodGet, latest+"?fields=id", key, ""))
			w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+address+"/messages?fields=id", key, ""))
			close(w.inboxes.held)
		}
		r := <-answers
		if statuses[r.status]++; r.status == 503 && r.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After: %q", r.header.Get("Retry-After"))
		}
	}
	if statuses[200] != 4 || statuses[503] != all-4 {
		t.Errorf("answers %v", statuses)
	}
}
