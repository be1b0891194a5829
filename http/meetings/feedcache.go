package meetings

import (
	"sync"
	"time"

	"inboxd/internal/core/calendar"
)

const (
	// cacheSize bounds the cached texts, in bytes. A text of more than half of that is not cached.
	cacheSize = 32 << 20
	// leastCharge is what the shortest text counts as, so that few entries are searched for the idlest.
	leastCharge = 4 << 10
	// cacheIdle is how long a text stays cached that nobody requests.
	cacheIdle = 10 * time.Minute
)

// Feeds caches the texts of calendars that are followed, by inbox address. Each is rendered once for every
// change and evicted when nobody requests it for a while. Any goroutine may use it.
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

// Cached returns the text of the calendar of an inbox if it is cached and still right, else nil. name is
// what the calendar is called. A stored meeting never changes, so a changed calendar holds other meetings.
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

// add caches t in place of the text before. The caller holds mu.
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

// idlest is the inbox whose text was not requested for the longest.
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

// evictIdle runs on a timer for as long as anything is cached.
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
