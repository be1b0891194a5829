// Package resolve queries a recursive DNS server for TXT, MX, addresses and reverse names. Its
// methods are those of net.Resolver, so that every user can declare a small interface. It caches
// answers for their TTL, makes one query for concurrent lookups of the same question, and accepts
// an answer only if it matches the question. It knows DNS (RFC 1035, 2308, 6891). It does not know
// e-mail: its users interpret the records.
package resolve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Options configure a Resolver; the zero value works.
type Options struct {
	Timeout     time.Duration    // for one lookup, all attempts together; default 4.5 s
	MaxEntries  int              // cached answers; default 20,000
	MaxTTL      time.Duration    // maximum time in the cache; default 1 h
	MaxNegative time.Duration    // maximum time in the cache of a negative answer; default 5 min
	MaxFlights  int              // concurrent questions; default 256
	Clock       func() time.Time // for the cache; default time.Now. Deadlines are real time
}

const (
	// keepFailure is how long a failure is cached, RFC 9520 section 3.2, and a negative answer from
	// a server that gives no time.
	keepFailure = time.Second
	// maxHops limits a chain of CNAMEs.
	maxHops = 8
	// maxRecords limits the records used of one answer.
	maxRecords = 256
)

// Resolver answers lookups. Any goroutine may call its methods.
type Resolver struct {
	opts              Options
	usesSystemServers bool     // the servers are those of this machine, not configured by an operator
	servers           []string // host:port
	health            *serverHealth
	querySlots        chan struct{} // one for each question in progress

	mu       sync.Mutex // guards what follows; nothing blocks while it is held
	cache    answerCache
	inFlight map[dnsQuestion]*pendingQuery
}

// dnsQuestion is a name and type to look up. The name is in lower case, without the final dot.
type dnsQuestion struct {
	name  string
	qtype uint16
}

// dnsAnswer is the result of a question: records, or err, which is a *net.DNSError.
type dnsAnswer struct {
	records    []dns.RR
	txtStrings []string // the result of LookupTXT
	err        error
	validUntil time.Time
}

// pendingQuery is one question in progress. Only its own goroutine writes answer, before it closes
// done.
type pendingQuery struct {
	done   chan struct{}
	answer dnsAnswer
}

// New makes a resolver that uses server (host:port). Empty means the servers of /etc/resolv.conf.
// These count as silent until one of them has answered, so that lookups do not wait on a machine
// without DNS. Without any server, each lookup fails immediately.
func New(server string, opts Options) *Resolver {
	opts.Timeout = cmp.Or(opts.Timeout, 4500*time.Millisecond)
	opts.MaxEntries = cmp.Or(opts.MaxEntries, 20_000)
	opts.MaxTTL = cmp.Or(opts.MaxTTL, time.Hour)
	opts.MaxNegative = cmp.Or(opts.MaxNegative, 5*time.Minute)
	opts.MaxFlights = cmp.Or(opts.MaxFlights, 256)
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	r := &Resolver{
		opts: opts, usesSystemServers: server == "", servers: []string{server},
		health:     &serverHealth{},
		querySlots: make(chan struct{}, opts.MaxFlights),
		cache:      answerCache{maxEntries: opts.MaxEntries},
		inFlight:   make(map[dnsQuestion]*pendingQuery),
	}
	if r.usesSystemServers {
		r.servers = systemServers("/etc/resolv.conf")
		r.health.unansweredCount.Store(silentAfter)
		r.probeServers()
	}
	return r
}

func systemServers(path string) []string {
	conf, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil
	}
	servers := make([]string, len(conf.Servers))
	for i, s := range conf.Servers {
		servers[i] = net.JoinHostPort(s, conf.Port)
	}
	return servers
}

// resolveQuestion answers q from the cache, or waits for a flight, its own or another's. Every
// error is a *net.DNSError.
func (r *Resolver) resolveQuestion(ctx context.Context, q dnsQuestion) ([]dns.RR, error) {
	r.mu.Lock()
	if a, ok := r.knownAnswer(q); ok {
		r.mu.Unlock()
		return a.records, a.err
	}
	f := r.inFlight[q]
	if f == nil {
		f = &pendingQuery{done: make(chan struct{})}
		r.inFlight[q] = f
		go r.runQuery(q, f)
	}
	r.mu.Unlock()
	select {
	case <-f.done:
		return f.answer.records, f.answer.err
	case <-ctx.Done():
		return nil, timedOut(q, ctx.Err().Error())
	}
}

// knownAnswer answers q if that needs no waiting. The lock is held.
func (r *Resolver) knownAnswer(q dnsQuestion) (dnsAnswer, bool) {
	a, ok := r.cache.getAnswer(q, r.opts.Clock())
	if !ok && r.inFlight[q] == nil && r.isSilent() {
		a, ok = dnsAnswer{err: timedOut(q, "the DNS server does not respond")}, true
	}
	return a, ok
}

