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
		copies []OwnerCopy
		held   time.Time
		want   int64 // meeting
		next   time.Time
	}{
		{"no meeting", nil, time.Time{}, 0, time.Time{}},
		{"told", []OwnerCopy{{ChangeCount: 2, LastSentChange: 2, LastClientChange: 1, AnswersAt: ago(time.Second)}}, time.Time{}, 0, time.Time{}},
		{"a call", []OwnerCopy{{ChangeCount: 3, LastSentChange: 2, LastClientChange: 3, AnswersAt: ago(time.Second)}}, tomorrow, 1, time.Time{}},
		{"a call, and answers since", []OwnerCopy{{ChangeCount: 9, LastSentChange: 2, LastClientChange: 3, AnswersAt: ago(time.Second)}}, tomorrow, 1, time.Time{}},
		{"the first answer", []OwnerCopy{{ChangeCount: 2, LastSentChange: 1, LastClientChange: 1}}, time.Time{}, 1, time.Time{}},
		{"an answer after 59 seconds", []OwnerCopy{{ChangeCount: 3, LastSentChange: 2, LastClientChange: 1, AnswersAt: ago(59 * time.Second)}}, time.Time{}, 0, now.Add(time.Second)},
		{"an answer after a minute", []OwnerCopy{{ChangeCount: 3, LastSentChange: 2, LastClientChange: 1, AnswersAt: ago(time.Minute)}}, time.Time{}, 1, time.Time{}},
		{"the clock was put back", []OwnerCopy{{ChangeCount: 3, LastSentChange: 2, LastClientChange: 1, AnswersAt: ago(-time.Hour)}}, time.Time{}, 1, time.Time{}},
		{"the day is used up", []OwnerCopy{{ChangeCount: 3, LastSentChange: 2, LastClientChange: 1, AnswersAt: ago(time.Hour)}}, tomorrow, 0, tomorrow},
		{"it was used up", []OwnerCopy{{ChangeCount: 3, LastSentChange: 2, LastClientChange: 1, AnswersAt: ago(time.Hour)}}, ago(time.Second), 1, time.Time{}},
		{"from before calls were marked", []OwnerCopy{{ChangeCount: 3, LastSentChange: 2}}, time.Time{}, 1, time.Time{}},
		{"the earliest", []OwnerCopy{
			{ChangeCount: 3, LastSentChange: 2, AnswersAt: ago(10 * time.Second)}, {ChangeCount: 3, LastSentChange: 2, AnswersAt: ago(40 * time.Second)}, {ChangeCount: 1, LastSentChange: 1},
		}, time.Time{}, 0, now.Add(20 * time.Second)},
		{"another one's call", []OwnerCopy{{ChangeCount: 3, LastSentChange: 2, AnswersAt: ago(time.Second)}, {ChangeCount: 3, LastSentChange: 2, LastClientChange: 3}}, tomorrow, 2, time.Time{}},
	} {
		b := &Book{}
		for i, copied := range c.copies {
			b.Meetings = append(b.Meetings, &Meeting{ID: int64(i + 1), OwnerCopy: copied})
		}
		m, next := b.DueCopy(now, c.held)
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
	if m, next := (*Book)(nil).DueCopy(now, now); m != nil || !next.IsZero() || (*Book)(nil).HasDue() {
		t.Error("something is due without a calendar")
	}
}
