package smtp

import (
	"net"
	"net/netip"
)

// peer is the remote address of a connection.
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

// limitGroup returns the part of the address that limits per IP apply to: a whole IPv4 address, or the
// first 64 bits of an IPv6 one, because a single machine can use all addresses of a /64.
func (p peer) limitGroup() netip.Addr {
	if p.addr.Is6() {
		prefix, _ := p.addr.Prefix(64) // 64 is in range
		return prefix.Addr()
	}
	return p.addr
}
