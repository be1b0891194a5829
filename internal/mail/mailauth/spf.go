package mailauth

import (
	"context"
	"strings"

	"blitiri.com.ar/go/spf"
)

// spfIdentity is the checked identity: the sender, or for the null sender the HELO name.
type spfIdentity struct {
	localPart string
	domain    string // canonical; empty if no domain is to be looked up
}

// spfSender follows RFC 7208 section 2.4.
func spfSender(in VerifyInput) spfIdentity {
	local, domain, found := "postmaster", strings.TrimSuffix(in.HELO, "."), true
	if in.MailFrom != "" {
		local, domain, found = cutLast(in.MailFrom, '@')
	}
	domain, ok := canonicalDomain(domain)
	if !found || !ok {
		return spfIdentity{} // RFC 7208 section 4.3
	}
	if strings.IndexByte(local, '@') >= 0 { // quoted; the library would cut there
		local = "postmaster"
	}
	return spfIdentity{local, domain}
}

// findSPF is checkSPF with caching. Records with macros are not cached, because macros also depend
// on the HELO name and the local part.
func findSPF(ctx context.Context, in VerifyInput, who spfIdentity, dns *verificationResolver) Verdict {
	word := in.Findings.spf.findOrSearch(searchSubject{who.domain, in.ClientIP}, dns, func() ResultCode {
		verdict := checkSPF(ctx, in, who, dns)
		dns.receivedAnswers.hasUncomparable = dns.receivedAnswers.hasUncomparable || dns.receivedAnswers.anyContains("%")
		return verdict.ResultCode
	})
	return Verdict{word, who.domain}
}

// checkSPF runs check_host(). The library enforces the limits of RFC 7208 section 4.6.4: ten terms
// with lookups, two without results, ten names of each MX and PTR. strictSPF enforces the grammar.
func checkSPF(ctx context.Context, in VerifyInput, who spfIdentity, dns Resolver) Verdict {
	if who.domain == "" || !in.ClientIP.IsValid() {
		return Verdict{None, who.domain}
	}
	result, _ := spf.CheckHostWithSender(in.ClientIP.AsSlice(), in.HELO, who.localPart+"@"+who.domain, spf.WithContext(ctx), spf.WithResolver(strictSPF{dns}))
	return Verdict{ResultCode(result), who.domain}
}
