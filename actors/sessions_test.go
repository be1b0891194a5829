package actors

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/inbox"
	"inboxd/persist/persisttest"
)

// TestASessionSlidesAcrossAStop: its last use moves its end, though the node stopped before it
// next looked through the credentials in memory.
func TestASessionSlidesAcrossAStop(t *testing.T) {
	store := persisttest.Open(t)
	var passed atomic.Int64
	var token []byte
	run := func(after time.Duration) (err error) {
		passed.Add(int64(after))
		s := must[*System](t)(Start(Options{
			Store: store, Namespaces: inbox.Namespaces{Domain: "inbox.localhost", Plain: true}, Logger: slog.New(slog.DiscardHandler),
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
