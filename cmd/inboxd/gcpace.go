package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// tuneMemory trades memory for fewer collections as long as that is little, and more while mail
// pours in (ADR 0019). An operator's GOGC or GOMEMLIMIT wins. What it returns sets the
// collector's percentage anew, by the number of mails received so far, until ctx ends.
func tuneMemory(budget int64) (pace func(ctx context.Context, mails func() uint64)) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(2*budget + 512<<20)
	}
	if os.Getenv("GOGC") != "" {
		return func(context.Context, func() uint64) {}
	}
	debug.SetGCPercent(gcMost)
	return func(ctx context.Context, mails func() uint64) {
		paceCollections(ctx, gcPace{flood: float64(budget) / gcFloodShare}, mails)
	}
}

const (
	gcLook = 500 * time.Millisecond
	// gcSpare is what may be garbage when a collection begins, as long as collecting costs
	// little of the CPU time; a small heap may fill gcHeap, a large one has a quarter of what lives.
	gcSpare = 16 << 20
	gcHeap  = 80 << 20
	gcBurst = 48 << 20 // where collecting costs much; a larger heap still has its quarter
	gcMost  = 200      // percent
	gcStep  = 5        // a change by less is not worth stopping everything for

	gcDear   = 0.05  // share of all cores: above it collect less often
	gcCheap  = 0.025 // below it more often
	gcSmooth = 0.2   // the weight of one look in the share

	// gcFlood mails a second for each goroutine that may run at a time (GOMAXPROCS) are a flood.
	// Then a gcFloodShare-th of the budget may be garbage, and for gcFloodLooks more, so that a
	// pause for breath does not end it.
	gcFlood      = 1000
	gcFloodShare = 3
	gcFloodLooks = 20
)

// paceCollections sets the collector's percentage anew after collections.
func paceCollections(ctx context.Context, p gcPace, mails func() uint64) {
	tick := time.NewTicker(gcLook)
	defer tick.Stop()
	for set := gcMost; ; {
		there := gcLook.Seconds() * float64(runtime.GOMAXPROCS(0)) // which knows what of the machine is ours
		p.count(mails(), there)
		if want := p.percent(readCollector(), there); max(want-set, set-want) >= gcStep {
			debug.SetGCPercent(want)
			set = want
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// collector is what the runtime knew at the last collection: the live heap, and how many
// seconds of CPU collections took since the start.
type collector struct {
	live uint64
	took float64
}

func readCollector() collector {
	m := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(m)
	idle := m[2].Value.Float64() // taken while nobody else wanted the core
	return collector{m[0].Value.Uint64(), m[1].Value.Float64() - idle}
}

// gcPace is how much garbage there may be when a collection begins: little, more while
// collections cost much of what the process does, and most in a flood of mail.
type gcPace struct {
	spare, share float64
	last         collector
	flood        float64 // octets of garbage in one
	mails        uint64
	flooded      int // looks for which the last one counts
}

// count takes notice of the mails received so far. there is as in percent.
func (p *gcPace) count(mails uint64, there float64) {
	p.flooded = max(0, p.flooded-1)
	if float64(mails-p.mails) >= gcFlood*there {
		p.flooded = gcFloodLooks
	}
	p.mails = mails
}

// percent is the percentage of the live heap that may be garbage. there is how many seconds
// of CPU there were since the last look.
func (p *gcPace) percent(now collector, there float64) int {
	live := max(float64(now.live), 1)
	p.share += ((now.took-p.last.took)/there - p.share) * gcSmooth
	p.last = now
	switch {
	case p.share > gcDear:
		p.spare *= 1.2
	case p.share < gcCheap:
		p.spare *= 0.9
	}
	p.spare = max(gcSpare, gcHeap-live, live/4, min(p.spare, gcBurst))
	if p.flooded > 0 && p.flood > p.spare {
		return int(100 * p.flood / live)
	}
	return int(min(gcMost, 100*p.spare/live))
}
