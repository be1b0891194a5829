package netguard

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ addr, why string }{
		{"0.0.0.0", "this network"}, {"0.255.255.255", "this network"}, {"1.0.0.0", ""},
		{"9.255.255.255", ""}, {"10.0.0.0", "private"}, {"10.255.255.255", "private"}, {"11.0.0.0", ""},
		{"100.63.255.255", ""}, {"100.64.0.0", "shared address space"}, {"100.127.255.255", "shared address space"}, {"100.128.0.0", ""},
		{"126.255.255.255", ""}, {"127.0.0.1", "loopback"}, {"127.255.255.255", "loopback"}, {"128.0.0.0", ""},
		{"169.253.255.255", ""}, {"169.254.169.254", "link-local"}, {"169.255.0.0", ""},
		{"172.15.255.255", ""}, {"172.16.0.0", "private"}, {"172.31.255.255", "private"}, {"172.32.0.0", ""},
		{"191.255.255.255", ""}, {"192.0.0.8", "protocol assignments"}, {"192.0.1.0", ""}, {"192.0.2.255", "documentation"}, {"192.0.3.0", ""},
		{"192.88.98.255", ""}, {"192.88.99.1", "6to4 relay"}, {"192.88.100.0", ""},
		{"192.167.255.255", ""}, {"192.168.1.1", "private"}, {"192.169.0.0", ""},
		{"198.17.255.255", ""}, {"198.18.0.0", "benchmarking"}, {"198.19.255.255", "benchmarking"}, {"198.20.0.0", ""},
		{"198.51.99.255", ""}, {"198.51.100.7", "documentation"}, {"198.51.101.0", ""},
		{"203.0.112.255", ""}, {"203.0.113.7", "documentation"}, {"203.0.114.0", ""},
		{"223.255.255.255", ""}, {"224.0.0.1", "multicast"}, {"239.255.255.255", "multicast"},
		{"240.0.0.0", "reserved"}, {"255.255.255.254", "reserved"}, {"255.255.255.255", "broadcast"},
		{"8.8.8.8", ""},

		{"::", "unspecified"}, {"::1", "loopback"}, {"::7f00:1", "IPv4-compatible"}, {"::8.8.8.8", "IPv4-compatible"},
		{"::ffff:127.0.0.1", "IPv4-mapped"}, {"::ffff:8.8.8.8", "IPv4-mapped"}, {"::ffff:0:127.0.0.1", "reserved"}, {"::1:0:0:0", "reserved"},
		{"64:ff9b::7f00:1", "NAT64"}, {"64:ff9b::808:808", "NAT64"}, {"64:ff9b:1::1", "NAT64"}, {"64:ff9b:2::1", "reserved"},
		{"100::1", "discard-only"}, {"100:0:0:1::1", "dummy prefix"}, {"100:0:0:2::1", "reserved"}, {"1fff:ffff::1", "reserved"},
		{"2001::1", "Teredo"}, {"2001:0:ffff::1", "Teredo"}, {"2001:1::1", "protocol assignments"}, {"2001:2::1", "benchmarking"},
		{"2001:10::1", "ORCHID"}, {"2001:2f::1", "ORCHID"}, {"2001:1ff::1", "protocol assignments"}, {"2001:200::1", ""},
		{"2001:db7::1", ""}, {"2001:db8::1", "documentation"}, {"2001:db9::1", ""},
		{"2002:7f00:1::", "6to4"}, {"2002:808:808::1", "6to4"}, {"2003::1", ""}, {"2a00:1450:4001::1", ""},
		{"3fff::1", "documentation"}, {"3fff:fff::1", "documentation"}, {"3fff:1000::1", ""}, {"4000::1", "reserved"},
		{"5f00::1", "segment routing"}, {"fbff::1", "reserved"}, {"fc00::1", "private"}, {"fdff::1", "private"},
		{"fe00::1", "reserved"}, {"fe80::1", "link-local"}, {"febf::1", "link-local"}, {"fe80::1%eth0", "link-local"},
		{"2003::1%eth0", "link-local"}, {"fec0::1", "site-local"}, {"ff02::1", "multicast"}, {"ff0e::1", "multicast"},
	} {
		if got := whyOf(AddressPolicy{}.CheckAddr(netip.MustParseAddr(c.addr))); got != c.why {
			t.Errorf("%s: %q, want %q", c.addr, got, c.why)
		}
	}
	if whyOf(AddressPolicy{}.CheckAddr(netip.Addr{})) == "" {
		t.Error("the zero address is allowed")
	}
}

