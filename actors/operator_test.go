package actors

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// TestARetryIsTried covers a destination that did not respond a moment ago.
func TestARetryIsTried(t *testing.T) {
	store := persisttest.OpenStore(t)
	var mended atomic.Bool
	courier := &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
		if mended.Load() {
			return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250}
		}
		return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Text: "No route to dead.test"}
	}}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	_, address := openAccount(t, s)
	id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@dead.test")))
	sending(t, s, address, id, func(s *inbox.OutgoingDelivery) bool { return s.Status == delivery.StatusRetrying })
	mended.Store(true)
	if err := s.MailQueue.RetryNow(t.Context(), address, id); err != nil {
		t.Fatal(err)
	}
	got := sending(t, s, address, id, func(s *inbox.OutgoingDelivery) bool { return s.AttemptCount == 2 && !s.AttemptLeased })
	if n := len(courier.handed()); n != 2 || !got.Status.IsFinal() {
		t.Errorf("%d connections, %+v", n, got)
	}
}

// TestALogTellsTheWholeStory checks that the log of a message uses fixed verbs. It covers a retry
// period that ends with an ordinary attempt, at a responsive server and at a silent one.
func TestALogTellsTheWholeStory(t *testing.T) {
	for _, mx := range []string{"mx.far.test", ""} {
		synctest.Test(t, func(t *testing.T) {
			store := persisttest.OpenStore(t)
			var log logs
			courier := &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
				return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, MX: mx, Text: "later"}
			}}
			s := startSystem(t, store, func(o *Options) {
				o.Courier, o.Logger = courier, slog.New(slog.NewTextHandler(&log, nil))
				o.RetrySchedule = delivery.RetrySchedule{MaxAge: time.Second}
			})
			_, address := openAccount(t, s)
			id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@far.test")))
			sending(t, s, address, id, final)
			until(func() bool { return strings.HasSuffix(log.verbs(), "failed") })
			if got, want := log.verbs(), "queued attempt failed"; got != want {
				t.Errorf("%q: %s, want %s", mx, got, want)
			}
		})
	}
}

// logs collects the log.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// verbs returns the verbs of the lines that name a message.
func (l *logs) verbs() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var verbs []string
	for line := range strings.Lines(l.text.String()) {
		if _, rest, ok := strings.Cut(line, "msg="); ok && strings.Contains(line, "message_id=") {
			verb, _, _ := strings.Cut(rest, " ")
			verbs = append(verbs, verb)
		}
	}
	return strings.Join(verbs, " ")
}
