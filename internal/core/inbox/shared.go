package inbox

import "sync"

// Shared is where the store keeps what the recipients of one message have in common, so that it is
// on disk only once. The zero value is ready; any goroutine may use it.
type Shared struct {
	mu     sync.Mutex
	stored map[byte]any
}

// Store calls store with its previous result for this part of the message, nil at first. Calls are
// serialized: of concurrent recipients, all but one find what the first has stored.
func (s *Shared) Store(part byte, store func(known any) any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored == nil {
		s.stored = map[byte]any{}
	}
	s.stored[part] = store(s.stored[part])
}
