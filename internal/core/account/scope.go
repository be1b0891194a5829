package account

import (
	"strings"

	"inboxd/internal/base/fault"
)

// Scope is a set of permissions, one bit each (specification, Permissions). The bits are stored:
// append only; never reorder.
type Scope uint16

const (
	ScopeRead   Scope = 1 << iota // inbox:read
	ScopeSend                     // email:send
	ScopeWrite                    // message:write
	ScopeManage                   // inbox:manage
	ScopeFull                     // full: all of the above and any added later
)

var scopeNames = []struct {
	scope Scope
	name  string
}{
	{ScopeRead, "inbox:read"}, {ScopeSend, "email:send"}, {ScopeWrite, "message:write"},
	{ScopeManage, "inbox:manage"}, {ScopeFull, "full"},
}

// Allows reports whether the set contains need.
func (s Scope) Allows(need Scope) bool { return s&ScopeFull != 0 || s&need == need }

// String joins the names by commas, the wire form of a response.
func (s Scope) String() string {
	var names []string
	for _, n := range scopeNames {
		if s&n.scope != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}

// ParseScopes parses the names of a request; no names mean inbox:read only.
func ParseScopes(names []string) (Scope, error) {
	if len(names) == 0 {
		return ScopeRead, nil
	}
	var set Scope
	for _, name := range names {
		s := scopeNamed(name)
		if s == 0 {
			return 0, fault.Field("scopes", "contains the unknown permission %q. Valid permissions: %s", name, strings.ReplaceAll((^Scope(0)).String(), ",", ", "))
		}
		set |= s
	}
	return set, nil
}

func scopeNamed(name string) Scope {
	for _, n := range scopeNames {
		if n.name == name {
			return n.scope
		}
	}
	return 0
}
