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

// Response is the finished response to the plain poll of one inbox. All requests share its bytes,
// which never change; its other mutable fields are atomic. With many inboxes every cache line of it
// must come from main memory and its page must be looked up. Therefore the facts and the bytes are
// one piece of memory, in the order in which a poll reads them (ADR 0024).
type Response struct {
	text    []byte // address, header fields, rest of the header, body
	cuts    cuts
	expires int64                             // Unix nanoseconds when its message expires and the response becomes wrong; 0: never
	reader  atomic.Pointer[account.Principal] // the principal that last got access to the inbox, see readerNow
	polled  atomic.Int64                      // Unix second of the last poll that was counted here
	place   atomic.Pointer[place]             // where the shortcuts hold it, or held it
}

// cuts are offsets in text, the length of the entity tag, and the group of the address in the
// remaining byte.
type cuts struct {
	address, fields, body uint16
	tag                   uint8
	group                 partition.Group
}

// cacheControl lets clients cache the response and revalidate it with its ETag.
const cacheControl = "private, no-cache"

// NewResponse makes the response to polls of address. It is valid until expires, or as long as its
// view if expires is zero. address and etag must be short: their lengths are stored in few bits.
func NewResponse(address string, body, etag []byte, expires time.Time) *Response {
	fields := fmt.Appendf(nil, "Cache-Control: %s\r\nETag: %s\r\n", cacheControl, etag)
	head := fmt.Appendf(nil, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	r := roomFor(len(address) + len(fields) + len(head) + len(body))
	r.text = append(append(append(append(r.text, address...), fields...), head...), body...)
	r.cuts.address = uint16(len(address))
	r.cuts.fields = r.cuts.address + uint16(len(fields))
	r.cuts.tag = uint8(len(etag))
	r.cuts.group = partition.Of(address).Group()
	r.cuts.body = r.cuts.fields + uint16(len(head))
	if !expires.IsZero() {
		r.expires = expires.UnixNano()
	}
	return r
}

// maxKeptBytes bounds the body of a response that a view carries.
const maxKeptBytes = 256 << 10

// ResponseOf returns the response that v carries if it is still valid at now.
func ResponseOf(v *inbox.View, now time.Time) *Response {
	if r, _ := v.Rendering().(*Response); r != nil && r.alive(now) {
		return r
	}
	return nil
}

// Keep caches r in v for later polls.
func (r *Response) Keep(v *inbox.View) {
	if len(r.body()) <= maxKeptBytes {
		v.Carry(r)
	}
}

// Send writes the response by fasthttp, with shared bytes, or 304 if the client has it.
func (r *Response) Send(c *fasthttp.RequestCtx) {
	h := &c.Response.Header
	h.SetBytesV("ETag", r.etag())
	h.Set("Cache-Control", cacheControl)
	if Matches(c.Request.Header.PeekCanonical(headerIfNoneMatch), r.etag()) {
		c.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType("application/json")
	c.Response.SetBodyRaw(r.body())
}

func (r *Response) address() []byte { return r.text[:r.cuts.address] }

// wire is the constant part of the response, in one piece that ends with the body.
func (r *Response) wire() []byte { return r.text[r.cuts.address:] }

// fields is the part of wire that a 304 also has. Its last field is the ETag.
func (r *Response) fields() []byte { return r.text[r.cuts.address:r.cuts.fields] }

// etag is the entity tag, including its quotes.
func (r *Response) etag() []byte {
	end := r.cuts.fields - uint16(len("\r\n"))
	return r.text[end-uint16(r.cuts.tag) : end]
}

func (r *Response) body() []byte { return r.text[r.cuts.body:] }

// alive reports whether the response has not expired at now.
func (r *Response) alive(now time.Time) bool { return r.expires == 0 || now.UnixNano() < r.expires }

// nobody is the reader of responses whose view was superseded.
var nobody = func() *account.Principal {
	p := new(account.Principal)
	p.Revoke()
	return p
}()

// readerNow returns the reader if it is current at now, else nil. If the view was superseded, it
// always returns nil.
func (r *Response) readerNow(now time.Time) *account.Principal {
	if p := r.reader.Load(); p != nil && p.Current(now) {
		return p
	}
	return nil
}

// allow notes that p passed every access check for the inbox. It returns false if the view was
// superseded.
func (r *Response) allow(p *account.Principal) bool {
	for {
		old := r.reader.Load()
		if old == nobody {
			return false
		}
		if r.reader.CompareAndSwap(old, p) {
			return true
		}
	}
}

// count records a poll by its reader p as a use of both, once a second.
func (r *Response) count(p *account.Principal, now time.Time) {
	sec := now.Unix()
	if r.polled.Load() == sec {
		return
	}
	r.polled.Store(sec)
	if p.Used.Load() != sec {
		p.Used.Store(sec)
	}
}

// PolledAt implements inbox.Rendering.
func (r *Response) PolledAt() int64 { return r.polled.Load() }

// Retire implements inbox.Rendering: after it, nobody can get the response from its place.
func (r *Response) Retire() {
	r.reader.Store(nobody)
	if p := r.place.Load(); p != nil {
		p.held.CompareAndSwap(r, nil)
	}
}

// place holds a response for look-ups by address, until its view is superseded. Any goroutine may
// use it.
type place struct{ held atomic.Pointer[Response] }

// get returns the response in the place, or nil.
func (p *place) get() *Response { return p.held.Load() }

// put stores r in p and replaces what p held. r leaves its previous place.
func (p *place) put(r *Response) {
	if before := r.place.Swap(p); before != nil && before != p {
		before.held.CompareAndSwap(r, nil)
	}
	if old := p.held.Swap(r); old != nil && old != r {
		old.place.CompareAndSwap(p, nil)
	}
	// A Retire, or a put elsewhere, may have looked at this place before r was stored: check again.
	if r.reader.Load() == nobody || r.place.Load() != p {
		p.held.CompareAndSwap(r, nil)
	}
}
