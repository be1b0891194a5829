package lookup

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"inboxd/internal/base/resolve"
	"inboxd/internal/core/domain"
	"inboxd/internal/testutil/dnstest"
)

// wild answers queries for wildcard names. The test server has the wildcard's records under a name
// of their own, below the domain.
type wild struct{ *resolve.Resolver }

func (w wild) LookupMX(ctx context.Context, name string) ([]*net.MX, error) {
	return w.Resolver.LookupMX(ctx, stored(name))
}

func (w wild) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return w.Resolver.LookupTXT(ctx, stored(name))
}

// stored is the name of the records for a random label, which is longer than all others.
func stored(name string) string {
	if label, domain, _ := strings.Cut(name, "."); len(label) > 20 {
		return "wildcard." + domain
	}
	return name
}

// service prints what DNS has for mail.test, one record a line.
func service(t *testing.T, server *dnstest.Server, signing ...domain.DNSRecord) string {
	t.Helper()
	var b strings.Builder
	for _, s := range QueryService(t.Context(), wild{resolve.New(server.Addr, resolve.Options{MaxTTL: 1, MaxNegative: 1})}, "mail.test", "mx.mail.test", signing) {
		fmt.Fprintf(&b, "%t %s %s %q %t\n", s.OK, s.Type, s.Name, s.Has, s.Err != "")
	}
	return b.String()
}

func TestService(t *testing.T) {
	dkim := domain.KeyRecord("mail.test", claimed(t).Keys[1])
	all := []string{
		"mail.test. 60 IN MX 10 mx.mail.test.", "wildcard.mail.test. 60 IN MX 10 mx.mail.test.", "mail.test. 60 IN TXT \"v=spf1 mx -all\"",
		"wildcard.mail.test. 60 IN TXT \"v=spf1 mx -all\"",
		"_dmarc.mail.test. 60 IN TXT \"v=DMARC1; p=reject\"", dkim.Name + ". 60 IN TXT \"" + dkim.Value + "\"",
		"mx.mail.test. 60 IN A 192.0.2.7", "7.2.0.192.in-addr.arpa. 60 IN PTR MX.mail.test.",
	}
	server := dnstest.StartServer(t, all...)
	whole := fmt.Sprintf(`true MX mail.test ["mx.mail.test."] false
true MX *.mail.test ["mx.mail.test."] false
true TXT mail.test ["v=spf1 mx -all"] false
true TXT *.mail.test ["v=spf1 mx -all"] false
true TXT _dmarc.mail.test ["v=DMARC1; p=reject"] false
true TXT %s [%q] false
true A mx.mail.test ["192.0.2.7"] false
true PTR 192.0.2.7 ["MX.mail.test."] false
`, dkim.Name, dkim.Value)
	if got := service(t, server, dkim); got != whole {
		t.Errorf("all is published:\n%swant\n%s", got, whole)
	}
	for i, want := range []string{ // each record left out, in the order of all
		"false MX mail.test []", "false MX *.mail.test []", "false TXT mail.test []", "false TXT *.mail.test []", "false TXT _dmarc.mail.test []",
		"false TXT " + dkim.Name + " []", "false A mx.mail.test []", "false PTR 192.0.2.7 []",
	} {
		server.SetRecords(t, append(append([]string{"other.test. 60 IN A 192.0.2.1"}, all[:i]...), all[i+1:]...)...)
		if got := service(t, server, dkim); !strings.Contains(got, want) || strings.Count(got, "false ") != 1 {
			t.Errorf("without %q:\n%swant %s", all[i], got, want)
		}
	}
	server.SetRecords(t, append(all[:7:7], "7.2.0.192.in-addr.arpa. 60 IN PTR host7.provider.test.")...)
	if got := service(t, server, dkim); !strings.Contains(got, `false PTR 192.0.2.7 ["host7.provider.test."]`) {
		t.Errorf("called by another name:\n%s", got)
	}
	if got := QueryService(t.Context(), resolve.New(server.Addr, resolve.Options{}), "mail.test", "mx.mail.test", []domain.DNSRecord{domain.KeyRecord("mail.test", domain.DKIMKey{Selector: "x"})})[5]; got.OK {
		t.Errorf("a damaged key: %+v", got)
	}
}

// TestNoAnswerIsTold checks the short texts next to the queried name.
func TestNoAnswerIsTold(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""}, {&net.DNSError{Err: "no such host", IsNotFound: true}, ""}, {context.Canceled, "context canceled"},
		{&net.DNSError{Err: "server misbehaving", Name: "a-name-that-stands-beside-it.mail.test"}, "server misbehaving"},
	} {
		if got := unansweredReason(c.err); got != c.want {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}
