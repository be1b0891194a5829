package netguard

import "net/netip"

// specialRange is one range of a special-purpose registry.
type specialRange struct {
	prefix      netip.Prefix
	rangeReason string
}

func parseRanges(pairs ...string) []specialRange {
	list := make([]specialRange, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, specialRange{netip.MustParsePrefix(pairs[i]), pairs[i+1]})
	}
	return list
}

// The IANA special-purpose address registries (RFC 6890 and its updates), multicast, and formerly
// special ranges. Listed ranges that are globally reachable (AS112, AMT relays) have no mail server
// and no webhook receiver. They are refused only if they are inside a range below.
var special4 = parseRanges(
	"0.0.0.0/8", "this network", // RFC 791
	"10.0.0.0/8", "private", // RFC 1918
	"100.64.0.0/10", "shared address space", // RFC 6598
	"127.0.0.0/8", "loopback", // RFC 1122
	"169.254.0.0/16", "link-local", // RFC 3927
	"172.16.0.0/12", "private",
	"192.0.0.0/24", "protocol assignments", // RFC 6890
	"192.0.2.0/24", "documentation", // RFC 5737
	"192.88.99.0/24", "6to4 relay", // RFC 7526
	"192.168.0.0/16", "private",
	"198.18.0.0/15", "benchmarking", // RFC 2544
	"198.51.100.0/24", "documentation",
	"203.0.113.0/24", "documentation",
	"224.0.0.0/4", "multicast", // RFC 5771
	"255.255.255.255/32", "broadcast",
	"240.0.0.0/4", "reserved", // RFC 1112
)

// global6 is the space that IANA has allocated for public use; the rest is reserved.
var global6 = netip.MustParsePrefix("2000::/3")

var special6 = parseRanges(
	"::/128", "unspecified", // RFC 4291
	"::1/128", "loopback",
	"::ffff:0:0/96", "IPv4-mapped",
	"::/96", "IPv4-compatible",
	"64:ff9b::/96", "NAT64", // RFC 6052
	"64:ff9b:1::/48", "NAT64", // RFC 8215
	"100::/64", "discard-only", // RFC 6666
	"100:0:0:1::/64", "dummy prefix", // RFC 9780
	"2001::/32", "Teredo", // RFC 4380
	"2001:2::/48", "benchmarking", // RFC 5180
	"2001:10::/28", "ORCHID", // RFC 4843
	"2001:20::/28", "ORCHID", // RFC 7343
	"2001::/23", "protocol assignments", // RFC 2928
	"2001:db8::/32", "documentation", // RFC 3849
	"2002::/16", "6to4", // RFC 3056
	"3fff::/20", "documentation", // RFC 9637
	"5f00::/16", "segment routing", // RFC 9602
	"fc00::/7", "private", // RFC 4193
	"fe80::/10", "link-local", // RFC 4291
	"fec0::/10", "site-local", // RFC 3879
	"ff00::/8", "multicast",
)

// specialReason returns the reason why addr is special, "" for public unicast.
func specialReason(addr netip.Addr) string {
	list := special6
	if addr.Is4() {
		list = special4
	}
	bits := netip.PrefixFrom(addr.WithZone(""), addr.BitLen())
	for _, b := range list {
		// Overlaps is used because Contains never finds a mapped address in a mapped prefix.
		if b.prefix.Overlaps(bits) {
			return b.rangeReason
		}
	}
	if addr.Is6() && !global6.Contains(addr) {
		return "reserved"
	}
	return ""
}

// embeddedIPv4 returns the IPv4 address that a gateway would extract from an IPv6 address.
func embeddedIPv4(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch specialReason(addr) {
	case "IPv4-mapped", "IPv4-compatible", "NAT64":
		return netip.AddrFrom4([4]byte(b[12:])), true
	case "6to4":
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case "Teredo": // the client's address, inverted (RFC 4380 section 4)
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	}
	return netip.Addr{}, false
}
