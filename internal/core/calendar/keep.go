package calendar

import (
	"time"

	"inboxd/internal/mail/icalendar"
)

// keptFor is how long a meeting stays behind the last that is to be said of it.
const keptFor = 30 * day

// Goes says when a meeting goes: 30 days after the last of its occurrences, its cancellation and its last
// change. ever is false while a rule without an end runs. It takes up to 20 ms for a stranger's rule, so it
// is asked when a meeting changes, and the answer kept.
func Goes(m *Meeting) (at time.Time, ever bool) {
	last, ends := m.Last()
	if !ends && m.Status != icalendar.Cancelled {
		return time.Time{}, false
	}
	if !ends || m.UpdatedAt.After(last) {
		last = m.UpdatedAt
	}
	return last.Add(keptFor), true
}
