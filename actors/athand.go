package actors

import (
	"slices"
	"sync"

	"inboxd/internal/core/inbox"
)

// atHand bounds the memory for contents of new messages that inboxes cache for the polls that
// follow. The oldest content of the node is evicted first. Caching a message longer would only add
// work for the garbage collector; a later request reads it from the store (ADR 0025).
type atHand struct {
	most int64 // bytes

	mu    sync.Mutex // guards all below
	held  int64
	queue []*inbox.Newest // contents from index first on are cached, in commit order
	first int
}

// keep adds n to the cache and evicts what no longer fits, possibly n itself. A nil n does nothing.
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
		h.queue = slices.Delete(h.queue, 0, h.first) // clears the tail
		h.first = 0
	}
}
