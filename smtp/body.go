package smtp

import (
	"sync"

	"inboxd/smtp/lines"
)

const (
	pooledBody = 64 << 10 // octets; a larger buffer is handed over, not pooled
	firstBody  = 8 << 10  // octets; the size of a new pooled buffer
	bodySlack  = 32 << 10 // octets beyond the announced size, for our trace lines and for repaired line ends
)

var bodyBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, firstBody)
	return &b
}}

// body is a message that is being received: our trace lines, then what the peer sent, with repaired
// line ends. Its session owns it, except for what take lent out.
type body struct {
	lines     lines.Discipline
	buf       []byte
	pooled    *[]byte // where buf came from; nil if not from the pool
	trace     int     // octets of our trace lines at the start of buf
	limit     int64   // octets that the peer may send
	announced int64   // octets that the peer announced; 0 if it did not
	share     share
	charged   int64          // octets taken from share
	progress  lines.Progress // how fast the body must arrive, over all chunks
	refusal   *reply         // why the rest is read and discarded; nil if it is not
	dropped   int64          // octets discarded
	whole     bool           // the end was read
}

// add takes bytes as received, up to and including the end of DATA if src contains it.
func (b *body) add(src []byte) (n int, end bool) {
	if b.refusal == nil && !b.makeRoom(2*len(src)+len("\r\n")) { // a bare line end doubles
		b.refuse(replyOverload)
	}
	if b.refusal != nil {
		b.buf, n, end = b.lines.Append(b.buf[:0], src)
		b.dropped += int64(n)
		return n, end
	}
	b.buf, n, end = b.lines.Append(b.buf, src)
	if over := int64(len(b.buf)-b.trace) - b.limit; over > 0 {
		b.refuse(replyTooLarge)
		b.dropped = over
	}
	return n, end
}

func (b *body) refuse(r *reply) {
	b.free()
	b.refusal = r
}

// makeRoom grows the buffer for n more octets. It returns false if the memory budget is exhausted.
// Growing in a few large steps costs a large message a fifth of its size in garbage; doubling costs
// as much as the message itself.
func (b *body) makeRoom(n int) bool {
	need := int64(len(b.buf) + n)
	if need <= int64(cap(b.buf)) {
		return true
	}
	size := b.step(need)
	charge := int64(0)
	if size > pooledBody {
		charge = size
	}
	if !b.share.take(charge) {
		return false
	}
	b.buf = append(make([]byte, 0, size), b.buf...)
	b.share.give(b.charged)
	b.charged = charge
	return true
}

// step returns the size of the next buffer. An announced size counts only after the peer has sent a
// part of it, so that an announcement alone reserves no memory.
func (b *body) step(need int64) int64 {
	whole := b.limit + bodySlack
	if b.announced > 0 {
		whole = min(whole, b.announced+bodySlack)
	}
	for _, size := range [...]int64{firstBody, pooledBody, 256 << 10, 1 << 20} {
		if need <= size {
			return max(need, min(size, whole))
		}
	}
	if b.announced == 0 && need <= 4<<20 {
		return 4 << 20
	}
	return max(need, whole)
}

func (b *body) finish() {
	if b.whole = true; b.refusal == nil {
		b.buf = b.lines.Finish(b.buf)
	}
}

// hopeless reports that more was discarded than is worth reading to send a proper refusal.
func (b *body) hopeless() bool { return b.dropped > b.limit }

// take lends the message out. Its memory stays charged until the session ends the transaction,
// after Receive. A buffer that was lent and not given back is never used again.
func (b *body) take() []byte {
	raw := b.buf
	b.buf = nil
	return raw
}

// giveBack returns the buffer that take lent out. Nothing else may read it any more.
func (b *body) giveBack(raw []byte) { b.buf = raw }

func (b *body) free() {
	if c := cap(b.buf); b.pooled != nil && c >= firstBody && c <= pooledBody {
		lines.Spoil(b.buf[:c])
		*b.pooled = b.buf[:0]
		bodyBuffers.Put(b.pooled)
	}
	b.buf, b.pooled = nil, nil
	if b.charged > 0 {
		b.share.give(b.charged)
		b.charged = 0
	}
}
