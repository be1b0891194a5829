package smtp

import (
	"sync"

	"inboxd/smtp/lines"
)

const (
	pooledBody = 64 << 10 // octets; a buffer that grew beyond is handed over, not pooled
	firstBody  = 8 << 10  // octets; what a fresh pooled buffer holds
	bodySlack  = 32 << 10 // octets beyond the announced size: our trace lines, repaired line ends
)

var bodyBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, firstBody)
	return &b
}}

// body is a message on its way in: our trace lines, then what the peer sent, repaired. Its
// session owns it, but for what take lent out.
type body struct {
	lines     lines.Discipline
	buf       []byte
	pooled    *[]byte // where buf came from; nil: nowhere
	trace     int     // length of our lines on top of buf
	limit     int64   // octets the peer may send
	announced int64   // octets the peer said it will send; 0: it did not
	share     share
	charged   int64          // octets taken from share
	progress  lines.Progress // how fast it must come, over all chunks
	refusal   *reply         // why the rest is read and thrown away
	dropped   int64          // octets thrown away
	whole     bool           // the end was read
}

// add takes wire bytes up to the end of DATA, if that is among them.
func (b *body) add(src []byte) (n int, end bool) {
	if b.refusal == nil && !b.makeRoom(2*len(src)+len("\r\n")) { // a line end alone doubles
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

// makeRoom grows the buffer for n more octets; false when there is no memory for that.
// Growing in a few wide steps costs a large mail a fifth of its size in garbage, where
// doubling costs as much as the mail again.
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

// step returns the size of the next buffer. What a peer announces counts once it has sent a
// part of it.
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

// hopeless reports that more was thrown away than is worth reading for a polite refusal.
func (b *body) hopeless() bool { return b.dropped > b.limit }

// take lends the message out. Its memory stays charged until the session forgets the
// transaction, after Receive. A buffer that was lent and not given back is never used again.
func (b *body) take() []byte {
	raw := b.buf
	b.buf = nil
	return raw
}

// giveBack says that nobody looks at what take lent out any more.
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
