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
	spf      *table[Word]
	policies *table[policy]
	keys     *table[keyAnswer]
}

// NewFindings returns empty findings.
func NewFindings() Findings {
	seed := maphash.MakeSeed()
	return Findings{&table[Word]{seed: seed}, &table[policy]{seed: seed}, &table[keyAnswer]{seed: seed}}
}

// subject is the input of a search apart from DNS.
type subject struct {
	name   string
	client netip.Addr // for SPF
}

// table is a hash table with one finding in each slot: the latest whose subject hashes there.
// Strangers cannot predict which subjects share a slot.
type table[T any] struct {
	seed  maphash.Seed
	slots [tableSlots]atomic.Pointer[finding[T]]
}

// finding is the result for a subject. It never changes.
type finding[T any] struct {
	subject
	found   T
	grounds []answer
}

// answer is the DNS answer for the TXT records of name: the records, or that there are none.
type answer struct {
	name    string
	records []string
	none    bool
}

// find returns the result of search, which may use only about and dns. The result is stored if dns
// had all its answers cached.
func (t *table[T]) find(about subject, dns *bounded, search func() T) T {
	if t == nil || dns.source == nil {
		return search()
	}
	slot := &t.slots[maphash.Comparable(t.seed, about)%tableSlots]
	if f := slot.Load(); f != nil && f.subject == about && f.holds(dns.source) {
		return f.found
	}
	dns.heard = grounds{}
	found := search()
	if dns.heard.firm() {
		about.name = strings.Clone(about.name) // it may be a substring of a long From
		slot.Store(&finding[T]{about, found, dns.heard.answers})
	}
	return found
}

// holds reports whether the cache of dns still has the same answers.
func (f *finding[T]) holds(dns knowing) bool {
	return !slices.ContainsFunc(f.grounds, func(a answer) bool {
		records, err, had := dns.KnownTXT(a.name)
		none, settled := settles(err)
		return !had || !settled || none != a.none || !slices.Equal(records, a.records)
	})
}

// grounds are the answers that a search received.
type grounds struct {
	answers []answer
	loose   bool // it also received answers that cannot be compared
}

func (g *grounds) add(name string, records []string, err error) {
	none, settled := settles(err)
	g.loose = g.loose || !settled
	g.answers = append(g.answers, answer{strings.Clone(name), records, none}) // may be a substring of a sender
}

// settles distinguishes an answer, also a negative one, from a failure.
func settles(err error) (none, settled bool) {
	if err == nil {
		return false, true
	}
	d, ok := err.(*net.DNSError)
	return true, ok && d.IsNotFound && !d.Temporary()
}

// firm reports whether a finding with these grounds may be stored.
func (g *grounds) firm() bool {
	size := 0
	for _, a := range g.answers {
		size += len(a.name)
		for _, record := range a.records {
			size += len(record) + 16 // for its slice element
		}
	}
	return !g.loose && len(g.answers) > 0 && size <= maxGrounds
}

// has reports whether any record contains s.
func (g *grounds) has(s string) bool {
	return slices.ContainsFunc(g.answers, func(a answer) bool {
		return slices.ContainsFunc(a.records, func(record string) bool { return strings.Contains(record, s) })
	})
}
