package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// silence is how long a stream may say nothing before it counts as broken: three times
	// the server's heartbeat.
	silence = 45 * time.Second
	// firstPause doubles with each vain attempt to come back, up to longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// maxStreamLine bounds one line of a stream, in bytes.
	maxStreamLine = 4 << 20
)

// StreamEvents goes through events as they come, over one connection (server-sent events,
// WHATWG HTML section 9.2). With an empty After it begins now. A connection that breaks is
// made again where it broke, so that no event is missed and none comes twice; q.Wait and
// q.Limit are of no use here. It ends after an error: the end of ctx, a first connection
// that can't be made, or a refusal, such as 401 when the credential ended.
func (c *Client) StreamEvents(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := stream{client: c, query: q, last: q.After, pause: firstPause, patient: silence}
		if err := s.run(ctx, yield); err != errEnough {
			yield(Event{}, err)
		}
	}
}

var (
	// errEnough says that the consumer wants no more.
	errEnough = errors.New("client: enough events")
	// errNoStream says that what answers can't be understood: to ask again is of no use.
	errNoStream = errors.New("client: the answer is no event stream")
	// errHeldBack says that a stream was promised and nothing of it came.
	errHeldBack = errors.New("client: something on the way holds streams back")
)

// stream is one place in the events, and the way back to it.
type stream struct {
	client *Client
	query  EventQuery
	last   string        // the cursor of the last block that came whole
	begun  bool          // a connection was there
	pause  time.Duration // before the next attempt

	patient time.Duration // how long the first connection may take to its first block
	spoke   bool          // a block came
}

// run goes through events until the consumer wants no more, ctx ends or something lasts; its error says which.
func (s *stream) run(ctx context.Context, yield func(Event, error) bool) error {
	for {
		err := s.follow(ctx, yield)
		switch {
		case err == errEnough:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !s.mayReturn(err):
			return err
		}
		s.rest(ctx, err)
	}
}

// mayReturn tells what passes, a break or an overload, from what does not.
func (s *stream) mayReturn(err error) bool {
	status := StatusOf(err)
	return s.begun && !errors.Is(err, errNoStream) && err != errHeldBack && (status == 0 || status == http.StatusTooManyRequests || status >= 500)
}

// rest waits before the next attempt.
func (s *stream) rest(ctx context.Context, err error) {
	pause := s.pause
	var refused *Error
	if errors.As(err, &refused) {
		pause = max(pause, refused.RetryAfter)
	}
	s.pause = min(2*s.pause, longestPause)
	_ = rest(ctx, pause) // the next attempt finds out that ctx ended
}

// follow reads one connection to its end.
func (s *stream) follow(ctx context.Context, yield func(Event, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patient := silence
	if !s.spoke {
		patient = s.patient
	}
	quiet := time.AfterFunc(patient, cancel)
	defer quiet.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if s.last != "" && s.last != Now {
		header.Set("Last-Event-ID", s.last)
	}
	resp, err := open(ctx, s.client, call{method: "GET", path: s.query.path(), header: header})
	if err != nil {
		return s.heldBack(ctx, err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return fmt.Errorf("%w but has the type %q", errNoStream, kind)
	}
	s.begun, s.pause = true, firstPause
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 4<<10), maxStreamLine)
	for b := (block{}); lines.Scan(); {
		quiet.Reset(silence)
		if !b.take(lines.Bytes()) {
			continue
		}
		s.spoke = true
		if err := s.hand(&b, yield); err != nil {
			return err
		}
		b = block{}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: %w", errNoStream, err)
	}
	return s.heldBack(ctx, io.ErrUnexpectedEOF)
}

// heldBack is errHeldBack when the time to the first block is up; or the caller's ctx ended, which run looks at first.
func (s *stream) heldBack(ctx context.Context, err error) error {
	if !s.spoke && ctx.Err() != nil {
		return errHeldBack
	}
	return err
}

// hand gives the event of a whole block to the consumer; the place moves first.
func (s *stream) hand(b *block, yield func(Event, error) bool) error {
	if b.id != "" {
		s.last = b.id
	}
	if b.retry > 0 {
		s.pause = b.retry
	}
	if len(b.data) == 0 {
		return nil
	}
	var e Event
	if err := json.Unmarshal(b.data, &e); err != nil {
		return fmt.Errorf("%w: %w", errNoStream, err)
	}
	e.Cursor = s.last
	if !yield(e, nil) {
		return errEnough
	}
	return nil
}

// block is what a stream says between two empty lines.
type block struct {
	id    string
	data  []byte
	retry time.Duration
}

// take adds a line; true at the end of the block.
func (b *block) take(line []byte) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		b.id = string(value)
	case "data":
		if b.data != nil {
			b.data = append(b.data, '\n')
		}
		b.data = append(b.data, value...)
	case "retry":
		if ms, err := strconv.Atoi(string(value)); err == nil {
			b.retry = min(time.Duration(ms)*time.Millisecond, longestPause)
		}
	}
	return len(line) == 0
}
