package calendar

import (
	"slices"
	"time"
)

// betweenAnswers is how long a copy that only guests' answers made due waits after the last such
// copy of the meeting. It then contains all answers up to that time.
const betweenAnswers = time.Minute

// WithLink returns the calendar with that link; nil: without one. The calendar owns f from now on.
// hidden means that the link was ended and that readers cannot create another.
func (b *Book) WithLink(f *SubscriptionLink, hidden bool) *Book {
	next := b.mutableCopy()
	next.Feed, next.LinkHidden = f, hidden
	return next
}

// WithCopySetting returns the calendar with that setting of the owner's copies.
func (b *Book) WithCopySetting(o CopySetting) *Book {
	next := b.mutableCopy()
	next.CopySetting = o
	return next
}

// CurrentLink is the subscription link of the calendar, or nil.
func (b *Book) CurrentLink() *SubscriptionLink {
	if b == nil {
		return nil
	}
	return b.Feed
}

// IsHidden reports whether the link was ended and readers cannot create another.
func (b *Book) IsHidden() bool { return b != nil && b.LinkHidden }

// CurrentSetting is the setting of the owner's copies.
func (b *Book) CurrentSetting() CopySetting {
	if b == nil {
		return CopySetting{}
	}
	return b.CopySetting
}

// CopiesWanted reports whether the owner is to be notified of changes.
func (o CopySetting) CopiesWanted() bool { return o.Enabled && !o.Blocked }

// IsDue reports whether the owner was not notified of the last change.
func (c OwnerCopy) IsDue() bool { return c.ChangeCount != c.LastSentChange }

// OfAnswers reports whether only guests' answers changed the meeting since the owner's last copy.
func (c OwnerCopy) OfAnswers() bool { return c.LastClientChange <= c.LastSentChange }

// dueTime is when a due copy is to be queued. Copies of answers also wait until answersFrom.
func (c OwnerCopy) dueTime(now, answersFrom time.Time) time.Time {
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
	return b != nil && slices.ContainsFunc(b.Meetings, func(m *Meeting) bool { return m.OwnerCopy.IsDue() })
}

// DueCopy is the first meeting whose copy is to be queued now; copies of answers not before
// answersFrom. If none is due, next is when one will be; zero for never.
func (b *Book) DueCopy(now, answersFrom time.Time) (m *Meeting, next time.Time) {
	if b == nil {
		return nil, next
	}
	for _, m := range b.Meetings {
		if !m.OwnerCopy.IsDue() {
			continue
		}
		at := m.OwnerCopy.dueTime(now, answersFrom)
		if !at.After(now) {
			return m, time.Time{}
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return nil, next
}

// ChangedSinceFetch reports whether the calendar changed since it was fetched by that link; false
// before the first fetch.
func (b *Book) ChangedSinceFetch(f SubscriptionLink) bool {
	return b != nil && !f.FetchedAt.IsZero() && b.ChangedAt.After(f.LastChangeFetched)
}
