package actors

import (
	"time"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

// Entries that find no place in their host's queue leave memory: those for a host that
// lately left us without an answer count an attempt that was not made, others are put off.
// So a dead receiver costs bounded memory however many events it subscribed to, and no
// delivery lives longer than its schedule by much.

const (
	putOffLeast   = 2 * time.Second
	putOffTrusted = time.Millisecond // more for each that is put off together
	putOffDoubted = 10 * time.Millisecond
)

// errNotTried is what the record of an attempt that was not made says.
const errNotTried = "The receiver did not answer lately and too many deliveries wait for it: this attempt was not made"

func (d *deliveries) putAside(now time.Time) {
	for host, all := range d.aside {
		delete(d.aside, host)
		switch {
		case host == nil:
			d.attempts.Go(func() { d.settleUntried(all, func(del *webhook.Delivery) { del.Cancel(webhook.WebhookGone) }) })
		case host.silent:
			d.attempts.Go(func() {
				d.settleUntried(all, func(del *webhook.Delivery) {
					del.Tried(del.URL, webhook.Attempt{At: now, Answer: webhook.Answer{Error: errNotTried}}, d.schedule)
				})
			})
		default:
			step := putOffDoubted
			if host.trust == trusted {
				step = putOffTrusted
			}
			d.attempts.Go(func() { d.putOff(all, now.Add(putOffLeast), step) })
		}
	}
}

// settleUntried records what becomes of deliveries without an attempt.
func (d *deliveries) settleUntried(all []webhook.Due, change func(*webhook.Delivery)) {
	for _, due := range all {
		if d.ctx.Err() != nil {
			return
		}
		del, err := d.store.Delivery(due.Account, due.ID)
		switch {
		case err != nil:
			d.log.Error("a delivery could not be read", "account", due.Account, "delivery", due.ID, "err", err)
			d.report(ended{due: due})
		case del == nil || del.State != webhook.Retrying:
			d.tried <- result{due.Move(time.Time{}), ended{due: due}}
		default:
			change(del)
			d.tried <- result{del.Put(due.At, false), ended{due: due}}
		}
	}
}

// putOff moves due entries a little into the future, each step behind the one before.
func (d *deliveries) putOff(all []webhook.Due, to time.Time, step time.Duration) {
	groups := map[account.ID][]webhook.Change{}
	moved := map[account.ID][]webhook.Due{}
	for _, due := range all {
		groups[due.Account] = append(groups[due.Account], due.Move(to))
		due.At = to
		moved[due.Account] = append(moved[due.Account], due)
		to = to.Add(step)
	}
	for id, changes := range groups {
		if err := d.store.CommitDeliveries(id, changes); err != nil {
			d.log.Warn("deliveries could not be put off", "account", id, "err", err)
			for i, c := range changes {
				moved[id][i].At = c.From
			}
		}
		for _, due := range moved[id] {
			d.report(ended{due: due})
		}
	}
}
