package actors

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// TestASessionSlidesAcrossACrash checks that a session is extended right after its use, and that it
// still works if a full disk prevents the extension.
func TestASessionSlidesAcrossACrash(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	var passed atomic.Int64
	start := func() *System {
		return startSystem(t, store, func(o *Options) {
			o.Now, o.SweepEvery = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }, time.Hour
		})
	}
	s := start()
	token := []byte(signUp(t, s).Token)
	const month = 30 * 24 * time.Hour
	for use, after := range []time.Duration{month - 2*time.Hour, month - 2*time.Hour, 3 * time.Hour, month - 2*time.Hour} {
		store = store.CrashCopy(t)
		passed.Add(int64(after))
		s = start()
		if _, err := s.Authenticate(t.Context(), token); err != nil {
			t.Fatalf("use %d, %s after the one before: %v", use, after, err)
		}
	}
	store = store.CrashCopy(t)
	passed.Add(int64(month - 2*time.Hour))
	s = start()
	store.BeforeCommit = func(any) error { return fault.New(fault.StorageFull, "full") }
	must[*account.Principal](t)(s.Authenticate(t.Context(), token))
	store.BeforeCommit = nil
	store = store.CrashCopy(t)
	passed.Add(int64(3 * time.Hour))
	s = start()
	if _, err := s.Authenticate(t.Context(), token); err == nil {
		t.Error("it slid on a full disk")
	}
}

// TestASessionSlidesAcrossAStop checks that the last use extends a session even if the node stops
// before its next sweep of cached credentials.
func TestASessionSlidesAcrossAStop(t *testing.T) {
	store := persisttest.OpenStore(t)
	var passed atomic.Int64
	var token []byte
	run := func(after time.Duration) (err error) {
		passed.Add(int64(after))
		s := must[*System](t)(Start(Options{
			Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Logger: slog.New(slog.DiscardHandler),
			Now: func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }, SweepEvery: time.Hour,
		}))
		defer s.Stop()
		if token == nil {
			token = []byte(signUp(t, s).Token)
		}
		_, err = s.Authenticate(t.Context(), token)
		return err
	}
	const month = 30 * 24 * time.Hour
	for use, after := range []time.Duration{0, month - 2*time.Hour, month - 2*time.Hour, 3 * time.Hour, month - 2*time.Hour} {
		if err := run(after); err != nil {
			t.Fatalf("use %d, %s after the one before: %v", use, after, err)
		}
	}
	if err := run(month); err == nil {
		t.Error("thirty days after its last use it opens something")
	}
}
