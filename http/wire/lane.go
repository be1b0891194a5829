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

// A lane is the response to the plain polls of one tag of an inbox, user+tag@host. It stands
// beside the inbox's own (ADR 0055) and, by its address, in the same shortcuts.

// maxLaneBytes bounds what all lanes hold together. A poll of a tag without a lane is answered by
// its route, as right and slower.
const maxLaneBytes = 64 << 20

// lane gives back what it holds when it ends.
type lane struct {
	*Response
	held *atomic.Int64 // of all lanes
	once sync.Once
}

// Retire implements inbox.Rendering.
func (l *lane) Retire() {
	l.Response.Retire()
	l.once.Do(func() { l.held.Add(-l.size()) })
}

func (r *Response) size() int64 { return int64(unsafe.Sizeof(*r)) + int64(cap(r.text)) }

// KeepLane lets v carry r for the polls of recipient to come, if r is small and there is room.
func (w *Wire) KeepLane(v *inbox.View, recipient string, r *Response) {
	if len(r.wire()) > maxWireBytes {
		return
	}
	l := &lane{Response: r, held: &w.lanes}
	if l.held.Add(l.size()) > maxLaneBytes || !v.CarryLane(recipient, l) {
		l.Retire()
	}
}

// LaneOf returns the response to polls of recipient that v carries if it is still right at now.
func LaneOf(v *inbox.View, recipient string, now time.Time) *Response {
	if l, _ := v.Lane(recipient).(*lane); l != nil && l.alive(now) {
		return l.Response
	}
	return nil
}

// Inbox is the address of the polled inbox without the tag. It lies in q.Address, or in room.
func (q *Poll) Inbox(room *[address.MaxLength]byte) []byte {
	plus, at := bytes.IndexByte(q.Address, '+'), bytes.IndexByte(q.Address, '@')
	if plus <= 0 || plus > at || len(q.Address) > len(room) {
		return q.Address
	}
	return append(append(room[:0], q.Address[:plus]...), q.Address[at:]...)
}

// responseTo returns the response to q that v carries if it is still right at now.
func responseTo(q Poll, v *inbox.View, now time.Time) *Response {
	if bytes.IndexByte(q.Address, '+') < 0 {
		return ResponseOf(v, now)
	}
	return LaneOf(v, string(q.Address), now)
}
