package http

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

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
