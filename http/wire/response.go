package wire

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// PollResponse is the finished response to the plain poll of one inbox. All requests share its bytes,
// which never change; its other mutable fields are atomic. With many inboxes every cache line of it
// must come from main memory and its page must be looked up. Therefore the facts and the bytes are
// one piece of memory, in the order in which a poll reads them (ADR 0024).
type PollResponse struct {
	text        []byte // address, header fields, rest of the header, body
	textOffsets textOffsets
	expiresAt   int64                             // Unix nanoseconds when its message expires and the response becomes wrong; 0: never
	lastReader  atomic.Pointer[account.Principal] // the principal that last got access to the inbox, see readerNow
	lastPolled  atomic.Int64                      // Unix second of the last poll that was counted here
	heldIn      atomic.Pointer[responsePlace]     // where the shortcuts hold it, or held it
}

// textOffsets are offsets in text, the length of the entity tag, and the group of the address in the
// remaining byte.
type textOffsets struct {
	addressEnd, fieldsEnd, bodyStart uint16
	etagLength                       uint8
	group                            partition.Group
}

// cacheControl lets clients cache the response and revalidate it with its ETag.
const cacheControl = "private, no-cache"

// NewResponse makes the response to polls of address. It is valid until expires, or as long as its
// view if expires is zero. address and etag must be short: their lengths are stored in few bits.
func NewResponse(address string, body, etag []byte, expires time.Time) *PollResponse {
	fields := fmt.Appendf(nil, "Cache-Control: %s\r\nETag: %s\r\n", cacheControl, etag)
	head := fmt.Appendf(nil, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	r := roomFor(len(address) + len(fields) + len(head) + len(body))
	r.text = append(append(append(append(r.text, address...), fields...), head...), body...)
	r.textOffsets.addressEnd = uint16(len(address))
	r.textOffsets.fieldsEnd = r.textOffsets.addressEnd + uint16(len(fields))
	r.textOffsets.etagLength = uint8(len(etag))
	r.textOffsets.group = partition.Of(address).Group()
	r.textOffsets.bodyStart = r.textOffsets.fieldsEnd + uint16(len(head))
	if !expires.IsZero() {
		r.expiresAt = expires.UnixNano()
	}
	return r
}

// maxKeptBytes bounds the body of a response that a view carries.
const maxKeptBytes = 256 << 10

// ResponseOf returns the response that v carries if it is still valid at now.
func ResponseOf(v *inbox.View, now time.Time) *PollResponse {
	if r, _ := v.Rendering().(*PollResponse); r != nil && r.isAlive(now) {
		return r
	}
	return nil
}

// KeepInView caches r in v for later polls.
func (r *PollResponse) KeepInView(v *inbox.View) {
	if len(r.bodyBytes()) <= maxKeptBytes {
		v.StoreRendering(r)
	}
}

// SendResponse writes the response by fasthttp, with shared bytes, or 304 if the client has it.
func (r *PollResponse) SendResponse(c *fasthttp.RequestCtx) {
	h := &c.Response.Header
	h.SetBytesV("ETag", r.etag())
	h.Set("Cache-Control", cacheControl)
	if MatchesETag(c.Request.Header.PeekCanonical(headerIfNoneMatch), r.etag()) {
		c.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType("application/json")
	c.Response.SetBodyRaw(r.bodyBytes())
}

func (r *PollResponse) pollAddress() []byte { return r.text[:r.textOffsets.addressEnd] }

// wireBytes is the constant part of the response, in one piece that ends with the body.
func (r *PollResponse) wireBytes() []byte { return r.text[r.textOffsets.addressEnd:] }

// headerFields is the part of wire that a 304 also has. Its last field is the ETag.
func (r *PollResponse) headerFields() []byte {
	return r.text[r.textOffsets.addressEnd:r.textOffsets.fieldsEnd]
}

// etag is the entity tag, including its quotes.
func (r *PollResponse) etag() []byte {
	end := r.textOffsets.fieldsEnd - uint16(len("\r\n"))
	return r.text[end-uint16(r.textOffsets.etagLength) : end]
}

func (r *PollResponse) bodyBytes() []byte { return r.text[r.textOffsets.bodyStart:] }

// isAlive reports whether the response has not expired at now.
func (r *PollResponse) isAlive(now time.Time) bool {
	return r.expiresAt == 0 || now.UnixNano() < r.expiresAt
}

// supersededReader is the reader of responses whose view was superseded.
var supersededReader = func() *account.Principal {
	p := new(account.Principal)
	p.Revoke()
	return p
}()

// readerNow returns the reader if it is current at now, else nil. If the view was superseded, it
// always returns nil.
func (r *PollResponse) readerNow(now time.Time) *account.Principal {
	if p := r.lastReader.Load(); p != nil && p.IsCurrent(now) {
		return p
	}
	return nil
}

// setReader notes that p passed every access check for the inbox. It returns false if the view was
// superseded.
func (r *PollResponse) setReader(p *account.Principal) bool {
	for {
		old := r.lastReader.Load()
		if old == supersededReader {
			return false
		}
		if r.lastReader.CompareAndSwap(old, p) {
			return true
		}
	}
}

// countPoll records a poll by its reader p as a use of both, once a second.
func (r *PollResponse) countPoll(p *account.Principal, now time.Time) {
	sec := now.Unix()
	if r.lastPolled.Load() == sec {
		return
	}
	r.lastPolled.Store(sec)
	if p.LastUsedUnix.Load() != sec {
		p.LastUsedUnix.Store(sec)
	}
}

// PolledAt implements inbox.Rendering.
func (r *PollResponse) PolledAt() int64 { return r.lastPolled.Load() }

// Retire implements inbox.Rendering: after it, nobody can get the response from its place.
func (r *PollResponse) Retire() {
	r.lastReader.Store(supersededReader)
	if p := r.heldIn.Load(); p != nil {
		p.heldResponse.CompareAndSwap(r, nil)
	}
}

// responsePlace holds a response for look-ups by address, until its view is superseded. Any
// goroutine may use it.
type responsePlace struct{ heldResponse atomic.Pointer[PollResponse] }

// loadResponse returns the response in the place, or nil.
func (p *responsePlace) loadResponse() *PollResponse { return p.heldResponse.Load() }

// storeResponse stores r in p and replaces what p held. r leaves its previous place.
func (p *responsePlace) storeResponse(r *PollResponse) {
	if before := r.heldIn.Swap(p); before != nil && before != p {
		before.heldResponse.CompareAndSwap(r, nil)
	}
	if old := p.heldResponse.Swap(r); old != nil && old != r {
		old.heldIn.CompareAndSwap(p, nil)
	}
	// A Retire, or a put elsewhere, may have looked at this place before r was stored: check again.
	if r.lastReader.Load() == supersededReader || r.heldIn.Load() != p {
		p.heldResponse.CompareAndSwap(r, nil)
	}
}
