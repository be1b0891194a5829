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

// pool holds idle links for more messages to the same destination. A link is either in the pool or
// owned by an exchange, never both. All exchanges use the pool; mu guards all fields below.
type pool struct {
	idle time.Duration

	mu     sync.Mutex
	links  map[string][]*link
	count  int
	closed bool
}

func newPool(idle time.Duration) *pool {
	return &pool{idle: idle, links: map[string][]*link{}}
}

// take returns the most recently used link that fits, or nil.
func (p *pool) take(key string, fits func(*link) bool) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.links[key]
	for i := len(list) - 1; i >= 0; i-- {
		if l := list[i]; fits(l) && l.expiry.Stop() {
			p.drop(key, l)
			return l
		}
	}
	return nil
}

// put adds a link to the pool, or closes it.
func (p *pool) put(key string, l *link) {
	p.mu.Lock()
	full := p.closed || p.count >= idleLinks || len(p.links[key]) >= idlePerHost
	if full || l.spent || l.mails >= mailsPerLink || l.r.Buffered() > 0 {
		p.mu.Unlock()
		l.quit()
		return
	}
	p.links[key] = append(p.links[key], l)
	p.count++
	l.expiry = time.AfterFunc(p.idle, func() { p.expire(key, l) })
	p.mu.Unlock()
}

func (p *pool) expire(key string, l *link) {
	p.mu.Lock()
	p.drop(key, l)
	p.mu.Unlock()
	l.quit()
}

// drop removes l from the pool. The caller holds mu.
func (p *pool) drop(key string, l *link) {
	list := p.links[key]
	if i := slices.Index(list, l); i >= 0 {
		p.links[key] = slices.Delete(list, i, i+1)
		p.count--
	}
	if len(p.links[key]) == 0 {
		delete(p.links, key)
	}
}

// close closes the idle links, and makes put close links that are returned later.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var waiting []*link
	for _, list := range p.links {
		for _, l := range list {
			if l.expiry.Stop() { // otherwise expire closes it
				waiting = append(waiting, l)
			}
		}
	}
	p.links, p.count = map[string][]*link{}, 0
	p.mu.Unlock()
	for _, l := range waiting {
		l.quit()
	}
}
