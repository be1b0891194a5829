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

// Counted is the holder of what the queue counts in a group's index. It acquires a group before
// anybody changes the index, and releases it when nobody does any more.
func (q *Queue) Counted() groups.Holder { return counted{q} }

type counted struct{ q *Queue }

// Gain counts the group's part of the queue, and collects the leased entries: attempts that an
// earlier run did not finish.
func (c counted) Gain(g partition.Group) error {
	q := c.q
	q.mu.Lock()
	defer q.mu.Unlock()
	q.backlog[g], q.leased = backlog{}, nil
	return q.Store.QueuedIn(g, func(e inbox.QueueEntry) {
		if q.backlog[g].add(e.Since, 1); e.Leased {
			q.leased = append(q.leased, q.entry(e))
		}
	})
}

// Lose implements groups.Holder.
func (c counted) Lose(g partition.Group) error {
	c.q.mu.Lock()
	defer c.q.mu.Unlock()
	c.q.backlog[g], c.q.leased = nil, nil
	return nil
}

// Gain starts processing a group that was counted.
func (q *Queue) Gain(g partition.Group) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.terms.Gain(q.ctx, g)
	q.line.Anew(q.now())
	for _, e := range q.leased {
		q.line.Interrupted(q.now(), e)
	}
	q.leased = nil
	q.nudge()
	return nil
}

// Lose ends the attempts of a group. Their outcomes can be committed until it returns.
func (q *Queue) Lose(g partition.Group) error {
	q.terms.Lose(g, loseGrace)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line.Drop(q.now(), func(k mailKey) bool { return k.group() == g })
	for k := range q.tasks {
		if k.group() == g { // a part of it will never begin
			delete(q.tasks, k)
		}
	}
	return nil
}
