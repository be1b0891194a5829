package actors

import (
	"context"
	"maps"
	"sync"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
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
			d.log.Error("domains could not be read and are not rechecked", "err", err)
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
					d.log.Warn("domain check failed", "domain", name, "err", err)
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

const (
	// looksAMinute is how often an account has DNS asked about one domain: beyond it the last result counts.
	looksAMinute = 6
	// believedFor is how long what DNS said of a domain holds for mail from one inbox of this node to another.
	believedFor = time.Hour
	// keptLooks is how many names are kept before those of the past are left out.
	keptLooks = 1024
)

// looks bounds how often DNS is asked about domains. The zero value is ready.
//
// mu guards all below it; nothing blocks under it.
type looks struct {
	mu    sync.Mutex
	asked map[lookOf][]time.Time   // of the last minute, up to looksAMinute
	under map[string]chan struct{} // looks before a delivery; closed at their end
}

type lookOf struct {
	account account.ID
	name    string
}

// take reports whether an account may have DNS asked about a domain now, and counts that.
func (l *looks) take(id account.ID, name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		l.asked = map[lookOf][]time.Time{}
	}
	past := func(at time.Time) bool { return now.Sub(at) >= time.Minute }
	if len(l.asked) >= keptLooks {
		maps.DeleteFunc(l.asked, func(_ lookOf, at []time.Time) bool { return past(at[len(at)-1]) })
	}
	of := lookOf{id, name}
	at := l.asked[of]
	for len(at) > 0 && past(at[0]) {
		at = at[1:]
	}
	if len(at) >= looksAMinute {
		return false
	}
	l.asked[of] = append(at, now)
	return true
}

// alone calls look, unless another goroutine does so for this name: then it waits for that, or for ctx.
func (l *looks) alone(ctx context.Context, name string, look func()) {
	l.mu.Lock()
	over, begun := l.under[name]
	if !begun {
		if l.under == nil {
			l.under = map[string]chan struct{}{}
		}
		over = make(chan struct{})
		l.under[name] = over
	}
	l.mu.Unlock()
	if begun {
		select {
		case <-over:
		case <-ctx.Done():
		}
		return
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.under, name)
		close(over)
	}()
	look()
}

// ReceivesHere reports whether mail for a host that is no name of the service is for inboxes of this node: it is a
// verified own domain, and its MX record leads here. What DNS said an hour ago is not relied on: the domain may have
// moved to another server, and mail for it, which other servers deliver there, is to go there, too. While DNS
// does not answer the last result counts; while the store can't tell, mail goes its way over the MX.
func (d *OwnDomains) ReceivesHere(ctx context.Context, host string) bool {
	state, err := d.store.LoadDomain(host)
	if err == nil && state.Status == domain.Verified && d.now().Sub(state.CheckedAt) >= believedFor {
		d.looks.alone(ctx, host, func() { d.lookBefore(ctx, host) })
		state, err = d.store.LoadDomain(host)
	}
	return err == nil && state.ReceivesHere()
}

// lookBefore looks a domain up before a delivery. The domain of another node is left to that one.
func (d *OwnDomains) lookBefore(ctx context.Context, host string) {
	state, err := d.owners.order(ctx, host, readDomain{})
	if err == nil && state.Status == domain.Verified && d.now().Sub(state.CheckedAt) >= believedFor {
		_, err = d.check(ctx, state, false)
	}
	if err != nil {
		d.log.Info("domain check before a delivery failed", "domain", host, "err", err)
	}
}
