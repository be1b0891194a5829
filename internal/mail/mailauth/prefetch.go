package mailauth

import (
	"context"
	"net"
)

// txtLookup looks up the TXT records of a name.
type txtLookup func(name string) ([]string, error)

// cachingResolver is a Resolver that can answer from its cache without a query.
type cachingResolver interface {
	// KnownTXT is LookupTXT from the cache; false: a query is needed. Nobody modifies the records
	// afterwards.
	KnownTXT(name string) ([]string, error, bool)
}

// verificationResolver is the Resolver of one verification. All its lookups together get maxTime.
// Only the first one that needs a query starts the timer: most messages need none. The goroutine of
// Verify owns it.
type verificationResolver struct {
	dns             Resolver
	cacheSource     cachingResolver // dns, nil if it has no cache
	parentContext   context.Context // of the caller that waits for the verdict
	ctx             context.Context // nil until a query is needed
	cancelQueries   context.CancelFunc
	receivedAnswers searchEvidence // answers that the current search received; reset by table.findOrSearch
	cacheMissed     bool           // known had no cached answer
}

func newBounded(ctx context.Context, dns Resolver) *verificationResolver {
	source, _ := dns.(cachingResolver)
	return &verificationResolver{dns: dns, cacheSource: source, parentContext: ctx}
}

// queryContext is the context for lookups that need queries. No finding may depend on these, because
// their answers could not be compared later without another query.
func (p *verificationResolver) queryContext() context.Context {
	p.receivedAnswers.hasUncomparable = true
	if p.ctx == nil {
		p.ctx, p.cancelQueries = context.WithTimeout(p.parentContext, maxTime)
	}
	return p.ctx
}

// stopQueries cancels the queries in progress.
func (p *verificationResolver) stopQueries() {
	if p.cancelQueries != nil {
		p.cancelQueries()
	}
}

// lookupCached is a txtLookup that makes no query. It records in missed that it needed one.
func (p *verificationResolver) lookupCached(name string) ([]string, error) {
	records, err, had := p.cacheSource.KnownTXT(name)
	if !had {
		p.cacheMissed, err = true, &net.DNSError{Err: "not known yet", Name: name, IsTemporary: true}
	}
	p.receivedAnswers.addAnswer(name, records, err)
	return records, err
}

// The methods below implement the Resolver for SPF. The SPF library's own timeout is ignored.

func (p *verificationResolver) LookupTXT(_ context.Context, name string) ([]string, error) {
	if p.cacheSource != nil {
		if records, err, had := p.cacheSource.KnownTXT(name); had {
			p.receivedAnswers.addAnswer(name, records, err)
			return records, err
		}
	}
	return p.dns.LookupTXT(p.queryContext(), name)
}

func (p *verificationResolver) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	return p.dns.LookupMX(p.queryContext(), name)
}

func (p *verificationResolver) LookupIPAddr(_ context.Context, host string) ([]net.IPAddr, error) {
	return p.dns.LookupIPAddr(p.queryContext(), host)
}

func (p *verificationResolver) LookupAddr(_ context.Context, ip string) ([]string, error) {
	return p.dns.LookupAddr(p.queryContext(), ip)
}

// pendingAnswer is an answer, or the channel that delivers it once.
type pendingAnswer[T any] struct {
	answer        T
	answerChannel chan T // nil: use answer
}

func (p pendingAnswer[T]) awaitAnswer() T {
	if p.answerChannel != nil {
		return <-p.answerChannel
	}
	return p.answer
}

// startSearch begins find and returns its pending answer; broken is the answer if find panics. If the
// Resolver's cache or t is sufficient, find runs here. Most messages come from domains that just
// sent some, and a handoff to another goroutine costs more than the whole search. Otherwise find
// starts again in another goroutine.
func startSearch[T any](p *verificationResolver, t *findingTable[T], about searchSubject, find func(txtLookup) T, broken T) pendingAnswer[T] {
	if answer, ok := findCached(p, t, about, find, broken); ok {
		return pendingAnswer[T]{answer: answer}
	}
	return searchInBackground(p, find, broken)
}

func searchInBackground[T any](p *verificationResolver, find func(txtLookup) T, broken T) pendingAnswer[T] {
	answers, dns, ctx := make(chan T, 1), p.dns, p.queryContext()
	lookup := func(name string) ([]string, error) { return dns.LookupTXT(ctx, name) }
	go recoverPanic(func() { answers <- find(lookup) }, func() { answers <- broken })
	return pendingAnswer[T]{answerChannel: answers}
}

// findCached is the answer of find without queries; false: a query is needed.
func findCached[T any](p *verificationResolver, t *findingTable[T], about searchSubject, find func(txtLookup) T, broken T) (answer T, ok bool) {
	if p.cacheSource == nil {
		return answer, false
	}
	p.cacheMissed = false
	recoverPanic(func() {
		answer = t.findOrSearch(about, p, func() T { return find(p.lookupCached) })
		ok = !p.cacheMissed
	}, func() { answer, ok = broken, true })
	return answer, ok
}
