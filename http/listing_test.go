package http

import (
	"fmt"
	"testing"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// TestDefaultsOfLists: 50 messages, 100 inboxes and keys, and parameters that nobody asks
// for are ignored (specification, Order of checks).
func TestDefaultsOfLists(t *testing.T) {
	w, address, key, _ := lone(t)
	for n := range 51 {
		w.deliver(address, inbox.Receive{Subject: fmt.Sprint(n)})
	}
	list := "/api/v1/inboxes/" + address + "/messages"
	for query, want := range map[string]int{"": 50, "?limit=": 50, "?limit=200": 51, "?nonsense=1&limit=51": 51} {
		r := w.expect(200, w.call(get, list+query, key, ""))
		if got := ids(t, r); len(got) != want || r.object(t, "has_more") != (want == 50) {
			t.Errorf("%q: %d messages, more: %v", query, len(got), r.object(t, "has_more"))
		}
	}
	w.accounts.plans[account.Free] = account.DefaultPlans()[account.Paid]
	session := w.signUpSession(alice)
	for n := range 100 {
		w.newInbox(alice, fmt.Sprintf("i%d", n))
		w.key(alice, account.ScopeRead)
	}
	for path, member := range map[string]string{"/api/v1/inboxes": "inboxes", "/api/inboxes": "inboxes", "/api/keys": "keys"} {
		r := w.expect(200, w.call(get, path, session, ""))
		if n := len(r.object(t, member).([]any)); n != 100 || r.object(t, "next_cursor") == nil {
			t.Errorf("%s: %d, next %v", path, n, r.object(t, "next_cursor"))
		}
		r = w.expect(200, w.call(get, path+"?limit=1000&nonsense=1", session, ""))
		if n := len(r.object(t, member).([]any)); n != 101 || r.object(t, "next_cursor") != nil {
			t.Errorf("%s: %d in all, next %v", path, n, r.object(t, "next_cursor"))
		}
	}
}
