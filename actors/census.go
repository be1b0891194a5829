package actors

import (
	"time"

	"inboxd/internal/inbox"
)

// census counts the mails of the whole queue by the minute in which they were accepted: at
// most as many minutes as a mail is tried for.
type census map[int64]int

// note takes a move of the index in.
func (c census) note(move inbox.Queued) {
	switch {
	case move.From.IsZero() && !move.To.IsZero():
		c.add(move.Since, 1)
	case !move.From.IsZero() && move.To.IsZero():
		c.add(move.Since, -1)
	}
}

func (c census) add(since time.Time, n int) {
	minute := since.Unix() / 60
	if c[minute] += n; c[minute] == 0 {
		delete(c, minute)
	}
}

// depth returns how many mails there are and how old the oldest is.
func (c census) depth(now time.Time) (mails int, oldest time.Duration) {
	for minute, n := range c {
		mails += n
		oldest = max(oldest, now.Sub(time.Unix(minute*60, 0)))
	}
	return mails, oldest
}

// survey reads the whole index once, before anybody moves anything in it: it counts, and
// takes up what an earlier run was interrupted in, wherever its lease stands.
func (q *mailQueue) survey() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var from inbox.QueueEntry
	for {
		page, more, err := q.sys.store.MailQueue(from, q.bounds.page)
		if err != nil {
			return err
		}
		for _, e := range page {
			if q.census.add(e.Since, 1); e.Leased {
				q.load(e)
			}
		}
		if !more {
			return nil
		}
		from = page[len(page)-1]
	}
}
