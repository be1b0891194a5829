package main

import (
	"runtime/metrics"

	"inboxd/http"
)

const (
	// crowdWait is the scheduling delay, in seconds, that more than a quarter of the goroutines
	// exceed when the CPU is overloaded. Without overload hardly any goroutine waits that long.
	crowdWait = 0.005
	// mailInPolls is how many polls cost as much CPU time as one message, from MAIL to everything
	// that its arrival causes.
	mailInPolls = 16
)

// crowding reports whether mail takes more than half of an overloaded CPU. Only one goroutine uses
// it.
type crowding struct {
	mails, answers func() uint64 // totals since the start

	waits            []metrics.Sample
	before           []uint64 // the histogram of waits at the last call
	mailed, answered uint64   // totals at the last call
}

func newCrowding(mails, answers func() uint64) *crowding {
	return &crowding{mails: mails, answers: answers, waits: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
}

// byMail reports whether mail crowded out other work since the last call.
func (c *crowding) byMail() bool {
	metrics.Read(c.waits)
	waited := c.waited(c.waits[0].Value.Float64Histogram())
	return c.mostly() && waited
}

// mostly reports whether mail used more CPU time than all HTTP responses since the last call. If
// there were fewer responses than messages, it returns false: then mail may use the whole CPU.
func (c *crowding) mostly() bool {
	mails, answers := c.mails(), c.answers()
	mailed, answered := mails-c.mailed, answers-c.answered
	c.mailed, c.answered = mails, answers
	return mailed < answered && answered < mailed*mailInPolls
}

// waited reports whether more than a quarter of the goroutines that became runnable since the last
// call waited longer than crowdWait.
func (c *crowding) waited(h *metrics.Float64Histogram) bool {
	if c.before == nil {
		c.before = make([]uint64, len(h.Counts))
	}
	all, long := uint64(0), uint64(0)
	for i, n := range h.Counts {
		all += n - c.before[i]
		if h.Buckets[i] >= crowdWait {
			long += n - c.before[i]
		}
	}
	copy(c.before, h.Counts)
	return long > all/4
}

// answered returns the number of HTTP responses.
func answered(all []http.Served) (sum uint64) {
	for _, one := range all {
		for _, n := range one.Codes {
			sum += n
		}
	}
	return sum
}
