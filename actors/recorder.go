package actors

import (
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

// The recorder is the one goroutine that commits leases and results. Mail commits to the same
// log, so there are to be few of these: leases do not wait, for an attempt waits for them,
// and take the results along that have gathered; without any, results gather for a moment.
// A crash meanwhile makes the next run try again, as at any time between lease and result.

const (
	recordDelay = 5 * time.Millisecond
	// recordFull results do not wait: each holds one of its host's places.
	recordFull = trustedAtOnce / 2
)

// lease is leases of one account on their way to the disk.
type lease struct {
	account account.ID
	changes []webhook.Change
	done    chan error // has room
}

// lease returns when leases are on disk.
func (d *deliveries) lease(id account.ID, changes []webhook.Change) error {
	l := lease{id, changes, make(chan error, 1)}
	d.leases <- l
	return <-l.done
}

// page is what the recorder commits together for one account.
type page struct {
	leases  []lease
	results []result
}

// pages are those of one step.
type pages struct {
	of      map[account.ID]*page
	leases  int
	results int
}

func (p *pages) page(id account.ID) *page {
	if p.of[id] == nil {
		p.of[id] = &page{}
	}
	return p.of[id]
}

func (p *pages) lease(l lease) {
	one := p.page(l.account)
	one.leases = append(one.leases, l)
	p.leases++
}

func (p *pages) result(r result) {
	one := p.page(r.ended.due.Account)
	one.results = append(one.results, r)
	p.results++
}

// record commits until no more results come.
func (d *deliveries) record() {
	settled := map[account.ID]*tally{}
	for open := true; open; {
		p := pages{of: map[account.ID]*page{}}
		open = d.gather(&p)
		var all sync.WaitGroup
		for id, one := range p.of {
			all.Go(func() { d.commit(id, one) })
		}
		all.Wait()
		for id, one := range p.of {
			d.tally(settled, id, one.results)
		}
	}
}

// gather waits for what is to be committed next; false when nothing more will come.
func (d *deliveries) gather(p *pages) (open bool) {
	var over <-chan time.Time // from the first result on
	for p.leases == 0 && p.results < recordFull {
		select {
		case l := <-d.leases:
			p.lease(l)
		case r, open := <-d.tried:
			if !open {
				return false
			}
			p.result(r)
		case <-over:
			return true
		}
		if over == nil {
			over = time.After(recordDelay)
		}
	}
	return d.gatherReady(p)
}

// gatherReady adds what waits already.
func (d *deliveries) gatherReady(p *pages) (open bool) {
	for p.leases+p.results < deliveryGroup {
		select {
		case l := <-d.leases:
			p.lease(l)
		case r, open := <-d.tried:
			if !open {
				return false
			}
			p.result(r)
		default:
			return true
		}
	}
	return true
}

// changes are those of a page. Of a delivery that went with its account nothing is written
// any more.
func (d *deliveries) changes(p *page) (all []webhook.Change) {
	for _, l := range p.leases {
		all = append(all, l.changes...)
	}
	for i := range p.results {
		r := &p.results[i]
		if r.change.Delivery != nil && d.erased(r.change.Delivery) {
			r.change = r.ended.due.Move(time.Time{})
		}
		all = append(all, r.change)
	}
	return all
}

// erased reports that a delivery is gone with its account, whose webhooks went first.
func (d *deliveries) erased(del *webhook.Delivery) bool {
	if hook, err := d.subs.find(del.Account, del.Webhook); hook != nil || err != nil {
		return false
	}
	again, err := d.store.Delivery(del.Account, del.ID)
	return err == nil && again == nil
}

func (d *deliveries) commit(id account.ID, p *page) {
	err := d.store.CommitDeliveries(id, d.changes(p))
	for _, l := range p.leases {
		l.done <- err
	}
	if err != nil && len(p.results) > 0 {
		d.log.Error("results of webhooks could not be stored, they are tried again", "account", id, "attempts", len(p.results), "err", err)
	}
	for _, r := range p.results {
		if err == nil {
			d.count(r)
			r.ended.due.At = time.Time{}
			if r.change.Delivery != nil {
				r.ended.due.At = r.change.Delivery.NextAt
			}
		}
		d.report(r.ended)
	}
}

func (d *deliveries) count(r result) {
	del := r.change.Delivery
	switch {
	case del == nil:
	case del.State == webhook.Delivered:
		d.counts.delivered.Add(1)
	case del.State == webhook.Retrying:
		d.counts.retried.Add(1)
	case r.change.Tried:
		d.counts.failed.Add(1)
	default:
		d.counts.cancelled.Add(1)
	}
}
