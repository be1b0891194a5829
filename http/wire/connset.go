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
	// ProbePlaces are for connections beyond the bounds. They get an answer to /healthz and /readyz, so that
	// whoever watches the service sees that it lives, and 503 to all else.
	ProbePlaces = 8
	// probeStep is how long such a connection may take to ask.
	probeStep = 2 * time.Second
	// clientPart is the part of all places that one client may have.
	clientPart = 4
	// crowdedPercent of all places in use is where idle connections are closed to make room.
	crowdedPercent = 80
)

// ClientGroup is what counts as one client: an IPv4 address, or the /64 that one IPv6
// subscriber has to itself (RFC 6177).
func ClientGroup(a netip.Addr) netip.Prefix {
	bits := 64
	if a = a.Unmap(); a.Is4() {
		bits = 32
	}
	group, _ := a.Prefix(bits)
	return group
}

// connSet is the open connections of all listeners. They have most places together.
type connSet struct {
	most   int
	shared func(netip.Addr) bool // whether many clients come from that address; nil: from none

	mu      sync.Mutex // guards what is below
	open    map[*conn]struct{}
	of      map[netip.Prefix]int // connections of each client among open
	probes  []*conn              // beyond the bounds, in the order in which they came
	idle    []idleConn           // of the last scan, the longest idle first
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

// add takes c in, as one of all or as a probe. False: there is no place at all.
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

// addProbe lets a newcomer have the place of the first that has not asked yet: who holds places open
// without asking keeps nobody away.
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

// isCrowded reports that one more connection is beyond crowdedPercent.
func (cs *connSet) isCrowded() bool { return 100*(len(cs.open)+1) > crowdedPercent*cs.most }

// endLongestIdle ends the connection that has waited for a request the longest, if any waits. What a scan
// found is in the right order as long as it lasts: who began to wait later has waited less.
func (cs *connSet) endLongestIdle() {
	for {
		for len(cs.idle) > 0 {
			next := cs.idle[0]
			cs.idle = cs.idle[1:]
			if _, is := cs.open[next.conn]; is && next.endIfQuiet(next.since) {
				return
			}
		}
		// A scan takes about 50 ns for each: where nobody is idle, newcomers must not cost one each.
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

// endIfQuiet ends c if it has waited for a request since then: its goroutine, which reads, finds that the
// time is over. One that is just writing the response to a poll is not cut off.
func (c *conn) endIfQuiet(since int64) bool {
	if since <= 0 || !c.quietSince.CompareAndSwap(since, ending) {
		return false
	}
	c.Conn.SetReadDeadline(time.Unix(1, 0)) // an error shows with the next use
	return true
}

// hangUp gives the descriptor of c back before the next connection is accepted: its goroutine would do
// so later, and a crowd that comes faster would have more descriptors than it has places.
func (c *conn) hangUp() {
	switch socket := c.Conn.(type) {
	case *tls.Conn:
		socket.NetConn().Close() // an alert could not be read before the handshake
	case *net.TCPConn:
		c.wire.writeCrowded(c)
		socket.Close()
	}
}

// ending is the quietSince of a connection that is being ended.
const ending = -1

// silent returns those that never sent a byte. fasthttp takes them for busy.
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

// hurry bounds what streams still write, also what they are writing now.
func (cs *connSet) hurry(until time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		if c.streaming.Load() {
			c.Conn.SetWriteDeadline(until)
		}
	}
}
