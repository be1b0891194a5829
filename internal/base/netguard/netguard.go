// Package netguard refuses to connect to addresses that a stranger must not be able to make
// us reach: the operator's own networks and what is no public host at all. It knows the IANA
// special-purpose registries and nothing of what is spoken over the connection.
package netguard

import (
	"net"
	"net/netip"
	"syscall"
)

// Policy says what may be connected to. The zero value allows public unicast alone.
type Policy struct {
	Allow []netip.Prefix   // the operator's exceptions; they win over everything else
	Own   []netip.AddrPort // our own listeners; an unspecified address means every one of this machine
}

// Refused is the error for an address that may not be connected to.
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

// Check returns a *Refused for an address outside of the policy. An IPv6 address that
// carries an IPv4 address is only as good as that one: allowing the translator's prefix
// (64:ff9b::/96) opens no way to 127.0.0.1 behind it.
func (p Policy) Check(addr netip.Addr) error {
	if !addr.IsValid() {
		return &Refused{addr, "not an address"}
	}
	if addr.Zone() != "" {
		return &Refused{addr, "link-local"} // a zone means nothing beyond this machine
	}
	inner, wrapped := embedded(addr)
	switch {
	case addr.Is4In6() && p.allows(inner):
		return nil // what would be connected to is inner
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

// Control is for net.Dialer.Control: it checks the address that is really connected to, so
// that no second look-up can smuggle another one in. Beside what Check refuses, it refuses
// our own listeners.
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

// isLocal reports an address of this machine; when it can't be known, every one is.
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
