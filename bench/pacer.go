package bench

import "time"

// pacer spreads the requests of one connection evenly over time and says from when each
// one's latency counts. Without an interval requests follow each other and count from when
// they are sent. With one, a request that was due while the connection still waited for the
// previous answer counts from when it was due: a stall is charged to every request it held
// up, not to one (coordinated omission). A wake-up that comes late although the connection
// was idle is the client's fault and counts from the wake-up.
type pacer struct {
	interval time.Duration
	due      time.Time
	deadline time.Time
}

// newPacer plans connection k of all at rate requests a second over all connections; zero
// is as fast as answers come.
func newPacer(start, deadline time.Time, rate float64, k, all int) *pacer {
	p := &pacer{deadline: deadline, due: start}
	if rate > 0 {
		p.interval = time.Duration(float64(all) / rate * float64(time.Second))
		p.due = start.Add(p.interval * time.Duration(k) / time.Duration(all))
	}
	return p
}

// next waits until the next request is due. It returns when its latency starts, or false
// when the time is over.
func (p *pacer) next() (from time.Time, ok bool) {
	now := time.Now()
	if p.interval == 0 {
		return now, now.Before(p.deadline)
	}
	if !p.due.Before(p.deadline) || !now.Before(p.deadline) {
		return now, false
	}
	from = p.due
	if wait := p.due.Sub(now); wait > 0 {
		time.Sleep(wait)
		from = time.Now()
	}
	p.due = p.due.Add(p.interval)
	return from, true
}

// unsent counts the requests that were due before the deadline and found no connection free
// for them, and records how long each had waited by then, which is the least it would show.
func (p *pacer) unsent(l *latencies) (n int64) {
	for ; p.interval > 0 && p.due.Before(p.deadline); p.due = p.due.Add(p.interval) {
		l.record(p.deadline.Sub(p.due))
		n++
	}
	return n
}
