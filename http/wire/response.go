package inbox

import (
	"sync/atomic"
	"time"
	"unsafe"

	"inboxd/internal/account"
)

// Rendered is a finished answer to the plain poll of one inbox. All requests share its bytes,
// which never change. In a fleet every cache line of it has to come from afar, and its page
// has to be found, so facts and bytes are one piece of memory, in the order in which a poll
// looks at them (ADR 0024).
type Rendered struct {
	text    []byte // address, fields, rest of the head, body
	cuts    cuts
	expires int64                             // Unix nanoseconds, when its message expires and the answer is wrong; 0: never
	reader  atomic.Pointer[account.Principal] // see Reader
	polled  atomic.Int64                      // Unix second of the last poll that was counted here
	place   atomic.Pointer[Place]             // where it is held, or was
}

// cuts are offsets in text.
type cuts struct{ address, tag, fields, body uint16 }

// Parts are what a Rendered is made of. What goes over the wire is the three strings of
// bytes in this order; who knows the answer already gets Fields alone.
type Parts struct {
	Address   string
	Fields    []byte // header fields that also go with a 304; the last is the ETag's, with its CRLF
	ETag      []byte // as it stands at the end of Fields
	Head      []byte // other fields and the empty line
	Body      []byte
	ExpiresAt time.Time // zero: never
}

// Render puts an answer together. Address, fields and head are at most 64 KiB.
func Render(a Parts) *Rendered {
	r := roomFor(len(a.Address) + len(a.Fields) + len(a.Head) + len(a.Body))
	r.text = append(append(append(append(r.text, a.Address...), a.Fields...), a.Head...), a.Body...)
	r.cuts.address = uint16(len(a.Address))
	r.cuts.fields = r.cuts.address + uint16(len(a.Fields))
	r.cuts.tag = r.cuts.fields - uint16(len(a.ETag)+len("\r\n"))
	r.cuts.body = r.cuts.fields + uint16(len(a.Head))
	if !a.ExpiresAt.IsZero() {
		r.expires = a.ExpiresAt.UnixNano()
	}
	return r
}

// Address is whose answer it is.
func (r *Rendered) Address() []byte { return r.text[:r.cuts.address] }

// Wire is all that is the same each time the answer is sent, in one piece that ends in Body.
func (r *Rendered) Wire() []byte { return r.text[r.cuts.address:] }

// Fields is the part of Wire that also goes with a 304.
func (r *Rendered) Fields() []byte { return r.text[r.cuts.address:r.cuts.fields] }

// ETag is the entity tag, with its quotes.
func (r *Rendered) ETag() []byte { return r.text[r.cuts.tag : r.cuts.fields-uint16(len("\r\n"))] }

// Body is the content.
func (r *Rendered) Body() []byte { return r.text[r.cuts.body:] }

// Alive reports whether the answer is still right at now, as far as time can tell.
func (r *Rendered) Alive(now time.Time) bool { return r.expires == 0 || now.UnixNano() < r.expires }

// nobody is the reader of answers whose view was superseded.
var nobody = func() *account.Principal {
	p := new(account.Principal)
	p.Revoke()
	return p
}()

// room is a Rendered with the memory of its bytes right behind it.
type room[Space any] struct {
	Rendered
	space Space
}

func newRoom[Space any]() *Rendered {
	r := new(room[Space])
	r.text = unsafe.Slice((*byte)(unsafe.Pointer(&r.space)), unsafe.Sizeof(r.space))[:0]
	return &r.Rendered
}

// besides is what a room takes beside its bytes: the Rendered, and a word of the allocator's.
const besides = 72

// rooms fill sizes that the allocator has.
var rooms = []struct {
	bytes int
	make  func() *Rendered
}{
	{512 - besides, newRoom[[512 - besides]byte]}, {1024 - besides, newRoom[[1024 - besides]byte]},
	{1536 - besides, newRoom[[1536 - besides]byte]}, {2048 - besides, newRoom[[2048 - besides]byte]},
	{2688 - besides, newRoom[[2688 - besides]byte]}, {3072 - besides, newRoom[[3072 - besides]byte]},
	{3456 - besides, newRoom[[3456 - besides]byte]}, {4096 - besides, newRoom[[4096 - besides]byte]},
	{4864 - besides, newRoom[[4864 - besides]byte]}, {6144 - besides, newRoom[[6144 - besides]byte]},
	{8192 - besides, newRoom[[8192 - besides]byte]}, {12288 - besides, newRoom[[12288 - besides]byte]},
	{16384 - besides, newRoom[[16384 - besides]byte]}, {24576 - besides, newRoom[[24576 - besides]byte]},
}

// roomFor makes an empty Rendered for so many bytes. What is bigger has them elsewhere.
func roomFor(bytes int) *Rendered {
	for _, size := range rooms {
		if bytes <= size.bytes {
			return size.make()
		}
	}
	return &Rendered{text: make([]byte, 0, bytes)}
}

// Reader is who was found to reach the inbox last, nil when nobody was. Of an answer whose
// view was superseded it is one that is not current and never will be.
func (r *Rendered) Reader() *account.Principal { return r.reader.Load() }

// Allow notes that p reaches the inbox by all rules. False: its view was superseded.
func (r *Rendered) Allow(p *account.Principal) bool {
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

// Count counts a poll of its Reader p as a use of both, once a second.
func (r *Rendered) Count(p *account.Principal, now time.Time) {
	sec := now.Unix()
	if r.polled.Load() == sec {
		return
	}
	r.polled.Store(sec)
	if p.Used.Load() != sec {
		p.Used.Store(sec)
	}
}

// retire ends the answer for good: nobody who finds it at its place may have it any more.
func (r *Rendered) retire() {
	r.reader.Store(nobody)
	if p := r.place.Load(); p != nil {
		p.held.CompareAndSwap(r, nil)
	}
}

// Place holds an answer for those who look by address, until its view is superseded.
type Place struct{ held atomic.Pointer[Rendered] }

// Get returns what the place holds, or nil.
func (p *Place) Get() *Rendered { return p.held.Load() }

// Put lets p hold r, instead of what it held before; r leaves the place that it had.
func (p *Place) Put(r *Rendered) {
	if before := r.place.Swap(p); before != nil && before != p {
		before.held.CompareAndSwap(r, nil)
	}
	if old := p.held.Swap(r); old != nil && old != r {
		old.place.CompareAndSwap(p, nil)
	}
	// What ends the answer, or puts it elsewhere, may have looked here before r came.
	if r.reader.Load() == nobody || r.place.Load() != p {
		p.held.CompareAndSwap(r, nil)
	}
}
