package actors

import (
	"context"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// TestRefusalsDoTheSameWork checks that each refusal makes one look-up and activates no owner. It
// covers an inbox of another account that is in memory, one that is not, a deleted one and one that
// never existed.
func TestRefusalsDoTheSameWork(t *testing.T) {
	store := persisttest.OpenStore(t)
	makers := startSystem(t, store, nil)
	for _, address := range []string{"cold@inbox.localhost", "deleted@inbox.localhost"} {
		makeInbox(t, makers, address)
	}
	must[inbox.CommandOutcome](t)(makers.Do(context.Background(), "deleted@inbox.localhost", inbox.Delete{}))
	s := startSystem(t, store, nil) // has none of these in memory
	makeInbox(t, s, "warm@inbox.localhost")
	before := s.ReadStats().Inboxes
	me := account.ID{9}
	for _, address := range []string{"warm@inbox.localhost", "cold@inbox.localhost", "deleted@inbox.localhost", "never@inbox.localhost"} {
		lookups := store.AccountLookups()
		if _, err := s.ViewFor(context.Background(), me, address); !fault.Is(err, fault.NoInbox) {
			t.Errorf("%s: %v", address, err)
		}
		if n := store.AccountLookups() - lookups; n != 1 || s.ReadStats().Inboxes != before {
			t.Errorf("%s: %d look-ups, %d inboxes in memory where there were %d", address, n, s.ReadStats().Inboxes, before)
		}
	}
	for _, address := range []string{"warm@inbox.localhost", "cold@inbox.localhost"} {
		if v, err := s.ViewFor(context.Background(), someone, address); err != nil || v.Address != address {
			t.Errorf("its own account: %v, %v", v, err)
		}
	}
}

// TestRefusalsTakeTheSameTime checks that none ends before the common time.
func TestRefusalsTakeTheSameTime(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), nil)
	for _, address := range []string{"lives@inbox.localhost", "deleted@inbox.localhost"} {
		makeInbox(t, s, address)
	}
	must[inbox.CommandOutcome](t)(s.Do(t.Context(), "deleted@inbox.localhost", inbox.Delete{}))
	for _, address := range []string{"lives@inbox.localhost", "deleted@inbox.localhost", "never@inbox.localhost"} {
		for range 20 {
			began := time.Now()
			if _, err := s.ViewFor(t.Context(), account.ID{9}, address); !fault.Is(err, fault.NoInbox) {
				t.Fatal(err)
			}
			if took := time.Since(began); took < refusalTime {
				t.Fatalf("%s was refused after %v", address, took)
			}
		}
	}
}
