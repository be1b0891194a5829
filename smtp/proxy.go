package smtp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// The PROXY protocol, https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt: before
// everything else, a load balancer sends the address of the client whose connection it forwards.
const (
	maxProxyV1 = 107     // octets of a complete version 1 header
	maxProxyV2 = 4 << 10 // octets after the fixed part of version 2; TLVs are read and ignored
	proxyV2    = "\r\n\r\n\x00\r\nQUIT\n"
)

var errProxyHeader = errors.New("smtp: malformed PROXY header")

// trustsProxy reports whether connections of this peer begin with a PROXY header.
func (s *Server) trustsProxy(p peer) bool {
	return slices.ContainsFunc(s.opts.ProxyProtocol, func(n netip.Prefix) bool { return n.Contains(p.addr) })
}

// admitProxied reads the PROXY header of a load balancer's connection, and admits the connection under
// the address that the header names. Until then the connection counts in Server.awaitingProxy.
func (s *Server) admitProxied(conn net.Conn, secure bool) {
	if !s.registerWaiting(conn) {
		s.stats.refusedConnections.Add(1)
		turnAway(conn)
		return
	}
	go func() {
		from := peerOf(conn)
		conn.SetReadDeadline(time.Now().Add(s.opts.SilentTimeout))
		addr, err := readProxyHeader(conn)
		s.mu.Lock()
		delete(s.awaitingProxy, conn)
		s.mu.Unlock()
		if err != nil {
			s.stats.refusedConnections.Add(1)
			s.logSometimes(slog.LevelWarn, "connection of a load balancer has no PROXY header", slog.String("peer", from.String()), slog.Any("err", err))
			conn.Close()
			return
		}
		if addr.IsValid() {
			from = peer{addr}
		}
		s.admitAs(conn, from, secure)
	}()
}

// registerWaiting registers a connection whose header has not arrived yet, if there is room for it.
func (s *Server) registerWaiting(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lineServer.IsDraining.Load() || len(s.activeSessions)+len(s.awaitingProxy) >= s.opts.MaxConns {
		return false
	}
	s.awaitingProxy[conn] = struct{}{}
	return true
}

// readProxyHeader reads a header and not an octet more. The address is invalid if the load balancer
// opened the connection for itself or does not know the client's address.
func readProxyHeader(r io.Reader) (netip.Addr, error) {
	head := make([]byte, len(proxyV2), maxProxyV1)
	if _, err := io.ReadFull(r, head); err != nil {
		return netip.Addr{}, err
	}
	if string(head) == proxyV2 {
		return readProxyV2(r)
	}
	if !bytes.HasPrefix(head, []byte("PROXY ")) {
		return netip.Addr{}, errProxyHeader
	}
	for !bytes.HasSuffix(head, crlf) {
		if len(head) == maxProxyV1 || bytes.IndexByte(head, '\n') >= 0 {
			return netip.Addr{}, errProxyHeader
		}
		head = head[:len(head)+1]
		if _, err := io.ReadFull(r, head[len(head)-1:]); err != nil {
			return netip.Addr{}, err
		}
	}
	return parseProxyV1(string(head[:len(head)-len(crlf)]))
}

// parseProxyV1 reads `PROXY TCP4 source destination port port`.
func parseProxyV1(line string) (netip.Addr, error) {
	words := strings.Split(line, " ")
	if words[1] == "UNKNOWN" {
		return netip.Addr{}, nil
	}
	if len(words) != 6 || words[1] != "TCP4" && words[1] != "TCP6" {
		return netip.Addr{}, errProxyHeader
	}
	source, err := netip.ParseAddr(words[2])
	if err != nil || source.Zone() != "" || source.Is4() != (words[1] == "TCP4") {
		return netip.Addr{}, errProxyHeader
	}
	return source.Unmap(), nil
}

// readProxyV2 reads what follows the signature: version and command, family, length, the addresses,
// and TLVs, which are not used.
func readProxyV2(r io.Reader) (netip.Addr, error) {
	var fixed [4]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return netip.Addr{}, err
	}
	size := int(binary.BigEndian.Uint16(fixed[2:]))
	if fixed[0]&0xf0 != 0x20 || fixed[0]&0x0f > 1 || size > maxProxyV2 {
		return netip.Addr{}, errProxyHeader
	}
	rest := make([]byte, size)
	if _, err := io.ReadFull(r, rest); err != nil {
		return netip.Addr{}, err
	}
	switch local := fixed[0]&0x0f == 0; {
	case local:
		return netip.Addr{}, nil
	case fixed[1] == 0x11 && size >= 12: // TCP over IPv4
		return netip.AddrFrom4([4]byte(rest)), nil
	case fixed[1] == 0x21 && size >= 36: // TCP over IPv6
		return netip.AddrFrom16([16]byte(rest)).Unmap(), nil
	case fixed[1] == 0x11, fixed[1] == 0x21:
		return netip.Addr{}, errProxyHeader
	}
	return netip.Addr{}, nil // a family without IP addresses
}
