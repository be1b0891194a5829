package courier

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of MTA-STS (RFC 8461).
const (
	maxPolicySize = 64 << 10
	maxPolicyMX   = 100
	maxPolicies   = 10_000
	maxPolicyAge  = 31_557_600 * time.Second
	stsRecheck    = 10 * time.Minute // between lookups of a new policy, and after a failure
	stsFetchTime  = 10 * time.Second // a slow policy host must not delay messages; RFC: 60 s
)

// stsPolicy is what a domain requires of the servers that receive its messages. The zero value
// requires nothing. It is immutable.
type stsPolicy struct {
	id         string
	isEnforced bool
	mx         []string
	expiresAt  time.Time
}

// allowsHost reports whether the policy lists host (section 4.1).
func (p stsPolicy) allowsHost(host string) bool {
	if !p.isEnforced {
		return true
	}
	for _, pattern := range p.mx {
		if wild, ok := strings.CutPrefix(pattern, "*."); ok {
			if _, rest, _ := strings.Cut(host, "."); strings.EqualFold(rest, wild) {
				return true
			}
		} else if strings.EqualFold(host, pattern) {
			return true
		}
	}
	return false
}

// acceptsLink reports whether an idle link satisfies the policy.
func (p stsPolicy) acceptsLink(l *link) bool {
	return !p.isEnforced || l.isVerified && p.allowsHost(l.hostName)
}

// parsePolicy reads a policy file (section 3.2).
func parsePolicy(r io.Reader) (p stsPolicy, maxAge time.Duration, err error) {
	fields := map[string]string{}
	lines := bufio.NewScanner(io.LimitReader(r, maxPolicySize))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if name == "mx" && value != "" && len(p.mx) < maxPolicyMX {
			p.mx = append(p.mx, strings.TrimSuffix(value, "."))
		}
		if _, seen := fields[name]; !seen {
			fields[name] = value
		}
	}
	seconds, bad := strconv.ParseUint(fields["max_age"], 10, 32)
	mode := fields["mode"]
	p.isEnforced = mode == "enforce"
	switch {
	case lines.Err() != nil:
		return p, 0, lines.Err()
	case fields["version"] != "STSv1", bad != nil, mode != "enforce" && mode != "testing" && mode != "none", p.isEnforced && len(p.mx) == 0:
		return p, 0, errors.New("not an MTA-STS policy")
	}
	return p, min(time.Duration(seconds)*time.Second, maxPolicyAge), nil
}

// recordID returns the id in the TXT records of _mta-sts.<domain> (section 3.1). Exactly one record
// must be of this kind.
func recordID(records []string) (id string, ok bool) {
	for _, record := range records {
		version, rest, _ := strings.Cut(record, ";")
		if strings.TrimRight(version, " \t") != "v=STSv1" {
			continue
		}
		if ok {
			return "", false
		}
		for field := range strings.SplitSeq(rest, ";") {
			if name, value, _ := strings.Cut(strings.TrimSpace(field), "="); name == "id" && value != "" && len(value) <= 32 {
				id, ok = value, true
			}
		}
	}
	return id, ok
}

// stsCache caches policies and the lack of them. All exchanges use it; mu guards all fields below.
type stsCache struct {
	resolver Resolver
	port     int
	client   *http.Client

	mu      sync.Mutex
	entries map[string]stsEntry // by domain
}

type stsEntry struct {
	policy    stsPolicy
	checkedAt time.Time
}

func newSTSCache(opts Options) *stsCache {
	s := &stsCache{resolver: opts.Resolver, port: opts.STSPort, entries: map[string]stsEntry{}}
	guarded := net.Dialer{Timeout: stsFetchTime, Control: opts.AddressPolicy.DialControl}
	s.client = &http.Client{
		Timeout:       stsFetchTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // section 3.3
		Transport: &http.Transport{
			TLSClientConfig:        &tls.Config{RootCAs: opts.RootCAs},
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 16 << 10,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return s.dialGuarded(ctx, guarded, network, address)
			},
		},
	}
	return s
}

// dialGuarded resolves names with the same resolver as messages, so that the guard checks the
// address that is connected to.
func (s *stsCache) dialGuarded(ctx context.Context, d net.Dialer, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := s.resolver.LookupIPAddr(ctx, host+".")
	for _, addr := range addrs[:min(len(addrs), maxAddresses)] {
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, net.JoinHostPort(addr.String(), port)); err == nil {
			return conn, nil
		}
	}
	if err == nil {
		err = errors.New("no address")
	}
	return nil, err
}

// policyFor returns the policy of a domain. If a new policy cannot be fetched, the old one is valid
// until it expires; without one, nothing is required (section 5.1).
func (s *stsCache) policyFor(ctx context.Context, domain string) stsPolicy {
	now := time.Now()
	s.mu.Lock()
	entry, known := s.entries[domain]
	s.mu.Unlock()
	if known && now.Sub(entry.checkedAt) < stsRecheck && (entry.policy.id == "" || now.Before(entry.policy.expiresAt)) {
		return entry.policy
	}
	old := entry.policy
	if !now.Before(old.expiresAt) {
		old = stsPolicy{}
	}
	next := s.renewPolicy(ctx, domain, old, now)
	if ctx.Err() == nil {
		s.storeEntry(domain, stsEntry{next, now})
	}
	return next
}

func (s *stsCache) renewPolicy(ctx context.Context, domain string, old stsPolicy, now time.Time) stsPolicy {
	records, err := s.resolver.LookupTXT(ctx, "_mta-sts."+domain+".")
	id, ok := recordID(records)
	if err != nil || !ok || old.id != "" && id == old.id {
		return old
	}
	next, maxAge, err := s.fetchPolicy(ctx, domain)
	if err != nil {
		return old
	}
	next.id, next.expiresAt = id, now.Add(maxAge)
	return next
}

func (s *stsCache) fetchPolicy(ctx context.Context, domain string) (stsPolicy, time.Duration, error) {
	host := "mta-sts." + domain
	if s.port != 443 {
		host = net.JoinHostPort(host, strconv.Itoa(s.port))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/.well-known/mta-sts.txt", nil)
	if err != nil {
		return stsPolicy{}, 0, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return stsPolicy{}, 0, err
	}
	defer resp.Body.Close()
	if kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); resp.StatusCode != http.StatusOK || !strings.EqualFold(strings.TrimSpace(kind), "text/plain") {
		return stsPolicy{}, 0, errors.New("no policy is served")
	}
	return parsePolicy(resp.Body)
}

// storeEntry evicts an arbitrary entry if the cache is full. A stranger who fills the cache causes
// other domains only one more lookup.
func (s *stsCache) storeEntry(domain string, entry stsEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.entries[domain]; !known && len(s.entries) >= maxPolicies {
		for other := range s.entries {
			delete(s.entries, other)
			break
		}
	}
	s.entries[domain] = entry
}
