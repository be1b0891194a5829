package meetings

import (
	"strconv"
	"time"

	"inboxd/internal/calendar"
	"inboxd/internal/webhook"
)

// Lists keeps pages of calendars that are asked for again and again: each is made once for every
// change of its calendar, and dropped when nobody has asked for it for a while. Any goroutine may use it.
type Lists struct{ shelf[*list] }

// NewLists returns Lists that keep nothing.
func NewLists() *Lists { return &Lists{newShelf[*list]()} }

// list is a page as it is sent. It never changes.
type list struct {
	text     []byte
	meetings []*calendar.Meeting // of the whole calendar
}

// Kept returns the page that was kept for that query of that calendar, nil if there is none. A kept
// meeting never changes, so a calendar is another one if it holds others.
func (l *Lists) Kept(address string, q *calendar.Query, b *calendar.Book) []byte {
	if !repeats(q) {
		return nil
	}
	if p := l.of(keyOf(address, q), func(p *list) bool { return same(p.meetings, b.Meetings) }); p != nil {
		return p.text
	}
	return nil
}

// Keep keeps the page for that query of that calendar, unless that is damaged: meetings that were lost are
// not among those that it is known by.
func (l *Lists) Keep(address string, q *calendar.Query, b *calendar.Book, text []byte) {
	if !repeats(q) || len(b.Damaged) > 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(keyOf(address, q), &list{text, b.Meetings}, int64(cap(text)))
}

// repeats reports whether a query is likely to come again. One with a window moves along with the clock
// of whoever asks, and its page would only take the room of others.
func repeats(q *calendar.Query) bool { return q.From.IsZero() && q.To.IsZero() }

func keyOf(address string, q *calendar.Query) string {
	b := append(make([]byte, 0, len(address)+len(q.Cursor)+16), address...)
	b = strconv.AppendBool(append(b, '\n'), q.Cancelled)
	b = strconv.AppendInt(append(b, '\n'), int64(q.Limit), 10)
	return string(append(append(b, '\n'), q.Cursor...))
}

// AppendPage appends the meetings of a page, with commas between. It ends behind the first with which b is
// longer than most octets, and returns how many it appended.
func AppendPage(b []byte, all []*calendar.Meeting, most int) ([]byte, int) {
	for i, m := range all {
		if len(b) >= most {
			return b, i
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = webhook.AppendMeeting(b, m)
	}
	return b, len(all)
}

// SizeOf is about how long the meetings of a page become, in bytes: what their rows hold, and the names of
// the members.
func SizeOf(all []*calendar.Meeting) (size int64) {
	for _, m := range all {
		size += m.Bytes + bareMeeting
	}
	return size
}

// bareMeeting is how long a meeting with times and without any text is, in bytes.
var bareMeeting = func() int64 {
	at := time.Unix(0, 0)
	m := &calendar.Meeting{CreatedAt: at, UpdatedAt: at}
	m.Start, m.End = at, at
	return int64(len(webhook.AppendMeeting(nil, m)))
}()
