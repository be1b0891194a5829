package inbox_test

import (
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

// TestDamagedMessage checks that a damaged message can be deleted, expires and counts as the
// newest. A read mark is refused, because it would overwrite the row with unknown content.
func TestDamagedMessage(t *testing.T) {
	s := holding(3, 10, 0)
	s.Messages[2] = &inbox.Message{ID: 3, IsDamaged: true, ReceivedAt: start, ExpiresAt: start.Add(2 * time.Hour)}
	if m := inbox.NewView(s).LatestMatching(start, nil); m == nil || m.ID != 3 {
		t.Errorf("the newest is %+v", m)
	}
	if _, _, err := inbox.Decide(s, inbox.MarkRead{ID: 3, Read: true}, inbox.Env{Now: start}); !fault.Is(err, fault.DataDamaged) {
		t.Errorf("marking it: %v", err)
	}
	for _, cmd := range []inbox.Command{inbox.DeleteMessage{ID: 3}, inbox.Burn{}} {
		if evs, _, err := inbox.Decide(s, cmd, inbox.Env{Now: start}); len(evs) != 1 || err != nil {
			t.Errorf("%T: %v, %v", cmd, evs, err)
		}
	}
}

// TestDueEntryOfALostTimeMoves checks that an inbox due for a message whose own time is lost is not
// examined again and again.
func TestDueEntryOfALostTimeMoves(t *testing.T) {
	s := holding(2, 10, 0)
	s.DueAt = start.Add(-time.Minute)
	evs, answer, err := inbox.Decide(s, inbox.RemoveExpired{}, inbox.Env{Now: start})
	if err != nil || answer.Count != 0 {
		t.Fatalf("%+v, %v", answer, err)
	}
	rows := change(s, evs)
	if want := s.Messages[0].ExpiresAt; !rows.DueTo.Equal(want) || len(rows.DropMessages) != 0 {
		t.Errorf("due at %v, want %v; %d dropped", rows.DueTo, want, len(rows.DropMessages))
	}
	if evs, _, _ := inbox.Decide(s, inbox.RemoveExpired{}, inbox.Env{Now: start}); evs != nil {
		t.Errorf("again: %v", evs)
	}
}
