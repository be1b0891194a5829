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

// FeedCache caches the texts of subscribed calendars, by inbox address. Each text is rendered once per
// change, and evicted when it has not been requested for cacheIdle. Any goroutine may use it.
type FeedCache struct {
	mu          sync.Mutex // guards what is below
	byBox       map[string]*cachedFeed
	cachedBytes int64
	sweepTimer  *time.Timer // nil: nothing is cached
}

type cachedFeed struct {
	feed      *FeedText
	sizeBytes int64
	lastUsed  time.Time
}

// NewFeeds returns an empty cache.
func NewFeeds() *FeedCache { return &FeedCache{byBox: map[string]*cachedFeed{}} }

// FindCached returns the cached text of the calendar of an inbox if it is still valid, else nil. name
// is the title of the calendar. A stored meeting never changes, so a changed calendar has a
// different list of meetings.
func (f *FeedCache) FindCached(address, name string, b *calendar.Book) *FeedText {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.byBox[address]
	if c == nil || c.feed.calendarName != name || !sameMeetings(c.feed.meetings, b.Meetings) {
		return nil
	}
	c.lastUsed = time.Now()
	return c.feed
}

// addFeed caches t and replaces the previous text. The caller holds mu.
func (f *FeedCache) addFeed(address string, t *FeedText) {
	f.evictFeed(address)
	bytes := max(int64(len(t.Text)), leastCharge)
	if bytes > cacheSize/2 {
		return
	}
	for f.cachedBytes+bytes > cacheSize {
		f.evictFeed(f.longestIdle())
	}
	f.byBox[address] = &cachedFeed{t, bytes, time.Now()}
	f.cachedBytes += bytes
	if f.sweepTimer == nil {
		f.sweepTimer = time.AfterFunc(cacheIdle, f.evictIdle)
	}
}

// longestIdle returns the address of the least recently requested text.
func (f *FeedCache) longestIdle() (address string) {
	for other, c := range f.byBox {
		if address == "" || c.lastUsed.Before(f.byBox[address].lastUsed) {
			address = other
		}
	}
	return address
}

func (f *FeedCache) evictFeed(address string) {
	if c := f.byBox[address]; c != nil {
		f.cachedBytes -= c.sizeBytes
		delete(f.byBox, address)
	}
}

// evictIdle runs on a timer as long as anything is cached.
func (f *FeedCache) evictIdle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for address, c := range f.byBox {
		if time.Since(c.lastUsed) >= cacheIdle {
			f.evictFeed(address)
		}
	}
	if f.sweepTimer = nil; len(f.byBox) > 0 {
		f.sweepTimer = time.AfterFunc(cacheIdle, f.evictIdle)
	}
}
