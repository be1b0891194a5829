package main

import (
	"runtime/metrics"

	"inboxd/http"
)

const (
	// crowdWait is how long every fourth goroutine waits for a processor, or longer, where more is asked for than there
	// is. In calm hardly one does.
	crowdWait = 0.005 // seconds
	// mailInPolls is how many polls take as much of the processor as one mail, from its MAIL to what it sets off.
	mailInPolls = 16
)

// crowding tells whether mail takes more than half of a machine of which everybody wants more than there is. One goroutine
// has it.
type crowding struct {
	mails, answers func() uint64 // so far

	waits            []metrics.Sample
	before           []uint64 // the histogram of waits at the last look
	mailed, answered uint64   // at the last look
}

func newCrowding(mails, answers func() uint64) *crowding {
	return &crowding{mails: mails, answers: answers, waits: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
}

// byMail looks at what happened since the last look.
func (c *crowding) byMail() bool {
	metrics.Read(c.waits)
	waited := c.waited(c.waits[0].Value.Float64Histogram())
	return c.mostly() && waited
}

// mostly reports whether mail took more since the last look than all that was answered. Where fewer polls than mails are
// asked for, mail may have it all.
func (c *crowding) mostly() bool {
	mails, answers := c.mails(), c.answers()
	mailed, answered := mails-c.mailed, answers-c.answered
	c.mailed, c.answered = mails, answers
	return mailed < answered && answered < mailed*mailInPolls
}

// waited reports whether one in four of those who wanted a processor since the last look waited long for it.
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

// answered is how many requests were answered.
func answered(all []http.Served) (sum uint64) {
	for _, one := range all {
		for _, n := range one.Codes {
			sum += n
		}
	}
	return sum
}
