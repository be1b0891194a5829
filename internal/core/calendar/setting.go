package calendar

import (
	"slices"
	"time"
)

// betweenAnswers is how long a copy that guests' answers alone make due waits after the last such copy of
// the meeting. What is answered meanwhile is in it.
const betweenAnswers = time.Minute

// Sharing returns the calendar under that link; nil: under none. f belongs to the calendar from now on. hidden says that
// somebody ended the link and that there is to be none.
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

// Link is the link under which the calendar can be subscribed to; nil: there is none.
func (b *Book) Link() *Feed {
	if b == nil {
		return nil
	}
	return b.Feed
}

// IsHidden reports that the link was ended and that readers are to make no other.
func (b *Book) IsHidden() bool { return b != nil && b.Hidden }

// Setting is the setting of the owner's copies.
func (b *Book) Setting() Owner {
	if b == nil {
		return Owner{}
	}
	return b.Owner
}

// Wants reports that the owner is to be told of a change.
func (o Owner) Wants() bool { return o.Enabled && !o.Blocked }

// IsDue reports that the owner was not told of the last change.
func (c Copy) IsDue() bool { return c.Sequence != c.Told }

// OfAnswers reports that nothing but guests' answers changed the meeting since the owner's last copy.
func (c Copy) OfAnswers() bool { return c.Called <= c.Told }

// from is when a copy that is due is to be queued. Copies of answers wait until answersFrom, too.
func (c Copy) from(now, answersFrom time.Time) time.Time {
	if !c.OfAnswers() {
		return time.Time{}
	}
	if at := c.AnswersAt.Add(betweenAnswers); !c.AnswersAt.After(now) && at.After(answersFrom) { // else the clock was put back
		return at
	}
	return answersFrom
}

// HasDue reports a change of which the owner is to get a copy, now or later.
func (b *Book) HasDue() bool {
	return b != nil && slices.ContainsFunc(b.Meetings, func(m *Meeting) bool { return m.Copy.IsDue() })
}

// Due is the first meeting whose copy is to be queued now, those of answers not before answersFrom. Where there
// is none it says when there will be one; zero for never.
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

// Stale reports that the calendar changed since it was fetched by that link; false before it ever was.
func (b *Book) Stale(f Feed) bool {
	return b != nil && !f.FetchedAt.IsZero() && b.ChangedAt.After(f.Had)
}
