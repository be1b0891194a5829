package journal

import (
	"context"
	"slices"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// TakeOver moves the events that an earlier run or another node left in the outbox. Events of
// accounts that another node owns stay there. It marks the accounts it found as in doubt, because
// later steps may get the same events again, or an earlier event may have stayed behind.
func (j *Journal) TakeOver() error {
	left, err := j.store.Outbox(stepMost)
	for err == nil && len(left) > 0 {
		byAccount := map[account.ID][]inbox.Public{}
		j.collect(byAccount, left)
		for id, events := range byAccount {
			j.doubt[id] = true
			if err := j.append(id, events); err != nil && !fault.Is(err, fault.Moved) {
				return err
			}
		}
		left, err = j.store.OutboxBehind(&left[len(left)-1], stepMost)
	}
	return err
}

// Gain moves the outbox events for the accounts of a group, and those of its inboxes. No owner may
// change them yet.
func (j *Journal) Gain(partition.Group) error { return j.do(context.Background(), j.TakeOver) }

// Lose drops the cached state of a group that this node has released, and then wakes its readers.
// Events that are still pending stay in the outbox, also those of accounts that remain here; these
// accounts are in doubt from now on.
func (j *Journal) Lose(g partition.Group) error {
	err := j.do(context.Background(), func() error {
		pending := map[account.ID][]inbox.Public{}
		j.gatherWaiting(pending)
		for id, events := range pending {
			j.take(id, events)
		}
		for id := range j.ends {
			if id.Partition().Group() == g {
				delete(j.ends, id)
				delete(j.looks, id)
				j.fan.Forget(id)
			}
		}
		return nil
	})
	j.readers.Wake(func(id account.ID) bool { return id.Partition().Group() == g })
	return err
}

// missing returns the events that the journal does not have yet. Events of an inbox arrive in the
// order of their numbers, so the last one taken decides. Once that record was trimmed, an event
// that arrives again after Age is added twice, but it is too old to be returned. A gap in the
// numbers means events that could not be moved in order: they are moved first.
func (j *Journal) missing(id account.ID, events []inbox.Public) ([]inbox.Public, error) {
	last, missing, repeats := map[string]uint64{}, events, false
	for i := range events {
		e := &events[i]
		taken, known := last[e.Address]
		if !known {
			var err error
			if taken, err = j.store.Taken(id, e.Address); err == nil {
				err = j.catchUp(id, e.Address, taken, e.Number)
			}
			if err != nil {
				return nil, err
			}
		}
		switch last[e.Address] = max(taken, e.Number); {
		case e.Number > taken && repeats:
			missing = append(missing, *e)
		case e.Number <= taken && !repeats:
			missing, repeats = slices.Clone(events[:i]), true
		}
	}
	return missing, nil
}

// catchUp moves an inbox's outbox events above one number and below another.
func (j *Journal) catchUp(id account.ID, address string, after, below uint64) error {
	for after+1 < below {
		passed, err := j.store.OutboxOf(address, after, below, stepMost)
		if err != nil || len(passed) == 0 {
			return err
		}
		after = passed[len(passed)-1].Number
		others := func(e inbox.Public) bool { return e.Account != id } // of other accounts that had or have the address
		if passed = slices.DeleteFunc(passed, others); len(passed) == 0 {
			continue
		}
		if err := j.write(id, passed, passed); err != nil {
			return err
		}
	}
	return nil
}
