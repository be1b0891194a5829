package domain

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
)

// Resolver asks DNS as net.Resolver does. A *net.DNSError with IsNotFound says that there
// is no such record; any other error says nothing about it.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
}

// Look asks for every record of s, all at once, and returns which got an answer, and which
// of those are published.
func Look(ctx context.Context, r Resolver, s *State, mxHost string) (known, found Found) {
	var mu sync.Mutex // guards the results
	var asking sync.WaitGroup
	for _, rec := range s.Records(mxHost) {
		asking.Go(func() {
			ok, err := published(ctx, r, rec)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				known |= rec.bit
			}
			if err == nil && ok {
				found |= rec.bit
			}
		})
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
	return published(ctx, r, KeyRecord(name, k))
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
		return tag(text, "v") == "DMARC1"
	case DKIMRSA, DKIMEd25519:
		return sameKey(text, r.Value)
	}
	return text == r.Value
}

// sameKey compares what a verifier reads of two key records: the same key of the same kind,
// usable for mail, and not in testing (RFC 6376 section 3.6.1).
func sameKey(text, want string) bool {
	kind := tag(text, "k")
	if kind == "" {
		kind = "rsa"
	}
	version := tag(text, "v")
	key, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(tag(text, "p")), ""))
	return (version == "" || version == "DKIM1") && kind == tag(want, "k") && !slices.Contains(strings.Split(tag(text, "t"), ":"), "y") &&
		err == nil && base64.StdEncoding.EncodeToString(key) == tag(want, "p")
}

// tag returns the value of a tag in a tag=value list (RFC 6376 section 3.2), empty when it
// is not there.
func tag(list, name string) string {
	for part := range strings.SplitSeq(list, ";") {
		if key, value, ok := strings.Cut(part, "="); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
