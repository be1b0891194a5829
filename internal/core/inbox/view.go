package inbox

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/core/calendar"
)

// View is an immutable snapshot of a committed state: enough to serve polls and lists without a
// message to the actor. It is published after each commit and read by any goroutine. It may contain
// expired messages: readers filter by their own now.
type View struct {
	Profile
	Messages      []*Message     // ascending by id
	Bytes         int64          // of all messages
	NewestContent *CachedContent // of the newest received message, if it came while the inbox was in memory
	Calendar      *calendar.Book // nil: none

	rendering           atomic.Pointer[Rendering]           // written under mu
	recipientRenderings atomic.Pointer[recipientRenderings] // written under mu; nil: none

	mu               sync.Mutex    // guards what is below
	supersededSignal chan struct{} // created when somebody waits, closed by Supersede
	isClosed         bool
}

// ListPage is a page of an account's inboxes. It never changes.
type ListPage struct {
	Views            []*View  // newest first
	DamagedAddresses []string // addresses on the page that the disk has lost
	NextCursor       string   // cursor after the page; empty at the end
}

// NewView makes a snapshot of s.
func NewView(s *State) *View {
	return &View{Profile: s.Profile, Messages: s.Messages[:len(s.Messages):len(s.Messages)], Bytes: s.Bytes, NewestContent: s.NewestContent, Calendar: s.Calendar}
}

// Rendering is a response that an edge made from a view once, to answer all polls. The view stores
// and retires it, and knows nothing else about it. Any goroutine may call it.
type Rendering interface {
	Retire()         // the view was superseded, or stores another: it may not be used any more
	PolledAt() int64 // Unix second of the last poll that it answered; 0: none
}

// Rendering returns the rendering in v, or nil.
func (v *View) Rendering() Rendering {
	if r := v.rendering.Load(); r != nil {
		return *r
	}
	return nil
}

// StoreRendering stores r in v until v is superseded.
func (v *View) StoreRendering(r Rendering) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if old := v.rendering.Swap(&r); old != nil {
		(*old).Retire()
	}
	if v.isClosed {
		r.Retire()
	}
}

// PolledAt is the Unix second of the last poll that a rendering answered without the view; 0 if
// there was none.
func (v *View) PolledAt() int64 {
	last := v.recipientRenderings.Load().polledAt()
	if r := v.Rendering(); r != nil {
		return max(last, r.PolledAt())
	}
	return last
}

// Message returns one message, nil if it is missing or expired at now.
func (v *View) Message(id int64, now time.Time) *Message {
	s := State{Messages: v.Messages}
	return s.visibleMessage(id, now)
}

// QueuedMessage returns a message whose status is not final, hidden or not, otherwise nil.
func (v *View) QueuedMessage(id int64) *Message {
	return (&State{Messages: v.Messages}).QueuedMessage(id)
}

// CheckRoom is State.CheckRoom.
func (v *View) CheckRoom(size int64, c Capacity, now time.Time) error {
	s := State{Profile: v.Profile, Messages: v.Messages, Bytes: v.Bytes}
	return s.CheckRoom(size, c, now)
}

// IsFull reports whether the smallest message would be refused.
func (v *View) IsFull(c Capacity, now time.Time) bool { return v.CheckRoom(1, c, now) != nil }

// LatestMatching returns the newest message that is visible at now and that match accepts (nil accepts
// all), or nil.
func (v *View) LatestMatching(now time.Time, match func(*Message) bool) *Message {
	for _, m := range slices.Backward(v.Messages) {
		if !m.IsExpired(now) && (match == nil || match(m)) {
			return m
		}
	}
	return nil
}

// CountAfter returns how many messages have ids above after.
func (v *View) CountAfter(after int64) int {
	n, _ := slices.BinarySearchFunc(v.Messages, after+1, func(m *Message, id int64) int { return cmp.Compare(m.ID, id) })
	return len(v.Messages) - n
}

// MessageCounts returns how many messages are visible at now, how many of the received ones are unread,
// and when the newest came (zero: none).
func (v *View) MessageCounts(now time.Time) (messages, unread int, last time.Time) {
	for _, m := range v.Messages {
		if m.IsExpired(now) {
			continue
		}
		messages++
		if m.Direction == In && !m.IsRead {
			unread++
		}
		last = m.ReceivedAt
	}
	return messages, unread, last
}

// SupersededSignal returns a channel that is closed when a newer view is published, or when this one is
// evicted. The waiter then asks for the view again.
func (v *View) SupersededSignal() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.supersededSignal == nil {
		v.supersededSignal = make(chan struct{})
		if v.isClosed {
			close(v.supersededSignal)
		}
	}
	return v.supersededSignal
}

// Supersede is SupersedeBy without a newer view.
func (v *View) Supersede() { v.SupersedeBy(nil) }

// SupersedeBy retires v's renderings, except those that are also valid for next, and wakes all
// waiters on v. The publisher calls it once, after the newer view is visible and before it
// announces the change.
func (v *View) SupersedeBy(next *View) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.isClosed {
		return
	}
	v.isClosed = true
	if r := v.Rendering(); r != nil {
		r.Retire()
	}
	v.passRenderings(next)
	if v.supersededSignal != nil {
		close(v.supersededSignal)
	}
}
