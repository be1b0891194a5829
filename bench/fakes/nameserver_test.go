package fakes

import (
	"context"
	"net"
	"slices"
	"testing"
)

func TestNameServerVouchesForThisMachine(t *testing.T) {
	s, err := StartNameServer()
	if err != nil {
		t.Fatal(err)
	}
	ask := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.Addr)
	}}
	for name, want := range map[string]string{
		"Accounts.example.test.":        "v=spf1 ip4:127.0.0.0/8 ip6:::1 -all",
		"_dmarc.accounts.example.test.": "v=DMARC1; p=reject",
	} {
		if got, err := ask.LookupTXT(t.Context(), name); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if mx, err := ask.LookupMX(t.Context(), "example.test."); len(mx) > 0 {
		t.Errorf("MX: %v, %v", mx, err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
