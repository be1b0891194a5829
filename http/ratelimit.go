package http

import (
	"hash/maphash"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/wire"
	"inboxd/internal/base/fault"
)

const (
	// maxTries attempts are permitted in tryTime, per client and per e-mail address (specification,
	// Sign-up and sessions).
	maxTries = 10
	tryTime  = time.Minute
	// maxTracked bounds the memory of tries to about 16 MiB.
	maxTracked = 1 << 16
)

// tries counts anonymous attempts over the last minute. A refused attempt does not count, so that
// an attempt after Retry-After succeeds.
type tries struct {
	seed maphash.Seed

	mu     sync.Mutex // guards recent with all its elements, and known
	recent map[uint64]*lately
	known  map[uint64]*clients // clients that signed in, by e-mail address
}

// maxClients is how many clients are remembered per e-mail address. A new one replaces the oldest.
const maxClients = 8

// clients are the clients that signed in with an e-mail address; the oldest is at next. The mutex
// of tries guards it.
type clients struct {
	of   [maxClients]uint64
	next uint8
}

// lately holds the times of the last attempts in Unix milliseconds; the oldest is at next. The
// mutex of tries guards it.
type lately struct {
	at   [maxTries]int64
	next uint8
}

func newTries() *tries {
	return &tries{seed: maphash.MakeSeed(), recent: map[uint64]*lately{}, known: map[uint64]*clients{}}
}

// count records an attempt by who, or returns a TooMany fault.
func (t *tries) count(who string, now time.Time) error {
	key, ms := maphash.String(t.seed, who), now.UnixMilli()
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.recent[key]
	if w == nil {
		t.makeRoom(ms)
		w = &lately{}
		t.recent[key] = w
	}
	if wait := w.at[w.next] + tryTime.Milliseconds() - ms; wait > 0 {
		return &fault.Error{
			Kind: fault.TooMany, Detail: "Too many attempts. Wait as long as Retry-After says before you try again",
			RetryAfter: time.Duration(wait) * time.Millisecond,
		}
	}
	w.at[w.next] = ms
	w.next = (w.next + 1) % maxTries
	return nil
}

// countEmail counts an attempt with an e-mail address. A client that signed in with it before has a
// separate limit, so that strangers cannot block it.
func (t *tries) countEmail(email, client string, now time.Time) error {
	t.mu.Lock()
	known := t.known[maphash.String(t.seed, email)]
	own := known != nil && slices.Contains(known.of[:], maphash.String(t.seed, client))
	t.mu.Unlock()
	if own {
		return t.count("email "+email+" from "+client, now)
	}
	return t.count("email "+email, now)
}

// signedIn records that a client signed in with an address. If there are too many addresses, an
// arbitrary one is forgotten.
func (t *tries) signedIn(email, client string) {
	address, from := maphash.String(t.seed, email), maphash.String(t.seed, client)
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.known[address]
	if w == nil {
		for some := range t.known {
			if len(t.known) < maxTracked {
				break
			}
			delete(t.known, some)
		}
		w = &clients{}
		t.known[address] = w
	}
	if !slices.Contains(w.of[:], from) {
		w.of[w.next] = from
		w.next = (w.next + 1) % maxClients
	}
}

// makeRoom drops entries without recent attempts. If all are recent, it drops arbitrary ones.
func (t *tries) makeRoom(ms int64) {
	if len(t.recent) < maxTracked {
		return
	}
	for key, w := range t.recent {
		if w.at[(w.next+maxTries-1)%maxTries]+tryTime.Milliseconds() <= ms {
			delete(t.recent, key)
		}
	}
	for key := range t.recent {
		if len(t.recent) < maxTracked {
			return
		}
		delete(t.recent, key)
	}
}

// clientGroup returns the client of a request as the rate limit counts it.
func (r *request) clientGroup() string {
	return wire.ClientGroup(r.server.admission.clientAddr(r.http)).String()
}

// peerAddr returns the address at the other end of the connection.
func peerAddr(c *fasthttp.RequestCtx) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// clientAddr returns the peer's address. If the peer is a trusted proxy, it returns the last
// address in X-Forwarded-For that is not a trusted proxy (specification, Surfaces). The addresses
// further left were written by the client and prove nothing.
func (a *admission) clientAddr(c *fasthttp.RequestCtx) netip.Addr {
	addr := peerAddr(c)
	if !a.trusted(addr) {
		return addr
	}
	for _, line := range slices.Backward(c.Request.Header.PeekAll("X-Forwarded-For")) {
		for _, hop := range slices.Backward(strings.Split(string(line), ",")) {
			next, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				return addr
			}
			if addr = next.Unmap(); !a.trusted(addr) {
				return addr
			}
		}
	}
	return addr
}

func (a *admission) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(a.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}
