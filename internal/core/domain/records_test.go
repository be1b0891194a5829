package domain_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"flag"
	"os"
	"strings"
	"testing"

	"inboxd/internal/core/domain"
)

var update = flag.Bool("update", false, "write testdata/example.org.zone anew")

// rsaPublic is a public key in PKIX form, from a real DKIM record.
const rsaPublic = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAmd4jDRRcZfgmuRxUhrWdG4nZyrzI7msQeQ3XdI4p2mqPD15rJEEGsNkTI3pJj7+GxPeqqhkuGzZ8" +
	"o+RY+CCsb99bHqgImk8qNZHLOjolvngwGftopJllSPF4bjHDrUEVYnwN73sAPcxKKy6bNdq6bEwgJa075RWTqT4VLXfcqdni4zWhGFd/FnxUOqlgPROcqUqx" +
	"Sclha9hIcjG99g5gjcmnrp055rs7FyFpmj1furI92565YRzX7mcfLTpFNDjyEQCNhq9mGlHoVUWCmHxuFUctCmNP8eF7KMucE/1gIvPpik3mc5DAoduGIHVS" +
	"UOXz84Ao5M3PSdUzaC+IT4YWqQIDAQAB"

func looked() *domain.State {
	rsa, err := base64.StdEncoding.DecodeString(rsaPublic)
	if err != nil {
		panic(err)
	}
	ed, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef")).Public())
	if err != nil {
		panic(err)
	}
	return &domain.State{Name: "example.org", Account: ada, OwnershipToken: "tok", Keys: []domain.DKIMKey{
		{Selector: "r1", Algorithm: domain.RSA, Public: rsa}, {Selector: "e1", Algorithm: domain.Ed25519, Public: ed},
	}}
}

// TestPublished checks which DNS answers count as which record.
func TestPublished(t *testing.T) {
	s := looked()
	records := s.Records("mx.inbox.test")
	rsa, ed := records[3].Value, records[4].Value
	const own = "_inboxd.example.org"
	for _, c := range []struct {
		name string
		txt  map[string][]string
		mx   []string
		want domain.RecordSet
	}{
		{"nothing", nil, nil, 0},
		{"ownership among others", map[string][]string{own: {"hello", " inboxd-verification=tok "}}, nil, domain.Ownership},
		{"another's token", map[string][]string{own: {"inboxd-verification=token"}}, nil, 0},
		{"mx", nil, []string{"MX.Inbox.test."}, domain.MX},
		{"mx second", nil, []string{"mail.example.net.", "mx.inbox.test."}, domain.MX},
		{"null mx", nil, []string{"."}, 0},
		{"mx elsewhere", nil, []string{"xmx.inbox.test."}, 0},
		{"spf", map[string][]string{"example.org": {"v=spf1 include:x.test MX -all"}}, nil, domain.SPF},
		{"spf without us", map[string][]string{"example.org": {"v=spf1 include:mx -all", "v=spf10 mx", "mx"}}, nil, 0},
		{"spf that denies us", map[string][]string{"example.org": {"v=spf1 -mx ~all"}}, nil, 0},
		{"rsa key", map[string][]string{"r1._domainkey.example.org": {rsa}}, nil, domain.DKIMRSA},
		{"rsa key by default", map[string][]string{"r1._domainkey.example.org": {strings.Replace(rsa, "v=DKIM1; k=rsa; ", "", 1)}}, nil, domain.DKIMRSA},
		{"key cut by spaces", map[string][]string{"r1._domainkey.example.org": {rsa[:100] + " " + rsa[100:]}}, nil, domain.DKIMRSA},
		{"ed25519 key", map[string][]string{"e1._domainkey.example.org": {ed + " ;"}}, nil, domain.DKIMEd25519},
		{"another key", map[string][]string{"r1._domainkey.example.org": {rsa[:len(rsa)-4]}}, nil, 0},
		{"revoked key", map[string][]string{"r1._domainkey.example.org": {"v=DKIM1; k=rsa; p="}}, nil, 0},
		{"key in testing", map[string][]string{"e1._domainkey.example.org": {ed + "; t=s:y"}}, nil, 0},
		{"key of another kind", map[string][]string{"e1._domainkey.example.org": {strings.Replace(ed, "ed25519", "rsa", 1)}}, nil, 0},
		{"keys swapped", map[string][]string{"r1._domainkey.example.org": {ed}, "e1._domainkey.example.org": {rsa}}, nil, 0},
		{"two keys at one selector", map[string][]string{"r1._domainkey.example.org": {rsa, rsa}}, nil, 0},
		{"dmarc of one's own", map[string][]string{"_dmarc.example.org": {"v=DMARC1; p=reject"}}, nil, domain.DMARC},
	} {
		var found domain.RecordSet
		for _, rec := range records {
			answers := c.txt[rec.Name]
			if rec.Type == "MX" {
				answers = c.mx
			}
			if rec.IsPublished(answers) {
				found |= rec.FoundBit
			}
		}
		if found != c.want {
			t.Errorf("%s: found %b, want %b", c.name, found, c.want)
		}
	}
}

// TestZoneGolden pins the text that people paste into their zones.
func TestZoneGolden(t *testing.T) {
	text := domain.ZoneFile(looked().Records("mx.inbox.test"))
	const file = "testdata/example.org.zone"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || text != string(want) {
		t.Errorf("%s differs (%v); the zone is now\n%s", file, err, text)
	}
}
