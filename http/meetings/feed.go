package meetings

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"inboxd/internal/core/calendar"
)

// FeedText is the text of a calendar. It is immutable.
type FeedText struct {
	Text         []byte
	ETag         string    // hash of the text: unchanged after a restart
	ModifiedAt   time.Time // in whole seconds, unique among the texts of the calendar; zero: never changed
	meetings     []*calendar.Meeting
	calendarName string
}

// sameMeetings reports whether two calendars hold the same meetings. Nearly always they share one list.
func sameMeetings(a, b []*calendar.Meeting) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// RenderFeed renders the text at now and caches it.
func (f *FeedCache) RenderFeed(address, name string, b *calendar.Book, now time.Time) *FeedText {
	t := &FeedText{Text: calendar.AppendFeed(nil, name, b), meetings: b.Meetings, calendarName: name}
	sum := sha256.Sum256(t.Text)
	t.ETag = fmt.Sprintf(`"%x"`, sum[:16])
	f.mu.Lock()
	defer f.mu.Unlock()
	var before *FeedText
	if c := f.byBox[address]; c != nil {
		before = c.feed
	}
	t.setModified(b.ChangedAt.UTC(), now, before)
	f.addFeed(address, t)
	return t
}

// setModified sets ModifiedAt: to the second of the change, if that second is not over and no
// previous text has it. Otherwise it sets the next second, because another change may have come in
// between.
func (t *FeedText) setModified(changed, now time.Time, before *FeedText) {
	if changed.IsZero() {
		return
	}
	t.ModifiedAt = changed.Truncate(time.Second)
	over := !now.Before(t.ModifiedAt.Add(time.Second))
	if over || before != nil && !before.ModifiedAt.Before(t.ModifiedAt) {
		t.ModifiedAt = t.ModifiedAt.Add(time.Second)
	}
}

// HasTime reports whether to send ModifiedAt as Last-Modified. A time in the future is not sent.
func (t *FeedText) HasTime(now time.Time) bool {
	return !t.ModifiedAt.IsZero() && !now.Before(t.ModifiedAt)
}
