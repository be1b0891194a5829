package calendar

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

// Due is the first meeting whose owner was not told of its last change; nil: there is none.
func (b *Book) Due() *Meeting {
	if b != nil {
		for _, m := range b.Meetings {
			if m.Copy.IsDue() {
				return m
			}
		}
	}
	return nil
}

// Stale reports that the calendar changed since it was fetched by that link; false before it ever was.
func (b *Book) Stale(f Feed) bool {
	return b != nil && !f.FetchedAt.IsZero() && b.ChangedAt.After(f.Had)
}
