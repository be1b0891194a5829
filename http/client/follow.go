package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// firstSilence is how long a stream may take to send its first block. The server sends it
// immediately, so a longer silence means that a proxy buffers the stream.
const firstSilence = 10 * time.Second

// Follow iterates over events as they occur: by StreamEvents, or by long polls if streams do not
// get through. It reads the current cursor before the stream begins, so that no event is lost if
// the stream never starts. It reconnects after a broken connection. It stops after a permanent
// error, or with ctx. After an interrupted long poll, the events of one response may be repeated.
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

// noStream reports whether another stream would fail too, while long polls may work.
func noStream(err error) bool {
	status := StatusOf(err)
	return errors.Is(err, errHeldBack) || errors.Is(err, errNoStream) || status == http.StatusMethodNotAllowed || status == http.StatusNotAcceptable
}

// pollOn continues by long polls and survives temporary errors.
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
		_ = rest(ctx, max(backOff(vain), min(askedPause(broken), longestPause))) // the next poll notices if ctx ended
	}
}
