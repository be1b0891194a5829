package meetings

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"inboxd/internal/core/calendar"
)

// Feed is the text of a calendar. It is immutable.
type Feed struct {
	Text     []byte
	ETag     string    // hash of the text: unchanged after a restart
	Modified time.Time // in whole seconds, unique among the texts of the calendar; zero: never changed
	meetings []*calendar.Meeting
	name     string
}

// same reports whether two calendars hold the same meetings. Nearly always they share one list.
func same(a, b []*calendar.Meeting) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// Make renders the text at now and caches it.
func (f *Feeds) Make(address, name string, b *calendar.Book, now time.Time) *Feed {
	t := &Feed{Text: calendar.AppendFeed(nil, name, b), meetings: b.Meetings, name: name}
	sum := sha256.Sum256(t.Text)
	t.ETag = fmt.Sprintf(`"%x"`, sum[:16])
	f.mu.Lock()
	defer f.mu.Unlock()
	var before *Feed
	if c := f.byBox[address]; c != nil {
		before = c.feed
	}
	t.date(b.ChangedAt.UTC(), now, before)
	f.add(address, t)
	return t
}

// date sets Modified: to the second of the change, if that second is not over and no previous text
// has it. Otherwise it sets the next second, because another change may have come in between.
func (t *Feed) date(changed, now time.Time, before *Feed) {
	if changed.IsZero() {
		return
	}
	t.Modified = changed.Truncate(time.Second)
	over := !now.Before(t.Modified.Add(time.Second))
	if over || before != nil && !before.Modified.Before(t.Modified) {
		t.Modified = t.Modified.Add(time.Second)
	}
}

// Dated reports whether to send Modified as Last-Modified. A time in the future is not sent.
func (t *Feed) Dated(now time.Time) bool { return !t.Modified.IsZero() && !now.Before(t.Modified) }
