package http

import (
	"errors"
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

// errHungUp says that nobody is there to be answered.
var errHungUp = errors.New("http: the client hung up")

// stream sends events as they come (WHATWG HTML section 9.2, server-sent events), until
// the client leaves or stops reading, the credential or the inbox ends, or the server
// stops. What a slow client has not read yet stays in the journal.
func (p *parked) stream(f *follower) {
	defer p.end()
	s := p.server
	s.streams.Add(1)
	defer s.streams.Add(-1)
	reader := s.accounts.Listen(f.account, f.address)
	defer reader.Close()
	p.conn.streaming.Store(true)
	if p.greet(f) != nil {
		return
	}
	beat := time.Now().Add(heartbeat)
	for !s.isStopping() {
		signal := reader.Next()
		page, err := p.read(f, streamPage)
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
			if p.write([]byte(":\n\n")) != nil {
				return
			}
			beat = time.Now().Add(heartbeat)
		}
	}
}

// greet sends the head. The first block holds no event but its id, so that a client that
// loses the connection before the first event comes back to this very place.
func (p *parked) greet(f *follower) error {
	s := p.server
	b := append(make([]byte, 0, 320), "HTTP/1.1 200 OK\r\nDate: "...)
	b = append(b, s.date.at(p.now)...)
	b = append(b, "\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\nConnection: close\r\nX-Request-Id: "...)
	b = append(b, p.id...)
	b = append(b, "\r\n\r\nretry: 1000\nid: "...)
	b = appendCursor(b, f.account, f.after)
	return p.write(append(b, "\n\n"...))
}

// emit sends a page, each event with the cursor behind it as its id.
func (p *parked) emit(f *follower, page follow.Page) error {
	if len(page.Entries) == 0 {
		return nil
	}
	buf := wireBuffers.Get().(*[]byte)
	defer wireBuffers.Put(buf)
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
			if err := p.write(b); err != nil {
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
	return p.write(b)
}

// write gives up on a client that takes nothing for writeWindow.
func (p *parked) write(b []byte) error {
	_, err := p.conn.Write(b)
	return err
}
