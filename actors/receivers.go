package actors

import (
	"time"

	"inboxd/internal/webhook"
)

// receivers shares attempts among the hosts that webhooks point to, so that none waits for
// another. A host that answers gets many at once; one that never did, or left its last
// attempt without an answer, gets few, and all of those together have slots of their own:
// however many hang, who answers does not feel it.
//
// Only the webhook supervisor's goroutine uses it.
type receivers struct {
	hosts  map[string]*receiver
	ready  [2][]*receiver // by trust; have somebody waiting, may be at their limit
	active [2]int
	queued [2]int
	busy   [2]int // hosts with attempts or a queue
}

// trust is what a host is given.
type trust uint8

const (
	doubted trust = iota // fresh, or did not answer
	trusted
)

const (
	trustedAtOnce  = 32   // attempts of one host that answers
	trustedInAll   = 512  // and of all such hosts
	doubtedInAll   = 1024 // attempts of all others
	doubtedAtOnce  = 32   // of one of them, when there are few
	queuedTrusted  = 16_384
	queuedDoubted  = 1024
	queuedInAll    = 32_768 // of all doubted hosts
	receiversKnown = 16_384 // idle hosts beyond it are forgotten
)

type receiver struct {
	name   string
	queue  []webhook.Due
	active int
	trust  trust
	silent bool // its last attempt had no answer
	listed bool
}

func newReceivers() *receivers { return &receivers{hosts: map[string]*receiver{}} }

// join puts a due delivery into its host's queue. It refuses when that is full, and returns
// the host.
func (r *receivers) join(host string, due webhook.Due) (*receiver, bool) {
	h := r.hosts[host]
	if h == nil {
		r.makeRoom()
		h = &receiver{name: host}
		r.hosts[host] = h
	}
	if h.trust == trusted && len(h.queue) >= queuedTrusted || h.trust == doubted && (len(h.queue) >= queuedDoubted || r.queued[doubted] >= queuedInAll) {
		return h, false
	}
	if h.idle() {
		r.busy[h.trust]++
	}
	h.queue = append(h.queue, due)
	r.queued[h.trust]++
	r.list(h)
	return h, true
}

func (r *receivers) makeRoom() {
	for name, h := range r.hosts {
		if len(r.hosts) < receiversKnown {
			return
		}
		if h.idle() {
			delete(r.hosts, name)
		}
	}
}

func (r *receivers) list(h *receiver) {
	if !h.listed && len(h.queue) > 0 && h.active < r.limit(h) {
		h.listed = true
		r.ready[h.trust] = append(r.ready[h.trust], h)
	}
}

// limit is how many attempts a host may have now. Doubted hosts share half of their slots
// evenly, or have one each; the rest is for hosts that come.
func (r *receivers) limit(h *receiver) int {
	if h.trust == trusted {
		return trustedAtOnce
	}
	return max(1, min(doubtedAtOnce, doubtedInAll/2/max(1, r.busy[doubted])))
}

// next takes the delivery whose turn it is; false when none may start now.
func (r *receivers) next() (webhook.Due, *receiver, bool) {
	for _, t := range [...]trust{trusted, doubted} {
		for len(r.ready[t]) > 0 && r.active[t] < [...]int{doubtedInAll, trustedInAll}[t] {
			h := r.ready[t][0]
			r.ready[t] = r.ready[t][1:]
			h.listed = false
			if h.trust != t {
				r.list(h) // under what it is now
				return r.next()
			}
			if len(h.queue) == 0 || h.active >= r.limit(h) {
				continue // listed again when one of its attempts ends
			}
			due := h.queue[0]
			if h.queue = h.queue[1:]; len(h.queue) == 0 {
				h.queue = nil
			}
			r.queued[t]--
			h.active++
			r.active[t]++
			r.list(h)
			return due, h, true
		}
	}
	return webhook.Due{}, nil, false
}

// oldest is when the earliest that is queued was due; zero: none.
func (r *receivers) oldest() (at time.Time) {
	if r.queued == [2]int{} {
		return at
	}
	for _, h := range r.hosts {
		if len(h.queue) > 0 && (at.IsZero() || h.queue[0].At.Before(at)) {
			at = h.queue[0].At
		}
	}
	return at
}

// left notes that an attempt of h ended. What its host is given from now on depends on
// whether it answered at all; an attempt that was not made says nothing.
func (r *receivers) left(h *receiver, tried, answered bool) {
	r.active[h.trust]--
	h.active--
	if h.idle() {
		r.busy[h.trust]--
	}
	if tried {
		r.judge(h, answered)
	}
	r.list(h)
}

func (h *receiver) idle() bool { return h.active == 0 && len(h.queue) == 0 }

// doubt is for a host that lets an attempt wait: should it hang, it takes no more of the
// slots of those that answer. Its next answer makes it one of them again.
func (r *receivers) doubt(h *receiver) {
	silent := h.silent
	r.judge(h, false)
	h.silent = silent
	r.list(h)
}

// judge moves a host between the two kinds.
func (r *receivers) judge(h *receiver, answered bool) {
	now := doubted
	if answered {
		now = trusted
	}
	h.silent = !answered
	if h.trust != now {
		if !h.idle() {
			r.busy[h.trust]--
		}
		r.active[h.trust] -= h.active
		r.queued[h.trust] -= len(h.queue)
		h.trust = now
		r.active[now] += h.active
		r.queued[now] += len(h.queue)
		if !h.idle() {
			r.busy[now]++
		}
	}
}
