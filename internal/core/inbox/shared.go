package inbox

import "sync"

// SharedStorage is where the store keeps what the recipients of one message have in common, so that
// it is on disk only once. The zero value is ready; any goroutine may use it.
type SharedStorage struct {
	mu          sync.Mutex
	storedParts map[byte]any
}

// StorePart calls store with its previous result for this part of the message, nil at first. Calls are
// serialized: of concurrent recipients, all but one find what the first has stored.
func (s *SharedStorage) StorePart(part byte, store func(known any) any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.storedParts == nil {
		s.storedParts = map[byte]any{}
	}
	s.storedParts[part] = store(s.storedParts[part])
}
