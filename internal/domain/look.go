package domain

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"

	"inboxd/internal/mailauth"
)

// Resolver asks DNS as net.Resolver does. A *net.DNSError with IsNotFound says that there
// is no such record; any other error says nothing about it.
type Resolver = mailauth.Resolver

// Look asks for every record of s, all at once, and returns which got an answer, and which
// of those are published.
func Look(ctx context.Context, r Resolver, s *State, mxHost string) (known, found Found) {
	var mu sync.Mutex // guards the results
	var asking sync.WaitGroup
	ask := func(bit Found, published func() (bool, error)) {
		asking.Go(func() {
			ok, err := published()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				known |= bit
			}
			if err == nil && ok {
				found |= bit
			}
		})
	}
	for _, rec := range s.Records(mxHost) {
		if rec.bit&(DKIMRSA|DKIMEd25519) == 0 {
			ask(rec.bit, func() (bool, error) { return published(ctx, r, rec) })
		}
	}
	for _, k := range s.Keys {
		ask(FoundOf(k), func() (bool, error) { return KeyPublished(ctx, r, s.Name, k) })
	}
	asking.Wait()
	return known, found
}

// Proven reports whether the ownership record with token is published for name.
func Proven(ctx context.Context, r Resolver, name, token string) (bool, error) {
	return published(ctx, r, Record{Type: "TXT", Name: ownershipName(name), Value: ownershipValue(token), bit: Ownership})
}

// KeyPublished reports whether the public record of a key of name is what it should be.
func KeyPublished(ctx context.Context, r Resolver, name string, k Key) (bool, error) {
	public, err := k.PublicKey()
	if err != nil {
		return false, err
	}
	return mailauth.Published(ctx, name, k.Selector, public, r)
}

// published reports whether DNS has rec; an error means that nobody knows.
func published(ctx context.Context, r Resolver, rec Record) (bool, error) {
	if rec.Type == "MX" {
		hosts, err := r.LookupMX(ctx, rec.Name)
		return slices.ContainsFunc(hosts, func(mx *net.MX) bool { return rec.leadsTo(mx.Host) }), trouble(err)
	}
	texts, err := r.LookupTXT(ctx, rec.Name)
	return slices.ContainsFunc(texts, rec.matches), trouble(err)
}

// trouble is nil for an answer that says no.
func trouble(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return nil
	}
	return err
}

// leadsTo reports whether an MX host is the one rec asks for; the preference is the
// owner's affair.
func (r Record) leadsTo(host string) bool {
	_, want, _ := strings.Cut(r.Value, " ")
	return strings.EqualFold(strings.TrimSuffix(host, "."), want)
}

// matches reports whether a TXT record does what r asks for, though it may say more.
func (r Record) matches(text string) bool {
	text = strings.TrimSpace(text)
	switch r.bit {
	case SPF:
		terms := strings.Fields(strings.ToLower(text))
		return len(terms) > 0 && terms[0] == "v=spf1" && (slices.Contains(terms, "mx") || slices.Contains(terms, "+mx"))
	case DMARC:
		version, _, _ := strings.Cut(text, ";")
		return strings.Join(strings.Fields(version), "") == "v=DMARC1"
	}
	return text == r.Value
}
