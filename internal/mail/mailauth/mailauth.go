// Package mailauth says who vouches for a mail: SPF (RFC 7208), DKIM (RFC 6376, 8301, 8463)
// and DMARC (RFC 7489, 9091), in the words of RFC 8601. It also signs, and makes and checks
// the keys for it. It reaches the DNS only through a Resolver that it is given, and refuses
// to know inboxes, queues and what follows from a verdict.
//
// DKIM is this package's own, see ADR 0011; go-msgauth is the second opinion in its tests.
package mailauth

import (
	"context"
	"crypto"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
)

// Limits of one verification.
const (
	maxTime       = 5 * time.Second // for all look-ups together
	maxSignatures = 5               // that are verified; others are ignored
	maxHeader     = 256 << 10       // octets of a header that is read
	maxFields     = 2000            // of it
	maxSigned     = 200             // names in one h=
	maxTags       = 32 << 10        // octets of one signature or key record
	maxRSABits    = 4096            // RFC 8301 section 3.2 asks for no more
	minRSABits    = 1024            // and takes no less
)

// Resolver is what verification needs of the DNS. Its errors are *net.DNSError.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
	LookupAddr(ctx context.Context, ip string) ([]string, error)
}

// LocalKeys knows the keys that this node holds itself: signatures by them are verified
// without the DNS (specification, Sending).
type LocalKeys interface {
	// PublicKey returns the *rsa.PublicKey or ed25519.PublicKey of a selector.
	PublicKey(domain, selector string) (crypto.PublicKey, bool)
}

// Word is a result of RFC 8601 section 2.7.
type Word string

// The words. SPF has softfail and no policy, DKIM the other way round.
const (
	None      Word = "none"
	Pass      Word = "pass"
	Fail      Word = "fail"
	SoftFail  Word = "softfail"
	Policy    Word = "policy"
	Neutral   Word = "neutral"
	TempError Word = "temperror"
	PermError Word = "permerror"
)

// VerifyInput is one mail with its envelope.
type VerifyInput struct {
	ClientIP  netip.Addr // of the peer; invalid when it has none
	HELO      string
	MailFrom  string // empty for the null sender
	Raw       []byte // as the peer sent it: without this node's own lines; CRLF
	LocalKeys LocalKeys
	Now       time.Time // for the expiry of signatures
	Findings  Findings  // from mails before; the zero value remembers nothing
}

// Verdict is one method's result, and the domain that it is about (empty: none).
type Verdict struct {
	Word   Word
	Domain string
}

// Result says who vouches for a mail.
type Result struct {
	SPF        Verdict
	HELO       bool // SPF is about the HELO name, for the sender is null
	DKIM       Verdict
	DMARC      Verdict
	Unwanted   bool        // DMARC fails, and the domain's policy is to quarantine or reject such messages
	From       string      // domain of the only From; empty when there is not exactly one
	Signatures []Signature // the best first: those that pass, and among them those aligned with From
}

// Verify judges a mail. It takes 5 s at most, whatever the DNS does; what could not be
// found out in that time is a temperror. It never fails and never panics.
func Verify(ctx context.Context, in VerifyInput, resolver Resolver) Result {
	dns := newBounded(ctx, resolver)
	defer dns.over()
	var room [usualFields]field
	fields, body, whole := splitMail(in.Raw, room[:])
	from, froms := fromDomain(fields)
	if from != "" && from != shownDomain(in.Raw) {
		from, froms = "", froms+1
	}
	r := Result{From: from, HELO: in.MailFrom == "", DKIM: Verdict{Word: None}, DMARC: Verdict{Word: None}}
	// Policy and keys are asked for while SPF, whose questions follow from each other, is
	// at work here.
	var dmarc pending[policy]
	if from != "" {
		find := func(txt txtLookup) policy { return findPolicy(from, txt) }
		dmarc = ahead(dns, in.Findings.policies, subject{name: from}, find, policy{word: PermError})
	}
	r.Signatures = readSignatures(in, fields, whole, dns)
	sender := spfSender(in)
	guard(func() { r.SPF = findSPF(ctx, in, sender, dns) }, func() { r.SPF = Verdict{PermError, sender.domain} })
	guard(func() { verifySignatures(r.Signatures, fields, body) }, func() { r.Signatures = nil })
	rank(r.Signatures, from)
	if len(r.Signatures) > 0 {
		r.DKIM = Verdict{r.Signatures[0].Word, r.Signatures[0].Domain}
	}
	if from != "" {
		found := dmarc.get()
		r.DMARC = Verdict{found.judge(&r), from}
		r.Unwanted = r.DMARC.Word == Fail && found.enforced
	} else if froms > 1 { // nobody can tell which of them a reader sees, RFC 7489 section 6.6.1
		r.DMARC.Word = PermError
	}
	return r
}

