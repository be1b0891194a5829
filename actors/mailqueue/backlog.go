package mailqueue

import (
	"time"

	"inboxd/internal/core/inbox"
)

// backlog counts the mails that a group has in the queue by the minute in which they were accepted: at
// most as many minutes as a mail is tried for. The Queue's mu guards it.
type backlog map[int64]int

// note takes a move of the index in; one of a group that is not counted yet, or any more, is not.
func (b backlog) note(move inbox.Queued) {
	switch {
	case b == nil:
	case move.From.IsZero() && !move.To.IsZero():
		b.add(move.Since, 1)
	case !move.From.IsZero() && move.To.IsZero():
		b.add(move.Since, -1)
	}
}

func (b backlog) add(since time.Time, n int) {
	minute := since.Unix() / 60
	if b[minute] += n; b[minute] == 0 {
		delete(b, minute)
	}
}

// depth returns how many mails there are and how old the oldest is.
func (b backlog) depth(now time.Time) (mails int, oldest time.Duration) {
	for minute, n := range b {
		mails += n
		oldest = max(oldest, now.Sub(time.Unix(minute*60, 0)))
	}
	return mails, oldest
}
