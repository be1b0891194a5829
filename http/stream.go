package http

import (
	"sync"
	"time"

	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/webhook"
)

const (
	// heartbeatInterval is how often a stream sends a comment, because proxies close silent
	// connections.
	heartbeatInterval = 15 * time.Second
	// streamPage is how many events a stream reads at once. maxStreamWrite limits their size,
	// except for a single larger event. A stream holds nothing else while it writes.
	streamPage     = 50
	maxStreamWrite = smallAnswer
)

// streamEvents sends events as they occur (WHATWG HTML section 9.2, server-sent events). It ends
// when the client disconnects or stops reading, when the credential or the inbox ends, or when the
// server stops. Events that a slow client has not read remain in the journal.
func (e *eventHandlers) streamEvents(p *parkedRequest, f *journalFollower) {
	s := p.server
	s.openStreams.Add(1)
	defer s.openStreams.Add(-1)
	reader := e.eventReader.AddListener(f.account, f.address)
	defer reader.Close()
	if p.sendStreamHead(f) != nil {
		return
	}
	beat := time.Now().Add(heartbeatInterval)
	for !isStopping(s.wire.Stopping()) {
		signal := reader.NextSignal()
		progress, err := e.emitEvents(p, f)
		if err != nil {
			return
		}
		if progress {
			if p.requestTime = s.opts.Now(); !p.principal.IsValid(p.requestTime) {
				return
			}
			continue
		}
		due, err := p.awaitEvents(f, reader, signal, beat)
		if err != nil {
			return
		}
		if due {
			if p.WriteBody([]byte(":\n\n")) != nil {
				return
			}
			beat = time.Now().Add(heartbeatInterval)
		}
	}
}

// sendStreamHead sends the header. The first block has an id but no event, so that a client that
// loses the connection before the first event resumes at the same position.
func (p *parkedRequest) sendStreamHead(f *journalFollower) error {
	b := appendCursor([]byte("retry: 1000\nid: "), f.account, f.afterNumber)
	return p.BeginStream("Content-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n", p.requestTime, append(b, "\n\n"...))
}

var streamBuffers = sync.Pool{New: func() any { b := make([]byte, 0, maxStreamWrite*5/4); return &b }}

// emitEvents reads and sends the next events. The id of each is the cursor after it. It reports whether
// there were any.
func (e *eventHandlers) emitEvents(p *parkedRequest, f *journalFollower) (progress bool, err error) {
	buf := streamBuffers.Get().(*[]byte)
	defer streamBuffers.Put(buf)
	defer p.releaseTurn() // releases the charge of a large event
	b, more, err := e.gatherEvents(p, f, (*buf)[:0])
	if err == nil && len(b) > 0 {
		err = p.WriteBody(b)
	}
	if cap(b) <= 2*maxStreamWrite {
		*buf = b
	}
	return more || len(b) > 0, err
}

// gatherEvents appends the next events and advances f. The page that it reads is not retained.
func (e *eventHandlers) gatherEvents(p *parkedRequest, f *journalFollower, b []byte) (_ []byte, more bool, err error) {
	page, err := e.readOn(p, f, streamPage, maxStreamWrite)
	if page.HasGap && f.hasStart {
		b = append(b, ": older events are no longer kept\n"...)
	}
	for i := range page.Entries {
		b = f.appendEvent(b, &page.Entries[i])
	}
	return b, page.HasMore, err
}

func (f *journalFollower) appendEvent(b []byte, e *changefeed.JournalEntry) []byte {
	b = appendCursor(append(b, "id: "...), f.account, e.Seq)
	b = append(append(b, "\nevent: "...), e.EventName...)
	return append(webhook.AppendPayload(append(b, "\ndata: "...), &e.PublicEvent), "\n\n"...)
}

func isStopping(stopping <-chan struct{}) bool {
	select {
	case <-stopping:
		return true
	default:
		return false
	}
}
