package http

import (
	"sync"
	"time"

	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/webhook"
)

const (
	// heartbeat is how often a stream sends a comment, because proxies close silent connections.
	heartbeat = 15 * time.Second
	// streamPage is how many events a stream reads at once. maxStreamWrite limits their size,
	// except for a single larger event. A stream holds nothing else while it writes.
	streamPage     = 50
	maxStreamWrite = smallAnswer
)

// stream sends events as they occur (WHATWG HTML section 9.2, server-sent events). It ends when the
// client disconnects or stops reading, when the credential or the inbox ends, or when the server
// stops. Events that a slow client has not read remain in the journal.
func (e *events) stream(p *waiting, f *follower) {
	s := p.server
	s.streams.Add(1)
	defer s.streams.Add(-1)
	reader := e.port.Listen(f.account, f.address)
	defer reader.Close()
	if p.greet(f) != nil {
		return
	}
	beat := time.Now().Add(heartbeat)
	for !stopped(s.wire.Stopping()) {
		signal := reader.Next()
		progress, err := e.emit(p, f)
		if err != nil {
			return
		}
		if progress {
			if p.now = s.opts.Now(); !p.principal.Valid(p.now) {
				return
			}
			continue
		}
		due, err := p.attend(f, reader, signal, beat)
		if err != nil {
			return
		}
		if due {
			if p.Write([]byte(":\n\n")) != nil {
				return
			}
			beat = time.Now().Add(heartbeat)
		}
	}
}

// greet sends the header. The first block has an id but no event, so that a client that loses the
// connection before the first event resumes at the same position.
func (p *waiting) greet(f *follower) error {
	b := appendCursor([]byte("retry: 1000\nid: "), f.account, f.after)
	return p.Stream("Content-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n", p.now, append(b, "\n\n"...))
}

var streamBuffers = sync.Pool{New: func() any { b := make([]byte, 0, maxStreamWrite*5/4); return &b }}

// emit reads and sends the next events. The id of each is the cursor after it. It reports whether
// there were any.
func (e *events) emit(p *waiting, f *follower) (progress bool, err error) {
	buf := streamBuffers.Get().(*[]byte)
	defer streamBuffers.Put(buf)
	defer p.release() // releases the charge of a large event
	b, more, err := e.gather(p, f, (*buf)[:0])
	if err == nil && len(b) > 0 {
		err = p.Write(b)
	}
	if cap(b) <= 2*maxStreamWrite {
		*buf = b
	}
	return more || len(b) > 0, err
}

// gather appends the next events and advances f. The page that it reads is not retained.
func (e *events) gather(p *waiting, f *follower, b []byte) (_ []byte, more bool, err error) {
	page, err := e.read(p, f, streamPage, maxStreamWrite)
	if page.Gap && f.asked {
		b = append(b, ": older events are no longer kept\n"...)
	}
	for i := range page.Entries {
		b = f.appendEvent(b, &page.Entries[i])
	}
	return b, page.More, err
}

func (f *follower) appendEvent(b []byte, e *changefeed.Entry) []byte {
	b = appendCursor(append(b, "id: "...), f.account, e.Seq)
	b = append(append(b, "\nevent: "...), e.Name...)
	return append(webhook.Append(append(b, "\ndata: "...), &e.Public), "\n\n"...)
}

func stopped(stopping <-chan struct{}) bool {
	select {
	case <-stopping:
		return true
	default:
		return false
	}
}
