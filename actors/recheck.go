package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"inboxd/internal/domain"
)

// rechecks is the supervisor that looks at claimed domains when they are due. A start reads
// all of them once; afterwards their owners notify it of what changed.
type rechecks struct {
	all func(after string, limit int) ([]*domain.State, error)
	now func() time.Time
	log *slog.Logger

	mu  sync.Mutex // guards due
	due map[string]time.Time
}

const (
	recheckLook    = time.Minute
	recheckWorkers = 4
	recheckPage    = 256
	// recheckRest is when a check that failed is tried again.
	recheckRest = 10 * time.Minute
)

func newRechecks(store DomainStore, now func() time.Time, log *slog.Logger) *rechecks {
	return &rechecks{all: store.Domains, now: now, log: log, due: map[string]time.Time{}}
}

// set notes when a domain is due; the zero time: never.
func (r *rechecks) set(name string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.IsZero() {
		delete(r.due, name)
	} else {
		r.due[name] = at
	}
}

// run checks what is due until ctx is over; a check under way is given up then.
func (r *rechecks) run(ctx context.Context, check func(context.Context, string) error) {
	r.load()
	tick := time.NewTicker(recheckLook)
	defer tick.Stop()
	for {
		r.step(ctx, check)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// load reads the domains of earlier runs. What it can't read now it reads at the next start.
func (r *rechecks) load() {
	for after := ""; ; {
		page, err := r.all(after, recheckPage)
		if err != nil {
			r.log.Error("the domains could not be read; they are not checked", "err", err)
		}
		if err != nil || len(page) == 0 {
			return
		}
		for _, d := range page {
			r.set(d.Name, d.DueAt())
		}
		after = page[len(page)-1].Name
	}
}

// step checks all that is due, a few at once.
func (r *rechecks) step(ctx context.Context, check func(context.Context, string) error) {
	names := make(chan string)
	var workers sync.WaitGroup
	for range recheckWorkers {
		workers.Go(func() {
			for name := range names {
				if err := check(ctx, name); err != nil && ctx.Err() == nil {
					r.log.Warn("a domain could not be checked", "domain", name, "err", err)
				}
			}
		})
	}
	for _, name := range r.take() {
		if ctx.Err() != nil {
			break
		}
		names <- name
	}
	close(names)
	workers.Wait()
}

// take returns what is due and moves it forward, so that a failure is tried again later;
// a check that works tells the time of the next one itself.
func (r *rechecks) take() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for name, at := range r.due {
		if !at.After(now) {
			names = append(names, name)
			r.due[name] = now.Add(recheckRest)
		}
	}
	return names
}

// recheck is the daily look at a domain.
func (d *OwnDomains) recheck(ctx context.Context, name string) error {
	state, err := d.owners.order(ctx, name, readDomain{})
	if err != nil || !state.Claimed() {
		return err
	}
	_, err = d.check(ctx, state, false)
	return err
}
