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

// messageBody is a message that is being received: our trace lines, then what the peer sent, with
// repaired line ends. Its session owns it, except for what take lent out.
type messageBody struct {
	dataDecoder   lines.DataDecoder
	buf           []byte
	pooledBuffer  *[]byte // where buf came from; nil if not from the pool
	traceLength   int     // octets of our trace lines at the start of buf
	maxOctets     int64   // octets that the peer may send
	announcedSize int64   // octets that the peer announced; 0 if it did not
	budgetShare   budgetShare
	chargedOctets int64          // octets taken from share
	progress      lines.Progress // how fast the body must arrive, over all chunks
	refusalReply  *smtpReply     // why the rest is read and discarded; nil if it is not
	droppedOctets int64          // octets discarded
	isComplete    bool           // the end was read
}

// appendWire takes bytes as received, up to and including the end of DATA if src contains it.
func (b *messageBody) appendWire(src []byte) (n int, end bool) {
	if b.refusalReply == nil && !b.makeRoom(2*len(src)+len("\r\n")) { // a bare line end doubles
		b.refuseWith(replyOverload)
	}
	if b.refusalReply != nil {
		b.buf, n, end = b.dataDecoder.AppendBody(b.buf[:0], src)
		b.droppedOctets += int64(n)
		return n, end
	}
	b.buf, n, end = b.dataDecoder.AppendBody(b.buf, src)
	if over := int64(len(b.buf)-b.traceLength) - b.maxOctets; over > 0 {
		b.refuseWith(replyTooLarge)
		b.droppedOctets = over
	}
	return n, end
}

func (b *messageBody) refuseWith(r *smtpReply) {
	b.releaseBuffer()
	b.refusalReply = r
}

// makeRoom grows the buffer for n more octets. It returns false if the memory budget is exhausted.
// Growing in a few large steps costs a large message a fifth of its size in garbage; doubling costs
// as much as the message itself.
func (b *messageBody) makeRoom(n int) bool {
	need := int64(len(b.buf) + n)
	if need <= int64(cap(b.buf)) {
		return true
	}
	size := b.nextBufferSize(need)
	charge := int64(0)
	if size > pooledBody {
		charge = size
	}
	if !b.budgetShare.reserveOctets(charge) {
		return false
	}
	b.buf = append(make([]byte, 0, size), b.buf...)
	b.budgetShare.releaseOctets(b.chargedOctets)
	b.chargedOctets = charge
	return true
}

// nextBufferSize returns the size of the next buffer. An announced size counts only after the peer
// has sent a part of it, so that an announcement alone reserves no memory.
func (b *messageBody) nextBufferSize(need int64) int64 {
	whole := b.maxOctets + bodySlack
	if b.announcedSize > 0 {
		whole = min(whole, b.announcedSize+bodySlack)
	}
	for _, size := range [...]int64{firstBody, pooledBody, 256 << 10, 1 << 20} {
		if need <= size {
			return max(need, min(size, whole))
		}
	}
	if b.announcedSize == 0 && need <= 4<<20 {
		return 4 << 20
	}
	return max(need, whole)
}

func (b *messageBody) finishBody() {
	if b.isComplete = true; b.refusalReply == nil {
		b.buf = b.dataDecoder.FinishBody(b.buf)
	}
}

// exceedsDropLimit reports that more was discarded than is worth reading to send a proper refusal.
func (b *messageBody) exceedsDropLimit() bool { return b.droppedOctets > b.maxOctets }

// takeMessage lends the message out. Its memory stays charged until the session ends the transaction,
// after Receive. A buffer that was lent and not given back is never used again.
func (b *messageBody) takeMessage() []byte {
	raw := b.buf
	b.buf = nil
	return raw
}

// giveBack returns the buffer that take lent out. Nothing else may read it any more.
func (b *messageBody) giveBack(raw []byte) { b.buf = raw }

func (b *messageBody) releaseBuffer() {
	if c := cap(b.buf); b.pooledBuffer != nil && c >= firstBody && c <= pooledBody {
		lines.PoisonBuffer(b.buf[:c])
		*b.pooledBuffer = b.buf[:0]
		bodyBuffers.Put(b.pooledBuffer)
	}
	b.buf, b.pooledBuffer = nil, nil
	if b.chargedOctets > 0 {
		b.budgetShare.releaseOctets(b.chargedOctets)
		b.chargedOctets = 0
	}
}
