package meetings

import (
	"sync"
	"time"

	"inboxd/internal/core/calendar"
)

const (
	// cacheSize bounds the cached texts, in bytes. A text larger than half of it is not cached.
	cacheSize = 32 << 20
	// leastCharge is the minimum size that a text counts as. It bounds the number of entries that a
	// search for the least recently used one visits.
	leastCharge = 4 << 10
	// cacheIdle is how long a text stays cached after its last request.
	cacheIdle = 10 * time.Minute
)

// Feeds caches the texts of subscribed calendars, by inbox address. Each text is rendered once per
// change, and evicted when it has not been requested for cacheIdle. Any goroutine may use it.
type Feeds struct {
	mu    sync.Mutex // guards what is below
	byBox map[string]*cachedFeed
	bytes int64
	sweep *time.Timer // nil: nothing is cached
}

type cachedFeed struct {
	feed  *Feed
	bytes int64
	used  time.Time
}

// NewFeeds returns an empty cache.
func NewFeeds() *Feeds { return &Feeds{byBox: map[string]*cachedFeed{}} }

// Cached returns the cached text of the calendar of an inbox if it is still valid, else nil. name
// is the title of the calendar. A stored meeting never changes, so a changed calendar has a
// different list of meetings.
func (f *Feeds) Cached(address, name string, b *calendar.Book) *Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.byBox[address]
	if c == nil || c.feed.name != name || !same(c.feed.meetings, b.Meetings) {
		return nil
	}
	c.used = time.Now()
	return c.feed
}

// add caches t and replaces the previous text. The caller holds mu.
func (f *Feeds) add(address string, t *Feed) {
	f.evict(address)
	bytes := max(int64(len(t.Text)), leastCharge)
	if bytes > cacheSize/2 {
		return
	}
	for f.bytes+bytes > cacheSize {
		f.evict(f.idlest())
	}
	f.byBox[address] = &cachedFeed{t, bytes, time.Now()}
	f.bytes += bytes
	if f.sweep == nil {
		f.sweep = time.AfterFunc(cacheIdle, f.evictIdle)
	}
}

// idlest returns the address of the least recently requested text.
func (f *Feeds) idlest() (address string) {
	for other, c := range f.byBox {
		if address == "" || c.used.Before(f.byBox[address].used) {
			address = other
		}
	}
	return address
}

func (f *Feeds) evict(address string) {
	if c := f.byBox[address]; c != nil {
		f.bytes -= c.bytes
		delete(f.byBox, address)
	}
}

// evictIdle runs on a timer as long as anything is cached.
func (f *Feeds) evictIdle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for address, c := range f.byBox {
		if time.Since(c.used) >= cacheIdle {
			f.evict(address)
		}
	}
	if f.sweep = nil; len(f.byBox) > 0 {
		f.sweep = time.AfterFunc(cacheIdle, f.evictIdle)
	}
}
