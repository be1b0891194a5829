package drive

import "time"

// Agenda says when the agents of one connection are due: each has a phase of its own and is due exactly every so
// often from then on. Like a Pacer's, a latency counts from when the request was due, unless the connection was idle
// and woke late.
type Agenda struct {
	start, deadline time.Time
	every           time.Duration
	phases          []time.Duration // ascending, below every
	next, cycle     int
}

// NewAgenda plans agents by their phases, which must be ascending and below every.
func NewAgenda(start, deadline time.Time, every time.Duration, phases []time.Duration) *Agenda {
	return &Agenda{start: start, deadline: deadline, every: every, phases: phases}
}

func (a *Agenda) due() time.Time {
	return a.start.Add(time.Duration(a.cycle)*a.every + a.phases[a.next])
}

func (a *Agenda) step() {
	if a.next++; a.next == len(a.phases) {
		a.next, a.cycle = 0, a.cycle+1
	}
}

// Next waits until the next agent is due. It returns which it is and when its latency starts, or false when the time
// is over.
func (a *Agenda) Next() (agent int, from time.Time, ok bool) {
	from = a.due()
	now := time.Now()
	if !from.Before(a.deadline) || !now.Before(a.deadline) {
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

// Unsent tells of each request that was due before the deadline and found no time, with how long it had waited.
func (a *Agenda) Unsent(tell func(waited time.Duration)) {
	for due := a.due(); due.Before(a.deadline); due = a.due() {
		tell(a.deadline.Sub(due))
		a.step()
	}
}
