package calendar

import (
	"testing"
	"time"
)

// TestWhenCopiesAreDue checks that a copy of a client's change is due at once. One of answers is
// due a minute after the last such copy, and not while the day's quota is used up.
func TestWhenCopiesAreDue(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	tomorrow := now.Add(12 * time.Hour)
	for _, c := range []struct {
		name   string
		copies []Copy
		held   time.Time
		want   int64 // meeting
		next   time.Time
	}{
		{"no meeting", nil, time.Time{}, 0, time.Time{}},
		{"told", []Copy{{Sequence: 2, Told: 2, Called: 1, AnswersAt: ago(time.Second)}}, time.Time{}, 0, time.Time{}},
		{"a call", []Copy{{Sequence: 3, Told: 2, Called: 3, AnswersAt: ago(time.Second)}}, tomorrow, 1, time.Time{}},
		{"a call, and answers since", []Copy{{Sequence: 9, Told: 2, Called: 3, AnswersAt: ago(time.Second)}}, tomorrow, 1, time.Time{}},
		{"the first answer", []Copy{{Sequence: 2, Told: 1, Called: 1}}, time.Time{}, 1, time.Time{}},
		{"an answer after 59 seconds", []Copy{{Sequence: 3, Told: 2, Called: 1, AnswersAt: ago(59 * time.Second)}}, time.Time{}, 0, now.Add(time.Second)},
		{"an answer after a minute", []Copy{{Sequence: 3, Told: 2, Called: 1, AnswersAt: ago(time.Minute)}}, time.Time{}, 1, time.Time{}},
		{"the clock was put back", []Copy{{Sequence: 3, Told: 2, Called: 1, AnswersAt: ago(-time.Hour)}}, time.Time{}, 1, time.Time{}},
		{"the day is used up", []Copy{{Sequence: 3, Told: 2, Called: 1, AnswersAt: ago(time.Hour)}}, tomorrow, 0, tomorrow},
		{"it was used up", []Copy{{Sequence: 3, Told: 2, Called: 1, AnswersAt: ago(time.Hour)}}, ago(time.Second), 1, time.Time{}},
		{"from before calls were marked", []Copy{{Sequence: 3, Told: 2}}, time.Time{}, 1, time.Time{}},
		{"the earliest", []Copy{
			{Sequence: 3, Told: 2, AnswersAt: ago(10 * time.Second)}, {Sequence: 3, Told: 2, AnswersAt: ago(40 * time.Second)}, {Sequence: 1, Told: 1},
		}, time.Time{}, 0, now.Add(20 * time.Second)},
		{"another one's call", []Copy{{Sequence: 3, Told: 2, AnswersAt: ago(time.Second)}, {Sequence: 3, Told: 2, Called: 3}}, tomorrow, 2, time.Time{}},
	} {
		b := &Book{}
		for i, copied := range c.copies {
			b.Meetings = append(b.Meetings, &Meeting{ID: int64(i + 1), Copy: copied})
		}
		m, next := b.Due(now, c.held)
		got := int64(0)
		if m != nil {
			got = m.ID
		}
		if got != c.want || !next.Equal(c.next) {
			t.Errorf("%s: meeting %d, else at %v", c.name, got, next)
		}
		if b.HasDue() != (m != nil || !next.IsZero()) {
			t.Errorf("%s: due is %t", c.name, b.HasDue())
		}
	}
	if m, next := (*Book)(nil).Due(now, now); m != nil || !next.IsZero() || (*Book)(nil).HasDue() {
		t.Error("something is due without a calendar")
	}
}
