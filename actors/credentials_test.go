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
	idle, busy := &account.Principal{Hash: account.Hash{1}}, &account.Principal{Hash: account.Hash{2}}
	for _, p := range []*account.Principal{idle, busy} {
		p.Used.Store(now.Add(-principalIdle).Unix() - 1)
		ps.put(p)
	}
	busy.Used.Store(now.Unix())
	var used []*account.Principal
	ps.sweep(account.Env{Now: now}, func(p *account.Principal) { used = append(used, p) })
	if idle.Current(now) || ps.get(idle.Hash) != nil {
		t.Error("the idle one is still current, or still found")
	}
	if !busy.Current(now) || ps.get(busy.Hash) != busy || len(used) != 1 || used[0] != busy {
		t.Errorf("the one in use was dropped; used %v", used)
	}
}

// polls stands for what an edge renders of a view; its field is only read when no poll runs.
type polls struct{ at int64 }

func (*polls) Retire()           {}
func (p *polls) PolledAt() int64 { return p.at }

// TestPollsKeepAnInboxInMemory also covers polls that only use the rendering.
func TestPollsKeepAnInboxInMemory(t *testing.T) {
	store := persisttest.Open(t)
	s := startSystem(t, store, func(o *Options) { o.SweepEvery = time.Hour }) // the test calls Sweep itself
	polled, idle := "polled@inbox.localhost", "idle@inbox.localhost"
	views := map[string]*inbox.View{}
	for _, address := range []string{polled, idle} {
		makeInbox(t, s, address)
		views[address] = must[*inbox.View](t)(s.View(context.Background(), address))
		views[address].Carry(new(polls))
	}
	later := time.Now().Add(time.Hour)
	s.engine.Clock.Set(later)
	views[polled].Rendering().(*polls).at = later.Unix()
	s.inboxes.Sweep(time.Minute, 1<<40)
	<-views[idle].Superseded()
	until(func() bool { return s.Stats().Inboxes == 1 })
	if s.Resident([]byte(polled)) != views[polled] || s.Resident([]byte(idle)) != nil {
		t.Error("the inbox that is polled left, or the idle one did not")
	}

	// Beyond the budget the longest idle inbox is evicted first; polls count as uses.
	s.engine.Clock.Set(later)
	one := s.inboxes.Stats().Bytes
	makeInbox(t, s, "new@inbox.localhost")
	view := must[*inbox.View](t)(s.View(context.Background(), "new@inbox.localhost"))
	later = later.Add(time.Second)
	views[polled].Rendering().(*polls).at = later.Unix()
	until(func() bool { return s.inboxes.Stats().Bytes > one }) // it is weighed after its reply
	s.inboxes.Sweep(time.Hour, s.inboxes.Stats().Bytes*9/10)
	<-view.Superseded()
	if s.Resident([]byte(polled)) == nil {
		t.Error("the inbox that was polled last left first")
	}
}
