package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/persist/persisttest"
)

// TestExpiredStaysSo: the clock goes a month ahead, everything that ends is seen once, and the
// clock goes back. Nothing of it opens anything, before or after a power loss.
func TestExpiredStaysSo(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	var ahead atomic.Int64
	begin := func() *System {
		return startSystem(t, store, func(o *Options) {
			o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		})
	}
	s, ctx, days := begin(), context.Background(), func(n int) *int { return &n }
	in := signUp(t, s)
	me := in.Profile.ID
	presented := must[account.Issued](t)(s.IssueKey(ctx, me, "presented", account.ScopeRead, days(30)))
	listed := must[account.Issued](t)(s.IssueKey(ctx, me, "listed", account.ScopeRead, days(30)))
	young := must[account.Issued](t)(s.IssueKey(ctx, me, "young", account.ScopeRead, days(90)))
	reset, _, err := s.ResetToken(ctx, "me@example.test")
	if err != nil {
		t.Fatal(err)
	}
	opens := func(token string) bool {
		_, err := s.Authenticate(ctx, []byte(token))
		if err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Fatal(err)
		}
		return err == nil
	}
	for _, token := range []string{in.Token, presented.Token, listed.Token, young.Token} {
		if !opens(token) { // all of them are in memory now
			t.Fatal("a fresh credential opens nothing")
		}
	}
	ahead.Store(int64(31 * 24 * time.Hour))
	if opens(in.Token) || opens(presented.Token) || s.ResetPassword(ctx, reset, "another horse") == nil {
		t.Error("open a day after its end")
	}
	if keys, _, err := s.Keys(ctx, me, "", 10); err != nil || !keys[1].Expired(s.now()) {
		t.Errorf("listed as %+v, %v", keys, err)
	}
	must[account.Usage](t)(s.Usage(ctx, me)) // behind what the list left to do
	ahead.Store(0)
	for range 2 {
		for name, token := range map[string]string{"session": in.Token, "presented": presented.Token, "listed": listed.Token} {
			if opens(token) {
				t.Errorf("%s: open again", name)
			}
		}
		if err := s.ResetPassword(ctx, reset, "another horse"); !fault.Is(err, fault.Refused) {
			t.Errorf("the reset token: %v", err)
		}
		keys, _, err := s.Keys(ctx, me, "", 10)
		if err != nil || len(keys) != 3 || !keys[0].Expired(s.now()) || !keys[1].Expired(s.now()) || keys[2].Expired(s.now()) {
			t.Errorf("listed as %+v, %v", keys, err)
		}
		if !opens(young.Token) {
			t.Error("a key that has not ended opens nothing")
		}
		store = store.Crash(t)
		s = begin()
	}
}
