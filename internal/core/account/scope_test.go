package account_test

import (
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

func TestParseScopes(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string // the wire form; empty: refused
	}{
		{nil, "inbox:read"},
		{[]string{}, "inbox:read"},
		{[]string{"email:send"}, "email:send"},
		{[]string{"inbox:manage", "inbox:read", "inbox:manage"}, "inbox:read,inbox:manage"},
		{[]string{"inbox:read", "email:send", "message:write", "inbox:manage"}, "inbox:read,email:send,message:write,inbox:manage"},
		{[]string{"full", "domains:manage", "webhooks:manage"}, "webhooks:manage,domains:manage,full"},
		{[]string{"full"}, "full"},
		{[]string{"inbox:read", "inbox:write"}, ""},
		{[]string{""}, ""},
		{[]string{"Full"}, ""},
		{[]string{"inbox:read,email:send"}, ""},
	} {
		set, err := account.ParseScopes(c.names)
		switch {
		case c.want == "" && (!fault.Is(err, fault.InvalidRequest) || set != 0):
			t.Errorf("%q: %v, %v", c.names, set, err)
		case c.want != "" && (err != nil || set.String() != c.want):
			t.Errorf("%q: %v, %v", c.names, set, err)
		}
	}
}

// TestAllows checks every set for every need. full covers all, including bits that have no name
// yet; all others together do not equal full.
func TestAllows(t *testing.T) {
	const later = account.ScopeDomains << 1
	for set := range later {
		for need := account.ScopeSet(1); need <= later; need <<= 1 {
			if want := set&(need|account.ScopeFull) != 0; set.Allows(need) != want {
				t.Errorf("%q allows %b: %v", set, need, !want)
			}
		}
	}
	if account.ScopeRead.Allows(account.ScopeRead | account.ScopeSend) {
		t.Error("one of two needs is enough")
	}
	if others := later - 1 - account.ScopeFull; others.Allows(later) || others.Allows(account.ScopeFull) {
		t.Error("the others are taken for full")
	}
}
