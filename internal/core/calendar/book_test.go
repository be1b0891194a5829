package calendar

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func at(s string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	panic(s)
}

// TestBookNeverChanges compares a book with a list of its meetings after insertions and removals.
// Each earlier state must stay unchanged.
func TestBookNeverChanges(t *testing.T) {
	m := func(id int64, uid, changed string) *Meeting {
		m := &Meeting{ID: id, UpdatedAt: at(changed)}
		m.UID = uid
		return m
	}
	var none *Book
	one := none.WithMeeting(m(3, "c", "2026-03-01"), 30)
	two := one.WithMeeting(m(1, "a", "2026-02-01"), 10)
	three := two.WithMeeting(m(7, "g", "2026-04-01"), 70)
	changed := three.WithMeeting(m(3, "C", "2026-05-01"), 33)
	fewer := changed.WithoutMeetings([]int64{7, 99, 1})
	for _, c := range []struct {
		name string
		b    *Book
		want string
	}{
		{"none", none, "[] 0 octets, last 0, changed 0001-01-01"},
		{"one", one, "[3c] 30 octets, last 3, changed 2026-03-01"},
		{"two", two, "[1a 3c] 40 octets, last 3, changed 2026-03-01"},
		{"three", three, "[1a 3c 7g] 110 octets, last 7, changed 2026-04-01"},
		{"changed", changed, "[1a 3C 7g] 113 octets, last 7, changed 2026-05-01"},
		{"fewer", fewer, "[3C] 33 octets, last 7, changed 2026-05-01"},
		{"empty", none.WithoutMeetings([]int64{1}), "[] 0 octets, last 0, changed 0001-01-01"},
	} {
		if got := tellBook(c.b); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
		for id := range int64(9) {
			m := c.b.Meeting(id)
			if held := c.b != nil && slices.ContainsFunc(c.b.Meetings, func(m *Meeting) bool { return m.ID == id }); held != (m != nil) {
				t.Errorf("%s: meeting %d is %v", c.name, id, m)
			}
			if m != nil && (m.ID != id || c.b.ByUID(m.UID) != m) {
				t.Errorf("%s: meeting %d is %+v", c.name, id, m)
			}
		}
		if c.b.ByUID("x") != nil {
			t.Errorf("%s has a meeting that nobody put in", c.name)
		}
	}
}

// TestBookKeepsACopy checks that the caller may modify a meeting that it gave to a book.
func TestBookKeepsACopy(t *testing.T) {
	m := &Meeting{ID: 1}
	b := (*Book)(nil).WithMeeting(m, 5)
	m.ID = 9
	if b.Meeting(1) == nil || m.RowBytes != 0 {
		t.Error("the book and its maker share a meeting")
	}
}

func tellBook(b *Book) string {
	if b == nil {
		b = &Book{}
	}
	s := "["
	for i, m := range b.Meetings {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprintf("%d%s", m.ID, m.UID)
	}
	return s + fmt.Sprintf("] %d octets, last %d, changed %s", b.Bytes, b.LastID, b.ChangedAt.Format("2006-01-02"))
}
