package domain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"inboxd/internal/mail/mailauth"
)

// Record is one DNS record that the owner of a domain should publish. Name and the host of an MX
// value have no final dot. A TXT value is the text itself, unquoted.
type Record struct {
	Type    string // TXT or MX
	Name    string
	Value   string
	Purpose string // ownership, mx, spf, dkim or dmarc
	Found   bool
	Bit     Found
}

// View is a snapshot of a domain for its owner.
type View struct {
	Name      string
	Status    Status
	Records   []Record
	CheckedAt time.Time
}

// OwnershipRecord proves that the owner of token controls name.
func OwnershipRecord(name, token string) Record {
	return Record{Type: "TXT", Name: "_inboxd." + name, Value: "inboxd-verification=" + token, Purpose: "ownership", Bit: Ownership}
}

// KeyRecord is the record of a DKIM key. For a damaged key it has no value.
func KeyRecord(name string, k Key) Record {
	r := Record{Type: "TXT", Name: mailauth.RecordName(name, k.Selector), Purpose: "dkim", Bit: FoundOf(k)}
	if public, err := k.PublicKey(); err == nil {
		r.Value, _ = mailauth.Record(public)
	}
	return r
}

// Published checks the DNS answers of the record's type at its name: hosts of MX, texts of TXT.
func (r Record) Published(answers []string) bool {
	if r.Bit == DKIMRSA || r.Bit == DKIMEd25519 {
		return mailauth.Publishes(answers, r.Value)
	}
	return slices.ContainsFunc(answers, r.matches)
}

// matches reports whether an answer contains what r requires; it may contain more. The preference
// of an MX does not matter.
func (r Record) matches(text string) bool {
	text = strings.TrimSpace(text)
	switch r.Bit {
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
func (s *State) Records(mxHost string) []Record {
	all := []Record{
		OwnershipRecord(s.Name, s.Token),
		{Type: "MX", Name: s.Name, Value: "10 " + mxHost, Purpose: "mx", Bit: MX},
		{Type: "TXT", Name: s.Name, Value: "v=spf1 mx ~all", Purpose: "spf", Bit: SPF},
	}
	for _, k := range s.Keys {
		all = append(all, KeyRecord(s.Name, k))
	}
	all = append(all, Record{Type: "TXT", Name: "_dmarc." + s.Name, Value: "v=DMARC1; p=none", Purpose: "dmarc", Bit: DMARC})
	for i := range all {
		all[i].Found = s.Found&all[i].Bit != 0
	}
	return all
}

// View returns the snapshot.
func (s *State) View(mxHost string) View {
	return View{Name: s.Name, Status: s.Status, Records: s.Records(mxHost), CheckedAt: s.CheckedAt}
}

// zoneTTL is the proposed TTL in the zone text, in seconds.
const zoneTTL = 3600

// Zone formats records as a zone file (RFC 1035 section 5.1), with absolute names.
func Zone(records []Record) string {
	var b strings.Builder
	for _, r := range records {
		value := r.Value + "."
		if r.Type == "TXT" {
			value = quoted(r.Value)
		}
		fmt.Fprintf(&b, "%s.\t%d\tIN\t%s\t%s\n", r.Name, zoneTTL, r.Type, value)
	}
	return b.String()
}

// quoted formats text as character-strings of at most 255 bytes each (RFC 1035 section 3.3).
func quoted(text string) string {
	var parts []string
	for len(text) > 255 {
		parts, text = append(parts, `"`+escape.Replace(text[:255])+`"`), text[255:]
	}
	return strings.Join(append(parts, `"`+escape.Replace(text)+`"`), " ")
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
