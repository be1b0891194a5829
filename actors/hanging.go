package actors

import (
	"context"
	"errors"
	"slices"
	"time"

	"inboxd/internal/delivery"
)

// park gives the place of an attempt that hangs to another one, if memory allows. One that
// is not connecting yet is at work, and one whose server spoke is slow: these keep their places,
// so that no more mails than there are workers are being handed over at a time.
func (q *mailQueue) park(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := max(j.task.size.Load(), 1)
	switch {
	case j.over:
		return
	case !j.connecting, j.greeted.Load() && q.sys.now().Before(j.since.Add(slowFor*q.sys.HangAfter)):
		j.patience.Reset(q.sys.HangAfter)
		return
	case q.hanging >= q.sys.MostHanging || q.hung+size > mostHung:
		if q.giveWay() {
			j.patience.Reset(q.sys.HangAfter / 10) // that one's place is free in a moment
		} else {
			j.patience.Reset(q.sys.HangAfter)
		}
		return
	}
	at, _ := slices.BinarySearchFunc(q.hangers, j.since, func(h *job, since time.Time) int { return h.since.Compare(since) })
	q.hangers = slices.Insert(q.hangers, at, j) // timers may run in another order than attempts began
	j.hangs = size
	q.hanging++
	q.hung += size
	q.running--
	q.count(j.temper, -1)
	q.nudge()
}

// giveWay ends the longest of the attempts that hang when others wait and there is no place
// left: a server that has not greeted by then counts as silent. One that spoke is left alone,
// for it may have the mail already. It reports whether it ended one.
func (q *mailQueue) giveWay() bool {
	before := q.sys.now().Add(-giveWayFrom * q.sys.HangAfter)
	for i, j := range q.hangers {
		if q.othersWait() && j.connecting && !j.greeted.Load() && j.since.Before(before) {
			q.hangers = slices.Delete(q.hangers, i, i+1)
			j.end(errHangs)
			return true
		}
	}
	return false
}

// othersWait reports that destinations wait that may be living: those that never answered, and
// those that did before all workers came to hang. With one road there are no others.
func (q *mailQueue) othersWait() bool {
	return len(q.fresh) > 0 || q.sys.OneRoad == "" && len(q.turns) > 0 && q.running >= q.sys.DeliveryWorkers
}

// handOver hands a consignment to the courier until the queue wants its place back.
func (s *System) handOver(ctx context.Context, j *job, c Consignment) []Handover {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j.end = cancel
	c.Greeted = func() { j.greeted.Store(true) }
	s.mail.mu.Lock()
	j.connecting = true
	s.mail.mu.Unlock()
	out := s.Courier.Deliver(ctx, c)
	if errors.Is(context.Cause(ctx), errHangs) && isTemporary(out) {
		return allLater(c.Rcpts, "The mail server of "+c.Domain+" did not answer in time")
	}
	return out
}

func allLater(rcpts []string, why string) []Handover {
	out := make([]Handover, len(rcpts))
	for i, rcpt := range rcpts {
		out[i] = Handover{Rcpt: rcpt, Outcome: delivery.Temporary, Text: why}
	}
	return out
}
