package mailauth

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// policy is the content of a domain's DMARC record that matters for the verdict, or the reason
// for its absence.
type policy struct {
	word       Word // Pass: the record exists
	enforced   bool // the policy is to quarantine or reject failures
	strictDKIM bool
	strictSPF  bool
}

// findPolicy looks up the record of domain, then of its organizational domain (RFC 7489 section
// 6.6.3). Then it looks up the public suffix above, whose record counts only if it declares itself
// one (RFC 9091 section 3.5).
func findPolicy(domain string, lookup txtLookup) policy {
	asked := ""
	suffix := publicSuffix(domain)
	for _, at := range [...]string{domain, orgBelow(suffix, domain), suffix} {
		if at == asked {
			continue
		}
		asked = at
		records, err := lookup("_dmarc." + at)
		if err != nil && isTemporary(err) {
			return policy{word: TempError}
		}
		if p, psd := readPolicy(records, at != domain); p.word != None && (psd || at == domain || at != suffix) {
			return p
		}
	}
	return policy{word: None}
}

func publicSuffix(domain string) string {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix
}

// readPolicy parses the only DMARC record among records; several count as none. below means that
// the record is of a domain above, whose sp= applies (RFC 7489 section 6.3).
func readPolicy(records []string, below bool) (p policy, psd bool) {
	p.word = None
	for _, record := range records {
		if !strings.HasPrefix(record, "v=DMARC1") || len(record) > maxTags {
			continue
		}
		list, ok := parseTags(record)
		if ok && list[0].value != "DMARC1" {
			continue
		}
		if p.word != None {
			return policy{word: None}, false
		}
		p = policy{word: PermError}
		// A record without a valid policy counts as p=none if it requests reports.
		_, usable := list.get("rua")
		asks := list.lower("p", "")
		switch asks {
		case "none", "quarantine", "reject":
			usable = true
		}
		if below {
			asks = list.lower("sp", asks)
		}
		if list.lower("pct", "") == "0" {
			asks = "none" // a policy on trial applies to no message, RFC 7489 section 6.6.4
		}
		if ok && usable {
			p = policy{
				word: Pass, enforced: asks == "quarantine" || asks == "reject",
				strictDKIM: list.lower("adkim", "r") == "s", strictSPF: list.lower("aspf", "r") == "s",
			}
			psd = list.lower("psd", "n") == "y"
		}
	}
	return p, psd
}

// judge reports whether SPF or a passing signature is for From's domain (RFC 7489 section 6.6.2).
// If a DNS failure may hide one, the word is TempError.
func (p policy) judge(r *Result) Word {
	if p.word != Pass {
		return p.word
	}
	word := Fail
	for _, s := range r.Signatures {
		if aligned(s.Domain, r.From, p.strictDKIM) {
			if s.counts() {
				return Pass
			}
			if s.Word == TempError {
				word = TempError
			}
		}
	}
	if aligned(r.SPF.Domain, r.From, p.strictSPF) {
		if r.SPF.Word == Pass {
			return Pass
		}
		if r.SPF.Word == TempError {
			word = TempError
		}
	}
	return word
}
