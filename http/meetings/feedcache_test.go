package meetings

import (
	"testing"
	"time"

	"inboxd/internal/core/calendar"
)

// TestTheCacheIsBounded: the least recently used text is evicted first, and all of them when none
// is requested.
func TestTheCacheIsBounded(t *testing.T) {
	f, b := NewFeeds(), new(calendar.Book)
	add := func(address string, bytes int) { f.addFeed(address, &FeedText{Text: make([]byte, bytes)}) }
	for _, address := range []string{"a", "b", "c"} {
		add(address, cacheSize/3)
	}
	if f.FindCached("a", "", b) == nil || f.FindCached("e", "", b) != nil { // a is used
		t.Fatal("the cache does not return what was added")
	}
	add("d", cacheSize/3)
	if f.byBox["a"] == nil || f.byBox["b"] != nil || f.byBox["d"] == nil || f.cachedBytes > cacheSize || len(f.byBox) != 3 {
		t.Errorf("%d cached, %d bytes", len(f.byBox), f.cachedBytes)
	}
	add("d", 100)
	if f.cachedBytes != cacheSize/3*2+leastCharge {
		t.Errorf("%d bytes after one text replaced another", f.cachedBytes)
	}
	if add("d", cacheSize/2+1); f.byBox["d"] != nil {
		t.Error("one text takes half of the cache, or the text that it replaces stays")
	}
	for _, c := range f.byBox {
		c.lastUsed = time.Now().Add(-cacheIdle)
	}
	if f.evictIdle(); f.cachedBytes != 0 || f.sweepTimer != nil {
		t.Errorf("%d bytes of idle texts stay cached", f.cachedBytes)
	}
}
