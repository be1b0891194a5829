package mailauth

import (
	"context"
	"net"
)

// txtLookup asks for the TXT records of a name.
type txtLookup func(name string) ([]string, error)

// knowing is a Resolver that tells what it would answer without asking anybody.
type knowing interface {
	// KnownTXT is LookupTXT; false: somebody must be asked.
	KnownTXT(name string) ([]string, error, bool)
}

// ahead begins find and returns where its answer is to be had; broken is the answer of one
// that panics. What the Resolver knows already is found here and now: most mail comes from
// domains that just sent some, and a handoff to another goroutine costs it more than the
// whole search. Otherwise find begins anew, beside the caller.
func ahead[T any](ctx context.Context, dns Resolver, find func(txtLookup) T, broken T) func() T {
	if answer, ok := known(dns, find, broken); ok {
		return func() T { return answer }
	}
	answers := make(chan T, 1)
	lookup := func(name string) ([]string, error) { return dns.LookupTXT(ctx, name) }
	go guard(func() { answers <- find(lookup) }, func() { answers <- broken })
	return func() T { return <-answers }
}

// known is what find finds without asking anybody; false: somebody must be asked.
func known[T any](dns Resolver, find func(txtLookup) T, broken T) (answer T, ok bool) {
	source, ok := dns.(knowing)
	if !ok {
		return answer, false
	}
	guard(func() {
		answer = find(func(name string) (records []string, err error) {
			records, err, had := source.KnownTXT(name)
			if !had {
				ok, err = false, &net.DNSError{Err: "not known yet", Name: name, IsTemporary: true}
			}
			return records, err
		})
	}, func() { answer, ok = broken, true })
	return answer, ok
}
