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
	// maxSilence is how long a stream may send nothing before it is considered broken: three times the
	// server's heartbeat.
	maxSilence = 45 * time.Second
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
		s := eventStream{apiClient: c, eventQuery: q, lastCursor: q.After, retryDelay: firstPause, connectTimeout: maxSilence}
		if err := s.runStream(ctx, yield); err != errEnough {
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

// eventStream is the state of an event stream across connections.
type eventStream struct {
	apiClient    *Client
	eventQuery   EventQuery
	lastCursor   string        // cursor of the last complete block
	hasConnected bool          // a connection was made before
	retryDelay   time.Duration // before the next attempt

	connectTimeout   time.Duration // how long the first connection may take until its first block
	hasReceivedBlock bool          // a block has arrived
}

// runStream delivers events until the consumer ends the iteration, ctx ends, or a permanent error
// occurs. It returns the reason.
func (s *eventStream) runStream(ctx context.Context, yield func(Event, error) bool) error {
	for {
		err := s.followOnce(ctx, yield)
		switch {
		case err == errEnough:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !s.mayReturn(err):
			return err
		}
		s.waitRetry(ctx, err)
	}
}

// mayReturn reports whether err is temporary: a broken connection or an overload.
func (s *eventStream) mayReturn(err error) bool {
	status := StatusOf(err)
	return s.hasConnected && !errors.Is(err, errNoStream) && err != errHeldBack && (status == 0 || status == http.StatusTooManyRequests || status >= 500)
}

// waitRetry waits before the next attempt.
func (s *eventStream) waitRetry(ctx context.Context, err error) {
	pause := s.retryDelay
	var refused *Error
	if errors.As(err, &refused) {
		pause = max(pause, refused.RetryAfter)
	}
	s.retryDelay = min(2*s.retryDelay, longestPause)
	_ = sleepFor(ctx, pause) // the next attempt notices that ctx has ended
}

// followOnce reads one connection to its end.
func (s *eventStream) followOnce(ctx context.Context, yield func(Event, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patient := maxSilence
	if !s.hasReceivedBlock {
		patient = s.connectTimeout
	}
	quiet := time.AfterFunc(patient, cancel)
	defer quiet.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if s.lastCursor != "" && s.lastCursor != Now {
		header.Set("Last-Event-ID", s.lastCursor)
	}
	resp, err := openCall(ctx, s.apiClient, apiCall{method: "GET", path: s.eventQuery.buildPath(), extraHeader: header})
	if err != nil {
		return s.heldBack(ctx, err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return fmt.Errorf("%w but has the type %q", errNoStream, kind)
	}
	s.hasConnected, s.retryDelay = true, firstPause
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 4<<10), maxStreamLine)
	for b := (eventBlock{}); lines.Scan(); {
		quiet.Reset(maxSilence)
		if !b.takeLine(lines.Bytes()) {
			continue
		}
		s.hasReceivedBlock = true
		if err := s.handEvent(&b, yield); err != nil {
			return err
		}
		b = eventBlock{}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: %w", errNoStream, err)
	}
	return s.heldBack(ctx, io.ErrUnexpectedEOF)
}

// heldBack returns errHeldBack if the time for the first block is over. The caller's ctx may have
// ended instead; run checks that first.
func (s *eventStream) heldBack(ctx context.Context, err error) error {
	if !s.hasReceivedBlock && ctx.Err() != nil {
		return errHeldBack
	}
	return err
}

// handEvent passes the event of a complete block to the consumer. It first records the cursor.
func (s *eventStream) handEvent(b *eventBlock, yield func(Event, error) bool) error {
	if b.id != "" {
		s.lastCursor = b.id
	}
	if b.retryDelay > 0 {
		s.retryDelay = b.retryDelay
	}
	if len(b.eventData) == 0 {
		return nil
	}
	var e Event
	if err := json.Unmarshal(b.eventData, &e); err != nil {
		return fmt.Errorf("%w: %w", errNoStream, err)
	}
	e.Cursor = s.lastCursor
	if !yield(e, nil) {
		return errEnough
	}
	return nil
}

// eventBlock is the part of a stream between two empty lines.
type eventBlock struct {
	id         string
	eventData  []byte
	retryDelay time.Duration
}

// takeLine adds a line. It returns true at the end of the block.
func (b *eventBlock) takeLine(line []byte) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		b.id = string(value)
	case "data":
		if b.eventData != nil {
			b.eventData = append(b.eventData, '\n')
		}
		b.eventData = append(b.eventData, value...)
	case "retry":
		if ms, err := strconv.Atoi(string(value)); err == nil {
			b.retryDelay = min(time.Duration(ms)*time.Millisecond, longestPause)
		}
	}
	return len(line) == 0
}
