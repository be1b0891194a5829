// Package netguard refuses connections to addresses that a stranger must not be able to make us
// reach: the operator's own networks and everything that is not a public host. It contains the IANA
// special-purpose registries. It does not know the protocol of the connection.
package netguard

import (
	"net"
	"net/netip"
	"syscall"
)

// AddressPolicy says which addresses are allowed. The zero value allows only public unicast.
type AddressPolicy struct {
	AllowedPrefixes []netip.Prefix   // the operator's exceptions; they override everything else
	OwnListeners    []netip.AddrPort // our own listeners; an unspecified address means all addresses of this machine
}

// RefusedError is the error for an address that is not allowed.
type RefusedError struct {
	Addr          netip.Addr
	RefusalReason string // "loopback", "private", ...
}

func (e *RefusedError) Error() string {
	if !e.Addr.IsValid() {
		return "this is refused: " + e.RefusalReason
	}
	return e.Addr.String() + " is refused: " + e.RefusalReason
}

// CheckAddr returns a *RefusedError for an address outside the policy. For an IPv6 address that
// contains an IPv4 address, the latter must also be allowed: allowing the translator's prefix
// (64:ff9b::/96) does not allow 127.0.0.1 behind it.
func (p AddressPolicy) CheckAddr(addr netip.Addr) error {
	if !addr.IsValid() {
		return &RefusedError{addr, "not an address"}
	}
	if addr.Zone() != "" {
		return &RefusedError{addr, "link-local"} // a zone has no meaning outside this machine
	}
	inner, wrapped := embeddedIPv4(addr)
	switch {
	case addr.Is4In6() && p.allowsAddr(inner):
		return nil // the connection would be made to inner
	case p.allowsAddr(addr) && wrapped:
		return p.CheckAddr(inner)
	case p.allowsAddr(addr):
		return nil
	}
	if why := specialReason(addr); why != "" {
		return &RefusedError{addr, why}
	}
	return nil
}

// DialControl is for net.Dialer.Control. It checks the address that is really connected to, so that a
// second lookup cannot substitute another one. In addition to CheckAddr, it refuses our own listeners.
func (p AddressPolicy) DialControl(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{RefusalReason: "not an address of a host"} // a Unix socket
	}
	if err := p.CheckAddr(at.Addr()); err != nil {
		return err
	}
	if addr := at.Addr().Unmap(); p.isOwn(addr, at.Port()) && !p.allowsAddr(addr) {
		return &RefusedError{addr, "one of our own listeners"}
	}
	return nil
}

func (p AddressPolicy) allowsAddr(addr netip.Addr) bool {
	for _, prefix := range p.AllowedPrefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

func (p AddressPolicy) isOwn(addr netip.Addr, port uint16) bool {
	for _, own := range p.OwnListeners {
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
