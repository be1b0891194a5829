package resolve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"inboxd/internal/base/address"
)

// LookupTXT returns the TXT records of name, each with its strings joined.
func (r *Resolver) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return lookupRecords(ctx, r, r.resolveQuestion, name, dns.TypeTXT, textOf)
}

// KnownTXT is LookupTXT without waiting: false if a query is needed. Callers that store an answer
// check for each message whether it is still current. So the cached list itself is returned to all
// of them, and nobody may modify it.
func (r *Resolver) KnownTXT(name string) ([]string, error, bool) {
	r.mu.Lock()
	a, ok := r.cache.getAnswer(dnsQuestion{canonicalName(escapeName(name)), dns.TypeTXT}, r.opts.Clock())
	r.mu.Unlock()
	if ok && (a.err != nil || len(a.txtStrings) > 0) {
		return a.txtStrings, a.err, true
	}
	list, err := lookupRecords(context.Background(), r, r.askKnown, name, dns.TypeTXT, textOf)
	return list, err, err != errUnknown
}

func textOf(rr *dns.TXT) (string, bool) { return unescape(strings.Join(rr.Txt, "")), true }

// LookupMX returns the MX records of name, the preferred first, equal ones shuffled. Hosts end in a
// dot; a null MX (RFC 7505) is the host ".".
func (r *Resolver) LookupMX(ctx context.Context, name string) ([]*net.MX, error) {
	list, err := lookupRecords(ctx, r, r.resolveQuestion, name, dns.TypeMX, func(rr *dns.MX) (*net.MX, bool) {
		return &net.MX{Host: rr.Mx, Pref: rr.Preference}, rr.Mx == "." || isHost(rr.Mx)
	})
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, func(a, b *net.MX) int { return int(a.Pref) - int(b.Pref) })
	return list, err
}

// LookupIPAddr returns the IPv4 and IPv6 addresses of host. An address is returned as it is.
func (r *Resolver) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []net.IPAddr{{IP: ip.AsSlice(), Zone: ip.Zone()}}, nil
	}
	type found struct {
		addrs []net.IPAddr
		err   error
	}
	six := make(chan found, 1)
	go func() {
		addrs, err := lookupRecords(ctx, r, r.resolveQuestion, host, dns.TypeAAAA, func(rr *dns.AAAA) (net.IPAddr, bool) {
			return net.IPAddr{IP: rr.AAAA}, true
		})
		six <- found{addrs, err}
	}()
	addrs, err := lookupRecords(ctx, r, r.resolveQuestion, host, dns.TypeA, func(rr *dns.A) (net.IPAddr, bool) {
		return net.IPAddr{IP: rr.A}, true
	})
	other := <-six
	switch addrs = append(addrs, other.addrs...); {
	case len(addrs) > 0:
		return addrs, nil
	case err == nil, NoSuchDomain(other.err), isNotFound(err) && !isNotFound(other.err):
		return nil, other.err
	}
	return nil, err
}

// LookupAddr returns the names of ip, which end in a dot. They are not verified.
func (r *Resolver) LookupAddr(ctx context.Context, ip string) ([]string, error) {
	name, err := dns.ReverseAddr(ip)
	if err != nil {
		return nil, &net.DNSError{Err: "unrecognized address", Name: ip}
	}
	return lookupRecords(ctx, r, r.resolveQuestion, name, dns.TypePTR, func(rr *dns.PTR) (string, bool) {
		return rr.Ptr, isHost(rr.Ptr)
	})
}

// queryFunc is a method that resolves a question.
type queryFunc func(context.Context, dnsQuestion) ([]dns.RR, error)

// lookupRecords looks up name and converts each usable record by take.
func lookupRecords[R dns.RR, T any](ctx context.Context, r *Resolver, query queryFunc, name string, qtype uint16, take func(R) (T, bool)) ([]T, error) {
	q := dnsQuestion{canonicalName(escapeName(name)), qtype}
	if _, ok := dns.IsDomainName(q.name); !ok || q.name == "" {
		return nil, noSuchDomain(q)
	}
	if r.usesSystemServers && isReserved(q.name) {
		query = answerReserved
	}
	rrs, err := query(ctx, q)
	if err != nil {
		return nil, err
	}
	list := usableRecords(rrs, take)
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no usable record", Name: q.name}
	}
	return list, nil
}

func usableRecords[R dns.RR, T any](rrs []dns.RR, take func(R) (T, bool)) (list []T) {
	for _, rr := range rrs {
		if typed, ok := rr.(R); ok {
			if v, ok := take(typed); ok {
				list = append(list, v)
			}
		}
	}
	return list
}

func isReserved(name string) bool {
	top := name[strings.LastIndexByte(name, '.')+1:]
	return top == "localhost" || top == "invalid"
}

// answerReserved answers for the names that are not sent to the machine's own servers (RFC 6761
// sections 6.3 and 6.4). A server that an operator configured gets every name.
func answerReserved(_ context.Context, q dnsQuestion) ([]dns.RR, error) {
	switch {
	case strings.HasSuffix(q.name, "invalid"):
		return nil, noSuchDomain(q)
	case q.qtype == dns.TypeA:
		return []dns.RR{&dns.A{A: net.IPv4(127, 0, 0, 1)}}, nil
	case q.qtype == dns.TypeAAAA:
		return []dns.RR{&dns.AAAA{AAAA: net.IPv6loopback}}, nil
	}
	return nil, noData(q)
}

// escapeName escapes a name so that every character is literal, in the form of DNS messages. SPF
// makes names from strangers' local parts. A space in one was read as another name in every answer,
// and made the server seem silent.
func escapeName(name string) string {
	if isHost(name) {
		return name
	}
	b := make([]byte, 0, len(name)+8)
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, "\\%03d", c)
		case strings.IndexByte(" '@;()\"\\", c) >= 0:
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// canonicalName is the canonical form of a name: ASCII in lower case, no final dot.
func canonicalName(name string) string {
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// isHost reports whether name is a host name, with or without the final dot, without characters
// that could be special elsewhere.
func isHost(name string) bool {
	_, ok := address.CanonicalHost(strings.TrimSuffix(name, "."))
	return ok
}

// unescape decodes the library's presentation form, with \DDD and \X, into the bytes of the record.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\' || i+1 == len(s):
			b = append(b, s[i])
		case i+3 < len(s) && isDigit(s[i+1]) && isDigit(s[i+2]) && isDigit(s[i+3]):
			b = append(b, (s[i+1]-'0')*100+(s[i+2]-'0')*10+s[i+3]-'0')
			i += 3
		default:
			i++
			b = append(b, s[i])
		}
	}
	return string(b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
