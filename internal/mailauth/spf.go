package mailauth

import (
	"context"
	"strings"

	"blitiri.com.ar/go/spf"
)

// spfIdentity is who is checked: the sender, or for the null sender the HELO name.
type spfIdentity struct {
	address string
	domain  string // canonical; empty when there is none to ask about
}

// spfSender follows RFC 7208 section 2.4.
func spfSender(in VerifyInput) spfIdentity {
	address := in.MailFrom
	if address == "" {
		address = "postmaster@" + strings.TrimSuffix(in.HELO, ".")
	}
	local, domain, found := cutLast(address, '@')
	domain, ok := canonicalDomain(domain)
	if !found || !ok {
		return spfIdentity{} // RFC 7208 section 4.3
	}
	if strings.IndexByte(local, '@') >= 0 { // quoted; the library would cut there
		local = "postmaster"
	}
	return spfIdentity{local + "@" + domain, domain}
}

// checkSPF runs check_host(). The library keeps the limits of RFC 7208 section 4.6.4: ten
// terms that ask, two that find nothing, ten names of each MX and PTR. strictSPF keeps the
// grammar.
func checkSPF(ctx context.Context, in VerifyInput, who spfIdentity, dns Resolver) Verdict {
	if who.domain == "" || !in.ClientIP.IsValid() {
		return Verdict{None, who.domain}
	}
	result, _ := spf.CheckHostWithSender(in.ClientIP.AsSlice(), in.HELO, who.address, spf.WithContext(ctx), spf.WithResolver(strictSPF{dns}))
	return Verdict{Word(result), who.domain}
}
