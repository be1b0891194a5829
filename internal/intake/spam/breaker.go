package spam

import (
	"log/slog"
	"sync"
	"time"
)

// circuitBreaker prevents messages from waiting for a scanner that does not answer. After tripAfter
// consecutive failures the scanner is not asked for a while, and then by one message at a time.
type circuitBreaker struct {
	log *slog.Logger
	now func() time.Time

	mu           sync.Mutex // guards what follows
	failureCount int        // consecutive
	openUntil    time.Time  // the scanner is not asked before; used from tripAfter failures on
	isTesting    bool       // one message is testing whether the scanner is back
}

const (
	tripAfter = 5
	firstRest = time.Second
	maxRest   = 30 * time.Second
)

// allowRequest reports whether the scanner may be asked. Each true is followed by one report or
// untried.
func (b *circuitBreaker) allowRequest() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failureCount < tripAfter {
		return true
	}
	if b.isTesting || b.now().Before(b.openUntil) {
		return false
	}
	b.isTesting = true
	return true
}

// cancelAllow cancels an allow.
func (b *circuitBreaker) cancelAllow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isTesting = false
}

// reportResult records the result of a request. It logs one line when the scanner is given up and one
// when it is back.
func (b *circuitBreaker) reportResult(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isTesting = false
	if err == nil {
		if b.failureCount >= tripAfter {
			b.log.Info("spam scanner responds again")
		}
		b.failureCount = 0
		return
	}
	if b.failureCount++; b.failureCount == tripAfter {
		b.log.Warn("spam scanner does not respond, messages are stored without a verdict", "err", err)
	}
	if over := b.failureCount - tripAfter; over >= 0 {
		b.openUntil = b.now().Add(min(firstRest<<min(over, 6), maxRest))
	}
}
