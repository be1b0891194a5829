package mailauth

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestStories runs testdata/stories. "zone" lists records ("name: value", several by repeating the
// name; KEY is a published key, possibly followed by more tags). "mail" is a received message: ip,
// helo, from (absent: the null sender), and sign, the domains that signed it with the selector s.
// The output is every verdict, which is the same with the findings of all earlier messages.
func TestStories(t *testing.T) {
	findings := NewFindings()
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		z := zone{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "zone" {
				z = zone{}
				for line := range strings.Lines(d.Input) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					if more, ok := strings.CutPrefix(value, "KEY"); ok {
						value, _ = KeyRecord(edKey.Public())
						value += more
					}
					z[name] = append(z[name], value)
				}
				return ""
			}
			in := VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), HELO: "mx.example.com", Now: now}
			raw := wire(strings.Split(d.Input, "\n")...)
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "ip":
					in.ClientIP = netip.MustParseAddr(arg.Vals[0])
				case "helo":
					in.HELO = arg.Vals[0]
				case "from":
					in.MailFrom = arg.Vals[0]
				case "sign":
					for _, domain := range arg.Vals {
						raw = signed(t, raw, Signer{Domain: domain, Selector: "s", Key: edKey})
					}
				}
			}
			in.RawMessage = raw
			for range 2 {
				twice(t, in, findings, knower(z))
			}
			r := VerifyMessage(t.Context(), in, z)
			var b strings.Builder
			fmt.Fprintf(&b, "spf=%s %s\n", r.SPF.ResultCode, r.SPF.Domain)
			for _, s := range r.Signatures {
				fmt.Fprintf(&b, "dkim=%s %s %s\n", s.ResultCode, s.Domain, s.Reason)
			}
			fmt.Fprintf(&b, "dmarc=%s %s\n", r.DMARC.ResultCode, r.DMARC.Domain)
			return strings.ReplaceAll(b.String(), " \n", "\n")
		})
	})
}
