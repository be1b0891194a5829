package inbox_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

var update = flag.Bool("update", false, "write testdata/placement.golden anew")

func given[T any](v T) *T { return &v }

var (
	free  = account.DefaultPlans().Of(account.PlanFree)
	paid  = account.DefaultPlans().Of(account.PlanPaid)
	plain = inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}
	many  = inbox.Namespaces{ServiceDomain: "inbox.localhost"}
	own   = inbox.Namespaces{ServiceDomain: "inbox.localhost", OwnDomain: "example.org"}
	bits  = [3]uint64{0, 1, 2} // amber-acorn-0000, Amber Acorn, baaaaaaaaa
)

// TestPlace places orders by plan and namespace.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		order   inbox.CreationRequest
		plan    account.Plan
		ns      inbox.Namespaces
		address string
		label   string
		hours   int
		ignored string
	}{
		{"all left out", inbox.CreationRequest{}, free, plain, "amber-acorn-0000@inbox.localhost", "Amber Acorn", 24, ""},
		{"all left out, random subdomains", inbox.CreationRequest{}, free, many, "amber-acorn-0000@baaaaaaaaa.inbox.localhost", "Amber Acorn", 24, ""},
		{"paid, all left out", inbox.CreationRequest{}, paid, many, "amber-acorn-0000@baaaaaaaaa.inbox.localhost", "Amber Acorn", 168, ""},
		{"a prefix", inbox.CreationRequest{Prefix: given("me")}, free, plain, "me@inbox.localhost", "Amber Acorn", 24, ""},
		{"hours on Free", inbox.CreationRequest{RetentionHours: given(72)}, free, plain, "amber-acorn-0000@inbox.localhost", "Amber Acorn", 72, ""},
		{"hours above Free", inbox.CreationRequest{RetentionHours: given(73)}, free, plain, "amber-acorn-0000@inbox.localhost", "Amber Acorn", 72, ""},
		{"hours above paid", inbox.CreationRequest{RetentionHours: given(1 << 40)}, paid, plain, "amber-acorn-0000@inbox.localhost", "Amber Acorn", 8760, ""},
		{"a label on Free", inbox.CreationRequest{Label: given("Mine")}, free, plain, "amber-acorn-0000@inbox.localhost", "Amber Acorn", 24, "label"},
		{"a label on paid", inbox.CreationRequest{Label: given("Mine")}, paid, plain, "amber-acorn-0000@inbox.localhost", "Mine", 168, ""},
		{"a subdomain on Free", inbox.CreationRequest{Subdomain: given("acme")}, free, many, "amber-acorn-0000@baaaaaaaaa.inbox.localhost", "Amber Acorn", 24, "subdomain"},
		{"a subdomain on Free, plain", inbox.CreationRequest{Subdomain: given("acme")}, free, plain, "amber-acorn-0000@inbox.localhost", "Amber Acorn", 24, "subdomain"},
		{"a subdomain on paid", inbox.CreationRequest{Prefix: given("me"), Subdomain: given("acme")}, paid, many, "me@acme.inbox.localhost", "Amber Acorn", 168, ""},
		{"a subdomain on paid, plain", inbox.CreationRequest{Prefix: given("me"), Subdomain: given("acme")}, paid, plain, "me@acme.inbox.localhost", "Amber Acorn", 168, ""},
		{"a verified domain", inbox.CreationRequest{Domain: given("EXAMPLE.org")}, free, own, "amber-acorn-0000@example.org", "Amber Acorn", 24, ""},
		{"a verified domain and a prefix", inbox.CreationRequest{Prefix: given("me"), Domain: given("example.org")}, paid, own, "me@example.org", "Amber Acorn", 168, ""},
		{"both on Free", inbox.CreationRequest{Label: given("Mine"), Subdomain: given("acme")}, free, plain, "amber-acorn-0000@inbox.localhost", "Amber Acorn", 24, "label,subdomain"},
	} {
		p, err := c.order.PlaceAddress(c.plan, c.ns, bits)
		if err != nil || p.Address != c.address || p.Label != c.label || p.RetentionHours != c.hours || strings.Join(p.IgnoredFields, ",") != c.ignored {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
		if (p.Note == "") != (c.ignored == "") {
			t.Errorf("%s: ignored %q, note %q", c.name, c.ignored, p.Note)
		}
	}
}

