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
func (j *ChangeJournal) TakeOver() error {
	left, err := j.store.Outbox(stepMost)
	for err == nil && len(left) > 0 {
		byAccount := map[account.ID][]inbox.PublicEvent{}
		j.collectPending(byAccount, left)
		for id, events := range byAccount {
			j.inDoubt[id] = true
			if err := j.appendMissing(id, events); err != nil && !fault.Is(err, fault.MovedAway) {
				return err
			}
		}
		left, err = j.store.OutboxBehind(&left[len(left)-1], stepMost)
	}
	return err
}

// AcquireGroup moves the outbox events for the accounts of a group, and those of its inboxes. No
// owner may change them yet.
func (j *ChangeJournal) AcquireGroup(partition.Group) error {
	return j.do(context.Background(), j.TakeOver)
}

// ReleaseGroup drops the cached state of a group that this node has released, and then wakes its
// readers. Events that are still pending stay in the outbox, also those of accounts that remain
// here; these accounts are in doubt from now on.
func (j *ChangeJournal) ReleaseGroup(g partition.Group) error {
	err := j.do(context.Background(), func() error {
		pending := map[account.ID][]inbox.PublicEvent{}
		j.gatherWaiting(pending)
		for id, events := range pending {
			j.takeEvents(id, events)
		}
		for id := range j.lastNumbers {
			if id.HomePartition().Group() == g {
				delete(j.lastNumbers, id)
				delete(j.lastTrimmedAt, id)
				j.fanOut.ForgetAccount(id)
			}
		}
		return nil
	})
	j.readers.WakeAccounts(func(id account.ID) bool { return id.HomePartition().Group() == g })
	return err
}

// findMissing returns the events that the journal does not have yet. Events of an inbox arrive in the
// order of their numbers, so the last one taken decides. Once that record was trimmed, an event
// that arrives again after EntryAge is added twice, but it is too old to be returned. A gap in the
// numbers means events that could not be moved in order: they are moved first.
func (j *ChangeJournal) findMissing(id account.ID, events []inbox.PublicEvent) ([]inbox.PublicEvent, error) {
	last, missing, repeats := map[string]uint64{}, events, false
	for i := range events {
		e := &events[i]
		taken, known := last[e.Address]
		if !known {
			var err error
			if taken, err = j.store.LastTaken(id, e.Address); err == nil {
				err = j.catchUp(id, e.Address, taken, e.SequenceNumber)
			}
			if err != nil {
				return nil, err
			}
		}
		switch last[e.Address] = max(taken, e.SequenceNumber); {
		case e.SequenceNumber > taken && repeats:
			missing = append(missing, *e)
		case e.SequenceNumber <= taken && !repeats:
			missing, repeats = slices.Clone(events[:i]), true
		}
	}
	return missing, nil
}

// catchUp moves an inbox's outbox events above one number and below another.
func (j *ChangeJournal) catchUp(id account.ID, address string, after, below uint64) error {
	for after+1 < below {
		passed, err := j.store.OutboxOf(address, after, below, stepMost)
		if err != nil || len(passed) == 0 {
			return err
		}
		after = passed[len(passed)-1].SequenceNumber
		others := func(e inbox.PublicEvent) bool { return e.Account != id } // of other accounts that had or have the address
		if passed = slices.DeleteFunc(passed, others); len(passed) == 0 {
			continue
		}
		if err := j.writeEntries(id, passed, passed); err != nil {
			return err
		}
	}
	return nil
}
