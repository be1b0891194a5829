package ingest_test

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"inboxd/internal/intake/ingest"
)

// txtRecords answers with TXT records, or with a temporary error.
type txtRecords struct {
	silence
	txt map[string]string
}

func (r txtRecords) LookupTXT(_ context.Context, name string) ([]string, error) {
	switch text, known := r.txt[name]; {
	case text == "trouble":
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	case known:
		return []string{text}, nil
	}
	return nil, none(name)
}

func TestFromVerified(t *testing.T) {
	const spf, allow, refuse = "bank.example", "v=spf1 ip4:192.0.2.1 -all", "v=spf1 -all"
	for name, c := range map[string]struct {
		txt  map[string]string
		from string
		want bool
	}{
		"nobody vouches":       {nil, "bank.example", false},
		"SPF without a record": {map[string]string{spf: allow}, "bank.example", true},
		"SPF of a subdomain":   {map[string]string{spf: allow}, "mail.bank.example", true},
		"SPF of another":       {map[string]string{spf: allow}, "other.example", false},
		"SPF fails":            {map[string]string{spf: refuse}, "bank.example", false},
		"DMARC passes":         {map[string]string{spf: allow, "_dmarc.bank.example": "v=DMARC1; p=none"}, "bank.example", true},
		"DMARC fails":          {map[string]string{spf: allow, "_dmarc.other.example": "v=DMARC1; p=none"}, "other.example", false},
		"strict DMARC fails":   {map[string]string{spf: allow, "_dmarc.bank.example": "v=DMARC1; p=none; aspf=s"}, "mail.bank.example", false},
		"DMARC is not known":   {map[string]string{spf: allow, "_dmarc.bank.example": "trouble"}, "bank.example", false},
	} {
		j := ingest.MessageAuthenticator{AuthServID: "inbox.test", DNS: txtRecords{txt: c.txt}, Now: time.Now}
		env := ingest.Envelope{Helo: "mx.example", MailFrom: "a@bank.example", RemoteIP: netip.MustParseAddr("192.0.2.1")}
		a := j.VerdictFor(t.Context(), env, []byte("From: a@"+c.from+"\r\n\r\nhello\r\n")).Auth
		if a.FromVerified != c.want {
			t.Errorf("%s: %+v", name, a)
		}
		two := j.VerdictFor(t.Context(), env, []byte("From: a@"+c.from+"\r\nFrom: b@bank.example\r\n\r\nhello\r\n")).Auth
		if two.FromVerified {
			t.Errorf("%s, two From fields: %+v", name, two)
		}
	}
	for record, want := range map[string]bool{"v=DMARC1; p=reject": false, "trouble": true, "": true} {
		j := ingest.MessageAuthenticator{AuthServID: "inbox.test", DNS: txtRecords{txt: map[string]string{"_dmarc.inbox.test": record}}, Now: time.Now}
		if a := j.VerdictFor(t.Context(), ingest.Envelope{}, []byte("From: a@inbox.test\r\n\r\nhello\r\n")).Auth; a.FromVerified != want {
			t.Errorf("an unsigned message of this node, record %q: %+v", record, a)
		}
	}
}

// silence is a DNS without records.
type silence struct{}

func none(name string) error {
	return &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (silence) LookupTXT(_ context.Context, name string) ([]string, error)  { return nil, none(name) }
func (silence) LookupMX(_ context.Context, name string) ([]*net.MX, error)  { return nil, none(name) }
func (silence) LookupAddr(_ context.Context, name string) ([]string, error) { return nil, none(name) }
func (silence) LookupIPAddr(_ context.Context, name string) ([]net.IPAddr, error) {
	return nil, none(name)
}

// TestVerdictOfLocalMail checks that a message that never left the node is judged as from this
// server, although its envelope, which a scanner also sees, has no HELO.
func TestVerdictOfLocalMail(t *testing.T) {
	j := ingest.MessageAuthenticator{AuthServID: "inbox.test", DNS: silence{}, Now: time.Now}
	raw := []byte("Received: here\r\nFrom: a@example.com\r\n\r\nhello\r\n")
	for helo, want := range map[string]string{"": "inbox.test", "mx.example.com": "mx.example.com"} {
		a := j.VerdictFor(t.Context(), ingest.Envelope{Helo: helo, TraceLen: len("Received: here\r\n")}, raw).Auth
		if a.CheckingServer != "inbox.test" || !a.HELO || a.SPF.Domain != want || a.DMARC.Domain != "example.com" {
			t.Errorf("HELO %q: %+v", helo, a)
		}
	}
}
