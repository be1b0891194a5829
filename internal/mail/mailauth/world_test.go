package mailauth

import (
	"context"
	"crypto/ed25519"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// now is the time of every test.
var now = time.Unix(1_795_000_000, 0)

// edKey is the same in each run.
var edKey = ed25519.NewKeyFromSeed([]byte("inboxd's tests sign with this..."))

// rsaKeys is slow to make, so tests share one pair.
var rsaKeys = sync.OnceValue(func() Keys {
	k, err := NewKeys()
	if err != nil {
		panic(err)
	}
	return k
})

// zone is a Resolver in memory: TXT records by name, and addresses, MX and names under "A name",
// "MX name" and "PTR ip". A value "TEMP" is a temporary failure. Missing names do not exist.
type zone map[string][]string

func (z zone) get(ctx context.Context, name string) ([]string, error) {
	v, ok := z[strings.ToLower(strings.TrimSuffix(name, "."))]
	switch {
	case ctx.Err() != nil:
		return nil, &net.DNSError{Err: "late", Name: name, IsTimeout: true}
	case !ok:
		return nil, &net.DNSError{Err: "no such domain", Name: name, IsNotFound: true}
	case v[0] == "TEMP":
		return nil, &net.DNSError{Err: "SERVFAIL", Name: name, IsTemporary: true}
	}
	return v, nil
}

func (z zone) LookupTXT(ctx context.Context, name string) ([]string, error) { return z.get(ctx, name) }

func (z zone) LookupMX(ctx context.Context, name string) (list []*net.MX, err error) {
	v, err := z.get(ctx, "mx "+name)
	for _, host := range v {
		list = append(list, &net.MX{Host: host})
	}
	return list, err
}

func (z zone) LookupIPAddr(ctx context.Context, name string) (list []net.IPAddr, err error) {
	v, err := z.get(ctx, "a "+name)
	for _, ip := range v {
		list = append(list, net.IPAddr{IP: net.ParseIP(ip)})
	}
	return list, err
}

func (z zone) LookupAddr(ctx context.Context, ip string) ([]string, error) {
	return z.get(ctx, "ptr "+ip)
}

// publish puts the record of a key into the zone, followed by more tags.
func (z zone) publish(t testing.TB, s Signer, more string) {
	t.Helper()
	record, err := KeyRecord(s.Key.Public())
	if err != nil {
		t.Fatal(err)
	}
	z[RecordName(s.Domain, s.Selector)] = []string{record + more}
}

func signed(t testing.TB, raw []byte, signers ...Signer) []byte {
	t.Helper()
	out, err := Sign(raw, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wire joins the lines of a message as transmitted.
func wire(lines ...string) []byte { return []byte(strings.Join(lines, "\r\n") + "\r\n") }

// fromFile reads a message whose lines end in LF.
func fromFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.ReplaceAll(string(b), "\n", "\r\n"))
}

func verify(raw []byte, z Resolver) AuthResult {
	return VerifyMessage(context.Background(), VerifyInput{
		ClientIP: netip.MustParseAddr("192.0.2.1"), HELO: "mx.example.com", MailFrom: "bounce@example.com", RawMessage: raw, Now: now,
	}, z)
}
