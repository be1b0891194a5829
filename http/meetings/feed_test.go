package meetings

import (
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/calendar"
	"inboxd/internal/mail/icalendar"
)

func book(titles ...string) *calendar.Book {
	var b *calendar.Book
	at := time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC)
	for i, title := range titles {
		b = b.With(&calendar.Meeting{ID: int64(i + 1), Event: icalendar.Event{UID: title, Title: title, Start: at, End: at, Status: icalendar.Confirmed}, UpdatedAt: at}, 100)
	}
	return b
}

// TestFeedsAreMadeOnce: a calendar in which only the link's usage changed has the same text. One
// with another meeting, or another name, does not.
func TestFeedsAreMadeOnce(t *testing.T) {
	f, b := NewFeeds(), book("a")
	made := f.Make("a@b.test", "a@b.test", b, time.Now())
	noted := *b
	noted.Feed = &calendar.Feed{Client: "somebody"}
	if f.Cached("a@b.test", "a@b.test", &noted) != made {
		t.Error("it was made again, for nothing")
	}
	if f.Cached("a@b.test", "a@b.test", b.With(&calendar.Meeting{ID: 1, UpdatedAt: time.Now()}, 100)) != nil || f.Cached("a@b.test", "A", b) != nil || f.Cached("b@b.test", "a@b.test", b) != nil {
		t.Error("the text of another calendar")
	}
	if again := NewFeeds().Make("a@b.test", "a@b.test", book("a"), time.Now()); again.ETag != made.ETag || string(again.Text) != string(made.Text) {
		t.Error("another text after a restart")
	}
}

// TestTextsHaveTimesOfTheirOwn: a program that revalidates only by time misses no change.
func TestTextsHaveTimesOfTheirOwn(t *testing.T) {
	f := NewFeeds()
	second := time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC)
	changed := func(title string, after, asked time.Duration) time.Duration {
		b := book(title)
		b.ChangedAt = second.Add(after)
		return f.Make("a", "a", b, second.Add(asked)).Modified.Sub(second)
	}
	for i, c := range []struct{ changed, asked, want time.Duration }{
		{300 * time.Millisecond, 400 * time.Millisecond, 0},
		{500 * time.Millisecond, 600 * time.Millisecond, time.Second},
		{700 * time.Millisecond, 800 * time.Millisecond, time.Second},
		{1300 * time.Millisecond, 1400 * time.Millisecond, 2 * time.Second},
		{5500 * time.Millisecond, 5600 * time.Millisecond, 5 * time.Second},
		{8500 * time.Millisecond, 9 * time.Second, 9 * time.Second},
	} {
		if got := changed("a", c.changed, c.asked); got != c.want {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
	if never := f.Make("b", "b", new(calendar.Book), second); !never.Modified.IsZero() {
		t.Errorf("a calendar that never changed is of %v", never.Modified)
	}
}

func TestSingle(t *testing.T) {
	m := book("a").Meetings[0]
	for conflicts, list := range map[string][]int64{"": nil, `,"conflicts":[]`: {}, `,"conflicts":[7,9]`: {7, 9}} {
		got := string(Single(nil, m, list))
		bare, _ := strings.CutPrefix(got, `{"event":`)
		half := bare[:len(bare)/2]
		if bare != half+","+half[1:] || !strings.HasSuffix(got, `"recurrence":null,"last_message_id":null,"responded_at":null`+conflicts+"}") {
			t.Errorf("%v: %s", list, got)
		}
	}
}