// TestWhoseNamesAreWhose checks that the operator's names are refused below the service domain and
// allowed on a verified domain. A subdomain that the plan does not cover is not checked.
func TestWhoseNamesAreWhose(t *testing.T) {
	domain := given("example.org")
	for _, prefix := range []string{"postmaster", "abuse", "mailer-daemon", "hostmaster", "noreply", "support", "info"} {
		for _, o := range []inbox.CreationRequest{{Prefix: &prefix}, {Prefix: &prefix, Subdomain: given("acme")}} {
			if _, err := o.PlaceAddress(paid, many, bits); !fault.Is(err, fault.Refused) {
				t.Errorf("%s: %v", prefix, err)
			}
		}
		if p, err := (inbox.CreationRequest{Prefix: &prefix, Domain: domain}).PlaceAddress(free, own, bits); err != nil || p.Address != prefix+"@example.org" {
			t.Errorf("%s on an own domain: %+v %v", prefix, p, err)
		}
	}
	for _, label := range strings.Fields("www www2 mail mail1 mx mx1 mx10 smtp imap pop pop3 api admin autoconfig autodiscover mta-sts ns ns1 ns12 webmail localhost _dmarc _domainkey") {
		if _, err := (inbox.CreationRequest{Subdomain: &label}).PlaceAddress(paid, plain, bits); !fault.Is(err, fault.Refused) {
			t.Errorf("%s: %v", label, err)
		}
		if p, err := (inbox.CreationRequest{Subdomain: &label}).PlaceAddress(free, plain, bits); err != nil || p.Subdomain != "" {
			t.Errorf("%s on Free: %+v %v", label, p, err)
		}
	}
	for _, label := range strings.Fields("wwww mails 1mx api2 a1 support fleet") {
		if p, err := (inbox.CreationRequest{Subdomain: &label}).PlaceAddress(paid, plain, bits); err != nil || p.Subdomain != label || p.RandomSubdomain {
			t.Errorf("%s: %+v %v", label, p, err)
		}
	}
}

// TestSubdomainOfAnAddress checks that the subdomain of an address is the one that it was placed
// in.
func TestSubdomainOfAnAddress(t *testing.T) {
	for _, c := range []struct {
		order inbox.CreationRequest
		ns    inbox.Namespaces
		label string
	}{
		{inbox.CreationRequest{}, plain, ""}, {inbox.CreationRequest{}, many, "baaaaaaaaa"}, {inbox.CreationRequest{Subdomain: given("acme")}, many, "acme"}, {inbox.CreationRequest{Domain: given("example.org")}, own, ""},
	} {
		p, err := c.order.PlaceAddress(paid, c.ns, bits)
		if err != nil || p.Subdomain != c.label || p.RandomSubdomain != (c.label == "baaaaaaaaa") || c.ns.Subdomain(p.Address) != c.label {
			t.Errorf("%+v: %+v %v, of its address %q", c.order, p, err, c.ns.Subdomain(p.Address))
		}
	}
	for _, address := range []string{"a@xinbox.localhost", "a@b.c.inbox.localhost", "a@example.org"} {
		if label := plain.Subdomain(address); label != "" {
			t.Errorf("%s: %q", address, label)
		}
	}
}

// TestPlaceGolden pins the sentences that people read.
func TestPlaceGolden(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		name  string
		order inbox.CreationRequest
	}{
		{"label", inbox.CreationRequest{Label: given("Mine")}},
		{"subdomain", inbox.CreationRequest{Subdomain: given("acme")}},
		{"label and subdomain", inbox.CreationRequest{Label: given("Mine"), Subdomain: given("acme")}},
		{"domain and subdomain", inbox.CreationRequest{Domain: given("example.org"), Subdomain: given("acme")}},
		{"domain", inbox.CreationRequest{Domain: given("example.org")}},
		{"no hours", inbox.CreationRequest{RetentionHours: given(0)}},
		{"negative hours", inbox.CreationRequest{RetentionHours: given(-24)}},
		{"bad subdomain", inbox.CreationRequest{Subdomain: given("a.b")}},
		{"empty prefix", inbox.CreationRequest{Prefix: given("")}},
		{"long prefix", inbox.CreationRequest{Prefix: given(strings.Repeat("a", 65))}},
		{"bad prefix", inbox.CreationRequest{Prefix: given("a b")}},
		{"dots in prefix", inbox.CreationRequest{Prefix: given("a..b")}},
		{"reserved prefix", inbox.CreationRequest{Prefix: given("postmaster")}},
		{"reserved subdomain", inbox.CreationRequest{Subdomain: given("www")}},
	} {
		plan := free
		if c.name == "reserved subdomain" {
			plan = paid
		}
		p, err := c.order.PlaceAddress(plan, plain, bits)
		if err == nil {
			fmt.Fprintf(&b, "%s: %s: %s\n", c.name, strings.Join(p.IgnoredFields, ","), p.Note)
		} else {
			fmt.Fprintf(&b, "%s: %v\n", c.name, err)
		}
	}
	const file = "testdata/placement.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || b.String() != string(want) {
		t.Errorf("%s differs (%v); the sentences are now\n%s", file, err, b.String())
	}
}

// TestShapeBeforeRules checks that invalid values are reported before refused ones.
func TestShapeBeforeRules(t *testing.T) {
	reserved, domain := given("postmaster"), given("example.org")
	for _, o := range []inbox.CreationRequest{
		{Prefix: reserved, RetentionHours: given(0)}, {Prefix: reserved, Subdomain: given("-")},
		{Domain: domain, RetentionHours: given(0)}, {Domain: domain, Prefix: given("A")},
	} {
		if _, err := o.PlaceAddress(paid, plain, bits); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
