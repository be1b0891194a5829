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
		b = b.WithMeeting(&calendar.Meeting{ID: int64(i + 1), Event: icalendar.Event{UID: title, Title: title, Start: at, End: at, Status: icalendar.StatusConfirmed}, UpdatedAt: at}, 100)
	}
	return b
}

// TestFeedsAreMadeOnce: a calendar in which only the link's usage changed has the same text. One
// with another meeting, or another name, does not.
func TestFeedsAreMadeOnce(t *testing.T) {
	f, b := NewFeeds(), book("a")
	made := f.RenderFeed("a@b.test", "a@b.test", b, time.Now())
	noted := *b
	noted.Feed = &calendar.SubscriptionLink{LastClient: "somebody"}
	if f.FindCached("a@b.test", "a@b.test", &noted) != made {
		t.Error("it was made again, for nothing")
	}
	if f.FindCached("a@b.test", "a@b.test", b.WithMeeting(&calendar.Meeting{ID: 1, UpdatedAt: time.Now()}, 100)) != nil || f.FindCached("a@b.test", "A", b) != nil || f.FindCached("b@b.test", "a@b.test", b) != nil {
		t.Error("the text of another calendar")
	}
	if again := NewFeeds().RenderFeed("a@b.test", "a@b.test", book("a"), time.Now()); again.ETag != made.ETag || string(again.Text) != string(made.Text) {
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
		return f.RenderFeed("a", "a", b, second.Add(asked)).ModifiedAt.Sub(second)
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
	if never := f.RenderFeed("b", "b", new(calendar.Book), second); !never.ModifiedAt.IsZero() {
		t.Errorf("a calendar that never changed is of %v", never.ModifiedAt)
	}
}

func TestSingle(t *testing.T) {
	m := book("a").Meetings[0]
	for conflicts, list := range map[string][]int64{"": nil, `,"conflicts":[]`: {}, `,"conflicts":[7,9]`: {7, 9}} {
		got := string(AppendMeeting(nil, m, list))
		bare, _ := strings.CutPrefix(got, `{"event":`)
		half := bare[:len(bare)/2]
		if bare != half+","+half[1:] || !strings.HasSuffix(got, `"recurrence":null,"last_message_id":null,"responded_at":null`+conflicts+"}") {
			t.Errorf("%v: %s", list, got)
		}
	}
}
