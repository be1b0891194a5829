package calendar

import (
	"cmp"
	"fmt"
	"slices"

	"inboxd/internal/base/fault"
)

// Meeting returns the meeting with the id, or nil.
func (b *Book) Meeting(id int64) *Meeting {
	if i, ok := b.indexOf(id); ok {
		return b.Meetings[i]
	}
	return nil
}

// FindFor is Meeting for the inbox with that address. The fault says that it is missing, or that it
// was lost.
func (b *Book) FindFor(id int64, address string) (*Meeting, error) {
	switch m := b.Meeting(id); {
	case m != nil:
		return m, nil
	case b != nil && slices.Contains(b.DamagedIDs, id):
		return nil, fault.New(fault.DataDamaged, fmt.Sprintf("Meeting %d in inbox %s is damaged on the disk of this service and cannot be read", id, address))
	}
	return nil, fault.New(fault.NotFound, fmt.Sprintf("Meeting %d not found in inbox %s", id, address))
}

// indexOf returns the index of the meeting with the id, or where it would be inserted.
func (b *Book) indexOf(id int64) (int, bool) {
	if b == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(b.Meetings, id, func(m *Meeting, id int64) int { return cmp.Compare(m.ID, id) })
}

// ByUID returns the meeting with the UID, compared byte by byte, or nil.
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

// HasRules reports whether recurrence rules must be expanded to find the calendar's times. A
// stranger's rule of one line can take 20 ms, whatever the size of the calendar.
func (b *Book) HasRules() bool {
	return b != nil && slices.ContainsFunc(b.Meetings, func(m *Meeting) bool { return m.Recurrence != nil })
}

// WithMeeting returns the calendar with that meeting, which replaces the one with its id if there
// is one. bytes is the size of its row on disk. The caller keeps m: a copy is stored.
func (b *Book) WithMeeting(m *Meeting, bytes int64) *Book {
	kept := *m
	kept.RowBytes, kept.quotaSender = bytes, senderOf(m)
	next := b.mutableCopy()
	i, known := b.indexOf(m.ID)
	if known {
		next.Bytes -= next.Meetings[i].RowBytes
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

// RestoreMeeting appends a meeting that was read from the disk, where its row has the given size. b
// must not be published yet.
func (b *Book) RestoreMeeting(m *Meeting, bytes int64) {
	m.RowBytes, m.quotaSender = bytes, senderOf(m)
	b.Meetings = append(b.Meetings, m)
	b.Bytes += bytes
}

// WithoutMeetings returns the calendar without the meetings of those ids. The ids are not reused.
func (b *Book) WithoutMeetings(ids []int64) *Book {
	next := b.mutableCopy()
	next.Meetings = slices.DeleteFunc(next.Meetings, func(m *Meeting) bool {
		gone := slices.Contains(ids, m.ID)
		if gone {
			next.Bytes -= m.RowBytes
		}
		return gone
	})
	return next
}

// mutableCopy returns a calendar that may be modified until it is published.
func (b *Book) mutableCopy() *Book {
	if b == nil {
		return &Book{}
	}
	next := *b
	next.Meetings = append(make([]*Meeting, 0, len(b.Meetings)+1), b.Meetings...)
	return &next
}
