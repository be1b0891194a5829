package mailauth

import (
	"cmp"
	"context"
	"crypto"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// knower is a zone that has every name cached.
func knower(z zone) partly { return partly{zone: z} }

// planted is a word that no search returns: a verdict with it came from a finding.
const planted ResultCode = "planted"

// plant copies findings and replaces their words by planted.
func plant(f Findings) Findings {
	out := NewFindings()
	copyTable(out.spf, f.spf, func(w *ResultCode) { *w = planted })
	copyTable(out.policies, f.policies, func(p *dmarcPolicy) { p.resultCode = planted })
	copyTable(out.keys, f.keys, func(k *keyAnswer) { k.resultCode = planted })
	return out
}

func copyTable[T any](to, from *findingTable[T], change func(*T)) {
	to.seed = from.seed
	for i := range from.slots {
		if f := from.slots[i].Load(); f != nil {
			c := *f
			change(&c.found)
			to.slots[i].Store(&c)
		}
	}
}

func kept[T any](t *findingTable[T]) (list []*cachedFinding[T]) {
	for i := range t.slots {
		if f := t.slots[i].Load(); f != nil {
			list = append(list, f)
		}
	}
	return list
}

// twice verifies a message without and with findings; the results must be equal. found says which
// verdicts came from findings.
func twice(t testing.TB, in VerifyInput, findings Findings, dns Resolver) (r AuthResult, found []string) {
	t.Helper()
	in.Findings = Findings{}
	fresh := VerifyMessage(t.Context(), in, dns)
	in.Findings = plant(findings)
	marked := VerifyMessage(t.Context(), in, dns)
	for name, word := range map[string]ResultCode{"spf": marked.SPF.ResultCode, "dkim": marked.DKIM.ResultCode, "dmarc": marked.DMARC.ResultCode} {
		if word == planted {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	in.Findings = findings
	if r = VerifyMessage(t.Context(), in, dns); !reflect.DeepEqual(r, fresh) {
		t.Errorf("with findings (%s) %+v, afresh %+v", found, r, fresh)
	}
	return r, found
}

// TestFindings has one case for each way in which a verdict changes. Every step first puts records
// into the zone (an empty value removes them). Then a message is verified: with a finding only if
// nothing changed, and always with the current verdict.
func TestFindings(t *testing.T) {
	type step struct {
		zone  zone // changed records
		ip    string
		helo  string
		from  string // default x@example.com
		asked string // a name that is not cached
		spf   ResultCode
		dmarc ResultCode // default none
		found string     // default both; "-" is neither
	}
	all := zone{"example.com": {"v=spf1 ip4:192.0.2.1 -all", "some-verification=1"}}
	for name, steps := range map[string][]step{
		"the same again": {{zone: all, spf: Pass, found: "-"}, {spf: Pass}, {spf: Pass}},
		"another address": {
			{zone: all, spf: Pass, found: "-"}, {ip: "198.51.100.1", spf: Fail, found: "dmarc"}, {ip: "198.51.100.1", spf: Fail}, {spf: Pass},
		},
		"an address of the other family": {
			{zone: zone{"example.com": {"v=spf1 ip6:2001:db8::1 -all"}}, ip: "2001:db8::1", spf: Pass, found: "-"}, {ip: "2001:db8::1", spf: Pass}, {ip: "2001:db8::2", spf: Fail, found: "dmarc"},
		},
		"another sender of the domain": {{zone: all, spf: Pass, found: "-"}, {from: "y@EXAMPLE.com", helo: "other.example", spf: Pass}},
		"the null sender":              {{zone: all, spf: Pass, found: "-"}, {from: "<>", helo: "example.com", spf: Pass}, {from: "<>", helo: "none.example", spf: None, found: "dmarc"}},
		"a sender that is none":        {{zone: all, from: "x", spf: None, found: "-"}, {from: "x", spf: None, found: "dmarc"}},
		"the record changes":           {{zone: all, spf: Pass, found: "-"}, {zone: zone{"example.com": {"v=spf1 ip4:192.0.2.2 -all", "some-verification=1"}}, spf: Fail, found: "dmarc"}, {spf: Fail}},
		"a record beside it comes": {
			{zone: all, spf: Pass, found: "-"}, {zone: zone{"example.com": append(slices.Clone(all["example.com"]), "v=spf1 ~all")}, spf: PermError, found: "dmarc"}, {spf: PermError},
		},
		"the record goes and comes": {
			{zone: all, spf: Pass, found: "-"}, {zone: zone{"example.com": nil}, spf: None, found: "dmarc"}, {spf: None}, {zone: all, spf: Pass, found: "dmarc"}, {spf: Pass},
		},
		"an included record changes": {
			{zone: zone{"example.com": {"v=spf1 include:a.example include:b.example -all"}, "a.example": {"v=spf1 -all"}, "b.example": {"v=spf1 ip4:192.0.2.1 -all"}}, spf: Pass, found: "-"},
			{spf: Pass}, {zone: zone{"b.example": {"v=spf1 ?all"}}, spf: Fail, found: "dmarc"}, {spf: Fail}, {zone: zone{"a.example": nil}, spf: PermError, found: "dmarc"}, {spf: PermError},
		},
		"what a redirect leads to changes": {
			{zone: zone{"example.com": {"v=spf1 redirect=a.example"}, "a.example": {"v=spf1 ~all"}}, spf: SoftFail, found: "-"},
			{spf: SoftFail}, {zone: zone{"a.example": {"v=spf1 +all"}}, spf: Pass, found: "dmarc"}, {spf: Pass},
		},
		"trouble on the way": {
			{zone: all, spf: Pass, found: "-"}, {zone: zone{"example.com": {"TEMP"}}, spf: TempError, found: "dmarc"}, {spf: TempError, found: "dmarc"}, {zone: all, spf: Pass},
		},
		"trouble first": {{zone: zone{"example.com": {"TEMP"}}, spf: TempError, found: "-"}, {zone: all, spf: Pass, found: "dmarc"}, {spf: Pass}},
		"expired": {
			{zone: all, asked: "example.com", spf: Pass, found: "-"}, {asked: "example.com", spf: Pass, found: "dmarc"}, {spf: Pass, found: "dmarc"},
			{asked: "example.com", spf: Pass, found: "dmarc"}, {spf: Pass},
			{zone: zone{"example.com": {"v=spf1 -all"}}, asked: "example.com", spf: Fail, found: "dmarc"}, {spf: Fail, found: "dmarc"}, {spf: Fail},
		},
		"a macro of the HELO name": {
			{zone: zone{"example.com": {"v=spf1 include:%{h}.example.com -all"}, "a.example.com": {"v=spf1 +all"}, "b.example.com": {"v=spf1 -all"}}, helo: "a", spf: Pass, found: "-"},
			{helo: "a", spf: Pass, found: "dmarc"}, {helo: "b", spf: Fail, found: "dmarc"},
		},
		"a macro of the local part, included": {
			{zone: zone{"example.com": {"v=spf1 include:a.example ?all"}, "a.example": {"v=spf1 redirect=%{l}.example.com"}, "x.example.com": {"v=spf1 +all"}, "y.example.com": {"v=spf1 -all"}}, spf: Pass, found: "-"},
			{spf: Pass, found: "dmarc"}, {from: "y@example.com", spf: Neutral, found: "dmarc"},
		},
		"an address that changes": {
			{zone: zone{"example.com": {"v=spf1 a -all"}, "a example.com": {"192.0.2.1"}}, spf: Pass, found: "-"},
			{spf: Pass, found: "dmarc"}, {zone: zone{"a example.com": {"192.0.2.2"}}, spf: Fail, found: "dmarc"},
		},
		"an MX that changes": {
			{zone: zone{"example.com": {"v=spf1 mx -all"}, "mx example.com": {"a.example"}, "a a.example": {"192.0.2.1"}}, spf: Pass, found: "-"},
			{spf: Pass, found: "dmarc"}, {zone: zone{"mx example.com": nil}, spf: Fail, found: "dmarc"},
		},
		"a name of the client that changes": {
			{zone: zone{"example.com": {"v=spf1 ptr -all"}, "ptr 192.0.2.1": {"a.example.com"}, "a a.example.com": {"192.0.2.1"}}, spf: Pass, found: "-"},
			{spf: Pass, found: "dmarc"}, {zone: zone{"ptr 192.0.2.1": nil}, spf: Fail, found: "dmarc"},
		},
		"a policy comes and goes": {
			{zone: all, spf: Pass, found: "-"}, {zone: zone{"_dmarc.example.com": {"v=DMARC1; p=none"}}, spf: Pass, dmarc: Pass, found: "spf"}, {spf: Pass, dmarc: Pass},
			{zone: zone{"_dmarc.example.com": {"v=DMARC1; p=oops"}}, spf: Pass, dmarc: PermError, found: "spf"}, {zone: zone{"_dmarc.example.com": nil}, spf: Pass, found: "spf"}, {spf: Pass},
		},
		"trouble with a policy": {
			{zone: zone{"_dmarc.example.com": {"TEMP"}}, spf: None, dmarc: TempError, found: "-"}, {spf: None, dmarc: TempError, found: "spf"}, {zone: zone{"_dmarc.example.com": nil}, spf: None, found: "spf"}, {spf: None},
		},
		"the policy of the suffix": {
			{zone: all, spf: Pass, found: "-"}, {zone: zone{"_dmarc.com": {"v=DMARC1; p=none; psd=y"}}, spf: Pass, dmarc: Pass, found: "spf"}, {zone: zone{"_dmarc.com": {"v=DMARC1; p=none"}}, spf: Pass, found: "spf"}, {spf: Pass},
		},
		"a policy asked for": {
			{zone: zone{"_dmarc.example.com": {"v=DMARC1; p=none"}}, asked: "_dmarc.example.com", spf: None, dmarc: Fail, found: "-"}, {asked: "_dmarc.example.com", spf: None, dmarc: Fail, found: "spf"}, {spf: None, dmarc: Fail, found: "spf"}, {spf: None, dmarc: Fail},
		},
	} {
		t.Run(name, func(t *testing.T) {
			z, findings := zone{}, NewFindings()
			for i, s := range steps {
				maps.Copy(z, s.zone)
				maps.DeleteFunc(z, func(_ string, v []string) bool { return v == nil })
				in := VerifyInput{ClientIP: netip.MustParseAddr(cmp.Or(s.ip, "192.0.2.1")), HELO: cmp.Or(s.helo, "mx.example.net"), MailFrom: strings.TrimPrefix(cmp.Or(s.from, "x@example.com"), "<>"), RawMessage: plain, Now: now}
				r, found := twice(t, in, findings, partly{z, s.asked})
				if r.SPF.ResultCode != s.spf || r.DMARC.ResultCode != cmp.Or(s.dmarc, None) {
					t.Errorf("step %d: spf=%s dmarc=%s", i+1, r.SPF.ResultCode, r.DMARC.ResultCode)
				}
				if got, want := cmp.Or(strings.Join(found, " "), "-"), cmp.Or(s.found, "dmarc spf"); got != want {
					t.Errorf("step %d: %s came out of findings, not %s", i+1, got, want)
				}
			}
		})
	}
}

// ownKeys are LocalKeys that can change.
type ownKeys map[string]crypto.PublicKey

func (k ownKeys) PublicKey(domain, selector string) (crypto.PublicKey, bool) {
	public, ok := k[RecordName(domain, selector)]
	return public, ok
}

// TestFoundKeys checks that a key is valid as long as it is published, and that this node's own
// keys take precedence.
func TestFoundKeys(t *testing.T) {
	z, findings, own := zone{}, NewFindings(), ownKeys{}
	name := RecordName(ed.Domain, ed.Selector)
	in := VerifyInput{RawMessage: signed(t, plain, ed), Now: now, LocalKeys: own}
	step := func(what string, word ResultCode, testing bool, fromFindings bool) {
		t.Helper()
		r, found := twice(t, in, findings, knower(z))
		if r.DKIM.ResultCode != word || r.Signatures[0].IsTesting != testing || slices.Contains(found, "dkim") != fromFindings {
			t.Errorf("%s: %s, in testing: %t; out of findings: %s", what, r.DKIM.ResultCode, r.Signatures[0].IsTesting, found)
		}
	}
	step("no key", PermError, false, false)
	step("still none", PermError, false, true)
	z.publish(t, ed, "")
	step("published", Pass, false, false)
	step("published before", Pass, false, true)
	z.publish(t, ed, "; t=y")
	if r, _ := twice(t, VerifyInput{RawMessage: signed(t, plain, absent), Now: now}, findings, knower(z)); r.DKIM.ResultCode != PermError {
		t.Errorf("by another selector: %s", r.DKIM.ResultCode)
	}
	step("in testing", Pass, true, false)
	z[name] = []string{"v=DKIM1; p="}
	step("revoked", PermError, false, false)
	own[name] = ed.Key.Public()
	step("our own", Pass, false, false)
	step("our own before", Pass, false, false)
	delete(own, name)
	step("no longer ours", PermError, false, true)
	z[name] = []string{"TEMP"}
	step("trouble", TempError, false, false)
	step("more trouble", TempError, false, false)
}

// TestFindingsAreBounded verifies messages of thousands of domains. Each gets its own verdict,
// domains that sent once evict nothing, and there are never more findings than slots.
func TestFindingsAreBounded(t *testing.T) {
	const domains = 4 * tableSlots
	z, findings := zone{}, NewFindings()
	for i := range domains {
		z[fmt.Sprintf("d%d.example", i)] = []string{[]string{"v=spf1 +all", "v=spf1 -all", "v=spf1 ?all"}[i%3]}
	}
	send := func(dns func(name string) partly) {
		t.Helper()
		for i := range domains {
			name := fmt.Sprintf("d%d.example", i)
			in := VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), MailFrom: "a@" + name, Findings: findings}
			if got, want := VerifyMessage(t.Context(), in, dns(name)).SPF, (Verdict{[]ResultCode{Pass, Fail, Neutral}[i%3], name}); got != want {
				t.Fatalf("%+v, want %+v", got, want)
			}
		}
	}
	send(func(name string) partly { return partly{z, name} })
	if n := len(kept(findings.spf)); n != 0 {
		t.Errorf("%d findings from mail that had to ask", n)
	}
	for range 3 {
		send(func(string) partly { return knower(z) })
	}
	if n := len(kept(findings.spf)); n < tableSlots/2 || n > tableSlots {
		t.Errorf("%d findings", n)
	}
}

// TestLittleIsKept checks that a finding stores little, and is not stored if it depends on much or
// on nothing.
func TestLittleIsKept(t *testing.T) {
	long := strings.Repeat("x", 250)
	many := func(n int) (records []string) { return append(slices.Repeat([]string{long}, n), "v=spf1 -all") }
	for name, c := range map[string]struct {
		zone zone
		kept int
	}{
		"some records":      {zone{"example.com": many(14)}, 1},
		"many records":      {zone{"example.com": many(16)}, 0},
		"many small ones":   {zone{"example.com": append(slices.Repeat([]string{""}, 256), "v=spf1 -all")}, 0},
		"many, included":    {zone{"example.com": {"v=spf1 include:a.example include:b.example -all"}, "a.example": many(8), "b.example": many(8)}, 0},
		"no record":         {zone{}, 1},
		"an IP that is not": {zone{"example.com": {"v=spf1 ip4:x -all"}}, 1},
	} {
		findings := NewFindings()
		in := VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), MailFrom: "a@example.com", Findings: findings}
		VerifyMessage(t.Context(), in, knower(c.zone))
		if n := len(kept(findings.spf)); n != c.kept {
			t.Errorf("%s: %d findings", name, n)
		}
	}
	findings := NewFindings()
	VerifyMessage(t.Context(), VerifyInput{MailFrom: "a@example.com", RawMessage: plain, Findings: findings}, zone{"example.com": {"v=spf1 -all"}})
	if n := len(kept(findings.spf)) + len(kept(findings.policies)); n != 0 {
		t.Errorf("%d findings from a Resolver that knows nothing", n)
	}
}

