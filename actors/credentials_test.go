package actors

import (
	"context"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// TestWhoIsForgottenIsNotCurrent checks that a principal is invalid once the sweep has evicted it:
// revocations no longer reach it.
func TestWhoIsForgottenIsNotCurrent(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	ps := newPrincipals()
	idle, busy := &account.Principal{Hash: account.TokenHash{1}}, &account.Principal{Hash: account.TokenHash{2}}
	for _, p := range []*account.Principal{idle, busy} {
		p.LastUsedUnix.Store(now.Add(-principalIdle).Unix() - 1)
		ps.storePrincipal(p)
	}
	busy.LastUsedUnix.Store(now.Unix())
	var used []*account.Principal
	ps.sweepIdle(account.Env{Now: now}, func(p *account.Principal) { used = append(used, p) })
	if idle.IsCurrent(now) || ps.findPrincipal(idle.Hash) != nil {
		t.Error("the idle one is still current, or still found")
	}
	if !busy.IsCurrent(now) || ps.findPrincipal(busy.Hash) != busy || len(used) != 1 || used[0] != busy {
		t.Errorf("the one in use was dropped; used %v", used)
	}
}

// polls stands for what an edge renders of a view; its field is only read when no poll runs.
type polls struct{ at int64 }

func (*polls) Retire()           {}
func (p *polls) PolledAt() int64 { return p.at }

// TestPollsKeepAnInboxInMemory also covers polls that only use the rendering.
func TestPollsKeepAnInboxInMemory(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) { o.SweepEvery = time.Hour }) // the test calls Sweep itself
	polled, idle := "polled@inbox.localhost", "idle@inbox.localhost"
	views := map[string]*inbox.View{}
	for _, address := range []string{polled, idle} {
		makeInbox(t, s, address)
		views[address] = must[*inbox.View](t)(s.InboxView(context.Background(), address))
		views[address].StoreRendering(new(polls))
	}
	later := time.Now().Add(time.Hour)
	s.engine.Clock.SetTime(later)
	views[polled].Rendering().(*polls).at = later.Unix()
	s.inboxDirectory.SweepIdle(time.Minute, 1<<40)
	<-views[idle].SupersededSignal()
	until(func() bool { return s.ReadStats().Inboxes == 1 })
	if s.ResidentView([]byte(polled)) != views[polled] || s.ResidentView([]byte(idle)) != nil {
		t.Error("the inbox that is polled left, or the idle one did not")
	}

	// Beyond the budget the longest idle inbox is evicted first; polls count as uses.
	s.engine.Clock.SetTime(later)
	one := s.inboxDirectory.ReadStats().HeldBytes
	makeInbox(t, s, "new@inbox.localhost")
	view := must[*inbox.View](t)(s.InboxView(context.Background(), "new@inbox.localhost"))
	later = later.Add(time.Second)
	views[polled].Rendering().(*polls).at = later.Unix()
	until(func() bool { return s.inboxDirectory.ReadStats().HeldBytes > one }) // it is weighed after its reply
	s.inboxDirectory.SweepIdle(time.Hour, s.inboxDirectory.ReadStats().HeldBytes*9/10)
	<-view.SupersededSignal()
	if s.ResidentView([]byte(polled)) == nil {
		t.Error("the inbox that was polled last left first")
	}
}
