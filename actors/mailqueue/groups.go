package mailqueue

import (
	"time"

	"inboxd/actors/groups"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/inbox"
)

// loseGrace is how long attempts of a released group may continue: their outcomes can still be
// reported. The next owner of the group retries cancelled ones.
const loseGrace = 5 * time.Second

// IndexHolder is the holder of what the queue counts in a group's index. It acquires a group before
// anybody changes the index, and releases it when nobody does any more.
func (q *Queue) IndexHolder() groups.GroupHolder { return indexHolder{q} }

type indexHolder struct{ q *Queue }

// AcquireGroup counts the group's part of the queue, and collects the leased entries: attempts that an
// earlier run did not finish.
func (c indexHolder) AcquireGroup(g partition.Group) error {
	q := c.q
	q.mu.Lock()
	defer q.mu.Unlock()
	q.backlog[g], q.leasedEntries = minuteBacklog{}, nil
	return q.Store.QueuedIn(g, func(e inbox.QueueEntry) {
		if q.backlog[g].addMessages(e.AcceptedAt, 1); e.AttemptLeased {
			q.leasedEntries = append(q.leasedEntries, q.schedulerEntry(e))
		}
	})
}

// ReleaseGroup implements groups.GroupHolder.
func (c indexHolder) ReleaseGroup(g partition.Group) error {
	c.q.mu.Lock()
	defer c.q.mu.Unlock()
	c.q.backlog[g], c.q.leasedEntries = nil, nil
	return nil
}

// AcquireGroup starts processing a group that was counted.
func (q *Queue) AcquireGroup(g partition.Group) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.groupWork.AcquireGroup(q.ctx, g)
	q.attemptScheduler.RestartScan(q.now())
	for _, e := range q.leasedEntries {
		q.attemptScheduler.AddInterrupted(q.now(), e)
	}
	q.leasedEntries = nil
	q.wakeLoop()
	return nil
}

// ReleaseGroup ends the attempts of a group. Their outcomes can be committed until it returns.
func (q *Queue) ReleaseGroup(g partition.Group) error {
	q.groupWork.ReleaseGroup(g, loseGrace)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.attemptScheduler.DropEntries(q.now(), func(k mailKey) bool { return k.groupOf() == g })
	for k := range q.runningTasks {
		if k.groupOf() == g { // a part of it will never begin
			delete(q.runningTasks, k)
		}
	}
	return nil
}
