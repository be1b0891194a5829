package domain

import (
	"fmt"
	"strings"
	"time"

	"inboxd/internal/mailauth"
)

// Record is one DNS record that the owner of a domain should publish. Name and the host of
// an MX value have no final dot; a TXT value is the text itself, unquoted.
type Record struct {
	Type    string // TXT or MX
	Name    string
	Value   string
	Purpose string // ownership, mx, spf, dkim or dmarc
	Found   bool
	bit     Found
}

// View is a picture of a domain for its owner.
type View struct {
	Name      string
	Status    Status
	Records   []Record
	CheckedAt time.Time
}

func ownershipName(name string) string   { return "_inboxd." + name }
func ownershipValue(token string) string { return "inboxd-verification=" + token }

// KeyRecord is the record of a DKIM key. That of a damaged key has no value.
func KeyRecord(name string, k Key) Record {
	r := Record{Type: "TXT", Name: mailauth.RecordName(name, k.Selector), Purpose: "dkim", bit: FoundOf(k)}
	if public, err := k.PublicKey(); err == nil {
		r.Value, _ = mailauth.Record(public)
	}
	return r
}

// Records lists what must and should be published for s when mail goes to mxHost. The SPF
// record names the hosts that receive: they send, too.
func (s *State) Records(mxHost string) []Record {
	all := []Record{
		{Type: "TXT", Name: ownershipName(s.Name), Value: ownershipValue(s.Token), Purpose: "ownership", bit: Ownership},
		{Type: "MX", Name: s.Name, Value: "10 " + mxHost, Purpose: "mx", bit: MX},
		{Type: "TXT", Name: s.Name, Value: "v=spf1 mx ~all", Purpose: "spf", bit: SPF},
	}
	for _, k := range s.Keys {
		all = append(all, KeyRecord(s.Name, k))
	}
	all = append(all, Record{Type: "TXT", Name: "_dmarc." + s.Name, Value: "v=DMARC1; p=none", Purpose: "dmarc", bit: DMARC})
	for i := range all {
		all[i].Found = s.Found&all[i].bit != 0
	}
	return all
}

// View takes the picture.
func (s *State) View(mxHost string) View {
	return View{Name: s.Name, Status: s.Status, Records: s.Records(mxHost), CheckedAt: s.CheckedAt}
}

// zoneTTL is what the zone text proposes, in seconds.
const zoneTTL = 3600

// Zone writes records as a zone file (RFC 1035 section 5.1), with absolute names.
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

// quoted writes text as character-strings of at most 255 bytes each (RFC 1035 section 3.3).
func quoted(text string) string {
	var parts []string
	for len(text) > 255 {
		parts, text = append(parts, `"`+escape.Replace(text[:255])+`"`), text[255:]
	}
	return strings.Join(append(parts, `"`+escape.Replace(text)+`"`), " ")
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