// askKnown is query without waiting.
func (r *Resolver) askKnown(_ context.Context, q dnsQuestion) ([]dns.RR, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.knownAnswer(q); ok {
		return a.records, a.err
	}
	return nil, errUnknown
}

// runQuery makes the query for all waiters of f. It does not end with the first caller's context,
// because the others and later callers still need the answer. Options.Timeout limits it.
func (r *Resolver) runQuery(q dnsQuestion, f *pendingQuery) {
	ctx, cancel := context.WithTimeout(context.Background(), r.opts.Timeout)
	defer cancel()
	select {
	case r.querySlots <- struct{}{}:
		f.answer = r.followCNAMEs(ctx, q)
		<-r.querySlots
	case <-ctx.Done():
		f.answer = dnsAnswer{err: temporaryError(q, "too many DNS queries at once")}
	}
	r.mu.Lock()
	if f.answer.validUntil.After(r.opts.Clock()) {
		r.cache.putAnswer(q, f.answer)
	}
	delete(r.inFlight, q)
	r.mu.Unlock()
	close(f.done)
}

// followCNAMEs makes the query and follows CNAMEs that the answer does not resolve itself. A panic
// caused by an answer is one failed lookup, because no caller could recover it.
func (r *Resolver) followCNAMEs(ctx context.Context, q dnsQuestion) (a dnsAnswer) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("DNS response parser panicked", "name", q.name, "err", fmt.Sprint(p))
			a = r.failedAnswer(temporaryError(q, "the DNS server's response could not be read"))
		}
	}()
	ttl := r.opts.MaxTTL
	name := q.name
	for range maxHops {
		msg, err := r.exchangeQuery(ctx, dnsQuestion{name, q.qtype})
		if err != nil {
			return r.failedAnswer(err)
		}
		reading := readRecords(msg, name, q.qtype)
		ttl = min(ttl, reading.ttl)
		switch {
		case len(reading.records) > 0:
			return dnsAnswer{records: reading.records, txtStrings: usableRecords(reading.records, textOf), validUntil: r.opts.Clock().Add(ttl)}
		case msg.Rcode == dns.RcodeNameError:
			return r.negativeAnswer(noSuchDomain(q), min(ttl, reading.negativeTTL))
		case reading.chainEnd == "":
			return r.failedAnswer(temporaryError(q, "too many CNAMEs"))
		case reading.chainEnd == name: // no CNAME: the name has no record of this type
			return r.negativeAnswer(noData(q), min(ttl, reading.negativeTTL))
		}
		name = reading.chainEnd
	}
	return r.failedAnswer(temporaryError(q, "too many CNAMEs"))
}

func (r *Resolver) failedAnswer(err error) dnsAnswer {
	return dnsAnswer{err: err, validUntil: r.opts.Clock().Add(keepFailure)}
}

// negativeAnswer is cached for as long as the zone says, RFC 2308 section 5.
func (r *Resolver) negativeAnswer(err error, ttl time.Duration) dnsAnswer {
	return dnsAnswer{err: err, validUntil: r.opts.Clock().Add(min(ttl, r.opts.MaxNegative))}
}

// parsedAnswer is the content of an answer about a name. Only the goroutine that parses the answer uses
// it.
type parsedAnswer struct {
	records     []dns.RR
	chainEnd    string        // end of its chain of CNAMEs; empty if the chain is too long
	ttl         time.Duration // the minimum along the chain
	negativeTTL time.Duration // TTL of a negative answer
}

// readRecords extracts the records that answer the question from a message, and nothing else.
func readRecords(msg *dns.Msg, name string, qtype uint16) parsedAnswer {
	out := parsedAnswer{chainEnd: name, negativeTTL: keepFailure, ttl: time.Duration(1<<32-1) * time.Second}
	for hop := 0; ; hop++ {
		next := ""
		for _, rr := range msg.Answer {
			if canonicalName(rr.Header().Name) != out.chainEnd || rr.Header().Class != dns.ClassINET {
				continue
			}
			if cname, ok := rr.(*dns.CNAME); ok && qtype != dns.TypeCNAME {
				next = canonicalName(cname.Target)
			} else if rr.Header().Rrtype != qtype || len(out.records) == maxRecords {
				continue
			} else {
				out.records = append(out.records, rr)
			}
			out.ttl = min(out.ttl, time.Duration(rr.Header().Ttl)*time.Second)
		}
		if next == "" || len(out.records) > 0 {
			break
		}
		if out.chainEnd = next; hop == maxHops {
			out.chainEnd = ""
			return out
		}
	}
	for _, rr := range msg.Ns {
		if soa, ok := rr.(*dns.SOA); ok && dns.IsSubDomain(soa.Hdr.Name, dns.Fqdn(out.chainEnd)) {
			out.negativeTTL = time.Duration(min(soa.Hdr.Ttl, soa.Minttl)) * time.Second
		}
	}
	return out
}
