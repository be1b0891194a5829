package resolve

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	// silentAfter is the number of look-ups in a row without any answer after which the
	// servers are held to be silent, and nobody waits for them any more.
	silentAfter = 3
	// probeEvery is how often silent servers are asked whether they are back.
	probeEvery = time.Second
)

// health says whether the servers answer at all. An answer of any kind counts, for a
// stranger's domain that times out must not silence the resolver for all others: the probe
// asks for the root, which a server that works has at hand. Any goroutine may use it.
type health struct {
	unanswered atomic.Int32 // look-ups since the last answer
	probed     atomic.Int64 // when, in Unix nanoseconds
}

func (h *health) heard() { h.unanswered.Store(0) }

// silent reports whether the servers are held to be silent, and then sees to it that they
// are asked again.
func (r *Resolver) silent() bool {
	if r.health.unanswered.Load() < silentAfter {
		return false
	}
	last := r.health.probed.Load()
	if now := time.Now().UnixNano(); now-last >= int64(probeEvery) && r.health.probed.CompareAndSwap(last, now) {
		r.probe()
	}
	return true
}

// probe asks each server for the root, in the background; it ends within probeEvery.
func (r *Resolver) probe() {
	for _, server := range r.servers {
		go func() {
			if _, err := r.try(context.Background(), server, question{".", dns.TypeNS}, probeEvery); err == nil {
				r.health.heard()
			}
		}()
	}
}
