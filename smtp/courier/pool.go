package courier

import (
	"slices"
	"sync"
	"time"
)

// What may stay idle for later mails.
const (
	idleLinks    = 256  // in all
	idlePerHost  = 64   // for one destination; its own limits are met by trouble at connect
	mailsPerLink = 1000 // then a fresh one, so that a server's load is spread anew
)

// pool keeps links that wait for another mail to the same destination. A link is in it or
// belongs to an exchange, never both. All exchanges use it; mu guards all below.
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

// take returns the youngest link that fits, or nil.
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

// put takes a link over, or hangs up.
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

// drop forgets l; the caller holds mu.
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

// close hangs up what is idle, and whatever is brought back later.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var waiting []*link
	for _, list := range p.links {
		for _, l := range list {
			if l.expiry.Stop() { // else expire hangs up
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
