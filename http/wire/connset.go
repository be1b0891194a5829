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
	maxConns        int
	isSharedAddress func(netip.Addr) bool // reports whether many clients share that address; nil: never

	mu         sync.Mutex // guards what is below
	openConns  map[*deadlineConn]struct{}
	of         map[netip.Prefix]int // number of connections of each client in open
	probeConns []*deadlineConn      // beyond the limits, oldest first
	idleConns  []idleConn           // result of the last scan, longest idle first
	scannedAt  time.Time
}

// idleConn is a connection that waited for a request at the time of a scan.
type idleConn struct {
	*deadlineConn
	idleSince int64
}

func newConnSet(most int, shared func(netip.Addr) bool) connSet {
	if shared == nil {
		shared = func(netip.Addr) bool { return false }
	}
	return connSet{maxConns: most, isSharedAddress: shared, openConns: map[*deadlineConn]struct{}{}, of: map[netip.Prefix]int{}}
}

// addConn registers c, as a normal connection or as a probe. It returns false if there is no place.
func (cs *connSet) addConn(c *deadlineConn) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.quietSince.Store(time.Now().UnixNano())
	if addr, ok := c.RemoteAddr().(*net.TCPAddr); ok && !cs.isSharedAddress(addr.AddrPort().Addr().Unmap()) {
		c.clientPrefix = ClientGroup(addr.AddrPort().Addr())
	}
	if len(cs.openConns) >= cs.maxConns || c.clientPrefix.IsValid() && cs.of[c.clientPrefix] >= max(1, cs.maxConns/clientPart) {
		return cs.addProbe(c)
	}
	if cs.isCrowded() {
		cs.endLongestIdle()
	}
	cs.openConns[c] = struct{}{}
	cs.of[c.clientPrefix]++
	return true
}

// addProbe gives the new connection the place of the oldest probe that has sent no request yet. So
// nobody can keep others out by holding places without a request.
func (cs *connSet) addProbe(c *deadlineConn) bool {
	if len(cs.probeConns) == ProbePlaces {
		at := slices.IndexFunc(cs.probeConns, func(p *deadlineConn) bool { return p.endIfQuiet(p.quietSince.Load()) })
		if at < 0 {
			return false
		}
		cs.probeConns[at].hangUp()
		cs.probeConns = slices.Delete(cs.probeConns, at, at+1)
	}
	c.isProbe = true
	cs.probeConns = append(cs.probeConns, c)
	return true
}

func (cs *connSet) removeConn(c *deadlineConn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.isProbe {
		cs.probeConns = slices.DeleteFunc(cs.probeConns, func(p *deadlineConn) bool { return p == c })
		return
	}
	if _, is := cs.openConns[c]; !is {
		return
	}
	delete(cs.openConns, c)
	if cs.of[c.clientPrefix]--; cs.of[c.clientPrefix] == 0 {
		delete(cs.of, c.clientPrefix)
	}
	if !cs.isCrowded() {
		cs.idleConns = nil
	}
}

// isCrowded reports whether one more connection would exceed crowdedPercent.
func (cs *connSet) isCrowded() bool { return 100*(len(cs.openConns)+1) > crowdedPercent*cs.maxConns }

// endLongestIdle ends the connection that has waited longest for a request, if any waits. The order
// of a scan stays valid: connections that began to wait after it have waited less.
func (cs *connSet) endLongestIdle() {
	for {
		for len(cs.idleConns) > 0 {
			next := cs.idleConns[0]
			cs.idleConns = cs.idleConns[1:]
			if _, is := cs.openConns[next.deadlineConn]; is && next.endIfQuiet(next.idleSince) {
				return
			}
		}
		// A scan takes about 50 ns per connection. When none is idle, not every new connection may
		// cause one.
		if time.Since(cs.scannedAt) < time.Duration(len(cs.openConns))*time.Microsecond {
			return
		}
		cs.scanIdle()
		if len(cs.idleConns) == 0 {
			return
		}
	}
}

func (cs *connSet) scanIdle() {
	cs.scannedAt = time.Now()
	for c := range cs.openConns {
		if since := c.quietSince.Load(); since > 0 {
			cs.idleConns = append(cs.idleConns, idleConn{c, since})
		}
	}
	slices.SortFunc(cs.idleConns, func(a, b idleConn) int { return cmp.Compare(a.idleSince, b.idleSince) })
}

// endIfQuiet ends c if it has waited for a request since then: its goroutine, which reads, sees an
// expired deadline. A connection that is writing the response to a poll is not cut off.
func (c *deadlineConn) endIfQuiet(since int64) bool {
	if since <= 0 || !c.quietSince.CompareAndSwap(since, endingConn) {
		return false
	}
	c.Conn.SetReadDeadline(time.Unix(1, 0)) // an error shows with the next use
	return true
}

// hangUp releases the descriptor of c before the next connection is accepted. Its goroutine would
// do so later, and clients that connect faster would use more descriptors than there are places.
func (c *deadlineConn) hangUp() {
	switch socket := c.Conn.(type) {
	case *tls.Conn:
		socket.NetConn().Close() // an alert could not be read before the handshake
	case *net.TCPConn:
		c.wire.writeCrowded(c)
		socket.Close()
	}
}

// endingConn is the value of quietSince of a connection that is being ended.
const endingConn = -1

// silentConns returns the connections that never sent a byte. fasthttp regards them as busy.
func (cs *connSet) silentConns() (out []*deadlineConn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.openConns {
		if !c.hasReceived.Load() {
			out = append(out, c)
		}
	}
	for _, c := range cs.probeConns {
		if !c.hasReceived.Load() {
			out = append(out, c)
		}
	}
	return out
}

// hurryStreams sets a deadline for what streams still write, including writes in progress.
func (cs *connSet) hurryStreams(until time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.openConns {
		if c.isStreaming.Load() {
			c.Conn.SetWriteDeadline(until)
		}
	}
}
