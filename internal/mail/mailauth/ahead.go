package mailauth

import (
	"context"
	"net"
)

// txtLookup asks for the TXT records of a name.
type txtLookup func(name string) ([]string, error)

// knowing is a Resolver that tells what it would answer without asking anybody.
type knowing interface {
	// KnownTXT is LookupTXT; false: somebody must be asked. Nobody writes to the records
	// afterwards.
	KnownTXT(name string) ([]string, error, bool)
}

// bounded is the Resolver of one verification. All its look-ups together get maxTime, and
// only the first that has to ask somebody starts a timer for that: most mail needs none. It
// belongs to the goroutine of Verify.
type bounded struct {
	dns    Resolver
	source knowing         // dns, nil when it knows nothing by itself
	parent context.Context // whoever waits for the verdict
	ctx    context.Context // nil until somebody must be asked
	cancel context.CancelFunc
	heard  grounds // what the search under way was told; reset by table.find
	missed bool    // known did not know
}

func newBounded(ctx context.Context, dns Resolver) *bounded {
	source, _ := dns.(knowing)
	return &bounded{dns: dns, source: source, parent: ctx}
}

// asking is the context for look-ups that ask somebody. No finding rests on these: whether the
// answers are still the same could not be told without asking again.
func (p *bounded) asking() context.Context {
	p.heard.loose = true
	if p.ctx == nil {
		p.ctx, p.cancel = context.WithTimeout(p.parent, maxTime)
	}
	return p.ctx
}

// over breaks off what is still asked.
func (p *bounded) over() {
	if p.cancel != nil {
		p.cancel()
	}
}

// known is a txtLookup that asks nobody. It notes when it should have.
func (p *bounded) known(name string) ([]string, error) {
	records, err, had := p.source.KnownTXT(name)
	if !had {
		p.missed, err = true, &net.DNSError{Err: "not known yet", Name: name, IsTemporary: true}
	}
	p.heard.add(name, records, err)
	return records, err
}

// The Resolver for SPF. It has its own idea of how long to wait, and not that of its callers.

func (p *bounded) LookupTXT(_ context.Context, name string) ([]string, error) {
	if p.source != nil {
		if records, err, had := p.source.KnownTXT(name); had {
			p.heard.add(name, records, err)
			return records, err
		}
	}
	return p.dns.LookupTXT(p.asking(), name)
}

func (p *bounded) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	return p.dns.LookupMX(p.asking(), name)
}

func (p *bounded) LookupIPAddr(_ context.Context, host string) ([]net.IPAddr, error) {
	return p.dns.LookupIPAddr(p.asking(), host)
}

func (p *bounded) LookupAddr(_ context.Context, ip string) ([]string, error) {
	return p.dns.LookupAddr(p.asking(), ip)
}

// pending is an answer, or where it is to be had, once.
type pending[T any] struct {
	answer T
	later  chan T // nil: answer is it
}

func (p pending[T]) get() T {
	if p.later != nil {
		return <-p.later
	}
	return p.answer
}

// ahead begins find and returns where its answer is to be had; broken is the answer of one
// that panics. What the Resolver knows already is found here and now, or in t: most mail comes
// from domains that just sent some, and a handoff to another goroutine costs it more than the
// whole search. Otherwise find begins anew, beside the caller.
func ahead[T any](p *bounded, t *table[T], about subject, find func(txtLookup) T, broken T) pending[T] {
	if answer, ok := known(p, t, about, find, broken); ok {
		return pending[T]{answer: answer}
	}
	return beside(p, find, broken)
}

func beside[T any](p *bounded, find func(txtLookup) T, broken T) pending[T] {
	answers, dns, ctx := make(chan T, 1), p.dns, p.asking()
	lookup := func(name string) ([]string, error) { return dns.LookupTXT(ctx, name) }
	go guard(func() { answers <- find(lookup) }, func() { answers <- broken })
	return pending[T]{later: answers}
}

// known is what find finds without asking anybody; false: somebody must be asked.
func known[T any](p *bounded, t *table[T], about subject, find func(txtLookup) T, broken T) (answer T, ok bool) {
	if p.source == nil {
		return answer, false
	}
	p.missed = false
	guard(func() {
		answer = t.find(about, p, func() T { return find(p.known) })
		ok = !p.missed
	}, func() { answer, ok = broken, true })
	return answer, ok
}
