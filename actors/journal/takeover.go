package journal

import (
	"slices"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// TakeOver moves what an earlier run left in the outbox.
func (j *Journal) TakeOver() error {
	for {
		left, err := j.store.Outbox(stepMost)
		if err != nil || len(left) == 0 {
			return err
		}
		byAccount := map[account.ID][]inbox.Public{}
		j.collect(byAccount, left)
		for id, events := range byAccount {
			if err := j.append(id, events); err != nil {
				return err
			}
		}
	}
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
