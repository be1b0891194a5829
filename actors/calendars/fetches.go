package calendars

import (
	"context"
	"maps"
	"sync"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
)

// pendingFetches holds the last uses of links until they are on disk. mu guards of.
type pendingFetches struct {
	mu sync.Mutex
	of map[string]*lastFetch // by the address of the inbox
}

// lastFetch is the last use of a link. It is immutable.
type lastFetch struct{ inbox.NoteFetch }

// noteFetch counts a use of the link, and stores it as the last one unless a later use of the same link
// is known.
func (fs *pendingFetches) noteFetch(address string, link *calendar.SubscriptionLink, now lastFetch) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	before := link.FetchCount
	if last := fs.of[address]; last != nil && last.TokenHash == now.TokenHash {
		before = max(before, last.FetchCount)
		if last.At.After(now.At) {
			now = *last
		}
	}
	now.FetchCount = before + 1
	fs.of[address] = &now
}

// withLastFetch returns a link with its last use.
func (fs *pendingFetches) withLastFetch(address string, link calendar.SubscriptionLink) calendar.SubscriptionLink {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if last := fs.of[address]; last != nil && last.TokenHash == link.TokenHash && last.At.After(link.FetchedAt) {
		link.FetchedAt, link.LastClient, link.LastChangeFetched = last.At, last.ClientName, last.LastChangeFetched
		link.FetchCount = max(link.FetchCount, last.FetchCount)
	}
	return link
}

// listWaiting returns the uses that are not on disk yet, for all inboxes that match.
func (fs *pendingFetches) listWaiting(match func(address string) bool) map[string]*lastFetch {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	some := maps.Clone(fs.of)
	maps.DeleteFunc(some, func(address string, _ *lastFetch) bool { return !match(address) })
	return some
}

// forgetFetch drops a use, unless a later one has replaced it.
func (fs *pendingFetches) forgetFetch(address string, noted *lastFetch) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.of[address] == noted {
		delete(fs.of, address)
	}
}

// notesAtOnce bounds the inboxes to which uses are written concurrently.
const notesAtOnce = 16

// NoteFetches records the last uses of links: one commit for each inbox whose calendar was fetched
// since the last call. A crash loses the uses after that call. Uses that cannot be written are
// retried.
func (f *FeedService) NoteFetches(ctx context.Context) {
	f.writeFetches(ctx, func(string) bool { return true })
}

// noteEvery is how often uses are recorded.
const noteEvery = time.Minute

// Run records uses periodically until ctx ends.
func (f *FeedService) Run(ctx context.Context) {
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.NoteFetches(ctx)
		}
	}
}

// FlushFetches records the remaining uses at a stop, within grace.
func (f *FeedService) FlushFetches(grace time.Duration) {
	ctx, end := context.WithTimeout(context.Background(), grace)
	defer end()
	f.NoteFetches(ctx)
}

// AcquireGroup implements groups.GroupHolder.
func (*FeedService) AcquireGroup(partition.Group) error { return nil }

// ReleaseGroup records the uses of a group's links while its inboxes can still commit, and then
// drops them.
func (f *FeedService) ReleaseGroup(g partition.Group) error {
	of := func(address string) bool { return partition.Of(address).Group() == g }
	f.writeFetches(context.Background(), of)
	for address, noted := range f.fetches.listWaiting(of) {
		f.fetches.forgetFetch(address, noted)
	}
	return nil
}

func (f *FeedService) writeFetches(ctx context.Context, match func(address string) bool) {
	var under sync.WaitGroup
	defer under.Wait()
	turns := make(chan struct{}, notesAtOnce)
	for address, noted := range f.fetches.listWaiting(match) {
		turns <- struct{}{}
		under.Go(func() {
			defer func() { <-turns }()
			_, err := f.inboxes.Do(ctx, address, noted.NoteFetch)
			if err == nil || fault.Is(err, fault.NoInbox) || fault.Is(err, fault.MovedAway) {
				f.fetches.forgetFetch(address, noted)
			}
		})
	}
}
