// Package netguard refuses connections to addresses that a stranger must not be able to make us
// reach: the operator's own networks and everything that is not a public host. It contains the IANA
// special-purpose registries. It does not know the protocol of the connection.
package netguard

import (
	"net"
	"net/netip"
	"syscall"
)

// Policy says which addresses are allowed. The zero value allows only public unicast.
type Policy struct {
	Allow []netip.Prefix   // the operator's exceptions; they override everything else
	Own   []netip.AddrPort // our own listeners; an unspecified address means all addresses of this machine
}

// Refused is the error for an address that is not allowed.
type Refused struct {
	Addr netip.Addr
	Why  string // "loopback", "private", ...
}

func (e *Refused) Error() string {
	if !e.Addr.IsValid() {
		return "this is refused: " + e.Why
	}
	return e.Addr.String() + " is refused: " + e.Why
}

// Check returns a *Refused for an address outside the policy. For an IPv6 address that contains an
// IPv4 address, the latter must also be allowed: allowing the translator's prefix (64:ff9b::/96)
// does not allow 127.0.0.1 behind it.
func (p Policy) Check(addr netip.Addr) error {
	if !addr.IsValid() {
		return &Refused{addr, "not an address"}
	}
	if addr.Zone() != "" {
		return &Refused{addr, "link-local"} // a zone has no meaning outside this machine
	}
	inner, wrapped := embedded(addr)
	switch {
	case addr.Is4In6() && p.allows(inner):
		return nil // the connection would be made to inner
	case p.allows(addr) && wrapped:
		return p.Check(inner)
	case p.allows(addr):
		return nil
	}
	if why := special(addr); why != "" {
		return &Refused{addr, why}
	}
	return nil
}

// Control is for net.Dialer.Control. It checks the address that is really connected to, so that a
// second lookup cannot substitute another one. In addition to Check, it refuses our own listeners.
func (p Policy) Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refused{Why: "not an address of a host"} // a Unix socket
	}
	if err := p.Check(at.Addr()); err != nil {
		return err
	}
	if addr := at.Addr().Unmap(); p.isOwn(addr, at.Port()) && !p.allows(addr) {
		return &Refused{addr, "one of our own listeners"}
	}
	return nil
}

func (p Policy) allows(addr netip.Addr) bool {
	for _, prefix := range p.Allow {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

func (p Policy) isOwn(addr netip.Addr, port uint16) bool {
	for _, own := range p.Own {
		if own.Port() == port && (own.Addr().Unmap() == addr || own.Addr().IsUnspecified() && isLocal(addr)) {
			return true
		}
	}
	return false
}

// isLocal reports whether addr is an address of this machine. It is true if that is unknown.
func isLocal(addr netip.Addr) bool {
	if addr.IsLoopback() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if local, ok := netip.AddrFromSlice(n.IP); ok && local.Unmap() == addr {
				return true
			}
		}
	}
	return false
}
