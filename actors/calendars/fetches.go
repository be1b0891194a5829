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

// fetches holds the last uses of links until they are on disk. mu guards of.
type fetches struct {
	mu sync.Mutex
	of map[string]*fetch // by the address of the inbox
}

// fetch is the last use of a link. It is immutable.
type fetch struct{ inbox.NoteFetch }

// note counts a use of the link, and stores it as the last one unless a later use of the same link
// is known.
func (fs *fetches) note(address string, link *calendar.Feed, now fetch) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	before := link.Fetches
	if last := fs.of[address]; last != nil && last.Hash == now.Hash {
		before = max(before, last.Total)
		if last.At.After(now.At) {
			now = *last
		}
	}
	now.Total = before + 1
	fs.of[address] = &now
}

// known returns a link with its last use.
func (fs *fetches) known(address string, link calendar.Feed) calendar.Feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if last := fs.of[address]; last != nil && last.Hash == link.Hash && last.At.After(link.FetchedAt) {
		link.FetchedAt, link.Client, link.Had = last.At, last.Client, last.Had
		link.Fetches = max(link.Fetches, last.Total)
	}
	return link
}

// waiting returns the uses that are not on disk yet, for all inboxes that match.
func (fs *fetches) waiting(match func(address string) bool) map[string]*fetch {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	some := maps.Clone(fs.of)
	maps.DeleteFunc(some, func(address string, _ *fetch) bool { return !match(address) })
	return some
}

// forget drops a use, unless a later one has replaced it.
func (fs *fetches) forget(address string, noted *fetch) {
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
func (f *Feeds) NoteFetches(ctx context.Context) {
	f.write(ctx, func(string) bool { return true })
}

// noteEvery is how often uses are recorded.
const noteEvery = time.Minute

// Run records uses periodically until ctx ends.
func (f *Feeds) Run(ctx context.Context) {
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

// End records the remaining uses at a stop, within grace.
func (f *Feeds) End(grace time.Duration) {
	ctx, end := context.WithTimeout(context.Background(), grace)
	defer end()
	f.NoteFetches(ctx)
}

// Gain implements groups.Holder.
func (*Feeds) Gain(partition.Group) error { return nil }

// Lose records the uses of a group's links while its inboxes can still commit, and then drops them.
func (f *Feeds) Lose(g partition.Group) error {
	of := func(address string) bool { return partition.Of(address).Group() == g }
	f.write(context.Background(), of)
	for address, noted := range f.fetches.waiting(of) {
		f.fetches.forget(address, noted)
	}
	return nil
}

func (f *Feeds) write(ctx context.Context, match func(address string) bool) {
	var under sync.WaitGroup
	defer under.Wait()
	turns := make(chan struct{}, notesAtOnce)
	for address, noted := range f.fetches.waiting(match) {
		turns <- struct{}{}
		under.Go(func() {
			defer func() { <-turns }()
			_, err := f.inboxes.Do(ctx, address, noted.NoteFetch)
			if err == nil || fault.Is(err, fault.NoInbox) || fault.Is(err, fault.Moved) {
				f.fetches.forget(address, noted)
			}
		})
	}
}