// TestFindingsKeepNoMail checks that a finding does not keep the message in memory.
func TestFindingsKeepNoMail(t *testing.T) {
	long, findings, before := strings.Repeat("x", 200<<10), NewFindings(), heap()
	for i := range 100 {
		name := fmt.Sprintf("d%d.example", i)
		from := long + "@" + name
		in := VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), MailFrom: from, RawMessage: wire("From: "+from, ""), Findings: findings}
		VerifyMessage(t.Context(), in, knower(zone{name: {"v=spf1 -all"}}))
	}
	more := heap() - before
	if n := len(kept(findings.spf)) + len(kept(findings.policies)); n < 100 || more > 5<<20 {
		t.Errorf("%d findings keep %d KB", n, more>>10)
	}
}

// heap is the number of octets in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// breaking panics when one name is looked up.
type breaking struct {
	partly
	name string
}

func (b breaking) KnownTXT(name string) ([]string, error, bool) {
	if name == b.name {
		panic("failpoint")
	}
	return b.partly.KnownTXT(name)
}

// TestPanicIsForgotten checks that a search that panics stores nothing and evicts nothing.
func TestPanicIsForgotten(t *testing.T) {
	z, findings := zone{"example.com": {"v=spf1 include:a.example -all"}, "a.example": {"v=spf1 +all"}}, NewFindings()
	in := VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), MailFrom: "a@example.com", Findings: findings}
	for _, c := range []struct {
		panics string
		word   ResultCode
		kept   int
	}{{"a.example", PermError, 0}, {"", Pass, 1}, {"a.example", PermError, 1}, {"", Pass, 1}} {
		r := VerifyMessage(t.Context(), in, breaking{knower(z), c.panics})
		if n := len(kept(findings.spf)); r.SPF.ResultCode != c.word || n != c.kept {
			t.Errorf("panic at %q: %s, %d findings", c.panics, r.SPF.ResultCode, n)
		}
	}
}

