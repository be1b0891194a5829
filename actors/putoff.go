package actors

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

// aside holds the mails of destinations that are silent: most of what a queue full of mail
// for dead destinations does is to put them off. That costs no connection, no signature and
// no lease, and is no work for workers: one goroutine does it, for many mails of an inbox in
// one commit, and rests in between. The queue's mu guards it.
type aside struct {
	mails   map[string][]putOff // by inbox
	turns   []string            // the inboxes, as they came
	working bool
}

// putOff is a mail and the destination it waits for.
type putOff struct {
	mail *queuedMail
	lane *lane
}

const (
	// putOffGroup bounds the mails of one commit, and so how long an inbox does nothing else.
	putOffGroup = 64
	// putOffRest is how long nothing is put off after a commit, in times of what that took:
	// neither the cores nor the log notice much of it.
	putOffRest = 19
)

// setAside takes all mails out of the lane that wait for it alone.
func (q *mailQueue) setAside(l *lane) {
	kept := l.jobs[:0]
	for _, m := range l.jobs {
		if m.wanted() || m.left > 1 || m.task != nil {
			kept = append(kept, m)
			continue
		}
		l.aside++
		if len(q.aside.mails[m.address]) == 0 {
			q.aside.turns = append(q.aside.turns, m.address)
		}
		q.aside.mails[m.address] = append(q.aside.mails[m.address], putOff{m, l})
	}
	clear(l.jobs[len(kept):])
	if l.jobs = kept; len(kept) == 0 {
		l.jobs = nil
	}
}

// beginPutOffs starts the goroutine that puts off, if there is something for it to do.
func (q *mailQueue) beginPutOffs() {
	if q.aside.working || q.stopped || len(q.aside.turns) == 0 {
		return
	}
	q.aside.working = true
	q.work.Go(func() {
		for woken := false; ; {
			address, group, more := q.nextPutOffs()
			if group == nil {
				return
			}
			woken = woken || q.sys.inboxes.Resident([]byte(address)) == nil
			from := time.Now()
			err := q.sys.putOff(q.ctx, address, group)
			if woken && !more {
				q.sys.letSleep(address)
				woken = false
			}
			rest := putOffRest * time.Since(from)
			if err != nil {
				rest = queuePause
			}
			select {
			case <-q.stopping:
			case <-time.After(rest):
			}
		}
	})
}

// nextPutOffs takes some mails of one inbox, and says whether it has more; none at the end.
// What is to be tried after all goes back to its lane.
func (q *mailQueue) nextPutOffs() (address string, group []putOff, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := &q.aside
	for len(group) == 0 && len(a.turns) > 0 && !q.stopped {
		address = a.turns[0]
		all := a.mails[address]
		take := all[:min(len(all), putOffGroup)]
		a.mails[address] = all[len(take):]
		if more = len(take) < len(all); !more {
			delete(a.mails, address)
			a.turns = a.turns[1:]
		}
		for _, p := range take {
			if p.mail.wanted() || p.lane.temper == answering {
				p.lane.aside--
				p.lane.add(q, p.mail)
				q.nudge()
				continue
			}
			group = append(group, p)
		}
	}
	a.working = len(group) > 0
	return address, group, more
}

// putOff commits an attempt that nobody made for mails of one inbox.
func (s *System) putOff(ctx context.Context, address string, group []putOff) error {
	order := inbox.PutOff{At: s.now(), Schedule: s.Schedule, Mails: make([]inbox.Postponed, len(group))}
	s.mail.mu.Lock()
	for i, p := range group {
		order.Mails[i] = inbox.Postponed{ID: p.mail.id, Why: p.lane.report, Jitter: rand.Float64()}
	}
	s.mail.mu.Unlock()
	answer, err := s.Do(ctx, address, order)
	var view *inbox.View
	if err == nil {
		view, err = s.View(ctx, address)
	}
	switch {
	case fault.Is(err, fault.NoInbox):
		err = nil
	case err != nil && !errors.Is(err, context.Canceled):
		s.Logger.Warn("mails could not be put off", "inbox", address, "mails", len(group), "err", err)
	}
	for i, p := range group {
		var m *inbox.Message
		if view != nil {
			m = view.Message(p.mail.id, s.now())
		}
		if answer.Each != nil && answer.Each[i] > 0 {
			s.logPutOff(p, order.Mails[i].Why, answer.Each[i], m)
		}
		s.mail.wasPutOff(p, m, err)
	}
	return err
}

// wasPutOff has a mail wait for its next time, which its owner told; for the one that it is
// known by, when it was moved before; or in the index, when that failed.
func (q *mailQueue) wasPutOff(p putOff, now *inbox.Message, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := p.mail
	p.lane.aside--
	p.lane.lastUse = q.sys.now()
	q.hungry = q.hungry || p.lane.hungry(q)
	m.left = 0
	switch {
	case !m.again.IsZero():
	case err == nil && now != nil && now.Waiting():
		m.again = now.Sending.Due
	case err == nil:
	case m.astray:
		m.again = q.sys.now().Add(againAfter)
	default:
		q.leaveTo(p.lane, m.when)
	}
	q.settle(m)
	q.nudge()
}

// logPutOff writes the line of an attempt and counts it. m is nil when it left nothing.
func (s *System) logPutOff(p putOff, why string, attempt int, m *inbox.Message) {
	s.mail.counts.temporary.Add(1)
	verb := "attempt"
	if m == nil || !m.Waiting() {
		verb = "failed" // its time is over
	}
	s.Logger.Info(verb, "inbox", p.mail.address, "message_id", p.mail.id, "attempt", attempt, "destination", p.lane.name, "tried", false, "answer", why)
}
