package ingest_test

import (
	"context"
	"net"
	"testing"
	"time"

	"inboxd/internal/ingest"
)

// silence is a DNS without any record.
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

// TestVerdictOfLocalMail holds that a mail which never left the node is judged as from this
// server, though its envelope, which a scanner sees too, names no HELO.
func TestVerdictOfLocalMail(t *testing.T) {
	j := ingest.Judge{Server: "inbox.test", DNS: silence{}, Now: time.Now}
	raw := []byte("Received: here\r\nFrom: a@example.com\r\n\r\nhello\r\n")
	for helo, want := range map[string]string{"": "inbox.test", "mx.example.com": "mx.example.com"} {
		a := j.Verdict(t.Context(), ingest.Envelope{Helo: helo, TraceLen: len("Received: here\r\n")}, raw).Auth
		if a.Server != "inbox.test" || !a.HELO || a.SPF.Domain != want || a.DMARC.Domain != "example.com" {
			t.Errorf("HELO %q: %+v", helo, a)
		}
	}
}
