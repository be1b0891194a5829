package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"inboxd/internal/domain"
)

// rechecks is the supervisor that looks at claimed domains when they are due. A start reads
// all of them once; afterwards their owners tell it what changed.
type rechecks struct {
	check func(context.Context, string) error
	all   func(after string, limit int) ([]*domain.State, error)
	now   func() time.Time
	log   *slog.Logger

	mu  sync.Mutex
	due map[string]time.Time
}

const (
	recheckLook    = time.Minute
	recheckWorkers = 4
	recheckPage    = 256
	// recheckRest is when a check that failed is tried again.
	recheckRest = 10 * time.Minute
)

func newRechecks(s *System) *rechecks {
	return &rechecks{check: s.recheckDomain, all: s.store.Domains, now: s.now, log: s.Logger, due: map[string]time.Time{}}
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

// run checks what is due until stop is closed; a check under way is given up then.
func (r *rechecks) run(stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	r.load()
	tick := time.NewTicker(recheckLook)
	defer tick.Stop()
	for {
		r.step(ctx)
		select {
		case <-stop:
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
func (r *rechecks) step(ctx context.Context) {
	names := make(chan string)
	var workers sync.WaitGroup
	for range recheckWorkers {
		workers.Go(func() {
			for name := range names {
				if err := r.check(ctx, name); err != nil && ctx.Err() == nil {
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

// recheckDomain is the daily look at a domain.
func (s *System) recheckDomain(ctx context.Context, name string) error {
	state, err := s.orderDomain(ctx, name, readDomain{})
	if err != nil || !state.Claimed() {
		return err
	}
	_, err = s.checkDomain(ctx, state, false)
	return err
}
