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

// A tag view is the response to the plain polls of one tag of an inbox, user+tag@host. It is stored
// next to the response of the inbox (ADR 0055) and in the same shortcuts, under its own address.

// maxTagViewBytes bounds the memory of all views of tags together. A poll of a tag without one
// takes its ordinary route, which is equally correct and slower.
const maxTagViewBytes = 64 << 20

// tagView returns its memory to the budget when it ends.
type tagView struct {
	*PollResponse
	heldBytes *atomic.Int64 // sum over all views of tags
	once      sync.Once
}

// Retire implements inbox.Rendering.
func (l *tagView) Retire() {
	l.PollResponse.Retire()
	l.once.Do(func() { l.heldBytes.Add(-l.memoryBytes()) })
}

func (r *PollResponse) memoryBytes() int64 { return int64(unsafe.Sizeof(*r)) + int64(cap(r.text)) }

// KeepTagView caches r in v for later polls of recipient, if r is small and the budget has room.
func (w *ConnServer) KeepTagView(v *inbox.View, recipient string, r *PollResponse) {
	if len(r.wireBytes()) > maxWireBytes {
		return
	}
	l := &tagView{PollResponse: r, heldBytes: &w.tagBytes}
	if l.heldBytes.Add(l.memoryBytes()) > maxTagViewBytes || !v.KeepRendering(recipient, l) {
		l.Retire()
	}
}

// TagViewOf returns the response to polls of recipient that v carries if it is still valid at now.
func TagViewOf(v *inbox.View, recipient string, now time.Time) *PollResponse {
	if l, _ := v.RecipientRendering(recipient).(*tagView); l != nil && l.isAlive(now) {
		return l.PollResponse
	}
	return nil
}

// UntaggedAddress returns the address of the polled inbox without the tag. The result aliases
// q.Address or room.
func (q *PollRequest) UntaggedAddress(room *[address.MaxLength]byte) []byte {
	plus, at := bytes.IndexByte(q.InboxAddress, '+'), bytes.IndexByte(q.InboxAddress, '@')
	if plus <= 0 || plus > at || len(q.InboxAddress) > len(room) {
		return q.InboxAddress
	}
	return append(append(room[:0], q.InboxAddress[:plus]...), q.InboxAddress[at:]...)
}

// responseTo returns the response to q that v carries if it is still valid at now.
func responseTo(q PollRequest, v *inbox.View, now time.Time) *PollResponse {
	if bytes.IndexByte(q.InboxAddress, '+') < 0 {
		return ResponseOf(v, now)
	}
	return TagViewOf(v, string(q.InboxAddress), now)
}
