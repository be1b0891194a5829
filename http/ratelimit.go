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

// tryCounter counts anonymous attempts over the last minute. A refused attempt does not count, so that
// an attempt after Retry-After succeeds.
type tryCounter struct {
	hashSeed maphash.Seed

	mu           sync.Mutex // guards recent with all its elements, and known
	recentTries  map[uint64]*recentTries
	knownClients map[uint64]*signInClients // clients that signed in, by e-mail address
}

// maxClients is how many clients are remembered per e-mail address. A new one replaces the oldest.
const maxClients = 8

// signInClients are the clients that signed in with an e-mail address; the oldest is at next. The mutex
// of tries guards it.
type signInClients struct {
	of        [maxClients]uint64
	nextIndex uint8
}

// recentTries holds the times of the last attempts in Unix milliseconds; the oldest is at next. The
// mutex of tries guards it.
type recentTries struct {
	at        [maxTries]int64
	nextIndex uint8
}

func newTries() *tryCounter {
	return &tryCounter{hashSeed: maphash.MakeSeed(), recentTries: map[uint64]*recentTries{}, knownClients: map[uint64]*signInClients{}}
}

// countTry records an attempt by who, or returns a TooMany fault.
func (t *tryCounter) countTry(who string, now time.Time) error {
	key, ms := maphash.String(t.hashSeed, who), now.UnixMilli()
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.recentTries[key]
	if w == nil {
		t.makeRoom(ms)
		w = &recentTries{}
		t.recentTries[key] = w
	}
	if wait := w.at[w.nextIndex] + tryTime.Milliseconds() - ms; wait > 0 {
		return &fault.Error{
			Kind: fault.TooMany, Detail: "Too many attempts. Wait as long as Retry-After says before you try again",
			RetryAfter: time.Duration(wait) * time.Millisecond,
		}
	}
	w.at[w.nextIndex] = ms
	w.nextIndex = (w.nextIndex + 1) % maxTries
	return nil
}

// countEmail counts an attempt with an e-mail address. A client that signed in with it before has a
// separate limit, so that strangers cannot block it.
func (t *tryCounter) countEmail(email, client string, now time.Time) error {
	t.mu.Lock()
	known := t.knownClients[maphash.String(t.hashSeed, email)]
	own := known != nil && slices.Contains(known.of[:], maphash.String(t.hashSeed, client))
	t.mu.Unlock()
	if own {
		return t.countTry("email "+email+" from "+client, now)
	}
	return t.countTry("email "+email, now)
}

// signedIn records that a client signed in with an address. If there are too many addresses, an
// arbitrary one is forgotten.
func (t *tryCounter) signedIn(email, client string) {
	address, from := maphash.String(t.hashSeed, email), maphash.String(t.hashSeed, client)
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.knownClients[address]
	if w == nil {
		for some := range t.knownClients {
			if len(t.knownClients) < maxTracked {
				break
			}
			delete(t.knownClients, some)
		}
		w = &signInClients{}
		t.knownClients[address] = w
	}
	if !slices.Contains(w.of[:], from) {
		w.of[w.nextIndex] = from
		w.nextIndex = (w.nextIndex + 1) % maxClients
	}
}

// makeRoom drops entries without recent attempts. If all are recent, it drops arbitrary ones.
func (t *tryCounter) makeRoom(ms int64) {
	if len(t.recentTries) < maxTracked {
		return
	}
	for key, w := range t.recentTries {
		if w.at[(w.nextIndex+maxTries-1)%maxTries]+tryTime.Milliseconds() <= ms {
			delete(t.recentTries, key)
		}
	}
	for key := range t.recentTries {
		if len(t.recentTries) < maxTracked {
			return
		}
		delete(t.recentTries, key)
	}
}

// clientGroup returns the client of a request as the rate limit counts it.
func (r *apiRequest) clientGroup() string {
	return wire.ClientGroup(r.server.admission.clientAddr(r.httpCtx)).String()
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
func (a *admissionCheck) clientAddr(c *fasthttp.RequestCtx) netip.Addr {
	addr := peerAddr(c)
	if !a.isTrustedProxy(addr) {
		return addr
	}
	for _, line := range slices.Backward(c.Request.Header.PeekAll("X-Forwarded-For")) {
		for _, hop := range slices.Backward(strings.Split(string(line), ",")) {
			next, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				return addr
			}
			if addr = next.Unmap(); !a.isTrustedProxy(addr) {
				return addr
			}
		}
	}
	return addr
}

func (a *admissionCheck) isTrustedProxy(addr netip.Addr) bool {
	return slices.ContainsFunc(a.trustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}
