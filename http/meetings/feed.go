package meetings

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"inboxd/internal/calendar"
)

const (
	// feedsKept bounds the texts of all feeds, in octets; one of more than half of that is made each
	// time it is asked for.
	feedsKept = 32 << 20
	// feedIdle is how long a text is kept that nobody asks for.
	feedIdle = 10 * time.Minute
)

// Feeds keeps the texts of calendars that are followed: each is made once for every change, and
// dropped when nobody has asked for it for a while. Any goroutine may use it.
type Feeds struct {
	mu    sync.Mutex // guards what is below, and used of each text
	texts map[string]*Feed
	bytes int64
	sweep *time.Timer // nil: nothing is kept
}

// NewFeeds returns Feeds that keep nothing.
func NewFeeds() *Feeds { return &Feeds{texts: map[string]*Feed{}} }

// Feed is the text of a calendar. It never changes, but for used.
type Feed struct {
	Text     []byte
	ETag     string    // of the text: the same after a restart
	Modified time.Time // in whole seconds: no other text of the calendar is of that time; zero: it never changed
	meetings []*calendar.Meeting
	name     string
	used     time.Time
}

// Kept returns the text of the calendar of an inbox if it is at hand, else nil. name is what the
// calendar is called. A kept meeting never changes, so a calendar is another one if it holds others.
func (f *Feeds) Kept(address, name string, b *calendar.Book) *Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.texts[address]
	if t == nil || t.name != name || !slices.Equal(t.meetings, b.Meetings) {
		return nil
	}
	t.used = time.Now()
	return t
}

// Make makes the text at now and keeps it.
func (f *Feeds) Make(address, name string, b *calendar.Book, now time.Time) *Feed {
	t := &Feed{Text: calendar.AppendFeed(nil, name, b), meetings: b.Meetings, name: name, used: time.Now()}
	sum := sha256.Sum256(t.Text)
	t.ETag = fmt.Sprintf(`"%x"`, sum[:16])
	f.mu.Lock()
	defer f.mu.Unlock()
	t.date(b.ChangedAt.UTC(), now, f.texts[address])
	f.keep(address, t)
	return t
}

// date gives the text its time: the second of the change while that lasts, if no text before has it. One
// that is made later, or again in that second, is of the next: another change may have come between.
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

// keep is for who holds mu.
func (f *Feeds) keep(address string, t *Feed) {
	f.drop(address)
	if len(t.Text) > feedsKept/2 {
		return
	}
	for f.bytes+int64(len(t.Text)) > feedsKept {
		f.drop(f.idlest())
	}
	f.texts[address] = t
	f.bytes += int64(len(t.Text))
	if f.sweep == nil {
		f.sweep = time.AfterFunc(feedIdle, f.dropIdle)
	}
}

// idlest is whose text was not asked for the longest.
func (f *Feeds) idlest() (address string) {
	for a, t := range f.texts {
		if address == "" || t.used.Before(f.texts[address].used) {
			address = a
		}
	}
	return address
}

func (f *Feeds) drop(address string) {
	if t := f.texts[address]; t != nil {
		f.bytes -= int64(len(t.Text))
		delete(f.texts, address)
	}
}

// dropIdle runs on a timer for as long as something is kept, and comes to its end by itself.
func (f *Feeds) dropIdle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for address, t := range f.texts {
		if time.Since(t.used) >= feedIdle {
			f.drop(address)
		}
	}
	if f.sweep = nil; len(f.texts) > 0 {
		f.sweep = time.AfterFunc(feedIdle, f.dropIdle)
	}
}

// Held is how many octets are kept.
func (f *Feeds) Held() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes
}
