package calendar

import (
	"cmp"
	"slices"
)

// Meeting returns the meeting of that id; nil when there is none.
func (b *Book) Meeting(id int64) *Meeting {
	if i, ok := b.find(id); ok {
		return b.Meetings[i]
	}
	return nil
}

// find is where the meeting of that id is, or would be.
func (b *Book) find(id int64) (int, bool) {
	if b == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(b.Meetings, id, func(m *Meeting, id int64) int { return cmp.Compare(m.ID, id) })
}

// ByUID returns the meeting of that UID, which is compared octet by octet; nil when there is none.
func (b *Book) ByUID(uid string) *Meeting {
	if b == nil {
		return nil
	}
	for _, m := range b.Meetings {
		if m.UID == uid {
			return m
		}
	}
	return nil
}

// With returns the calendar with that meeting, in the place of the one with its id if there is one.
// bytes is the size of its row on disk. m belongs to the caller still: a copy is kept.
func (b *Book) With(m *Meeting, bytes int64) *Book {
	kept := *m
	kept.Bytes = bytes
	next := b.copy()
	i, known := b.find(m.ID)
	if known {
		next.Bytes -= next.Meetings[i].Bytes
		next.Meetings[i] = &kept
	} else {
		next.Meetings = slices.Insert(next.Meetings, i, &kept)
	}
	next.Bytes += bytes
	next.LastID = max(next.LastID, m.ID)
	if m.UpdatedAt.After(next.ChangedAt) {
		next.ChangedAt = m.UpdatedAt
	}
	return next
}

// Without returns the calendar without the meetings of those ids, which are not given again.
func (b *Book) Without(ids []int64) *Book {
	next := b.copy()
	next.Meetings = slices.DeleteFunc(next.Meetings, func(m *Meeting) bool {
		gone := slices.Contains(ids, m.ID)
		if gone {
			next.Bytes -= m.Bytes
		}
		return gone
	})
	return next
}

// copy is a calendar that may be changed until it is shown.
func (b *Book) copy() *Book {
	if b == nil {
		return &Book{}
	}
	next := *b
	next.Meetings = append(make([]*Meeting, 0, len(b.Meetings)+1), b.Meetings...)
	return &next
}
