package http

import (
	"sync"
	"time"

	"inboxd/internal/follow"
	"inboxd/internal/webhook"
)

const (
	// heartbeat is how often a stream shows that it lives; proxies close silent ones.
	heartbeat = 15 * time.Second
	// streamPage is how many events a stream reads at once, and maxStreamWrite how many
	// bytes it gathers before it writes: all that it ever holds.
	streamPage     = 100
	maxStreamWrite = 32 << 10
)

// stream sends events as they come (WHATWG HTML section 9.2, server-sent events), until
// the client leaves or stops reading, the credential or the inbox ends, or the server
// stops. What a slow client has not read yet stays in the journal.
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
		page, err := e.read(p, f, streamPage)
		if err != nil || p.emit(f, page) != nil {
			return
		}
		if len(page.Entries) > 0 || page.More {
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

// greet sends the head. The first block holds no event but its id, so that a client that
// loses the connection before the first event comes back to this very place.
func (p *waiting) greet(f *follower) error {
	b := appendCursor([]byte("retry: 1000\nid: "), f.account, f.after)
	return p.Stream("Content-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n", p.now, append(b, "\n\n"...))
}

var streamBuffers = sync.Pool{New: func() any { return new([]byte) }}

// emit sends a page, each event with the cursor behind it as its id.
func (p *waiting) emit(f *follower, page follow.Page) error {
	if len(page.Entries) == 0 {
		return nil
	}
	buf := streamBuffers.Get().(*[]byte)
	defer streamBuffers.Put(buf)
	b := (*buf)[:0]
	if page.Gap && f.asked {
		b = append(b, ": older events are no longer kept\n"...)
	}
	for i := range page.Entries {
		e := &page.Entries[i]
		b = appendCursor(append(b, "id: "...), f.account, e.Seq)
		b = append(append(b, "\nevent: "...), e.Name...)
		b = webhook.Append(append(b, "\ndata: "...), &e.Public)
		if b = append(b, "\n\n"...); len(b) >= maxStreamWrite {
			if err := p.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	if cap(b) <= 2*maxStreamWrite {
		*buf = b
	}
	if len(b) == 0 {
		return nil
	}
	return p.Write(b)
}

func stopped(stopping <-chan struct{}) bool {
	select {
	case <-stopping:
		return true
	default:
		return false
	}
}
