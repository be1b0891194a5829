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
	Word       Word
	Reason     string // a short phrase; empty if it passes
	Domain     string // d=, canonical; empty if invalid
	Selector   string // s=
	Algorithm  string // a=, one of rsa-sha256 and ed25519-sha256; empty for any other
	Signed     []string
	Signer     string    // domain of i=
	Made       time.Time // zero: not given
	Expires    time.Time // zero: never
	Testing    bool      // its key has t=y: nobody should rely on it
	BodyLength bool      // it has l=: unsigned text may follow the signed part
	Aligned    bool      // with From's domain, relaxed

	coversFrom bool     // every From field in the message is signed
	relaxed    [2]bool  // canonicalization of header, body
	covered    []string // names of which every field in the message is signed, in lower case
	tags       tags
	field      []byte           // of the message, without the last CRLF
	key        func() keyAnswer // nil if nothing is to be verified
}

// counts reports whether the signature may be relied on.
func (s *Signature) counts() bool { return s.Word == Pass && !s.Testing }

func (s *Signature) covers(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains(s.covered, strings.ToLower(name))
	})
}

// fail sets the result of a signature that has none yet.
func (s *Signature) fail(word Word, reason string) {
	if s.Word == None {
		s.Word, s.Reason = word, reason
	}
}

// readSignature parses a DKIM-Signature field. One that cannot be verified gets its result
// immediately; the others keep the word None.
func readSignature(f *field, now time.Time) Signature {
	s := Signature{Word: None, field: f.raw}
	var ok bool
	if len(f.value) > maxTags {
		s.fail(PermError, "signature too long")
		return s
	}
	if s.tags, ok = parseTags(string(f.value)); !ok {
		s.fail(PermError, "unreadable signature")
		return s
	}
	s.identify()
	s.algorithm()
	s.times(now)
	s.Signed = s.tags.list("h")
	switch _, s.BodyLength = s.tags.get("l"); {
	case len(s.Signed) > maxSigned:
		s.fail(PermError, "too many signed fields")
	case !slices.ContainsFunc(s.Signed, func(name string) bool { return strings.EqualFold(name, "From") }):
		s.fail(PermError, "From is not signed")
	case s.BodyLength:
		s.fail(Policy, "only a part of the body is signed")
	}
	return s
}

// identify parses the signer's identity, RFC 6376 section 3.5.
func (s *Signature) identify() {
	d, _ := s.tags.get("d")
	selector, _ := s.tags.get("s")
	var ok, named bool
	s.Domain, ok = canonicalDomain(d)
	s.Selector, named = address.Host(selector)
	switch v, _ := s.tags.get("v"); {
	case v != "1":
		s.fail(PermError, "unknown version")
	case !ok || !named:
		s.fail(PermError, "not a domain")
	}
	if !ok {
		s.Domain = ""
	}
	s.Signer = s.Domain
	if i, given := s.tags.get("i"); given {
		_, signer, _ := cutLast(i, '@')
		s.Signer, _ = canonicalDomain(signer)
		if s.Signer != s.Domain && !strings.HasSuffix(s.Signer, "."+s.Domain) {
			s.fail(PermError, "signer outside of its domain")
		}
	}
}

func (s *Signature) algorithm() {
	switch a := s.tags.lower("a", ""); a {
	case "rsa-sha256", "ed25519-sha256":
		s.Algorithm = a
	case "rsa-sha1":
		s.fail(PermError, "SHA-1 is not accepted") // RFC 8301 section 3.1
	default:
		s.fail(PermError, "unknown algorithm")
	}
	header, body, _ := strings.Cut(s.tags.lower("c", "simple/simple"), "/")
	for i, form := range [...]string{header, body} {
		switch form {
		case "relaxed":
			s.relaxed[i] = true
		case "simple", "":
		default:
			s.fail(PermError, "unknown canonicalization")
		}
	}
	if q := s.tags.list("q"); q != nil && !slices.Contains(q, "dns/txt") {
		s.fail(PermError, "unknown place of the key")
	}
}

// times parses t= and x=.
func (s *Signature) times(now time.Time) {
	var ok [2]bool
	s.Made, ok[0] = s.time("t")
	s.Expires, ok[1] = s.time("x")
	switch {
	case !ok[0] || !ok[1], !s.Expires.IsZero() && s.Expires.Before(s.Made):
		s.fail(PermError, "unreadable times")
	case !s.Expires.IsZero() && now.After(s.Expires):
		s.fail(Fail, "expired")
	}
}

func (s *Signature) time(name string) (time.Time, bool) {
	v, given := s.tags.get(name)
	if !given {
		return time.Time{}, true
	}
	seconds, err := strconv.ParseUint(v, 10, 40) // RFC 6376: up to 12 decimal digits
	return time.Unix(int64(seconds), 0), err == nil
}

// rank sorts the best first: reliable and aligned, reliable, passing, then aligned. Otherwise the
// order in the message is kept.
func rank(list []Signature, from string) {
	for i := range list {
		list[i].Aligned = aligned(list[i].Domain, from, false)
	}
	slices.SortStableFunc(list, func(a, b Signature) int { return b.rank() - a.rank() })
}

func (s *Signature) rank() (n int) {
	if s.counts() {
		n += 4
	} else if s.Word == Pass {
		n += 2
	}
	if s.Aligned {
		n++
	}
	return n
}
