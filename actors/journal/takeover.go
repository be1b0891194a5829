package journal

import (
	"context"
	"slices"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// TakeOver moves what an earlier run left in the outbox, or another node. Events of accounts that
// are another node's stay there. Of what it came across it tells the steps that follow: an event
// may be on its way to them too, or one before it may have stayed.
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

// Gain takes over what is in the outbox for the accounts of a group, and in the outbox of its inboxes.
// Nobody may change these yet.
func (j *Journal) Gain(partition.Group) error { return j.do(context.Background(), j.TakeOver) }

// Lose forgets what was known of a group that is not this node's any more, and then has its readers
// look again. What is on its way to the journal stays in the outbox, also that of accounts which are
// still here: that is doubted from now on.
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

// missing leaves out the events that the journal has already. Events of an inbox come in the order
// of their numbers, so the last one taken tells; once that was trimmed nothing does, and an event
// that comes again after Age is taken twice, too old to be shown. Numbers that were passed
// over are of events that could not be taken in their turn: they are taken first.
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

// catchUp takes an inbox's events above one number and below another that are in the outbox.
func (j *Journal) catchUp(id account.ID, address string, after, below uint64) error {
	for after+1 < below {
		passed, err := j.store.OutboxOf(address, after, below, stepMost)
		if err != nil || len(passed) == 0 {
			return err
		}
		after = passed[len(passed)-1].Number
		others := func(e inbox.Public) bool { return e.Account != id } // whose the address was or is
		if passed = slices.DeleteFunc(passed, others); len(passed) == 0 {
			continue
		}
		if err := j.write(id, passed, passed); err != nil {
			return err
		}
	}
	return nil
}