// guard contains a panic that strangers' bytes may cause; otherwise says what then holds.
func guard(part, otherwise func()) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("judging a mail panicked", "err", fault.Panicked(p))
			otherwise()
		}
	}()
	part()
}

// Vouches reports whether a signature vouches for the mailboxes of a domain: one that verifies, not in
// testing mode, made by the domain itself or by an ancestor of it up to the organizational domain, in a
// message with one From, and with every From and every field named by covered signed, so that none of
// them was added later.
func (r *Result) Vouches(domain string, covered ...string) bool {
	domain, ok := canonicalDomain(domain)
	if !ok || r.From == "" {
		return false
	}
	for i := range r.Signatures {
		if s := &r.Signatures[i]; s.counts() && s.coversFrom && speaksFor(s.Domain, domain) && s.covers(covered) {
			return true
		}
	}
	return false
}

// FromAligned reports whether a signature or SPF passes for the organizational domain of From. It is
// what DMARC asks for in relaxed mode (RFC 7489 section 3.1), whether or not the domain has a record.
func (r *Result) FromAligned() bool {
	return r.From != "" && (policy{word: Pass}).judge(r) == Pass
}

// SPFVouches reports whether SPF passes for From's domain itself or for an ancestor of it.
func (r *Result) SPFVouches() bool {
	return r.From != "" && r.SPF.Word == Pass && speaksFor(r.SPF.Domain, r.From)
}

// speaksFor reports whether one domain may speak for the mailboxes of another: it is that domain or an
// ancestor of it, down from their organizational domain. A subdomain or a sibling may not: other people
// often run it.
func speaksFor(signer, domain string) bool {
	return signer == domain || strings.HasSuffix(domain, "."+signer) && aligned(signer, domain, false)
}

// aligned compares two canonical domains, RFC 7489 section 3.1.
func aligned(a, b string, strict bool) bool {
	switch {
	case a == b:
		return true
	case strict, a == "", b == "":
		return false
	}
	return topLabel(a) == topLabel(b) && orgDomain(a) == orgDomain(b)
}

// topLabel is the last label of a domain. It spares most comparisons the list of suffixes.
func topLabel(domain string) string { return domain[strings.LastIndexByte(domain, '.')+1:] }

// orgDomain is the domain directly beneath the public suffix, or domain itself when it is
// one (RFC 7489 section 3.2).
func orgDomain(domain string) string { return orgBelow(publicSuffix(domain), domain) }

// orgBelow is orgDomain where the public suffix is known.
func orgBelow(suffix, domain string) string {
	above := len(domain) - len(suffix) - 1
	if above < 0 || domain[above] != '.' {
		return domain
	}
	return domain[strings.LastIndexByte(domain[:above], '.')+1:]
}

// canonicalDomain is a domain as address.Host gives it. False: it can't be one that a mail is
// from, for those have two labels at least.
func canonicalDomain(s string) (string, bool) {
	name, ok := address.Host(s)
	return name, ok && strings.Contains(name, ".")
}

// isTemporary tells trouble with the DNS from an answer.
func isTemporary(err error) bool {
	d, ok := err.(*net.DNSError)
	return ok && d.Temporary()
}
