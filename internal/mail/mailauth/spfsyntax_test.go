package mailauth

import (
	"strings"
	"testing"
)

func TestSPFGrammar(t *testing.T) {
	for _, c := range []struct {
		valid   bool
		records string // one a line
	}{
		{true, `v=spf1
v=spf1 -all
V=SPF1 +ALL
v=spf1  a  mx   ~all  
v=spf1 ip4:192.0.2.0/24 ip4:1.2.3.4/0 ip6:2001:db8::/32 ip6:::/0 ?all
v=spf1 a/24 a//64 a/24//64 mx/0 a:h.example.com/24//64 mx:h.example.com
v=spf1 include:_spf.example.com redirect=example.com
v=spf1 exists:%{ir}.%{v}._spf.%{d2} exists:%{L1R+-}.example.com exists:%{i}
v=spf1 a:%{d/}.example.com/24
v=spf1 a:a%%b%_c%-d.example.com. -all
v=spf1 ptr ptr:example.com -all exp=explain._spf.%{d}
v=spf1 moo=1/2:%{d}%{t} x-y_z.1= -all
v=spf1 a:e-x.xn--p1ai -all`},
		{false, `v=spf1 all:x
v=spf1 all/8
v=spf1 foo -all
v=spf1 ip4:192.0.2.10 foo
v=spf1 +-all
v=spf1 ip4:192.0.2.0/024
v=spf1 ip4:192.0.2.0/33
v=spf1 ip4:192.0.2.0/
v=spf1 ip4:1.2.3
v=spf1 ip4:2001:db8::1
v=spf1 ip4
v=spf1 ip6:1.2.3.4
v=spf1 ip6:2001:db8::/129
v=spf1 ip6:fe80::1%eth0
v=spf1 include
v=spf1 include:
v=spf1 exists:
v=spf1 a: -all
v=spf1 a/ -all
v=spf1 a:foo -all
v=spf1 a:foo.123 -all
v=spf1 a:foo.-x -all
v=spf1 a:foo..  -all
v=spf1 a/24/64
v=spf1 a///64
v=spf1 a//129
v=spf1 exists:%{z}.example.com
v=spf1 exists:%{c}.example.com
v=spf1 exists:%{d0}.example.com
v=spf1 exists:%{d
v=spf1 exists:%x.example.com
v=spf1 exists:example.com%
v=spf1 redirect=
v=spf1 redirect=a.test redirect=b.test
v=spf1 exp= -all
v=spf1 exp=a.test Exp=b.test -all
v=spf1 foo=%abc -all
v=spf1 +redirect=a.test
v=spf1 -all é
v=spf1 ip4:192.0.2.1	-all`},
	} {
		for record := range strings.SplitSeq(c.records, "\n") {
			terms, ok := spfTerms(record)
			if !ok || isSPF(terms) != c.valid {
				t.Errorf("%q: valid %v, want %v", record, !c.valid, c.valid)
			}
		}
	}
	for _, record := range []string{"v=spf10 all", "v=spf1x", "v=spf", "", "v=spf1\t-all", " v=spf1 -all"} {
		if _, ok := spfTerms(record); ok {
			t.Errorf("%q is no SPF", record)
		}
	}
}
