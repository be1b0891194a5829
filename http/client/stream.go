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
	// silence is how long a stream may send nothing before it is considered broken: three times the
	// server's heartbeat.
	silence = 45 * time.Second
	// firstPause doubles with each failed attempt to reconnect, up to longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// maxStreamLine limits one line of a stream, in bytes.
	maxStreamLine = 4 << 20
)

// StreamEvents iterates over events as they happen, over one connection (server-sent events, WHATWG
// HTML section 9.2). With an empty After it begins now. It reconnects after an interruption and
// resumes where it broke, so that no event is missed or repeated. q.Wait and q.Limit are ignored.
// It ends after an error: the end of ctx, a failed first connection, or a refusal, such as 401 for
// an expired credential.
func (c *Client) StreamEvents(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := stream{client: c, query: q, last: q.After, pause: firstPause, patient: silence}
		if err := s.run(ctx, yield); err != errEnough {
			yield(Event{}, err)
		}
	}
}

var (
	// errEnough means that the consumer ended the iteration.
	errEnough = errors.New("client: enough events")
	// errNoStream means that the response is not a valid stream. Reconnecting would not help.
	errNoStream = errors.New("client: the response is not an event stream")
	// errHeldBack means that the stream's first block did not arrive.
	errHeldBack = errors.New("client: no data on the stream, something on the way buffers it")
)

// stream is the state of an event stream across connections.
type stream struct {
	client *Client
	query  EventQuery
	last   string        // cursor of the last complete block
	begun  bool          // a connection was made before
	pause  time.Duration // before the next attempt

	patient time.Duration // how long the first connection may take until its first block
	spoke   bool          // a block has arrived
}

// run delivers events until the consumer ends the iteration, ctx ends, or a permanent error occurs.
// It returns the reason.
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

// mayReturn reports whether err is temporary: a broken connection or an overload.
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
	_ = rest(ctx, pause) // the next attempt notices that ctx has ended
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

// heldBack returns errHeldBack if the time for the first block is over. The caller's ctx may have
// ended instead; run checks that first.
func (s *stream) heldBack(ctx context.Context, err error) error {
	if !s.spoke && ctx.Err() != nil {
		return errHeldBack
	}
	return err
}

// hand passes the event of a complete block to the consumer. It first records the cursor.
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

// block is the part of a stream between two empty lines.
type block struct {
	id    string
	data  []byte
	retry time.Duration
}

// take adds a line. It returns true at the end of the block.
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
