package drive

import "time"

// Agenda says when the requests of one connection are due and from when each one's latency counts.
//
// Without an interval requests follow each other and count from when they are sent. With one, each
// agent is due at its phase of every interval, and a request that was due while the connection
// still waited for the previous response counts from when it was due: a stall is charged to every
// request it held up, not to one (coordinated omission). A wake-up that comes late although the
// connection was idle is the client's fault and counts from the wake-up.
type Agenda struct {
	start, Deadline time.Time
	every           time.Duration // zero: as fast as responses come
	phases          []time.Duration
	next, cycle     int
}

// NewAgenda plans agents by their phases, which must be ascending and below every.
func NewAgenda(start, deadline time.Time, every time.Duration, phases []time.Duration) *Agenda {
	return &Agenda{start: start, Deadline: deadline, every: every, phases: phases}
}

// NewPacer plans connection k of all at rate requests a second over all connections; zero is as
// fast as responses come.
func NewPacer(start, deadline time.Time, rate float64, k, all int) *Agenda {
	every := time.Duration(0)
	if rate > 0 {
		every = time.Duration(float64(all) / rate * float64(time.Second))
	}
	return NewAgenda(start, deadline, every, []time.Duration{every * time.Duration(k) / time.Duration(all)})
}

func (a *Agenda) due() time.Time {
	return a.start.Add(time.Duration(a.cycle)*a.every + a.phases[a.next])
}

func (a *Agenda) step() {
	if a.next++; a.next == len(a.phases) {
		a.next, a.cycle = 0, a.cycle+1
	}
}

// Next waits until the next agent is due. It returns which it is and when its latency starts, or
// false when the time is over.
func (a *Agenda) Next() (agent int, from time.Time, ok bool) {
	now := time.Now()
	if a.every == 0 {
		return 0, now, now.Before(a.Deadline)
	}
	from = a.due()
	if !from.Before(a.Deadline) || !now.Before(a.Deadline) {
		return 0, now, false
	}
	if wait := from.Sub(now); wait > 0 {
		time.Sleep(wait)
		from = time.Now()
	}
	agent = a.next
	a.step()
	return agent, from, true
}

// Unsent counts the requests that were due before the deadline and found no time, and reports how
// long each had waited by then, which is the least it would show.
func (a *Agenda) Unsent(report func(waited time.Duration)) (n int64) {
	for ; a.every > 0 && a.due().Before(a.Deadline); a.step() {
		report(a.Deadline.Sub(a.due()))
		n++
	}
	return n
}
