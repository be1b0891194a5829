package calendar

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/mail/icalendar"
)

// MeetingQuery selects meetings. Zero times mean no limit.
type MeetingQuery struct {
	From, To         time.Time
	IncludeCancelled bool   // include cancelled ones
	Cursor           string // empty: from the beginning
	Limit            int    // 1 or more
}

// MeetingPage is a part of a list of meetings.
type MeetingPage struct {
	Meetings        []*Meeting
	NextCursor      string // the cursor of the next page; empty: this is the last
	UnexpandedRules int    // rules that were not expanded to their end
}

// ListMeetings returns meetings by start and id. It selects those that overlap [From, To):
// recurring ones by any occurrence, and those whose rule is not expanded by their first. A cursor
// stays valid when meetings are added, removed and moved. The work is limited, see
// icalendar.Search.
func ListMeetings(b *Book, q MeetingQuery) (p MeetingPage, err error) {
	after, err := readCursor(q.Cursor)
	if err != nil {
		return p, err
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.To.After(q.From) {
		return p, fault.InvalidField("to", "must be after 'from'")
	}
	if b == nil {
		return p, nil
	}
	found := b.candidates(&q, after)
	search := searchOf(found, q.From, q.To)
	search.FirstOnly = true
	for _, m := range found {
		if len(p.Meetings) > q.Limit {
			break
		}
		if search.overlapsWindow(m) {
			p.Meetings = append(p.Meetings, m)
		}
	}
	p.UnexpandedRules = search.IncompleteEvents
	if len(p.Meetings) > q.Limit {
		p.Meetings = p.Meetings[:q.Limit:q.Limit]
		p.NextCursor = CursorBehind(p.Meetings[q.Limit-1])
	}
	return p, nil
}

// CursorBehind is the cursor after a meeting, for a page that ends there.
func CursorBehind(m *Meeting) string { return placeOf(m).encodeCursor() }

// candidates are the meetings after a place, in order. Non-recurring ones are included only if they
// are within the window.
func (b *Book) candidates(q *MeetingQuery, after listPosition) (found []*Meeting) {
	once := searchOf(nil, q.From, q.To)
	for _, m := range b.Meetings {
		if m.Status == icalendar.StatusCancelled && !q.IncludeCancelled || placeOf(m).compare(after) <= 0 {
			continue
		}
		if m.Recurrence != nil || once.overlapsWindow(m) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b *Meeting) int { return placeOf(a).compare(placeOf(b)) })
	return found
}

// windowSearch looks for the occurrences of meetings.
type windowSearch struct {
	icalendar.Search
	isUnlimited bool // the window is unlimited
}

func searchOf(list []*Meeting, from, to time.Time) *windowSearch {
	s := windowSearch{isUnlimited: from.IsZero() && to.IsZero()}
	s.From, s.To = from, to
	if to.IsZero() {
		s.To = icalendar.LastEnd
	}
	for _, m := range list {
		if m.Recurrence != nil {
			s.RemainingEvents++
		}
	}
	return &s
}

func (s *windowSearch) overlapsWindow(m *Meeting) bool {
	return s.isUnlimited || len(s.In(&m.Event)) > 0
}

// listPosition is the position of a meeting in the list.
type listPosition struct{ startUnix, id int64 }

// cursorVersion distinguishes a cursor from other text.
const cursorVersion = 1

func placeOf(m *Meeting) listPosition { return listPosition{m.Start.Unix(), m.ID} }

func (p listPosition) compare(q listPosition) int {
	return cmp.Or(cmp.Compare(p.startUnix, q.startUnix), cmp.Compare(p.id, q.id))
}

func (p listPosition) encodeCursor() string {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, uint64(p.startUnix))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, uint64(p.id)))
}

func readCursor(s string) (p listPosition, err error) {
	if s == "" {
		return listPosition{startUnix: -1}, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != 17 || s != base64.RawURLEncoding.EncodeToString(b) || b[0] != cursorVersion { // decoding ignores line breaks
		return p, fault.InvalidField("cursor", "is not a valid cursor of this list. Use 'next_cursor' of the previous page")
	}
	return listPosition{int64(binary.BigEndian.Uint64(b[1:])), int64(binary.BigEndian.Uint64(b[9:]))}, nil
}
