package domain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"inboxd/internal/mail/mailauth"
)

// DNSRecord is one DNS record that the owner of a domain should publish. Name and the host of an MX
// value have no final dot. A TXT value is the text itself, unquoted.
type DNSRecord struct {
	Type     string // TXT or MX
	Name     string
	Value    string
	Purpose  string // ownership, mx, spf, dkim or dmarc
	IsFound  bool
	FoundBit RecordSet
}

// OwnerView is a snapshot of a domain for its owner.
type OwnerView struct {
	Name      string
	Status    ClaimStatus
	Records   []DNSRecord
	CheckedAt time.Time
}

// OwnershipRecord proves that the owner of token controls name.
func OwnershipRecord(name, token string) DNSRecord {
	return DNSRecord{Type: "TXT", Name: "_inboxd." + name, Value: "inboxd-verification=" + token, Purpose: "ownership", FoundBit: Ownership}
}

// KeyRecord is the record of a DKIM key. For a damaged key it has no value.
func KeyRecord(name string, k DKIMKey) DNSRecord {
	r := DNSRecord{Type: "TXT", Name: mailauth.RecordName(name, k.Selector), Purpose: "dkim", FoundBit: FoundOf(k)}
	if public, err := k.PublicKey(); err == nil {
		r.Value, _ = mailauth.KeyRecord(public)
	}
	return r
}

// IsPublished checks the DNS answers of the record's type at its name: hosts of MX, texts of TXT.
func (r DNSRecord) IsPublished(answers []string) bool {
	if r.FoundBit == DKIMRSA || r.FoundBit == DKIMEd25519 {
		return mailauth.PublishesKey(answers, r.Value)
	}
	return slices.ContainsFunc(answers, r.matchesText)
}

// matchesText reports whether an answer contains what r requires; it may contain more. The preference
// of an MX does not matter.
func (r DNSRecord) matchesText(text string) bool {
	text = strings.TrimSpace(text)
	switch r.FoundBit {
	case MX:
		_, want, _ := strings.Cut(r.Value, " ")
		return strings.EqualFold(strings.TrimSuffix(text, "."), want)
	case SPF:
		terms := strings.Fields(strings.ToLower(text))
		return len(terms) > 0 && terms[0] == "v=spf1" && (slices.Contains(terms, "mx") || slices.Contains(terms, "+mx"))
	case DMARC:
		version, _, _ := strings.Cut(text, ";")
		return strings.Join(strings.Fields(version), "") == "v=DMARC1"
	}
	return text == r.Value
}

// Records lists what must and should be published for s if mxHost receives its messages. The SPF
// record names the receiving hosts, because they also send.
func (s *State) Records(mxHost string) []DNSRecord {
	all := []DNSRecord{
		OwnershipRecord(s.Name, s.OwnershipToken),
		{Type: "MX", Name: s.Name, Value: "10 " + mxHost, Purpose: "mx", FoundBit: MX},
		{Type: "TXT", Name: s.Name, Value: "v=spf1 mx ~all", Purpose: "spf", FoundBit: SPF},
	}
	for _, k := range s.Keys {
		all = append(all, KeyRecord(s.Name, k))
	}
	all = append(all, DNSRecord{Type: "TXT", Name: "_dmarc." + s.Name, Value: "v=DMARC1; p=none", Purpose: "dmarc", FoundBit: DMARC})
	for i := range all {
		all[i].IsFound = s.FoundRecords&all[i].FoundBit != 0
	}
	return all
}

// OwnerView returns the snapshot.
func (s *State) OwnerView(mxHost string) OwnerView {
	return OwnerView{Name: s.Name, Status: s.Status, Records: s.Records(mxHost), CheckedAt: s.CheckedAt}
}

// zoneTTL is the proposed TTL in the zone text, in seconds.
const zoneTTL = 3600

// ZoneFile formats records as a zone file (RFC 1035 section 5.1), with absolute names.
func ZoneFile(records []DNSRecord) string {
	var b strings.Builder
	for _, r := range records {
		value := r.Value + "."
		if r.Type == "TXT" {
			value = quoteText(r.Value)
		}
		fmt.Fprintf(&b, "%s.\t%d\tIN\t%s\t%s\n", r.Name, zoneTTL, r.Type, value)
	}
	return b.String()
}

// quoteText formats text as character-strings of at most 255 bytes each (RFC 1035 section 3.3).
func quoteText(text string) string {
	var parts []string
	for len(text) > 255 {
		parts, text = append(parts, `"`+txtEscaper.Replace(text[:255])+`"`), text[255:]
	}
	return strings.Join(append(parts, `"`+txtEscaper.Replace(text)+`"`), " ")
}

var txtEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
