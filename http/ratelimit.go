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
	// maxTries in tryTime, per client and per e-mail address (specification, Sign-up and
	// sessions).
	maxTries = 10
	tryTime  = time.Minute
	// maxTracked bounds the memory of tries to about 16 MiB.
	maxTracked = 1 << 16
)

// tries counts anonymous tries over the last minute. A refused try does not count, so that
// Retry-After holds what it says.
type tries struct {
	seed maphash.Seed

	mu     sync.Mutex // guards recent, all in it, and known
	recent map[uint64]*lately
	known  map[uint64]*clients // who signed in, by the e-mail address
}

// maxClients are remembered of an e-mail address; a further one takes the place of the longest known.
const maxClients = 8

// clients are those that signed in with an e-mail address, the longest known at next. The lock of tries
// guards it.
type clients struct {
	of   [maxClients]uint64
	next uint8
}

// lately holds the Unix milliseconds of the latest tries, the oldest at next. The lock of
// tries guards it.
type lately struct {
	at   [maxTries]int64
	next uint8
}

func newTries() *tries {
	return &tries{seed: maphash.MakeSeed(), recent: map[uint64]*lately{}, known: map[uint64]*clients{}}
}

// count notes a try of who, or refuses it with TooMany.
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

// countEmail counts a try with an e-mail address. A client that signed in with it before has tries of
// its own: strangers can't use them up.
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

// signedIn notes that a client signed in with an address. When there are too many addresses, some one is
// forgotten.
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

// makeRoom drops who has not tried lately; when every one is in use, some one of them goes.
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

// clientGroup is who the client of a request counts as.
func (r *request) clientGroup() string {
	return wire.ClientGroup(r.server.admission.clientAddr(r.http)).String()
}

// peerAddr is the address at the other end of the connection.
func peerAddr(c *fasthttp.RequestCtx) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// clientAddr is the peer's address, or the last address of X-Forwarded-For that no trusted
// proxy has when the peer is one (specification, Surfaces): what stands further left was
// written by the client and proves nothing.
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
