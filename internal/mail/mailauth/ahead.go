package mailauth

import (
	"context"
	"net"
)

// txtLookup looks up the TXT records of a name.
type txtLookup func(name string) ([]string, error)

// knowing is a Resolver that can answer from its cache without a query.
type knowing interface {
	// KnownTXT is LookupTXT from the cache; false: a query is needed. Nobody modifies the records
	// afterwards.
	KnownTXT(name string) ([]string, error, bool)
}

// bounded is the Resolver of one verification. All its lookups together get maxTime. Only the first
// one that needs a query starts the timer: most messages need none. The goroutine of Verify owns
// it.
type bounded struct {
	dns    Resolver
	source knowing         // dns, nil if it has no cache
	parent context.Context // of the caller that waits for the verdict
	ctx    context.Context // nil until a query is needed
	cancel context.CancelFunc
	heard  grounds // answers that the current search received; reset by table.find
	missed bool    // known had no cached answer
}

func newBounded(ctx context.Context, dns Resolver) *bounded {
	source, _ := dns.(knowing)
	return &bounded{dns: dns, source: source, parent: ctx}
}

// asking is the context for lookups that need queries. No finding may depend on these, because
// their answers could not be compared later without another query.
func (p *bounded) asking() context.Context {
	p.heard.loose = true
	if p.ctx == nil {
		p.ctx, p.cancel = context.WithTimeout(p.parent, maxTime)
	}
	return p.ctx
}

// over cancels the queries in progress.
func (p *bounded) over() {
	if p.cancel != nil {
		p.cancel()
	}
}

// known is a txtLookup that makes no query. It records in missed that it needed one.
func (p *bounded) known(name string) ([]string, error) {
	records, err, had := p.source.KnownTXT(name)
	if !had {
		p.missed, err = true, &net.DNSError{Err: "not known yet", Name: name, IsTemporary: true}
	}
	p.heard.add(name, records, err)
	return records, err
}

// The methods below implement the Resolver for SPF. The SPF library's own timeout is ignored.

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

// pending is an answer, or the channel that delivers it once.
type pending[T any] struct {
	answer T
	later  chan T // nil: use answer
}

func (p pending[T]) get() T {
	if p.later != nil {
		return <-p.later
	}
	return p.answer
}

// ahead begins find and returns its pending answer; broken is the answer if find panics. If the
// Resolver's cache or t is sufficient, find runs here. Most messages come from domains that just
// sent some, and a handoff to another goroutine costs more than the whole search. Otherwise find
// starts again in another goroutine.
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

// known is the answer of find without queries; false: a query is needed.
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
