package wire

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// ProbePlaces are for connections beyond the limits. They can request /healthz and /readyz, so
	// that a monitor sees that the service is alive, and get 503 for everything else.
	ProbePlaces = 8
	// probeStep is how long such a connection may take to send its request.
	probeStep = 2 * time.Second
	// clientPart: one client may have one clientPart-th of all places.
	clientPart = 4
	// crowdedPercent: when more of the places are in use, idle connections are closed to make room.
	crowdedPercent = 80
)

// ClientGroup returns the prefix that counts as one client: an IPv4 address, or the /64 that one
// IPv6 subscriber has (RFC 6177).
func ClientGroup(a netip.Addr) netip.Prefix {
	bits := 64
	if a = a.Unmap(); a.Is4() {
		bits = 32
	}
	group, _ := a.Prefix(bits)
	return group
}

// connSet is the set of open connections of all listeners. Their number is limited to most.
type connSet struct {
	most   int
	shared func(netip.Addr) bool // reports whether many clients share that address; nil: never

	mu      sync.Mutex // guards what is below
	open    map[*conn]struct{}
	of      map[netip.Prefix]int // number of connections of each client in open
	probes  []*conn              // beyond the limits, oldest first
	idle    []idleConn           // result of the last scan, longest idle first
	scanned time.Time
}

// idleConn is a connection that waited for a request at the time of a scan.
type idleConn struct {
	*conn
	since int64
}

func newConnSet(most int, shared func(netip.Addr) bool) connSet {
	if shared == nil {
		shared = func(netip.Addr) bool { return false }
	}
	return connSet{most: most, shared: shared, open: map[*conn]struct{}{}, of: map[netip.Prefix]int{}}
}

// add registers c, as a normal connection or as a probe. It returns false if there is no place.
func (cs *connSet) add(c *conn) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.quietSince.Store(time.Now().UnixNano())
	if addr, ok := c.RemoteAddr().(*net.TCPAddr); ok && !cs.shared(addr.AddrPort().Addr().Unmap()) {
		c.client = ClientGroup(addr.AddrPort().Addr())
	}
	if len(cs.open) >= cs.most || c.client.IsValid() && cs.of[c.client] >= max(1, cs.most/clientPart) {
		return cs.addProbe(c)
	}
	if cs.isCrowded() {
		cs.endLongestIdle()
	}
	cs.open[c] = struct{}{}
	cs.of[c.client]++
	return true
}

// addProbe gives the new connection the place of the oldest probe that has sent no request yet. So
// nobody can keep others out by holding places without a request.
func (cs *connSet) addProbe(c *conn) bool {
	if len(cs.probes) == ProbePlaces {
		at := slices.IndexFunc(cs.probes, func(p *conn) bool { return p.endIfQuiet(p.quietSince.Load()) })
		if at < 0 {
			return false
		}
		cs.probes[at].hangUp()
		cs.probes = slices.Delete(cs.probes, at, at+1)
	}
	c.probe = true
	cs.probes = append(cs.probes, c)
	return true
}

func (cs *connSet) remove(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.probe {
		cs.probes = slices.DeleteFunc(cs.probes, func(p *conn) bool { return p == c })
		return
	}
	if _, is := cs.open[c]; !is {
		return
	}
	delete(cs.open, c)
	if cs.of[c.client]--; cs.of[c.client] == 0 {
		delete(cs.of, c.client)
	}
	if !cs.isCrowded() {
		cs.idle = nil
	}
}

// isCrowded reports whether one more connection would exceed crowdedPercent.
func (cs *connSet) isCrowded() bool { return 100*(len(cs.open)+1) > crowdedPercent*cs.most }

// endLongestIdle ends the connection that has waited longest for a request, if any waits. The order
// of a scan stays valid: connections that began to wait after it have waited less.
func (cs *connSet) endLongestIdle() {
	for {
		for len(cs.idle) > 0 {
			next := cs.idle[0]
			cs.idle = cs.idle[1:]
			if _, is := cs.open[next.conn]; is && next.endIfQuiet(next.since) {
				return
			}
		}
		// A scan takes about 50 ns per connection. When none is idle, not every new connection may
		// cause one.
		if time.Since(cs.scanned) < time.Duration(len(cs.open))*time.Microsecond {
			return
		}
		cs.scan()
		if len(cs.idle) == 0 {
			return
		}
	}
}

func (cs *connSet) scan() {
	cs.scanned = time.Now()
	for c := range cs.open {
		if since := c.quietSince.Load(); since > 0 {
			cs.idle = append(cs.idle, idleConn{c, since})
		}
	}
	slices.SortFunc(cs.idle, func(a, b idleConn) int { return cmp.Compare(a.since, b.since) })
}

// endIfQuiet ends c if it has waited for a request since then: its goroutine, which reads, sees an
// expired deadline. A connection that is writing the response to a poll is not cut off.
func (c *conn) endIfQuiet(since int64) bool {
	if since <= 0 || !c.quietSince.CompareAndSwap(since, ending) {
		return false
	}
	c.Conn.SetReadDeadline(time.Unix(1, 0)) // an error shows with the next use
	return true
}

// hangUp releases the descriptor of c before the next connection is accepted. Its goroutine would
// do so later, and clients that connect faster would use more descriptors than there are places.
func (c *conn) hangUp() {
	switch socket := c.Conn.(type) {
	case *tls.Conn:
		socket.NetConn().Close() // an alert could not be read before the handshake
	case *net.TCPConn:
		c.wire.writeCrowded(c)
		socket.Close()
	}
}

// ending is the value of quietSince of a connection that is being ended.
const ending = -1

// silent returns the connections that never sent a byte. fasthttp regards them as busy.
func (cs *connSet) silent() (out []*conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		if !c.spoke.Load() {
			out = append(out, c)
		}
	}
	for _, c := range cs.probes {
		if !c.spoke.Load() {
			out = append(out, c)
		}
	}
	return out
}

// hurry sets a deadline for what streams still write, including writes in progress.
func (cs *connSet) hurry(until time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		if c.streaming.Load() {
			c.Conn.SetWriteDeadline(until)
		}
	}
}
