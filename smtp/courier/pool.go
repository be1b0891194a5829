package courier

import (
	"slices"
	"sync"
	"time"
)

// Limits of the idle connections.
const (
	idleLinks    = 256  // in total
	idlePerHost  = 64   // per destination; a server with a lower limit refuses connections
	mailsPerLink = 1000 // then a new connection, so that a server can balance its load
)

// linkPool holds idle links for more messages to the same destination. A link is either in the pool or
// owned by an exchange, never both. All exchanges use the pool; mu guards all fields below.
type linkPool struct {
	idleTimeout time.Duration

	mu        sync.Mutex
	links     map[string][]*link
	linkCount int
	isClosed  bool
}

func newPool(idle time.Duration) *linkPool {
	return &linkPool{idleTimeout: idle, links: map[string][]*link{}}
}

// acquireLink returns the most recently used link that fits, or nil.
func (p *linkPool) acquireLink(key string, fits func(*link) bool) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.links[key]
	for i := len(list) - 1; i >= 0; i-- {
		if l := list[i]; fits(l) && l.expiryTimer.Stop() {
			p.removeLink(key, l)
			return l
		}
	}
	return nil
}

// releaseLink adds a link to the pool, or closes it.
func (p *linkPool) releaseLink(key string, l *link) {
	p.mu.Lock()
	full := p.isClosed || p.linkCount >= idleLinks || len(p.links[key]) >= idlePerHost
	if full || l.isSpent || l.messageCount >= mailsPerLink || l.r.Buffered() > 0 {
		p.mu.Unlock()
		l.sendQuit()
		return
	}
	p.links[key] = append(p.links[key], l)
	p.linkCount++
	l.expiryTimer = time.AfterFunc(p.idleTimeout, func() { p.expireLink(key, l) })
	p.mu.Unlock()
}

func (p *linkPool) expireLink(key string, l *link) {
	p.mu.Lock()
	p.removeLink(key, l)
	p.mu.Unlock()
	l.sendQuit()
}

// removeLink removes l from the pool. The caller holds mu.
func (p *linkPool) removeLink(key string, l *link) {
	list := p.links[key]
	if i := slices.Index(list, l); i >= 0 {
		p.links[key] = slices.Delete(list, i, i+1)
		p.linkCount--
	}
	if len(p.links[key]) == 0 {
		delete(p.links, key)
	}
}

// closeAll closes the idle links, and makes put close links that are returned later.
func (p *linkPool) closeAll() {
	p.mu.Lock()
	p.isClosed = true
	var waiting []*link
	for _, list := range p.links {
		for _, l := range list {
			if l.expiryTimer.Stop() { // otherwise expire closes it
				waiting = append(waiting, l)
			}
		}
	}
	p.links, p.linkCount = map[string][]*link{}, 0
	p.mu.Unlock()
	for _, l := range waiting {
		l.sendQuit()
	}
}
