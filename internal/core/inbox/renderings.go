package inbox

import (
	"slices"
	"sync"
	"time"
)

// MaxRecipientRenderings is how many recipients of one inbox have renderings of their own.
const MaxRecipientRenderings = 1000

// recipientRenderings are renderings of a view for single recipients, user+tag@host: one for each
// that is polled. They pass from view to view, so a message to one tag leaves the others'
// renderings valid. Writing needs the lock of the view that holds them; any goroutine may read.
type recipientRenderings struct {
	byRecipient    sync.Map // string to Rendering
	renderingCount int
}

// RecipientRendering returns the rendering of v for messages to recipient, or nil. It takes no lock.
func (v *View) RecipientRendering(recipient string) Rendering {
	l := v.recipientRenderings.Load()
	if l == nil {
		return nil
	}
	found, _ := l.byRecipient.Load(recipient)
	r, _ := found.(Rendering)
	return r
}

// KeepRendering stores r in v, and in the views after it, until the messages for recipient change.
// r was made from v. False means that r was not stored, because v was superseded or has
// MaxRecipientRenderings.
func (v *View) KeepRendering(recipient string, r Rendering) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.isClosed {
		return false
	}
	l := v.recipientRenderings.Load()
	if l == nil {
		l = new(recipientRenderings)
		v.recipientRenderings.Store(l)
	}
	l.dropRendering(recipient)
	if l.renderingCount == MaxRecipientRenderings {
		return false
	}
	l.byRecipient.Store(recipient, r)
	l.renderingCount++
	return true
}

func (l *recipientRenderings) dropRendering(recipient string) {
	if old, found := l.byRecipient.LoadAndDelete(recipient); found {
		old.(Rendering).Retire()
		l.renderingCount--
	}
}

func (l *recipientRenderings) forEach(fn func(Rendering)) {
	l.byRecipient.Range(func(_, r any) bool {
		fn(r.(Rendering))
		return true
	})
}

// polledAt is the Unix second of the last poll answered by a lane.
func (l *recipientRenderings) polledAt() (last int64) {
	if l != nil {
		l.forEach(func(r Rendering) { last = max(last, r.PolledAt()) })
	}
	return last
}

// passRenderings hands v's lanes over to next (nil for none), except those whose messages differ
// there. The lock of v is held. The lock of the newer view nests in it, never the other way.
func (v *View) passRenderings(next *View) {
	l := v.recipientRenderings.Swap(nil)
	if l == nil {
		return
	}
	if next != nil {
		next.mu.Lock()
		defer next.mu.Unlock()
		if !next.isClosed && next.recipientRenderings.Load() == nil {
			changedRecipients(v.Messages, next.Messages, l.dropRendering)
			next.recipientRenderings.Store(l)
			return
		}
	}
	l.forEach(Rendering.Retire)
}

// changedRecipients calls fn with the recipient of each message that differs between the lists,
// which ascend by id.
func changedRecipients(before, now []*Message, fn func(string)) {
	for len(before) > 0 || len(now) > 0 {
		switch {
		case len(before) > 0 && len(now) > 0 && before[0] == now[0]:
			before, now = before[1:], now[1:]
		case len(now) == 0 || len(before) > 0 && before[0].ID < now[0].ID:
			before[0].eachRecipient(fn)
			before = before[1:]
		default: // the same id follows as before[0], changed
			now[0].eachRecipient(fn)
			now = now[1:]
		}
	}
}

// IsTo reports whether m came to that envelope recipient; empty: any. It is true for a damaged
// message, whose recipient is unknown.
func (m *Message) IsTo(recipient string) bool {
	return recipient == "" || m.IsDamaged || m.EnvelopeTo == recipient || slices.Contains(m.allRecipients(), recipient)
}

func (m *Message) allRecipients() []string {
	if m.NamedRecipients == nil {
		return nil
	}
	return *m.NamedRecipients
}

// EnvelopeRecipients are all recipients of this inbox in the envelope, in its order. A sent message
// has none.
func (m *Message) EnvelopeRecipients() []string {
	switch {
	case m.NamedRecipients != nil:
		return *m.NamedRecipients
	case m.EnvelopeTo == "":
		return nil
	}
	return []string{m.EnvelopeTo}
}

func (m *Message) eachRecipient(fn func(string)) {
	if m.NamedRecipients == nil {
		fn(m.EnvelopeTo)
		return
	}
	for _, recipient := range *m.NamedRecipients {
		fn(recipient)
	}
}

// IsTo is Message.IsTo for the message that the event is about.
func (p *PublicEvent) IsTo(recipient string) bool {
	return p.EnvelopeTo == recipient || slices.Contains(p.NamedRecipients, recipient)
}

// IsSince reports whether m was received at t or later, compared by the displayed milliseconds.
func (m *Message) IsSince(t time.Time) bool { return m.ReceivedAt.UnixMilli() >= t.UnixMilli() }
