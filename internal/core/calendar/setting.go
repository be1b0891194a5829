package calendar

import (
	"slices"
	"time"
)

// betweenAnswers is how long a copy that only guests' answers made due waits after the last such
// copy of the meeting. It then contains all answers up to that time.
const betweenAnswers = time.Minute

// Sharing returns the calendar with that link; nil: without one. The calendar owns f from now on.
// hidden means that the link was ended and that readers cannot create another.
func (b *Book) Sharing(f *Feed, hidden bool) *Book {
	next := b.copy()
	next.Feed, next.Hidden = f, hidden
	return next
}

// Telling returns the calendar with that setting of the owner's copies.
func (b *Book) Telling(o Owner) *Book {
	next := b.copy()
	next.Owner = o
	return next
}

// Link is the subscription link of the calendar, or nil.
func (b *Book) Link() *Feed {
	if b == nil {
		return nil
	}
	return b.Feed
}

// IsHidden reports whether the link was ended and readers cannot create another.
func (b *Book) IsHidden() bool { return b != nil && b.Hidden }

// Setting is the setting of the owner's copies.
func (b *Book) Setting() Owner {
	if b == nil {
		return Owner{}
	}
	return b.Owner
}

// Wants reports whether the owner is to be notified of changes.
func (o Owner) Wants() bool { return o.Enabled && !o.Blocked }

// IsDue reports whether the owner was not notified of the last change.
func (c Copy) IsDue() bool { return c.Sequence != c.Told }

// OfAnswers reports whether only guests' answers changed the meeting since the owner's last copy.
func (c Copy) OfAnswers() bool { return c.Called <= c.Told }

// from is when a due copy is to be queued. Copies of answers also wait until answersFrom.
func (c Copy) from(now, answersFrom time.Time) time.Time {
	if !c.OfAnswers() {
		return time.Time{}
	}
	if at := c.AnswersAt.Add(betweenAnswers); !c.AnswersAt.After(now) && at.After(answersFrom) { // otherwise the clock was put back
		return at
	}
	return answersFrom
}

// HasDue reports whether the owner is to get a copy of some change, now or later.
func (b *Book) HasDue() bool {
	return b != nil && slices.ContainsFunc(b.Meetings, func(m *Meeting) bool { return m.Copy.IsDue() })
}

// Due is the first meeting whose copy is to be queued now; copies of answers not before
// answersFrom. If none is due, next is when one will be; zero for never.
func (b *Book) Due(now, answersFrom time.Time) (m *Meeting, next time.Time) {
	if b == nil {
		return nil, next
	}
	for _, m := range b.Meetings {
		if !m.Copy.IsDue() {
			continue
		}
		at := m.Copy.from(now, answersFrom)
		if !at.After(now) {
			return m, time.Time{}
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return nil, next
}

// Stale reports whether the calendar changed since it was fetched by that link; false before the
// first fetch.
func (b *Book) Stale(f Feed) bool {
	return b != nil && !f.FetchedAt.IsZero() && b.ChangedAt.After(f.Had)
}
