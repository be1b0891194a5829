// Package mailauth authenticates messages by SPF (RFC 7208), DKIM (RFC 6376, 8301, 8463) and DMARC
// (RFC 7489, 9091), with the result words of RFC 8601. It also signs messages, and makes and checks
// the keys. It uses DNS only through a given Resolver. It does not know inboxes, queues and the
// consequences of a verdict.
//
// The implementation of DKIM is our own, see ADR 0011; tests compare it with go-msgauth.
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
	maxTime       = 5 * time.Second // for all lookups together
	maxSignatures = 5               // that are verified; others are ignored
	maxHeader     = 256 << 10       // octets of a header that are read
	maxFields     = 2000            // header fields
	maxSigned     = 200             // names in one h=
	maxTags       = 32 << 10        // octets of one signature or key record
	maxRSABits    = 4096            // RFC 8301 section 3.2 requires no more
	minRSABits    = 1024            // and accepts no less
)

// Resolver is the part of DNS that verification needs. Its errors are *net.DNSError.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
	LookupAddr(ctx context.Context, ip string) ([]string, error)
}

// LocalKeys has the keys of this node: their signatures are verified without DNS (specification,
// Sending).
type LocalKeys interface {
	// PublicKey returns the *rsa.PublicKey or ed25519.PublicKey of a selector.
	PublicKey(domain, selector string) (crypto.PublicKey, bool)
}

// ResultCode is a result of RFC 8601 section 2.7.
type ResultCode string

// The result words. SPF has softfail but not policy; DKIM has policy but not softfail.
const (
	None      ResultCode = "none"
	Pass      ResultCode = "pass"
	Fail      ResultCode = "fail"
	SoftFail  ResultCode = "softfail"
	Policy    ResultCode = "policy"
	Neutral   ResultCode = "neutral"
	TempError ResultCode = "temperror"
	PermError ResultCode = "permerror"
)

// VerifyInput is one message with its envelope.
type VerifyInput struct {
	ClientIP   netip.Addr // of the peer; invalid if it has none
	HELO       string
	MailFrom   string // empty for the null sender
	RawMessage []byte // as received, without this node's own header lines; CRLF
	LocalKeys  LocalKeys
	Now        time.Time // for the expiry of signatures
	Findings   Findings  // cache of earlier messages; the zero value caches nothing
}

// Verdict is one method's result, and the domain that it is about (empty: none).
type Verdict struct {
	ResultCode ResultCode
	Domain     string
}

// AuthResult is the authentication result of a message.
type AuthResult struct {
	SPF                 Verdict
	HELO                bool // SPF is about the HELO name, because the sender is null
	DKIM                Verdict
	DMARC               Verdict
	FailsEnforcedPolicy bool        // DMARC fails, and the domain's policy is to quarantine or reject such messages
	FromDomain          string      // domain of the only From; empty unless there is exactly one
	Signatures          []Signature // the best first: those that pass, and among them those aligned with From
}

// VerifyMessage authenticates a message. It takes 5 s at most, whatever DNS does; a result that is not
// available by then is a temperror. It never fails and never panics.
func VerifyMessage(ctx context.Context, in VerifyInput, resolver Resolver) AuthResult {
	dns := newBounded(ctx, resolver)
	defer dns.stopQueries()
	var room [usualFields]headerField
	fields, body, whole := splitMail(in.RawMessage, room[:])
	from, froms := fromDomain(fields)
	if from != "" && from != shownDomain(in.RawMessage) {
		from, froms = "", froms+1
	}
	r := AuthResult{FromDomain: from, HELO: in.MailFrom == "", DKIM: Verdict{ResultCode: None}, DMARC: Verdict{ResultCode: None}}
	// Policy and keys are looked up concurrently with SPF, whose lookups depend on each other.
	var dmarc pendingAnswer[dmarcPolicy]
	if from != "" {
		find := func(txt txtLookup) dmarcPolicy { return findPolicy(from, txt) }
		dmarc = startSearch(dns, in.Findings.policies, searchSubject{name: from}, find, dmarcPolicy{resultCode: PermError})
	}
	r.Signatures = readSignatures(in, fields, whole, dns)
	sender := spfSender(in)
	recoverPanic(func() { r.SPF = findSPF(ctx, in, sender, dns) }, func() { r.SPF = Verdict{PermError, sender.domain} })
	recoverPanic(func() { verifySignatures(r.Signatures, fields, body) }, func() { r.Signatures = nil })
	sortByRank(r.Signatures, from)
	if len(r.Signatures) > 0 {
		r.DKIM = Verdict{r.Signatures[0].ResultCode, r.Signatures[0].Domain}
	}
	if from != "" {
		found := dmarc.awaitAnswer()
		r.DMARC = Verdict{found.evaluateResult(&r), from}
		r.FailsEnforcedPolicy = r.DMARC.ResultCode == Fail && found.isEnforced
	} else if froms > 1 { // it is undefined which one a reader sees, RFC 7489 section 6.6.1
		r.DMARC.ResultCode = PermError
	}
	return r
}

