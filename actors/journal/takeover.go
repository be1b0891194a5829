package journal

import (
	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// TakeOver moves what an earlier run left in the outbox, leaving out what its last step
// had appended already.
func (j *Journal) TakeOver() error {
	for {
		left, err := j.store.Outbox(stepMost)
		if err != nil || len(left) == 0 {
			return err
		}
		byAccount := map[account.ID][]inbox.Public{}
		j.collect(byAccount, left)
		for id, events := range byAccount {
			if err := j.takeOverOne(id, events); err != nil {
				return err
			}
		}
	}
}

func (j *Journal) takeOverOne(id account.ID, events []inbox.Public) error {
	type name struct {
		address string
		number  uint64
	}
	recent, err := j.store.RecentJournal(id, stepMost)
	if err != nil {
		return err
	}
	there := map[name]bool{}
	for _, e := range recent {
		there[name{e.Address, e.Number}] = true
	}
	var missing, twice []inbox.Public
	for _, e := range events {
		if there[name{e.Address, e.Number}] {
			twice = append(twice, e)
		} else {
			missing = append(missing, e)
		}
	}
	if err := j.store.DropOutbox(twice); err != nil || len(missing) == 0 {
		return err
	}
	return j.append(id, missing)
}
