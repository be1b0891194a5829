package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/persist/persisttest"
)

// TestExpiredStaysSo sets the clock a month ahead, sees everything expired once, and sets the clock
// back. Nothing of it works again, before or after a power loss.
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
	presented := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(me), "presented", account.ScopeRead, days(30)))
	listed := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(me), "listed", account.ScopeRead, days(30)))
	young := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(me), "young", account.ScopeRead, days(90)))
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
		if !opens(token) { // all of them are cached now
			t.Fatal("a fresh credential opens nothing")
		}
	}
	ahead.Store(int64(31 * 24 * time.Hour))
	if _, err := s.ResetPassword(ctx, reset, "another horse"); opens(in.Token) || opens(presented.Token) || err == nil {
		t.Error("open a day after its end")
	}
	if keys, _, err := s.AccountKeys(ctx, me, "", 10); err != nil || !keys[1].SeenExpired {
		t.Errorf("listed as %+v, %v", keys, err)
	}
	must[account.QuotaUsage](t)(s.AccountUsage(ctx, me)) // after what the list left to do
	ahead.Store(0)
	for range 2 {
		for name, token := range map[string]string{"session": in.Token, "presented": presented.Token, "listed": listed.Token} {
			if opens(token) {
				t.Errorf("%s: open again", name)
			}
		}
		if _, err := s.ResetPassword(ctx, reset, "another horse"); !fault.Is(err, fault.Refused) {
			t.Errorf("the reset token: %v", err)
		}
		keys, _, err := s.AccountKeys(ctx, me, "", 10)
		if err != nil || len(keys) != 3 || !keys[0].SeenExpired || !keys[1].SeenExpired || keys[2].SeenExpired {
			t.Errorf("listed as %+v, %v", keys, err)
		}
		if !opens(young.Token) {
			t.Error("a key that has not ended opens nothing")
		}
		store = store.CrashCopy(t)
		s = begin()
	}
}

// TestWhatTheClockPassedIsOver advances the clock in trusted steps past the expiry of credentials
// that nobody presents or lists. After the clock goes back by a month they are expired all the
// same, before and after a power loss. Credentials created then are valid. An untrusted jump
// expires nothing.
func TestWhatTheClockPassedIsOver(t *testing.T) {
	for name, crash := range map[string]bool{"in one run": false, "over a power loss": true} {
		t.Run(name, func(t *testing.T) {
			c := newClockStory(t)
			old, young, reset := []string{c.in.Token, c.key(30)}, []string{c.key(90), c.key(90)}, c.reset()
			c.check("at first", true, old...) // they are cached now
			c.set(400 * 24 * time.Hour)       // a jump
			c.set(0)
			c.check("after a jump", true, old...)
			for d := time.Duration(0); d <= 31*24*time.Hour; d += 20 * time.Hour {
				c.set(d)
			}
			c.set(0)
			if crash {
				c.key(30) // a commit stores the clock reading
				c.crash()
			}
			c.sys.noteUses() // as every minute
			c.check("the clock is back", false, old...)
			c.check("the clock is back", true, young...)
			if _, err := c.sys.ResetPassword(c.ctx, reset, "another horse"); !fault.Is(err, fault.Refused) {
				t.Errorf("the old reset token: %v", err)
			}
			reset = c.reset()
			if _, err := c.sys.ResetPassword(c.ctx, reset, "another horse"); err != nil {
				t.Errorf("the new reset token: %v", err)
			}
			old = append(old, young...) // a reset ends them
			fresh := []string{c.key(30), must[account.SignedIn](t)(c.sys.LogIn(c.ctx, "me@example.test", "another horse")).Token}
			c.check("made since", true, fresh...)
			c.crash()
			c.check("after another crash", false, old...)
			c.check("after another crash", true, fresh...)
		})
	}
}

// clockStory is a system on a store, with one clock for both.
type clockStory struct {
	*testing.T
	ctx   context.Context
	store *persisttest.TestStore
	sys   *System
	in    account.SignedIn
	ahead *atomic.Int64
}

func newClockStory(t *testing.T) *clockStory {
	c := &clockStory{T: t, ctx: context.Background(), store: persisttest.OpenCrashable(t), ahead: new(atomic.Int64)}
	c.begin()
	c.in = signUp(t, c.sys)
	return c
}

func (c *clockStory) begin() {
	c.sys = startSystem(c.T, c.store, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }
	})
}

// crash continues with what a power loss leaves, once the clock's readings are on disk.
func (c *clockStory) crash() {
	seen := c.store.ClockSeen()
	for left := c.store; ; time.Sleep(10 * time.Millisecond) {
		if c.store = left.CrashCopy(c.T); !c.store.ClockSeen().Before(seen) {
			break
		}
	}
	c.begin()
}

// set makes the store read its clock, as it does every half minute.
func (c *clockStory) set(ahead time.Duration) {
	c.ahead.Store(int64(ahead))
	c.store.SetAhead(ahead)
	c.store.ClockSeen()
}

func (c *clockStory) key(days int) string {
	return must[account.IssuedKey](c.T)(c.sys.IssueKey(c.ctx, operatorOf(c.in.Profile.ID), "", account.ScopeRead, &days)).Token
}

func (c *clockStory) reset() string {
	c.Helper()
	token, _, err := c.sys.ResetToken(c.ctx, "me@example.test")
	if err != nil {
		c.Fatal(err)
	}
	return token
}

func (c *clockStory) check(when string, opens bool, tokens ...string) {
	c.Helper()
	for i, token := range tokens {
		_, err := c.sys.Authenticate(c.ctx, []byte(token))
		if err != nil && !fault.Is(err, fault.Unauthenticated) || (err == nil) != opens {
			c.Errorf("%s, number %d: %v", when, i, err)
		}
	}
}
