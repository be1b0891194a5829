package meetings

import (
	"testing"
	"time"

	"inboxd/internal/calendar"
)

// TestPagesAreKept: the same query of the same calendar, and no other.
func TestPagesAreKept(t *testing.T) {
	l, b := NewLists(), book("a", "b")
	q := calendar.Query{Limit: 100}
	l.Keep("a@b.test", &q, b, []byte("page"))
	noted := *b
	noted.Feed = &calendar.Feed{Client: "somebody"}
	if string(l.Kept("a@b.test", &q, &noted)) != "page" {
		t.Error("a calendar that only its link was noted in is another one")
	}
	changed := b.With(&calendar.Meeting{ID: 2, UpdatedAt: time.Now()}, 100)
	for name, other := range map[string][]byte{
		"inbox":     l.Kept("b@b.test", &q, b),
		"change":    l.Kept("a@b.test", &q, changed),
		"removal":   l.Kept("a@b.test", &q, b.Without([]int64{1})),
		"limit":     l.Kept("a@b.test", &calendar.Query{Limit: 10}, b),
		"cursor":    l.Kept("a@b.test", &calendar.Query{Limit: 100, Cursor: "AQ"}, b),
		"cancelled": l.Kept("a@b.test", &calendar.Query{Limit: 100, Cancelled: true}, b),
		"from":      l.Kept("a@b.test", &calendar.Query{Limit: 100, From: time.Now()}, b),
	} {
		if other != nil {
			t.Errorf("another %s has the same page", name)
		}
	}
	for _, window := range []calendar.Query{{Limit: 100, From: time.Now()}, {Limit: 100, To: time.Now()}} {
		if l.Keep("a@b.test", &window, b, []byte("window")); l.Kept("a@b.test", &window, b) != nil || string(l.Kept("a@b.test", &q, b)) != "page" {
			t.Error("a window was kept")
		}
	}
	lost := b.Without([]int64{1, 2})
	lost.Damaged = []int64{1, 2}
	if l.Keep("c@b.test", &q, lost, []byte("page")); l.Kept("c@b.test", &q, new(calendar.Book)) != nil {
		t.Error("a page that names what was lost is that of a calendar that lost nothing")
	}
	l.Keep("a@b.test", &q, changed, make([]byte, 10_000, 20_000))
	if l.Kept("a@b.test", &q, b) != nil || len(l.Kept("a@b.test", &q, changed)) != 10_000 || l.Held() != 20_000 {
		t.Errorf("%d octets are held after the calendar changed", l.Held())
	}
}

func TestPagesEndBehindTheFirstThatIsTooMuch(t *testing.T) {
	all := book("a", "b", "c").Meetings
	for most, want := range map[int]int{1: 0, 2: 1, 200: 1, 1 << 20: 3} {
		if text, n := AppendPage([]byte("["), all, most); n != want || n > 0 && (n < 3) != (len(text) >= most) {
			t.Errorf("%d meetings and %d octets of at most %d", n, len(text), most)
		}
	}
}

// TestSizeOfCoversThePage: a page that outgrows its memory is copied, which costs as much as making it.
func TestSizeOfCoversThePage(t *testing.T) {
	all := book("Quarterly review", "Stand-up", "Lunch").Meetings
	for _, m := range all {
		m.Bytes = int64(len(m.UID) + len(m.Title)) // at the least: a row holds its texts
	}
	page, n := AppendPage(nil, all, 1<<20)
	if size := SizeOf(all); n != len(all) || size < int64(len(page)) || size > 2*int64(len(page)) {
		t.Errorf("%d meetings in %d bytes, reckoned as %d", n, len(page), size)
	}
}
