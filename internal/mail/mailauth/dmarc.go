package mailauth

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// dmarcPolicy is the content of a domain's DMARC record that matters for the verdict, or the reason
// for its absence.
type dmarcPolicy struct {
	resultCode ResultCode // Pass: the record exists
	isEnforced bool       // the policy is to quarantine or reject failures
	strictDKIM bool
	strictSPF  bool
}

// findPolicy looks up the record of domain, then of its organizational domain (RFC 7489 section
// 6.6.3). Then it looks up the public suffix above, whose record counts only if it declares itself
// one (RFC 9091 section 3.5).
func findPolicy(domain string, lookup txtLookup) dmarcPolicy {
	asked := ""
	suffix := publicSuffix(domain)
	for _, at := range [...]string{domain, orgBelow(suffix, domain), suffix} {
		if at == asked {
			continue
		}
		asked = at
		records, err := lookup("_dmarc." + at)
		if err != nil && isTemporary(err) {
			return dmarcPolicy{resultCode: TempError}
		}
		if p, psd := readPolicy(records, at != domain); p.resultCode != None && (psd || at == domain || at != suffix) {
			return p
		}
	}
	return dmarcPolicy{resultCode: None}
}

func publicSuffix(domain string) string {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix
}

// readPolicy parses the only DMARC record among records; several count as none. below means that
// the record is of a domain above, whose sp= applies (RFC 7489 section 6.3).
func readPolicy(records []string, below bool) (p dmarcPolicy, psd bool) {
	p.resultCode = None
	for _, record := range records {
		if !strings.HasPrefix(record, "v=DMARC1") || len(record) > maxTags {
			continue
		}
		list, ok := parseTags(record)
		if ok && list[0].value != "DMARC1" {
			continue
		}
		if p.resultCode != None {
			return dmarcPolicy{resultCode: None}, false
		}
		p = dmarcPolicy{resultCode: PermError}
		// A record without a valid policy counts as p=none if it requests reports.
		_, usable := list.get("rua")
		asks := list.lowerValue("p", "")
		switch asks {
		case "none", "quarantine", "reject":
			usable = true
		}
		if below {
			asks = list.lowerValue("sp", asks)
		}
		if list.lowerValue("pct", "") == "0" {
			asks = "none" // a policy on trial applies to no message, RFC 7489 section 6.6.4
		}
		if ok && usable {
			p = dmarcPolicy{
				resultCode: Pass, isEnforced: asks == "quarantine" || asks == "reject",
				strictDKIM: list.lowerValue("adkim", "r") == "s", strictSPF: list.lowerValue("aspf", "r") == "s",
			}
			psd = list.lowerValue("psd", "n") == "y"
		}
	}
	return p, psd
}

// evaluateResult reports whether SPF or a passing signature is for From's domain (RFC 7489 section
// 6.6.2). If a DNS failure may hide one, the word is TempError.
func (p dmarcPolicy) evaluateResult(r *AuthResult) ResultCode {
	if p.resultCode != Pass {
		return p.resultCode
	}
	word := Fail
	for _, s := range r.Signatures {
		if isAligned(s.Domain, r.FromDomain, p.strictDKIM) {
			if s.isReliable() {
				return Pass
			}
			if s.ResultCode == TempError {
				word = TempError
			}
		}
	}
	if isAligned(r.SPF.Domain, r.FromDomain, p.strictSPF) {
		if r.SPF.ResultCode == Pass {
			return Pass
		}
		if r.SPF.ResultCode == TempError {
			word = TempError
		}
	}
	return word
}
