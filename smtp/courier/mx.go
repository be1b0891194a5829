package courier

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/core/delivery"
)

// maxAddresses is how many addresses of one host are tried.
const maxAddresses = 4

// mailHosts returns the hosts that receive mail for a domain in the order to be tried (RFC 5321
// section 5.1), or the reason that there is none.
func (c *Courier) mailHosts(ctx context.Context, domain string) ([]string, *deliveryVerdict) {
	list, err := c.opts.Resolver.LookupMX(ctx, domain+".")
	switch {
	case len(list) == 0 && (err == nil || isNotFound(err)):
		return c.implicitHost(ctx, domain)
	case len(list) == 0:
		return nil, dnsVerdict(domain)
	case isNullMX(list):
		v := localVerdict(delivery.NullMX, "The domain %s accepts no mail", domain)
		return nil, &v
	}
	hosts := c.orderHosts(list)
	if len(hosts) == 0 {
		v := localVerdict(delivery.NoRoute, "The MX records of %s name only this server, so its mail would loop", domain)
		return nil, &v
	}
	return hosts, nil
}

// implicitHost returns the domain itself, if it has an address.
func (c *Courier) implicitHost(ctx context.Context, domain string) ([]string, *deliveryVerdict) {
	_, err := c.opts.Resolver.LookupIPAddr(ctx, domain+".")
	switch {
	case err == nil:
		return []string{domain}, nil
	case isNotFound(err):
		v := localVerdict(delivery.NoDomain, "The domain %s does not exist or has no mail server", domain)
		return nil, &v
	}
	return nil, dnsVerdict(domain)
}

func dnsVerdict(domain string) *deliveryVerdict {
	v := localVerdict(delivery.DNSFailure, "The DNS lookup of %s failed", domain)
	return &v
}

// isNullMX reports the single record of RFC 7505.
func isNullMX(list []*net.MX) bool {
	return len(list) == 1 && strings.Trim(list[0].Host, ".") == ""
}

// orderHosts sorts by preference, with equal ones in random order, and drops names that are not host
// names. If we are listed, only hosts with a better preference remain: the others would send the
// message back to us.
func (c *Courier) orderHosts(list []*net.MX) (hosts []string) {
	list = slices.Clone(list)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, func(a, b *net.MX) int { return int(a.Pref) - int(b.Pref) })
	isUs := func(mx *net.MX) bool { return strings.EqualFold(strings.TrimSuffix(mx.Host, "."), c.opts.HelloName) }
	if i := slices.IndexFunc(list, isUs); i >= 0 {
		ours := list[i].Pref
		list = slices.DeleteFunc(list, func(mx *net.MX) bool { return mx.Pref >= ours })
	}
	for _, mx := range list {
		host, ok := address.CanonicalHost(strings.TrimSuffix(mx.Host, "."))
		if ok && !slices.Contains(hosts, host) && len(hosts) < maxHosts {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// lookupAddresses returns the addresses of a mail server, IPv4 first: receivers that distrust an IPv6
// address are more common than the opposite.
func (c *Courier) lookupAddresses(ctx context.Context, host string) ([]netip.Addr, *connectionError) {
	found, err := c.opts.Resolver.LookupIPAddr(ctx, host+".")
	switch {
	case len(found) > 0:
		return preferredOrder(found), nil
	case err == nil || isNotFound(err):
		return nil, &connectionError{localVerdict(delivery.NoRoute, "The mail server %s has no address", host)}
	}
	return nil, &connectionError{*dnsVerdict(host)}
}

// smarthostAddresses returns the addresses of the configured smarthost. Its errors are never
// permanent, because the operator can correct the configuration.
func (c *Courier) smarthostAddresses(ctx context.Context, host string) (list []string, why *connectionError) {
	found, err := c.opts.Smarthost.Resolver.LookupIPAddr(ctx, host)
	switch {
	case len(found) > 0:
		for _, addr := range preferredOrder(found) {
			list = append(list, addr.String())
		}
		return list, nil
	case err == nil || isNotFound(err):
		return nil, &connectionError{localVerdict(delivery.NoRoute, "The smarthost %s has no address in the DNS", host)}
	}
	return nil, &connectionError{localVerdict(delivery.DNSFailure, "The DNS lookup of the smarthost %s failed", host)}
}

// preferredOrder returns the addresses of a host in the order to be tried.
func preferredOrder(found []net.IPAddr) []netip.Addr {
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	var addrs []netip.Addr
	for _, f := range found {
		if addr, ok := netip.AddrFromSlice(f.IP); ok {
			addrs = append(addrs, addr.Unmap())
		}
	}
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return addrs[:min(len(addrs), maxAddresses)]
}

func isNotFound(err error) bool {
	var d *net.DNSError
	return errors.As(err, &d) && d.IsNotFound
}
