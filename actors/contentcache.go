package actors

import (
	"slices"
	"sync"

	"inboxd/internal/core/inbox"
)

// contentCache bounds the memory for contents of new messages that inboxes cache for the polls that
// follow. The oldest content of the node is evicted first. Caching a message longer would only add
// work for the garbage collector; a later request reads it from the store (ADR 0025).
type contentCache struct {
	maxBytes int64 // bytes

	mu         sync.Mutex // guards all below
	heldBytes  int64
	queue      []*inbox.CachedContent // contents from index first on are cached, in commit order
	firstIndex int
}

// keepNewest adds n to the cache and evicts what no longer fits, possibly n itself. A nil n does
// nothing.
func (h *contentCache) keepNewest(n *inbox.CachedContent) {
	if n == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heldBytes += n.Weight()
	h.queue = append(h.queue, n)
	for ; h.heldBytes > h.maxBytes; h.firstIndex++ {
		out := h.queue[h.firstIndex]
		h.queue[h.firstIndex] = nil
		h.heldBytes -= out.Weight()
		out.LetGo()
	}
	if h.firstIndex > len(h.queue)/2 {
		h.queue = slices.Delete(h.queue, 0, h.firstIndex) // clears the tail
		h.firstIndex = 0
	}
}
