package account_test

import (
	"fmt"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// TestListOfDomains checks that a listed name keeps its mark until it is claimed. Only that mark
// removes it, however late. The number of names is limited, but a claimed name is listed even above
// the limit.
func TestListOfDomains(t *testing.T) {
	s := account.NewState()
	now := start
	do := func(cmd account.Command) error {
		evs, err := account.Decide(s, cmd, account.Env{Now: now, Plans: account.DefaultPlans()})
		new(account.Rows).Apply(s, evs)
		return err
	}
	marked := func(what string, want time.Time) {
		t.Helper()
		if mark := s.ListedDomains["a.test"]; !mark.Equal(want) {
			t.Errorf("%s: marked %v, want %v", what, mark, want)
		}
	}
	for n, cmd := range []account.Command{account.Open{ID: me}, account.ListDomain{Name: "a.test"}} {
		if err := do(cmd); err != nil {
			t.Fatal(n, err)
		}
	}
	first := now
	now = now.Add(time.Hour)
	_ = do(account.ListDomain{Name: "a.test"})
	marked("listed again", first)
	_ = do(account.ListDomain{Name: "a.test", AlreadyClaimed: true})
	claimed := now.Add(time.Millisecond)
	marked("claimed", claimed)
	_ = do(account.UnlistDomain{Name: "a.test", SeenMark: first})
	marked("found not claimed before", claimed)
	_ = do(account.ListDomain{Name: "b.test"})
	for range 2 { // readers that saw it before, and found it not claimed
		_ = do(account.UnlistDomain{Name: "b.test", SeenMark: now})
		_ = do(account.ListDomain{Name: "b.test", AlreadyClaimed: true})
	}
	if mark := s.ListedDomains["b.test"]; !mark.After(now) {
		t.Errorf("claimed at once: marked %v", mark)
	}
	_ = do(account.UnlistDomain{Name: "b.test", SeenMark: s.ListedDomains["b.test"]})
	now = first
	_ = do(account.ListDomain{Name: "a.test", AlreadyClaimed: true})
	marked("claimed by a clock that went back", claimed.Add(time.Millisecond))
	_ = do(account.UnlistDomain{Name: "a.test", SeenMark: claimed.Add(time.Millisecond)})
	marked("released", time.Time{})
	for n := range account.MaxDomains {
		if err := do(account.ListDomain{Name: fmt.Sprint(n)}); err != nil {
			t.Fatal(n, err)
		}
	}
	if err := do(account.ListDomain{Name: "a.test"}); !fault.Is(err, fault.Refused) {
		t.Errorf("one too many: %v", err)
	}
	if err := do(account.ListDomain{Name: "a.test", AlreadyClaimed: true}); err != nil || len(s.ListedDomains) != account.MaxDomains+1 {
		t.Errorf("one that was claimed: %v", err)
	}
	_ = do(account.Close{})
	if err := do(account.ListDomain{Name: "b.test", AlreadyClaimed: true}); !fault.Is(err, fault.NotFound) {
		t.Errorf("of an account that goes: %v", err)
	}
}
