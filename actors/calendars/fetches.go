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

// fetches are the last uses of links, until they are on disk. mu guards of.
type fetches struct {
	mu sync.Mutex
	of map[string]*fetch // by the address of the inbox
}

// fetch is the last use of a link. It never changes.
type fetch struct{ inbox.NoteFetch }

// note counts a use of the link, and keeps it as the last unless a later one of the same link is known.
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

// known is a link with its last use.
func (fs *fetches) known(address string, link calendar.Feed) calendar.Feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if last := fs.of[address]; last != nil && last.Hash == link.Hash && last.At.After(link.FetchedAt) {
		link.FetchedAt, link.Client, link.Had = last.At, last.Client, last.Had
		link.Fetches = max(link.Fetches, last.Total)
	}
	return link
}

// waiting are the uses that are not on disk yet, of all inboxes that match.
func (fs *fetches) waiting(match func(address string) bool) map[string]*fetch {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	some := maps.Clone(fs.of)
	maps.DeleteFunc(some, func(address string, _ *fetch) bool { return !match(address) })
	return some
}

// forget drops a use, unless a later one took its place.
func (fs *fetches) forget(address string, noted *fetch) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.of[address] == noted {
		delete(fs.of, address)
	}
}

// notesAtOnce bounds the inboxes that are told of uses at a time.
const notesAtOnce = 16

// NoteFetches writes down the last uses of links: one commit for each inbox whose calendar was fetched
// since. A crash forgets what came after the last call. What can't be written stays known and is tried
// again.
func (f *Feeds) NoteFetches(ctx context.Context) {
	f.write(ctx, func(string) bool { return true })
}

// noteEvery is how often uses are written down.
const noteEvery = time.Minute

// Run writes uses down now and then, until ctx ends.
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

// End writes down what came since, at a stop, for as long as grace.
func (f *Feeds) End(grace time.Duration) {
	ctx, end := context.WithTimeout(context.Background(), grace)
	defer end()
	f.NoteFetches(ctx)
}

// Gain implements tenure.Holder.
func (*Feeds) Gain(partition.Group) error { return nil }

// Lose writes down the uses of a group's links while its inboxes can be told, and forgets them.
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