func whyOf(err error) string {
	var r *RefusedError
	if errors.As(err, &r) {
		return r.RefusalReason
	}
	return ""
}

func TestAllow(t *testing.T) {
	for _, c := range []struct {
		allow, addr string
		ok          bool
	}{
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.0/8", "::ffff:127.0.0.1", true},
		{"127.0.0.0/8", "::1", false},
		{"127.0.0.0/8", "10.0.0.1", false},
		{"127.0.0.0/8", "64:ff9b::127.0.0.1", false},
		{"::1/128", "::1", true},
		{"::1/128", "127.0.0.1", false},
		{"64:ff9b::/96", "64:ff9b::8.8.8.8", true},
		{"64:ff9b::/96", "64:ff9b::127.0.0.1", false},
		{"2002::/16", "2002:7f00:1::", false},
		{"2001::/32", "2001::80ff:fffe", false}, // 127.0.0.1, inverted
		{"::/0", "::ffff:10.0.0.1", false},
		{"::/0", "fc00::1", true},
		{"0.0.0.0/0", "255.255.255.255", true},
	} {
		err := AddressPolicy{AllowedPrefixes: []netip.Prefix{netip.MustParsePrefix(c.allow)}}.CheckAddr(netip.MustParseAddr(c.addr))
		if (err == nil) != c.ok {
			t.Errorf("%s with %s allowed: %v", c.addr, c.allow, err)
		}
	}
}

func TestControl(t *testing.T) {
	own := []netip.AddrPort{netip.MustParseAddrPort("8.8.8.8:25"), netip.MustParseAddrPort("0.0.0.0:2525"), netip.MustParseAddrPort("[::]:2526")}
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	for _, c := range []struct {
		address string
		allow   []netip.Prefix
		why     string
	}{
		{"8.8.8.8:25", nil, "listeners"},
		{"8.8.8.8:26", nil, ""},
		{"[::ffff:8.8.8.8]:25", nil, "mapped"},
		{"9.9.9.9:2525", nil, ""},
		{"127.0.0.1:2525", nil, "loopback"},
		{"127.0.0.1:2525", []netip.Prefix{loopback}, ""},
		{"[2003::1]:2526", nil, ""},
		{"/run/socket", nil, "not an address"},
		{"localhost:25", nil, "not an address"},
	} {
		err := AddressPolicy{AllowedPrefixes: c.allow, OwnListeners: own}.DialControl("tcp", c.address, nil)
		if got := whyOf(err); got != c.why && (c.why == "" || !strings.Contains(got, c.why)) {
			t.Errorf("%s: %v, want %q", c.address, err, c.why)
		}
	}
}

// TestDialer checks that a dialer with the guard cannot reach an existing listener.
func TestDialer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := net.Dialer{Control: AddressPolicy{}.DialControl}
	if _, err := d.DialContext(t.Context(), "tcp", l.Addr().String()); whyOf(err) != "loopback" {
		t.Fatalf("dialled: %v", err)
	}
	// The listener's own machine, by another of its addresses.
	p := AddressPolicy{OwnListeners: []netip.AddrPort{netip.MustParseAddrPort("[::]:25")}}
	for _, a := range interfaceAddrs(t) {
		if !p.isOwn(a, 25) || p.isOwn(a, 26) {
			t.Errorf("%s is not ours", a)
		}
	}
}

func interfaceAddrs(t *testing.T) (list []netip.Addr) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		addr, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		list = append(list, addr.Unmap())
	}
	return list
}
