package wire

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"inboxd/internal/base/address"
	"inboxd/internal/core/inbox"
)

// A lane is the response to the plain polls of one tag of an inbox, user+tag@host. It is stored
// next to the response of the inbox (ADR 0055) and in the same shortcuts, under its own address.

// maxLaneBytes bounds the memory of all lanes together. A poll of a tag without a lane takes its
// ordinary route, which is equally correct and slower.
const maxLaneBytes = 64 << 20

// lane returns its memory to the budget when it ends.
type lane struct {
	*Response
	held *atomic.Int64 // sum over all lanes
	once sync.Once
}

// Retire implements inbox.Rendering.
func (l *lane) Retire() {
	l.Response.Retire()
	l.once.Do(func() { l.held.Add(-l.size()) })
}

func (r *Response) size() int64 { return int64(unsafe.Sizeof(*r)) + int64(cap(r.text)) }

// KeepLane caches r in v for later polls of recipient, if r is small and the budget has room.
func (w *Wire) KeepLane(v *inbox.View, recipient string, r *Response) {
	if len(r.wire()) > maxWireBytes {
		return
	}
	l := &lane{Response: r, held: &w.lanes}
	if l.held.Add(l.size()) > maxLaneBytes || !v.CarryLane(recipient, l) {
		l.Retire()
	}
}

// LaneOf returns the response to polls of recipient that v carries if it is still valid at now.
func LaneOf(v *inbox.View, recipient string, now time.Time) *Response {
	if l, _ := v.Lane(recipient).(*lane); l != nil && l.alive(now) {
		return l.Response
	}
	return nil
}

// Inbox returns the address of the polled inbox without the tag. The result aliases q.Address or
// room.
func (q *Poll) Inbox(room *[address.MaxLength]byte) []byte {
	plus, at := bytes.IndexByte(q.Address, '+'), bytes.IndexByte(q.Address, '@')
	if plus <= 0 || plus > at || len(q.Address) > len(room) {
		return q.Address
	}
	return append(append(room[:0], q.Address[:plus]...), q.Address[at:]...)
}

// responseTo returns the response to q that v carries if it is still valid at now.
func responseTo(q Poll, v *inbox.View, now time.Time) *Response {
	if bytes.IndexByte(q.Address, '+') < 0 {
		return ResponseOf(v, now)
	}
	return LaneOf(v, string(q.Address), now)
}
