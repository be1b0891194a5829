package mailauth

import (
	"hash/maphash"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	tableSlots = 1024    // stored findings of each kind
	maxGrounds = 4 << 10 // octets of the answers that one finding may depend on
)

// Findings caches the meaning of DNS answers, so that they are not parsed again for each message of
// the same sender. A finding is stored with all the answers that it depends on. It is valid only
// while the Resolver's cache has the same answers: it always equals a new evaluation. So it needs
// no expiry, and nothing is invalidated when a record changes. A stranger with many domains can
// only evict findings. Their number is fixed and no lock is held. A finding is stored only if the
// Resolver had all answers cached, that is, for a second message.
//
// Any goroutine may use it, with any Resolver.
type Findings struct {
	spf      *findingTable[ResultCode]
	policies *findingTable[dmarcPolicy]
	keys     *findingTable[keyAnswer]
}

// NewFindings returns empty findings.
func NewFindings() Findings {
	seed := maphash.MakeSeed()
	return Findings{&findingTable[ResultCode]{seed: seed}, &findingTable[dmarcPolicy]{seed: seed}, &findingTable[keyAnswer]{seed: seed}}
}

// searchSubject is the input of a search apart from DNS.
type searchSubject struct {
	name   string
	client netip.Addr // for SPF
}

// findingTable is a hash table with one finding in each slot: the latest whose subject hashes there.
// Strangers cannot predict which subjects share a slot.
type findingTable[T any] struct {
	seed  maphash.Seed
	slots [tableSlots]atomic.Pointer[cachedFinding[T]]
}

// cachedFinding is the result for a subject. It never changes.
type cachedFinding[T any] struct {
	searchSubject
	found       T
	answersUsed []dnsAnswer
}

// dnsAnswer is the DNS answer for the TXT records of name: the records, or that there are none.
type dnsAnswer struct {
	name      string
	records   []string
	noRecords bool
}

// findOrSearch returns the result of search, which may use only about and dns. The result is stored
// if dns had all its answers cached.
func (t *findingTable[T]) findOrSearch(about searchSubject, dns *verificationResolver, search func() T) T {
	if t == nil || dns.cacheSource == nil {
		return search()
	}
	slot := &t.slots[maphash.Comparable(t.seed, about)%tableSlots]
	if f := slot.Load(); f != nil && f.searchSubject == about && f.stillHolds(dns.cacheSource) {
		return f.found
	}
	dns.receivedAnswers = searchEvidence{}
	found := search()
	if dns.receivedAnswers.isStorable() {
		about.name = strings.Clone(about.name) // it may be a substring of a long From
		slot.Store(&cachedFinding[T]{about, found, dns.receivedAnswers.answers})
	}
	return found
}

// stillHolds reports whether the cache of dns still has the same answers.
func (f *cachedFinding[T]) stillHolds(dns cachingResolver) bool {
	return !slices.ContainsFunc(f.answersUsed, func(a dnsAnswer) bool {
		records, err, had := dns.KnownTXT(a.name)
		none, settled := isDefinitive(err)
		return !had || !settled || none != a.noRecords || !slices.Equal(records, a.records)
	})
}

// searchEvidence are the answers that a search received.
type searchEvidence struct {
	answers         []dnsAnswer
	hasUncomparable bool // it also received answers that cannot be compared
}

func (g *searchEvidence) addAnswer(name string, records []string, err error) {
	none, settled := isDefinitive(err)
	g.hasUncomparable = g.hasUncomparable || !settled
	g.answers = append(g.answers, dnsAnswer{strings.Clone(name), records, none}) // may be a substring of a sender
}

// isDefinitive distinguishes an answer, also a negative one, from a failure.
func isDefinitive(err error) (none, settled bool) {
	if err == nil {
		return false, true
	}
	d, ok := err.(*net.DNSError)
	return true, ok && d.IsNotFound && !d.Temporary()
}

// isStorable reports whether a finding with these grounds may be stored.
func (g *searchEvidence) isStorable() bool {
	size := 0
	for _, a := range g.answers {
		size += len(a.name)
		for _, record := range a.records {
			size += len(record) + 16 // for its slice element
		}
	}
	return !g.hasUncomparable && len(g.answers) > 0 && size <= maxGrounds
}

// anyContains reports whether any record contains s.
func (g *searchEvidence) anyContains(s string) bool {
	return slices.ContainsFunc(g.answers, func(a dnsAnswer) bool {
		return slices.ContainsFunc(a.records, func(record string) bool { return strings.Contains(record, s) })
	})
}
