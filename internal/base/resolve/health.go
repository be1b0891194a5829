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

// serverHealth records whether the servers answer at all. An answer of any kind counts, because a
// stranger's domain that times out must not silence the resolver for all others. The probe queries
// the root, which a working server has cached. Any goroutine may use it.
type serverHealth struct {
	unansweredCount atomic.Int32 // lookups since the last answer
	lastProbe       atomic.Int64 // time of the last probe, in Unix nanoseconds
}

func (h *serverHealth) noteAnswer() { h.unansweredCount.Store(0) }

// isSilent reports whether the servers count as silent, and then makes sure that they are probed.
func (r *Resolver) isSilent() bool {
	if r.health.unansweredCount.Load() < silentAfter {
		return false
	}
	last := r.health.lastProbe.Load()
	if now := time.Now().UnixNano(); now-last >= int64(probeEvery) && r.health.lastProbe.CompareAndSwap(last, now) {
		r.probeServers()
	}
	return true
}

// probeServers queries each server for the root, in the background; it ends within probeEvery.
func (r *Resolver) probeServers() {
	for _, server := range r.servers {
		go func() {
			if _, err := r.tryServer(context.Background(), server, dnsQuestion{".", dns.TypeNS}, probeEvery); err == nil {
				r.health.noteAnswer()
			}
		}()
	}
}
