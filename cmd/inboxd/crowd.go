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

// loadMonitor reports whether mail takes more than half of an overloaded CPU. Only one goroutine uses
// it.
type loadMonitor struct {
	messageCount, responseCount func() uint64 // totals since the start

	schedulerWaits                      []metrics.Sample
	previousCounts                      []uint64 // the histogram of waits at the last call
	previousMessages, previousResponses uint64   // totals at the last call
}

func newCrowding(messages, answers func() uint64) *loadMonitor {
	return &loadMonitor{messageCount: messages, responseCount: answers, schedulerWaits: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
}

// byMail reports whether mail crowded out other work since the last call.
func (c *loadMonitor) byMail() bool {
	metrics.Read(c.schedulerWaits)
	waited := c.waitsTooLong(c.schedulerWaits[0].Value.Float64Histogram())
	return c.mailDominates() && waited
}

// mailDominates reports whether mail used more CPU time than all HTTP responses since the last call. If
// there were fewer responses than messages, it returns false: then mail may use the whole CPU.
func (c *loadMonitor) mailDominates() bool {
	messages, answers := c.messageCount(), c.responseCount()
	mailed, answered := messages-c.previousMessages, answers-c.previousResponses
	c.previousMessages, c.previousResponses = messages, answers
	return mailed < answered && answered < mailed*mailInPolls
}

// waitsTooLong reports whether more than a quarter of the goroutines that became runnable since the
// last call waited longer than crowdWait.
func (c *loadMonitor) waitsTooLong(h *metrics.Float64Histogram) bool {
	if c.previousCounts == nil {
		c.previousCounts = make([]uint64, len(h.Counts))
	}
	all, long := uint64(0), uint64(0)
	for i, n := range h.Counts {
		all += n - c.previousCounts[i]
		if h.Buckets[i] >= crowdWait {
			long += n - c.previousCounts[i]
		}
	}
	copy(c.previousCounts, h.Counts)
	return long > all/4
}

// totalResponses returns the number of HTTP responses.
func totalResponses(all []http.ServedClass) (sum uint64) {
	for _, one := range all {
		for _, n := range one.CodeCounts {
			sum += n
		}
	}
	return sum
}
