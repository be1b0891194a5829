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
	tableSlots = 1024    // findings of each kind that are kept
	maxGrounds = 4 << 10 // octets of the answers that one of them may rest on
)

// Findings remembers what answers of the DNS were found to mean, so that they are not read
// again for each mail of the same sender. A finding is kept together with all the answers
// that it rests on, and counts only while the Resolver knows every one of them to be the
// same: it is at any time what reading them anew would give. So it needs no clock, and
// nothing has to be dropped when a record changes. A stranger with many domains can push
// findings out, and no more: there are as many as there are places, no lock is held, and only
// what the Resolver knew already when it was asked, for a second mail that is, gets a place.
//
// It may be used by any goroutine, and with any Resolver.
type Findings struct {
	spf      *table[Word]
	policies *table[policy]
	keys     *table[keyAnswer]
}

// NewFindings makes room for findings.
func NewFindings() Findings {
	seed := maphash.MakeSeed()
	return Findings{&table[Word]{seed: seed}, &table[policy]{seed: seed}, &table[keyAnswer]{seed: seed}}
}

// subject is what is sought beside what the DNS says.
type subject struct {
	name   string
	client netip.Addr // of SPF
}

// table keeps one finding in each place: the latest whose subject belongs there. Strangers
// cannot know which share a place.
type table[T any] struct {
	seed  maphash.Seed
	slots [tableSlots]atomic.Pointer[finding[T]]
}

// finding is what was found about a subject. It never changes.
type finding[T any] struct {
	subject
	found   T
	grounds []answer
}

// answer is what the DNS said about the TXT records of name: these, or that there are none.
type answer struct {
	name    string
	records []string
	none    bool
}

// find returns what search would, which may look at about and dns alone. What it finds is kept
// if all that it was told is known to dns without asking.
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
		about.name = strings.Clone(about.name) // it may be a piece of a long From
		slot.Store(&finding[T]{about, found, dns.heard.answers})
	}
	return found
}

// holds reports whether each answer is still what dns knows.
func (f *finding[T]) holds(dns knowing) bool {
	return !slices.ContainsFunc(f.grounds, func(a answer) bool {
		records, err, had := dns.KnownTXT(a.name)
		none, settled := settles(err)
		return !had || !settled || none != a.none || !slices.Equal(records, a.records)
	})
}

// grounds are the answers that a search was given.
type grounds struct {
	answers []answer
	loose   bool // it was given others too, which nobody could compare
}

func (g *grounds) add(name string, records []string, err error) {
	none, settled := settles(err)
	g.loose = g.loose || !settled
	g.answers = append(g.answers, answer{strings.Clone(name), records, none}) // a piece of a sender, too
}

// settles tells an answer, and the answer that there is none, from trouble.
func settles(err error) (none, settled bool) {
	if err == nil {
		return false, true
	}
	d, ok := err.(*net.DNSError)
	return true, ok && d.IsNotFound && !d.Temporary()
}

// firm reports whether a finding may be kept with these grounds.
func (g *grounds) firm() bool {
	size := 0
	for _, a := range g.answers {
		size += len(a.name)
		for _, record := range a.records {
			size += len(record) + 16 // for its place in the list
		}
	}
	return !g.loose && len(g.answers) > 0 && size <= maxGrounds
}

// has reports whether s is in any record.
func (g *grounds) has(s string) bool {
	return slices.ContainsFunc(g.answers, func(a answer) bool {
		return slices.ContainsFunc(a.records, func(record string) bool { return strings.Contains(record, s) })
	})
}
