package smtp

import (
	"net"
	"net/netip"
)

// peer is where a connection comes from.
type peer struct {
	addr netip.Addr // invalid when it is not an IP address
}

func (p peer) String() string { return p.addr.String() }

// peerOf returns the peer of conn.
func peerOf(conn net.Conn) peer {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return peer{a.AddrPort().Addr().Unmap().WithZone("")}
	}
	return peer{}
}

// group returns the part of the address that the limit per IP counts: the whole of an IPv4
// address, the first 64 bits of an IPv6 one, for a single machine has all of the rest.
func (p peer) group() netip.Addr {
	if p.addr.Is6() {
		prefix, _ := p.addr.Prefix(64) // 64 is in range
		return prefix.Addr()
	}
	return p.addr
}
