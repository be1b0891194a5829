package account

import (
	"strings"

	"inboxd/internal/base/fault"
)

// ScopeSet is a set of permissions, one bit each (specification, Permissions). The bits are stored:
// append only; never reorder.
type ScopeSet uint16

const (
	ScopeRead     ScopeSet = 1 << iota // inbox:read
	ScopeSend                          // email:send
	ScopeWrite                         // message:write
	ScopeManage                        // inbox:manage
	ScopeFull                          // full: all others and any added later
	ScopeWebhooks                      // webhooks:manage
	ScopeDomains                       // domains:manage

	// accountScopes concern the whole account, so an inbox key cannot have them.
	accountScopes = ScopeWebhooks | ScopeDomains
)

var scopeNames = []struct {
	scope ScopeSet
	name  string
}{
	{ScopeRead, "inbox:read"}, {ScopeSend, "email:send"}, {ScopeWrite, "message:write"},
	{ScopeManage, "inbox:manage"}, {ScopeWebhooks, "webhooks:manage"}, {ScopeDomains, "domains:manage"}, {ScopeFull, "full"},
}

// Allows reports whether the set contains need.
func (s ScopeSet) Allows(need ScopeSet) bool { return s&ScopeFull != 0 || s&need == need }

// String joins the names by commas, the wire form of a response.
func (s ScopeSet) String() string {
	var names []string
	for _, n := range scopeNames {
		if s&n.scope != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}

// ParseScopes parses the names of a request; no names mean inbox:read only.
func ParseScopes(names []string) (ScopeSet, error) {
	if len(names) == 0 {
		return ScopeRead, nil
	}
	var set ScopeSet
	for _, name := range names {
		s := scopeNamed(name)
		if s == 0 {
			return 0, fault.InvalidField("scopes", "contains the unknown permission %q. Valid permissions: %s", name, strings.ReplaceAll((^ScopeSet(0)).String(), ",", ", "))
		}
		set |= s
	}
	return set, nil
}

func scopeNamed(name string) ScopeSet {
	for _, n := range scopeNames {
		if n.name == name {
			return n.scope
		}
	}
	return 0
}