// FuzzFindings verifies messages of a few senders while records change at random. With findings,
// every verdict equals the one without.
func FuzzFindings(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		z, findings, hits := zone{}, NewFindings(), 0
		raw := signed(t, plain, ed)
		for range 60 {
			if rnd.IntN(3) == 0 {
				alter(t, rnd, z)
			}
			in := VerifyInput{
				ClientIP: netip.MustParseAddr(oneOf(rnd, "192.0.2.1", "192.0.2.2", "2001:db8::1")), HELO: oneOf(rnd, "a.example.com", "b.example.com"),
				MailFrom: oneOf(rnd, "", "x@example.com", "y@example.com", "x@a.example.com", "x@b.example.com"), RawMessage: raw, Now: now,
			}
			_, found := twice(t, in, findings, partly{z, oneOf(rnd, "", "", "example.com", "a.example.com", "_dmarc.example.com")})
			hits += len(found)
		}
		if hits == 0 {
			t.Error("nothing was ever found again")
		}
	})
}

func oneOf(rnd *rand.Rand, list ...string) string { return list[rnd.IntN(len(list))] }

// alter changes one name of the zone.
func alter(t *testing.T, rnd *rand.Rand, z zone) {
	name := oneOf(rnd, "example.com", "a.example.com", "b.example.com", "_dmarc.example.com", "_dmarc.com", RecordName(ed.Domain, ed.Selector))
	switch {
	case rnd.IntN(6) == 0:
		delete(z, name)
	case rnd.IntN(8) == 0:
		z[name] = []string{"TEMP"}
	case strings.HasPrefix(name, "_dmarc"):
		z[name] = []string{oneOf(rnd, "v=DMARC1; p=none", "v=DMARC1; p=reject; aspf=s; psd=y", "v=DMARC1; p=oops", "hello")}
	case strings.Contains(name, "_domainkey"):
		z.publish(t, ed, oneOf(rnd, "", "; t=y", "; t=s", "; s=tlsrpt", "; oops"))
	default:
		record := "v=spf1"
		for range rnd.IntN(4) {
			record += " " + oneOf(rnd, "", "-", "~", "?") + oneOf(rnd, "include:a.example.com", "include:b.example.com", "include:%{l}.example.com",
				"include:%{h}", "ip4:192.0.2.1", "ip4:192.0.2.0/24", "ip6:2001:db8::/32", "a", "mx", "ptr", "exists:a.example.com", "include:none.example")
		}
		z[name] = []string{record + " " + oneOf(rnd, "", "-all", "~all", "?all", "+all", "redirect=a.example.com", "redirect=b.example.com", "broken")}
		if rnd.IntN(8) == 0 {
			z[name] = append(z[name], oneOf(rnd, "v=spf1 -all", "hello", "100%"))
		}
	}
}

