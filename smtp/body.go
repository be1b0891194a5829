package smtp

import (
	"bytes"
	"sync"
)

const (
	pooledBody = 64 << 10 // octets; a buffer that grew beyond is handed over, not pooled
	firstBody  = 8 << 10  // octets; what a fresh pooled buffer holds
	maxHint    = 1 << 20  // octets; what a SIZE parameter can make us allocate at once
)

var bodyBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, firstBody)
	return &b
}}

// body is a message on its way in: our trace lines, then what the peer sent, repaired.
type body struct {
	lines   discipline
	buf     []byte
	trace   int   // length of our lines on top of buf
	limit   int64 // octets the peer may send
	dropped int64 // octets read and thrown away since the limit was passed
	whole   bool  // the end was read
}

// buffer returns an empty slice for a message announced as size octets (0: not announced).
func buffer(size int64) []byte {
	if size > pooledBody {
		return make([]byte, 0, min(size, maxHint))
	}
	return (*bodyBuffers.Get().(*[]byte))[:0]
}

// add takes wire bytes up to the end of DATA, if that is among them.
func (b *body) add(src []byte) (n int, end bool) {
	if b.tooLarge() {
		b.buf, n, end = b.lines.append(b.buf[:0], src)
		b.dropped += int64(n)
		return n, end
	}
	b.buf, n, end = b.lines.append(b.buf, src)
	if over := int64(len(b.buf)-b.trace) - b.limit; over > 0 {
		b.free()
		b.dropped = over
	}
	return n, end
}

func (b *body) finish() {
	if b.whole = true; !b.tooLarge() {
		b.buf = b.lines.finish(b.buf)
	}
}

func (b *body) tooLarge() bool { return b.dropped > 0 }

// hopeless reports that more was thrown away than is worth reading for a polite refusal.
func (b *body) hopeless() bool { return b.dropped > b.limit }

// take returns the message, which the caller then owns, and empties b.
func (b *body) take() []byte {
	raw := b.buf
	if cap(raw) <= pooledBody {
		raw = bytes.Clone(raw)
	} else {
		b.buf = nil
	}
	b.free()
	return raw
}

func (b *body) free() {
	if c := cap(b.buf); c > 0 && c <= pooledBody {
		buf := b.buf[:0]
		bodyBuffers.Put(&buf)
	}
	b.buf = nil
}
