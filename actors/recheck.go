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

// runSupervisor is the supervisor that checks claimed domains when they are due, until ctx ends. It
// scans all records each time: there are few of them compared to inboxes, and each record holds its
// due time.
func (d *OwnDomains) runSupervisor(ctx context.Context) {
	tick := time.NewTicker(recheckLook)
	defer tick.Stop()
	for {
		if err := d.recheckDue(ctx); err != nil {
			d.log.Error("domains could not be read and are not rechecked", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.groupAcquired:
		case <-tick.C:
		}
	}
}

// recheckDue checks all domains that are due, recheckWorkers at once.
func (d *OwnDomains) recheckDue(ctx context.Context) error {
	names := make(chan string)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(names)
	for range recheckWorkers {
		workers.Go(func() {
			for name := range names {
				if err := d.recheckDomain(ctx, name); err != nil && ctx.Err() == nil && !fault.Is(err, fault.MovedAway) {
					d.log.Warn("domain check failed", "domain", name, "err", err)
				}
			}
		})
	}
	for after := ""; ; {
		page, err := d.store.ListDomains(after, recheckPage)
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

func (d *OwnDomains) recheckDomain(ctx context.Context, name string) error {
	state, err := d.owners.sendCommand(ctx, name, readDomain{})
	if err != nil || !state.IsClaimed() {
		return err
	}
	listed, err := d.accounts.listDomains(ctx, state.Account)
	if _, known := listed[name]; !known && err == nil {
		err = d.keepListed(ctx, state) // a crash left it on no list
	}
	if err != nil {
		return err
	}
	_, err = d.checkDNS(ctx, state, false)
	return err
}

const (
	// looksAMinute is how many times a minute an account can have DNS queried about one domain;
	// beyond that the last result counts.
	looksAMinute = 6
	// believedFor is how long a DNS result about a domain is used for messages between inboxes of
	// this node.
	believedFor = time.Hour
	// keptLooks is how many names are kept before expired ones are removed.
	keptLooks = 1024
)

// checkLimiter limits how often DNS is queried about domains. The zero value is ready.
//
// mu guards all below it; nothing blocks under it.
type checkLimiter struct {
	mu            sync.Mutex
	recentChecks  map[lookOf][]time.Time   // within the last minute, up to looksAMinute
	runningChecks map[string]chan struct{} // look-ups before a delivery; closed at their end
}

type lookOf struct {
	account account.ID
	name    string
}

// acquireCheck reports whether an account may have DNS queried about a domain now, and counts the
// query.
func (l *checkLimiter) acquireCheck(id account.ID, name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recentChecks == nil {
		l.recentChecks = map[lookOf][]time.Time{}
	}
	past := func(at time.Time) bool { return now.Sub(at) >= time.Minute }
	if len(l.recentChecks) >= keptLooks {
		maps.DeleteFunc(l.recentChecks, func(_ lookOf, at []time.Time) bool { return past(at[len(at)-1]) })
	}
	of := lookOf{id, name}
	at := l.recentChecks[of]
	for len(at) > 0 && past(at[0]) {
		at = at[1:]
	}
	if len(at) >= looksAMinute {
		return false
	}
	l.recentChecks[of] = append(at, now)
	return true
}

// runExclusive calls look, unless another goroutine is doing so for this name. Then it waits for that
// goroutine or for ctx.
func (l *checkLimiter) runExclusive(ctx context.Context, name string, look func()) {
	l.mu.Lock()
	over, begun := l.runningChecks[name]
	if !begun {
		if l.runningChecks == nil {
			l.runningChecks = map[string]chan struct{}{}
		}
		over = make(chan struct{})
		l.runningChecks[name] = over
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
		delete(l.runningChecks, name)
		close(over)
	}()
	look()
}

// ReceivesHere reports whether messages to a host outside the service domain are for inboxes of
// this node: the host is a verified own domain, and its MX record leads here. A DNS result older
// than an hour is looked up again, because the domain may have moved to another server, where its
// messages must then go. While DNS fails, the last result counts; while the store fails, messages
// are routed over the MX.
func (d *OwnDomains) ReceivesHere(ctx context.Context, host string) bool {
	state, err := d.store.LoadDomain(host)
	if err == nil && state.Status == domain.StatusVerified && d.now().Sub(state.CheckedAt) >= believedFor {
		d.checkLimiter.runExclusive(ctx, host, func() { d.lookBefore(ctx, host) })
		state, err = d.store.LoadDomain(host)
	}
	return err == nil && state.ReceivesHere()
}

// lookBefore looks up a domain before a delivery. A domain of another node is left to that node.
func (d *OwnDomains) lookBefore(ctx context.Context, host string) {
	state, err := d.owners.sendCommand(ctx, host, readDomain{})
	if err == nil && state.Status == domain.StatusVerified && d.now().Sub(state.CheckedAt) >= believedFor {
		_, err = d.checkDNS(ctx, state, false)
	}
	if err != nil {
		d.log.Info("domain check before a delivery failed", "domain", host, "err", err)
	}
}
