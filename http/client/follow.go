package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// firstSilence is how long a stream may take until its first block, which arrives immediately
// unless something buffers streams on the way.
const firstSilence = 10 * time.Second

// Follow iterates over events as they happen: by StreamEvents, or by long polls where streams are
// buffered on the way. It requests the current cursor before the stream begins, so that no event is
// lost if the stream never begins. It continues after an interruption, and ends after a permanent
// error or with ctx. After an interrupted long poll, the events of one response may be repeated.
func (c *Client) Follow(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return followEvents(ctx, c, q, firstSilence)
}

func followEvents(ctx context.Context, c *Client, q EventQuery, patient time.Duration) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if q.After == "" || q.After == Now {
			page, err := c.Events(ctx, EventQuery{Inbox: q.Inbox, To: q.To, After: Now})
			if err != nil {
				yield(Event{}, err)
				return
			}
			q.After = page.Next
		}
		s := eventStream{apiClient: c, eventQuery: q, lastCursor: q.After, retryDelay: firstPause, connectTimeout: patient}
		if err := s.runStream(ctx, yield); noStream(err) {
			q.After = s.lastCursor
			pollOn(ctx, c, q, yield)
		} else if err != errEnough {
			yield(Event{}, err)
		}
	}
}

// noStream reports whether another stream would fail, too, but long polls may work.
func noStream(err error) bool {
	status := StatusOf(err)
	return errors.Is(err, errHeldBack) || errors.Is(err, errNoStream) || status == http.StatusMethodNotAllowed || status == http.StatusNotAcceptable
}

// pollOn continues with long polls. It retries after temporary errors.
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
		if ctx.Err() != nil || !isTemporary(broken) || vain >= maxVainPolls {
			yield(Event{}, orOver(ctx, broken))
			return
		}
		_ = sleepFor(ctx, max(backOff(vain), min(askedPause(broken), longestPause))) // the next poll notices that ctx has ended
	}
}