// TestFindingsTogether verifies in many goroutines while records change. Every verdict must have
// been valid at some time, and after the last change all are current. It is also for the race
// detector.
func TestFindingsTogether(t *testing.T) {
	var mu sync.RWMutex
	z, findings := zone{"example.com": {"v=spf1 +all"}, "_dmarc.example.com": {"v=DMARC1; p=none"}}, NewFindings()
	dns := locked{&mu, knower(z)}
	in := VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), MailFrom: "a@example.com", RawMessage: plain, Findings: findings}
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for range 500 {
				if r := VerifyMessage(t.Context(), in, dns); r.SPF.ResultCode != Pass && r.SPF.ResultCode != Fail || r.DMARC.ResultCode != r.SPF.ResultCode {
					t.Errorf("spf=%s dmarc=%s", r.SPF.ResultCode, r.DMARC.ResultCode)
				}
			}
		})
	}
	for i := range 200 {
		mu.Lock()
		z["example.com"] = []string{[]string{"v=spf1 +all", "v=spf1 -all"}[i%2]}
		mu.Unlock()
		if r, _ := twice(t, in, findings, dns); r.SPF.ResultCode != []ResultCode{Pass, Fail}[i%2] {
			t.Errorf("after change %d: %s", i, r.SPF.ResultCode)
		}
	}
	senders.Wait()
}

