package actors

import (
	"slices"
	"sync"

	"inboxd/internal/core/inbox"
)

// atHand bounds the contents of new mails that inboxes keep in memory for the polls that
// follow: the oldest of the node go first. A mail that nobody asks for soon would only be
// work for the collector; it is read from the store when somebody does (ADR 0025).
type atHand struct {
	most int64 // bytes

	mu    sync.Mutex // guards all below
	held  int64
	queue []*inbox.Newest // from first on, in order of commit
	first int
}

// keep takes n in, nil for none, and lets go of what no longer fits, n itself if need be.
func (h *atHand) keep(n *inbox.Newest) {
	if n == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held += n.Weight()
	h.queue = append(h.queue, n)
	for ; h.held > h.most; h.first++ {
		out := h.queue[h.first]
		h.queue[h.first] = nil
		h.held -= out.Weight()
		out.LetGo()
	}
	if h.first > len(h.queue)/2 {
		h.queue = slices.Delete(h.queue, 0, h.first) // clears what is behind
		h.first = 0
	}
}
