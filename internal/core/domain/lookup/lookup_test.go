package lookup

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"net"
	"testing"

	"inboxd/internal/core/domain"
)

// fakeDNS has TXT and MX records. A name without records does not exist, unless it is in trouble.
type fakeDNS struct {
	txt     map[string][]string
	mx      map[string][]*net.MX
	trouble map[string]bool
}

func (f fakeDNS) LookupTXT(_ context.Context, name string) ([]string, error) {
	return answerOf(f, name, f.txt[name])
}

func (f fakeDNS) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	return answerOf(f, name, f.mx[name])
}

func answerOf[T any](f fakeDNS, name string, records []T) ([]T, error) {
	switch {
	case f.trouble[name]:
		return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	case len(records) == 0:
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}
	return records, nil
}

func claimed(t *testing.T) *domain.State {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef")).Public())
	if err != nil {
		t.Fatal(err)
	}
	return &domain.State{Name: "example.org", OwnershipToken: "tok", Keys: []domain.DKIMKey{
		{Selector: "r1", Algorithm: domain.RSA, Public: public}, {Selector: "e1", Algorithm: domain.Ed25519, Public: public},
	}}
}

func TestAll(t *testing.T) {
	s := claimed(t)
	records := s.Records("mx.inbox.test")
	dns := fakeDNS{txt: map[string][]string{}, mx: map[string][]*net.MX{"example.org": {{Host: "mail.example.net."}, {Host: "mx.inbox.test."}}}}
	for _, rec := range records {
		if rec.Type == "TXT" {
			dns.txt[rec.Name] = append(dns.txt[rec.Name], rec.Value)
		}
	}
	if known, found := QueryAll(t.Context(), dns, records); known != 1<<6-1 || found != known {
		t.Errorf("what was published: found %b of %b", found, known)
	}
	if known, found := QueryAll(t.Context(), fakeDNS{}, records); known != 1<<6-1 || found != 0 {
		t.Errorf("nothing published: found %b of %b", found, known)
	}
}

// TestTroubleIsNoAnswer checks that only records that DNS answered for are known.
func TestTroubleIsNoAnswer(t *testing.T) {
	s := claimed(t)
	dns := fakeDNS{txt: map[string][]string{"_inboxd.example.org": {"inboxd-verification=tok"}}, trouble: map[string]bool{"example.org": true, "r1._domainkey.example.org": true}}
	known, found := QueryAll(t.Context(), dns, s.Records("mx.inbox.test"))
	if known != domain.Ownership|domain.DKIMEd25519|domain.DMARC || found != domain.Ownership {
		t.Errorf("known %b, found %b", known, found)
	}
	ownership := domain.OwnershipRecord("example.org", "tok")
	if _, err := IsPublished(t.Context(), fakeDNS{trouble: map[string]bool{ownership.Name: true}}, ownership); err == nil {
		t.Error("trouble gave an answer")
	}
	if ok, err := IsPublished(t.Context(), dns, domain.KeyRecord("example.org", s.Keys[1])); ok || err != nil {
		t.Errorf("a key that is not there: %v, %v", ok, err)
	}
	if ok, err := IsPublished(t.Context(), dns, domain.KeyRecord("example.org", domain.DKIMKey{Selector: "e2", Public: []byte("x")})); ok || err == nil {
		t.Errorf("a damaged key: %v, %v", ok, err)
	}
}