// locked is a zone that changes.
type locked struct {
	mu *sync.RWMutex
	partly
}

func (l locked) KnownTXT(name string) ([]string, error, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.partly.KnownTXT(name)
}

// saying has the same cached answer for every name.
type saying struct {
	records []string
	err     error
	had     bool
}

func (s saying) KnownTXT(string) ([]string, error, bool) { return s.records, s.err, s.had }

// TestHolds checks that no two different answers count as the same.
func TestHolds(t *testing.T) {
	none, trouble := &net.DNSError{IsNotFound: true}, &net.DNSError{IsNotFound: true, IsTemporary: true}
	answers := []saying{
		{[]string{"a", "b"}, nil, true}, {[]string{"b", "a"}, nil, true}, {[]string{"a"}, nil, true}, {[]string{"a", "b", "c"}, nil, true},
		{nil, nil, true}, {nil, none, true}, {nil, trouble, true}, {nil, nil, false}, {[]string{"a", "b"}, nil, false}, {[]string{"a", "b"}, none, true},
	}
	for i, given := range answers {
		var g searchEvidence
		g.addAnswer("example.com", given.records, given.err)
		for j, now := range answers {
			f := cachedFinding[ResultCode]{answersUsed: g.answers}
			if got, want := f.stillHolds(now), i == j; given.had && !g.hasUncomparable && got != want {
				t.Errorf("%+v then %+v: %t", given, now, got)
			}
		}
	}
}

// TestSettles checks which answers may be compared later.
func TestSettles(t *testing.T) {
	for _, c := range []struct {
		err           error
		none, settled bool
	}{
		{nil, false, true},
		{&net.DNSError{IsNotFound: true}, true, true},
		{&net.DNSError{IsNotFound: true, IsTemporary: true}, true, false},
		{&net.DNSError{IsTimeout: true}, true, false},
		{&net.DNSError{Err: "no usable record"}, true, false},
		{context.Canceled, true, false},
	} {
		if none, settled := isDefinitive(c.err); none != c.none || settled != c.settled {
			t.Errorf("%v: %t, %t", c.err, none, settled)
		}
	}
}
