package spam

import (
	"log/slog"
	"sync"
	"time"
)

// breaker prevents messages from waiting for a scanner that does not answer. After tripAfter
// consecutive failures the scanner is not asked for a while, and then by one message at a time.
type breaker struct {
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex // guards what follows
	failures int        // consecutive
	until    time.Time  // the scanner is not asked before; used from tripAfter failures on
	trying   bool       // one message is testing whether the scanner is back
}

const (
	tripAfter = 5
	firstRest = time.Second
	maxRest   = 30 * time.Second
)

// allow reports whether the scanner may be asked. Each true is followed by one report or untried.
func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < tripAfter {
		return true
	}
	if b.trying || b.now().Before(b.until) {
		return false
	}
	b.trying = true
	return true
}

// untried cancels an allow.
func (b *breaker) untried() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}

// report records the result of a request. It logs one line when the scanner is given up and one
// when it is back.
func (b *breaker) report(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	if err == nil {
		if b.failures >= tripAfter {
			b.log.Info("spam scanner responds again")
		}
		b.failures = 0
		return
	}
	if b.failures++; b.failures == tripAfter {
		b.log.Warn("spam scanner does not respond, messages are stored without a verdict", "err", err)
	}
	if over := b.failures - tripAfter; over >= 0 {
		b.until = b.now().Add(min(firstRest<<min(over, 6), maxRest))
	}
}
