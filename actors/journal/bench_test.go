package journal

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// BenchmarkStep moves twenty events of as many inboxes to a journal, as a step does under load.
func BenchmarkStep(b *testing.B) {
	store := persisttest.OpenStore(b)
	j := New(store, noFanOut{}, time.Now, slog.New(slog.DiscardHandler))
	events := make([]inbox.PublicEvent, 20)
	for i := range events {
		events[i] = inbox.PublicEvent{Account: someone, Address: fmt.Sprintf("i%d@inbox.localhost", i), EventName: "message.received", At: time.Now(), From: "a@example.org", Subject: "Your code"}
	}
	for b.Loop() {
		for i := range events {
			events[i].SequenceNumber++
		}
		j.takeEvents(someone, events)
	}
}
