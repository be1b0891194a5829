package actors

import (
	"context"
	"sync"
	"time"

	"inboxd/internal/fault"
)

const (
	recheckLook    = time.Minute
	recheckWorkers = 4
	recheckPage    = 256
)

// run is the supervisor that looks at claimed domains when they are due, until ctx is over.
// It walks over the records of all each time: they are few beside inboxes, and say
// themselves when.
func (d *OwnDomains) run(ctx context.Context) {
	tick := time.NewTicker(recheckLook)
	defer tick.Stop()
	for {
		if err := d.recheckDue(ctx); err != nil {
			d.log.Error("the domains could not be read; they are not checked", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.gained:
		case <-tick.C:
		}
	}
}

// recheckDue checks all that is due, a few at once.
func (d *OwnDomains) recheckDue(ctx context.Context) error {
	names := make(chan string)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(names)
	for range recheckWorkers {
		workers.Go(func() {
			for name := range names {
				if err := d.recheck(ctx, name); err != nil && ctx.Err() == nil && !fault.Is(err, fault.Moved) {
					d.log.Warn("a domain could not be checked", "domain", name, "err", err)
				}
			}
		})
	}
	for after := ""; ; {
		page, err := d.store.Domains(after, recheckPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, state := range page {
			if due := state.DueAt(); ctx.Err() == nil && !due.IsZero() && !due.After(d.now()) {
				names <- state.Name
			}
		}
		after = page[len(page)-1].Name
	}
}

func (d *OwnDomains) recheck(ctx context.Context, name string) error {
	state, err := d.owners.order(ctx, name, readDomain{})
	if err != nil || !state.Claimed() {
		return err
	}
	listed, err := d.accounts.domains(ctx, state.Account)
	if _, known := listed[name]; !known && err == nil {
		err = d.keep(ctx, state) // a crash left it on no list
	}
	if err != nil {
		return err
	}
	_, err = d.check(ctx, state, false)
	return err
}
