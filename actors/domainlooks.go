package actors

import (
	"context"
	"maps"
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/domain"
)

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
		d.log.Info("a domain could not be checked before a delivery", "domain", host, "err", err)
	}
}
