package calendar

import (
	"time"

	"inboxd/internal/mail/icalendar"
)

// keptFor is how long a meeting is stored after its end, see RemovalTime.
const keptFor = 30 * day

// RemovalTime returns when a meeting is removed: 30 days after the last of its occurrences, its
// cancellation and its last change. ever is false while a rule without an end applies. It takes up
// to 20 ms for a stranger's rule, so it is called when a meeting changes, and its result is stored.
func RemovalTime(m *Meeting) (at time.Time, ever bool) {
	last, ends := m.LastOccurrenceEnd()
	if !ends && m.Status != icalendar.StatusCancelled {
		return time.Time{}, false
	}
	if !ends || m.UpdatedAt.After(last) {
		last = m.UpdatedAt
	}
	return last.Add(keptFor), true
}
