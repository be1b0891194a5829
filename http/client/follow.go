package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// firstSilence is how long a stream may take to its first block, which comes at once unless something on
// the way holds streams back.
const firstSilence = 10 * time.Second

// Follow goes through events as they come: by StreamEvents, and by long polls where streams do not come
// through. Where "now" is it asks before the stream begins, so that one that never does loses nothing. It
// comes back after a break, and ends after an error that lasts, or with ctx. After a break in a long poll
// the events of one answer may come again.
func (c *Client) Follow(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return follow(ctx, c, q, firstSilence)
}

func follow(ctx context.Context, c *Client, q EventQuery, patient time.Duration) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if q.After == "" || q.After == Now {
			page, err := c.Events(ctx, EventQuery{Inbox: q.Inbox, To: q.To, After: Now})
			if err != nil {
				yield(Event{}, err)
				return
			}
			q.After = page.Next
		}
		s := stream{client: c, query: q, last: q.After, pause: firstPause, patient: patient}
		if err := s.run(ctx, yield); noStream(err) {
			q.After = s.last
			pollOn(ctx, c, q, yield)
		} else if err != errEnough {
			yield(Event{}, err)
		}
	}
}

// noStream reports that another stream is of no use, but long polls may be.
func noStream(err error) bool {
	status := StatusOf(err)
	return errors.Is(err, errHeldBack) || errors.Is(err, errNoStream) || status == http.StatusMethodNotAllowed || status == http.StatusNotAcceptable
}

// pollOn goes on by long polls, past what is over soon.
func pollOn(ctx context.Context, c *Client, q EventQuery, yield func(Event, error) bool) {
	for vain := 0; ; vain++ {
		var broken error
		for e, err := range c.PollEvents(ctx, q) {
			if err != nil {
				broken = err
				break
			}
			if vain, q.After = 0, e.Cursor; !yield(e, nil) {
				return
			}
		}
		if ctx.Err() != nil || !passes(broken) || vain >= patience {
			yield(Event{}, orOver(ctx, broken))
			return
		}
		_ = rest(ctx, max(backOff(vain), min(askedPause(broken), longestPause))) // the next poll finds out that ctx ended
	}
}