// recoverPanic recovers a panic that strangers' bytes may cause; otherwise then sets the result.
func recoverPanic(part, otherwise func()) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("message authentication panicked", "err", fault.DescribePanic(p))
			otherwise()
		}
	}()
	part()
}

// AuthenticatesDomain reports whether a signature authenticates the mailboxes of a domain. The
// signature must verify, not be in testing mode, and be made by the domain itself or by an ancestor
// up to the organizational domain. The message must have one From. Every From and every field in
// covered must be signed, so that none of them was added later.
func (r *AuthResult) AuthenticatesDomain(domain string, covered ...string) bool {
	domain, ok := canonicalDomain(domain)
	if !ok || r.FromDomain == "" {
		return false
	}
	for i := range r.Signatures {
		if s := &r.Signatures[i]; s.isReliable() && s.coversFrom && speaksFor(s.Domain, domain) && s.coversAll(covered) {
			return true
		}
	}
	return false
}

// FromAligned reports whether a signature or SPF passes for the organizational domain of From. This
// is DMARC's condition in relaxed mode (RFC 7489 section 3.1), whether or not the domain has a
// record.
func (r *AuthResult) FromAligned() bool {
	return r.FromDomain != "" && (dmarcPolicy{resultCode: Pass}).evaluateResult(r) == Pass
}

// SPFVouches reports whether SPF passes for From's domain itself or for an ancestor of it.
func (r *AuthResult) SPFVouches() bool {
	return r.FromDomain != "" && r.SPF.ResultCode == Pass && speaksFor(r.SPF.Domain, r.FromDomain)
}

// speaksFor reports whether signer may authenticate the mailboxes of domain: it is domain itself or
// an ancestor, up to their organizational domain. A subdomain or a sibling may not, because others
// often run it.
func speaksFor(signer, domain string) bool {
	return signer == domain || strings.HasSuffix(domain, "."+signer) && isAligned(signer, domain, false)
}

// isAligned compares two canonical domains, RFC 7489 section 3.1.
func isAligned(a, b string, strict bool) bool {
	switch {
	case a == b:
		return true
	case strict, a == "", b == "":
		return false
	}
	return topLabel(a) == topLabel(b) && orgDomain(a) == orgDomain(b)
}

// topLabel is the last label of a domain. Comparing it first avoids most lookups in the suffix
// list.
func topLabel(domain string) string { return domain[strings.LastIndexByte(domain, '.')+1:] }

// orgDomain is the domain directly below the public suffix, or domain itself if it is a public
// suffix (RFC 7489 section 3.2).
func orgDomain(domain string) string { return orgBelow(publicSuffix(domain), domain) }

// orgBelow is orgDomain for a known public suffix.
func orgBelow(suffix, domain string) string {
	above := len(domain) - len(suffix) - 1
	if above < 0 || domain[above] != '.' {
		return domain
	}
	return domain[strings.LastIndexByte(domain[:above], '.')+1:]
}

// canonicalDomain is a domain in the form of address.CanonicalHost. False: no message can be from it,
// because a domain needs at least two labels.
func canonicalDomain(s string) (string, bool) {
	name, ok := address.CanonicalHost(s)
	return name, ok && strings.Contains(name, ".")
}

// isTemporary distinguishes a DNS failure from an answer.
func isTemporary(err error) bool {
	d, ok := err.(*net.DNSError)
	return ok && d.Temporary()
}
