package resolve

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	// silentAfter is the number of consecutive lookups without any answer after which the servers
	// count as silent. Then no lookup waits for them.
	silentAfter = 3
	// probeEvery is how often silent servers are probed.
	probeEvery = time.Second
)

// health records whether the servers answer at all. An answer of any kind counts, because a
// stranger's domain that times out must not silence the resolver for all others. The probe queries
// the root, which a working server has cached. Any goroutine may use it.
type health struct {
	unanswered atomic.Int32 // lookups since the last answer
	probed     atomic.Int64 // time of the last probe, in Unix nanoseconds
}

func (h *health) heard() { h.unanswered.Store(0) }

// silent reports whether the servers count as silent, and then makes sure that they are probed.
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

// probe queries each server for the root, in the background; it ends within probeEvery.
func (r *Resolver) probe() {
	for _, server := range r.servers {
		go func() {
			if _, err := r.try(context.Background(), server, question{".", dns.TypeNS}, probeEvery); err == nil {
				r.health.heard()
			}
		}()
	}
}
