package actors

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/persist/persisttest"
)

// tightPlans allow two messages on Free, four on Paid.
func tightPlans(o *Options) {
	o.Plans = account.DefaultPlans()
	for name, n := range map[account.PlanName]int{account.PlanFree: 2, account.PlanPaid: 4} {
		plan := o.Plans[name]
		plan.MaxMessages = n
		o.Plans[name] = plan
	}
}

// kept lists the ids of an inbox's messages.
func kept(t *testing.T, s *System, address string) (ids []int64) {
	t.Helper()
	for _, m := range must[*inbox.View](t)(s.InboxView(t.Context(), address)).Messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// TestAnInboxHoldsWhatThePlanSays checks the limit at RCPT and at the end of the message. A change
// of the plan applies once it is acknowledged, also to an inbox that had cached its plan.
func TestAnInboxHoldsWhatThePlanSays(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), tightPlans)
	id, address := openAccount(t, s)
	offer := func(want ...int64) {
		t.Helper()
		for n := 0; ; n++ {
			known := s.CheckRecipient(t.Context(), address)
			_, err := s.Do(t.Context(), address, receive(fmt.Sprint(n)))
			if fmt.Sprint(known) != fmt.Sprint(err) || err != nil && !fault.Is(err, fault.InboxFull) {
				t.Fatalf("RCPT: %v, the end of the mail: %v", known, err)
			}
			if err != nil {
				break
			}
		}
		if got := kept(t, s, address); !slices.Equal(got, want) {
			t.Errorf("holds %v, want %v", got, want)
		}
		view := must[*inbox.View](t)(s.InboxView(t.Context(), address))
		if c := must[inbox.Capacity](t)(s.InboxCapacity(t.Context(), id)); !view.IsFull(c, s.now()) || view.IsFull(inbox.Capacity{MaxMessages: len(view.Messages) + 1, MaxBytes: c.MaxBytes}, s.now()) {
			t.Errorf("full with %d, by %+v", len(view.Messages), c)
		}
	}
	move := func(plan account.PlanName) {
		t.Helper()
		if err := s.SetPlan(t.Context(), "me@example.test", plan); err != nil {
			t.Fatal(err)
		}
	}
	move(account.PlanFree)
	offer(1, 2)
	move(account.PlanPaid)
	offer(1, 2, 3, 4)
	move(account.PlanFree)
	offer(1, 2, 3, 4)
	must[inbox.CommandOutcome](t)(s.Do(t.Context(), address, inbox.DeleteMessage{ID: 2}))
	must[inbox.CommandOutcome](t)(s.Do(t.Context(), address, inbox.DeleteMessage{ID: 3}))
	offer(1, 4)
	must[inbox.CommandOutcome](t)(s.Do(t.Context(), address, inbox.DeleteMessage{ID: 1}))
	offer(4, 5)
}

// TestEachAccountHasItsOwnPlan checks that a plan change does not affect other accounts, although
// all of them read their plans again.
func TestEachAccountHasItsOwnPlan(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), tightPlans)
	_, mine := openAccount(t, s)
	in := must[account.SignedIn](t)(s.SignUp(t.Context(), "you@example.test", "correct horse"))
	view, _, err := s.CreateInbox(t.Context(), in.Profile.ID, inbox.CreationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	fill := func(address string) (n int) {
		for ; ; n++ {
			if _, err := s.Do(t.Context(), address, receive("x")); err != nil {
				return n
			}
		}
	}
	if a, b := fill(mine), fill(view.Address); a != 4 || b != 2 {
		t.Fatalf("%d and %d", a, b)
	}
	if err := s.SetPlan(t.Context(), "you@example.test", account.PlanPaid); err != nil {
		t.Fatal(err)
	}
	if a, b := fill(mine), fill(view.Address); a != 0 || b != 2 {
		t.Errorf("%d more and %d more", a, b)
	}
}

// TestAccountsShareAPlace checks accounts whose cache slots collide: each still gets its own plan.
func TestAccountsShareAPlace(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), tightPlans)
	id, _ := openAccount(t, s)
	for i := range s.capacities.cachedCapacities {
		s.capacities.cachedCapacities[i].Store(&knownCapacity{Capacity: inbox.Capacity{MaxMessages: 99}, account: account.ID{1}, changes: s.capacities.planChanges.Load()})
	}
	for range 2 {
		if c, err := s.InboxCapacity(t.Context(), id); err != nil || c.MaxMessages != 4 {
			t.Errorf("%+v %v", c, err)
		}
	}
}

// TestAPlanIsLookedUpOnce checks that further messages and RCPT commands, to any inbox of the
// account, do not read the plan from the disk again.
func TestAPlanIsLookedUpOnce(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	id, address := openAccount(t, s)
	second, _, err := s.CreateInbox(t.Context(), id, inbox.CreationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	before := store.PlanLookups()
	for range 5 {
		for _, to := range []string{address, second.Address} {
			if err := s.CheckRecipient(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), to, receive("x")))
		}
	}
	if n := store.PlanLookups() - before; n != 1 {
		t.Errorf("%d look-ups", n)
	}
}

// TestKeepNewestSurvives checks a crash: the last acknowledged messages are there, and those they
// replaced are gone.
func TestKeepNewestSurvives(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	s := startSystem(t, store, tightPlans)
	id, _ := openAccount(t, s)
	order := inbox.CreationRequest{Prefix: new("keeps"), KeepNewest: true}
	view, place, err := s.CreateInbox(t.Context(), id, order)
	if err != nil || !place.KeepNewest || !view.KeepNewest {
		t.Fatalf("%+v %v", place, err)
	}
	var senders sync.WaitGroup
	for range 4 { // in groups, which drop what they put
		senders.Go(func() {
			for range 5 {
				if err := s.ReceiveMessage(context.Background(), ingest.Envelope{RcptTo: []string{view.Address}}, []byte("Subject: x\r\n\r\nx\r\n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	if got := kept(t, s, view.Address); !slices.Equal(got, []int64{17, 18, 19, 20}) {
		t.Errorf("holds %v", got)
	}
	after := store.CrashCopy(t)
	state := must[*inbox.State](t)(after.LoadInbox(view.Address))
	if len(state.Messages) != 4 || state.Messages[3].ID != 20 || state.LastID != 20 || !state.KeepNewest {
		t.Errorf("after a crash: %+v", state)
	}
	for gone := int64(1); gone <= 16; gone++ {
		raw, err := after.ReadRaw(view.Address, gone)
		content, err2 := after.ReadContent(view.Address, gone)
		if raw != nil || content != nil || cmp.Or(err, err2) != nil {
			t.Errorf("message %d is still there: %q %v %v", gone, raw, err, err2)
		}
	}
}
