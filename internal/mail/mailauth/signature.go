package mailauth

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"inboxd/internal/base/address"
)

// Signature is one DKIM-Signature with its result.
type Signature struct {
	ResultCode   ResultCode
	Reason       string // a short phrase; empty if it passes
	Domain       string // d=, canonical; empty if invalid
	Selector     string // s=
	Algorithm    string // a=, one of rsa-sha256 and ed25519-sha256; empty for any other
	SignedFields []string
	SignerDomain string    // domain of i=
	SignedAt     time.Time // zero: not given
	ExpiresAt    time.Time // zero: never
	IsTesting    bool      // its key has t=y: nobody should rely on it
	BodyLength   bool      // it has l=: unsigned text may follow the signed part
	IsAligned    bool      // with From's domain, relaxed

	coversFrom   bool     // every From field in the message is signed
	isRelaxed    [2]bool  // canonicalization of header, body
	coveredNames []string // names of which every field in the message is signed, in lower case
	tags         tagList
	rawField     []byte           // of the message, without the last CRLF
	lookupKey    func() keyAnswer // nil if nothing is to be verified
}

// isReliable reports whether the signature may be relied on.
func (s *Signature) isReliable() bool { return s.ResultCode == Pass && !s.IsTesting }

func (s *Signature) coversAll(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains(s.coveredNames, strings.ToLower(name))
	})
}

// setFailure sets the result of a signature that has none yet.
func (s *Signature) setFailure(word ResultCode, reason string) {
	if s.ResultCode == None {
		s.ResultCode, s.Reason = word, reason
	}
}

// readSignature parses a DKIM-Signature field. One that cannot be verified gets its result
// immediately; the others keep the word None.
func readSignature(f *headerField, now time.Time) Signature {
	s := Signature{ResultCode: None, rawField: f.raw}
	var ok bool
	if len(f.value) > maxTags {
		s.setFailure(PermError, "signature too long")
		return s
	}
	if s.tags, ok = parseTags(string(f.value)); !ok {
		s.setFailure(PermError, "unreadable signature")
		return s
	}
	s.parseIdentity()
	s.parseAlgorithm()
	s.parseTimes(now)
	s.SignedFields = s.tags.splitValue("h")
	switch _, s.BodyLength = s.tags.get("l"); {
	case len(s.SignedFields) > maxSigned:
		s.setFailure(PermError, "too many signed fields")
	case !slices.ContainsFunc(s.SignedFields, func(name string) bool { return strings.EqualFold(name, "From") }):
		s.setFailure(PermError, "From is not signed")
	case s.BodyLength:
		s.setFailure(Policy, "only a part of the body is signed")
	}
	return s
}

// parseIdentity parses the signer's identity, RFC 6376 section 3.5.
func (s *Signature) parseIdentity() {
	d, _ := s.tags.get("d")
	selector, _ := s.tags.get("s")
	var ok, named bool
	s.Domain, ok = canonicalDomain(d)
	s.Selector, named = address.CanonicalHost(selector)
	switch v, _ := s.tags.get("v"); {
	case v != "1":
		s.setFailure(PermError, "unknown version")
	case !ok || !named:
		s.setFailure(PermError, "not a domain")
	}
	if !ok {
		s.Domain = ""
	}
	s.SignerDomain = s.Domain
	if i, given := s.tags.get("i"); given {
		_, signer, _ := cutLast(i, '@')
		s.SignerDomain, _ = canonicalDomain(signer)
		if s.SignerDomain != s.Domain && !strings.HasSuffix(s.SignerDomain, "."+s.Domain) {
			s.setFailure(PermError, "signer outside of its domain")
		}
	}
}

func (s *Signature) parseAlgorithm() {
	switch a := s.tags.lowerValue("a", ""); a {
	case "rsa-sha256", "ed25519-sha256":
		s.Algorithm = a
	case "rsa-sha1":
		s.setFailure(PermError, "SHA-1 is not accepted") // RFC 8301 section 3.1
	default:
		s.setFailure(PermError, "unknown algorithm")
	}
	header, body, _ := strings.Cut(s.tags.lowerValue("c", "simple/simple"), "/")
	for i, form := range [...]string{header, body} {
		switch form {
		case "relaxed":
			s.isRelaxed[i] = true
		case "simple", "":
		default:
			s.setFailure(PermError, "unknown canonicalization")
		}
	}
	if q := s.tags.splitValue("q"); q != nil && !slices.Contains(q, "dns/txt") {
		s.setFailure(PermError, "unknown place of the key")
	}
}

// parseTimes parses t= and x=.
func (s *Signature) parseTimes(now time.Time) {
	var ok [2]bool
	s.SignedAt, ok[0] = s.parseTime("t")
	s.ExpiresAt, ok[1] = s.parseTime("x")
	switch {
	case !ok[0] || !ok[1], !s.ExpiresAt.IsZero() && s.ExpiresAt.Before(s.SignedAt):
		s.setFailure(PermError, "unreadable times")
	case !s.ExpiresAt.IsZero() && now.After(s.ExpiresAt):
		s.setFailure(Fail, "expired")
	}
}

func (s *Signature) parseTime(name string) (time.Time, bool) {
	v, given := s.tags.get(name)
	if !given {
		return time.Time{}, true
	}
	seconds, err := strconv.ParseUint(v, 10, 40) // RFC 6376: up to 12 decimal digits
	return time.Unix(int64(seconds), 0), err == nil
}

// sortByRank sorts the best first: reliable and aligned, reliable, passing, then aligned. Otherwise the
// order in the message is kept.
func sortByRank(list []Signature, from string) {
	for i := range list {
		list[i].IsAligned = isAligned(list[i].Domain, from, false)
	}
	slices.SortStableFunc(list, func(a, b Signature) int { return b.sortRank() - a.sortRank() })
}

func (s *Signature) sortRank() (n int) {
	if s.isReliable() {
		n += 4
	} else if s.ResultCode == Pass {
		n += 2
	}
	if s.IsAligned {
		n++
	}
	return n
}
