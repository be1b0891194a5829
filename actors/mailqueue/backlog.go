package mailqueue

import (
	"time"

	"inboxd/internal/core/inbox"
)

// minuteBacklog counts a group's queued messages by the minute in which they were accepted. It has at
// most as many entries as the minutes that a message is retried for. The Queue's mu guards it.
type minuteBacklog map[int64]int

// noteMove records a change of the index. It ignores a group that is not counted.
func (b minuteBacklog) noteMove(move inbox.QueueMove) {
	switch {
	case b == nil:
	case move.From.IsZero() && !move.To.IsZero():
		b.addMessages(move.AcceptedAt, 1)
	case !move.From.IsZero() && move.To.IsZero():
		b.addMessages(move.AcceptedAt, -1)
	}
}

func (b minuteBacklog) addMessages(since time.Time, n int) {
	minute := since.Unix() / 60
	if b[minute] += n; b[minute] == 0 {
		delete(b, minute)
	}
}

// countWaiting returns the number of messages and the age of the oldest.
func (b minuteBacklog) countWaiting(now time.Time) (messages int, oldest time.Duration) {
	for minute, n := range b {
		messages += n
		oldest = max(oldest, now.Sub(time.Unix(minute*60, 0)))
	}
	return messages, oldest
}
