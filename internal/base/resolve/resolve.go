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
	opts    Options
	system  bool     // the servers are those of this machine, not configured by an operator
	servers []string // host:port
	health  *health
	places  chan struct{} // one for each question in progress

	mu      sync.Mutex // guards what follows; nothing blocks while it is held
	cache   cache
	flights map[question]*flight
}

// question is a name and type to look up. The name is in lower case, without the final dot.
type question struct {
	name  string
	qtype uint16
}

// answer is the result of a question: records, or err, which is a *net.DNSError.
type answer struct {
	records []dns.RR
	texts   []string // the result of LookupTXT
	err     error
	until   time.Time
}

// flight is one question in progress. Only its own goroutine writes answer, before it closes done.
type flight struct {
	done   chan struct{}
	answer answer
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
		opts: opts, system: server == "", servers: []string{server},
		health:  &health{},
		places:  make(chan struct{}, opts.MaxFlights),
		cache:   cache{max: opts.MaxEntries},
		flights: make(map[question]*flight),
	}
	if r.system {
		r.servers = systemServers("/etc/resolv.conf")
		r.health.unanswered.Store(silentAfter)
		r.probe()
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

// query answers q from the cache, or waits for a flight, its own or another's. Every error is a
// *net.DNSError.
func (r *Resolver) query(ctx context.Context, q question) ([]dns.RR, error) {
	r.mu.Lock()
	if a, ok := r.known(q); ok {
		r.mu.Unlock()
		return a.records, a.err
	}
	f := r.flights[q]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		r.flights[q] = f
		go r.fly(q, f)
	}
	r.mu.Unlock()
	select {
	case <-f.done:
		return f.answer.records, f.answer.err
	case <-ctx.Done():
		return nil, timedOut(q, ctx.Err().Error())
	}
}

// known answers q if that needs no waiting. The lock is held.
func (r *Resolver) known(q question) (answer, bool) {
	a, ok := r.cache.get(q, r.opts.Clock())
	if !ok && r.flights[q] == nil && r.silent() {
		a, ok = answer{err: timedOut(q, "the DNS server does not respond")}, true
	}
	return a, ok
}

// askKnown is query without waiting.
func (r *Resolver) askKnown(_ context.Context, q question) ([]dns.RR, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.known(q); ok {
		return a.records, a.err
	}
	return nil, errUnknown
}

// fly makes the query for all waiters of f. It does not end with the first caller's context,
// because the others and later callers still need the answer. Options.Timeout limits it.
func (r *Resolver) fly(q question, f *flight) {
	ctx, cancel := context.WithTimeout(context.Background(), r.opts.Timeout)
	defer cancel()
	select {
	case r.places <- struct{}{}:
		f.answer = r.follow(ctx, q)
		<-r.places
	case <-ctx.Done():
		f.answer = answer{err: temporary(q, "too many DNS queries at once")}
	}
	r.mu.Lock()
	if f.answer.until.After(r.opts.Clock()) {
		r.cache.put(q, f.answer)
	}
	delete(r.flights, q)
	r.mu.Unlock()
	close(f.done)
}

// follow makes the query and follows CNAMEs that the answer does not resolve itself. A panic caused
// by an answer is one failed lookup, because no caller could recover it.
func (r *Resolver) follow(ctx context.Context, q question) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("DNS response parser panicked", "name", q.name, "err", fmt.Sprint(p))
			a = r.failed(temporary(q, "the DNS server's response could not be read"))
		}
	}()
	ttl := r.opts.MaxTTL
	name := q.name
	for range maxHops {
		msg, err := r.exchange(ctx, question{name, q.qtype})
		if err != nil {
			return r.failed(err)
		}
		reading := read(msg, name, q.qtype)
		ttl = min(ttl, reading.ttl)
		switch {
		case len(reading.records) > 0:
			return answer{records: reading.records, texts: usable(reading.records, textOf), until: r.opts.Clock().Add(ttl)}
		case msg.Rcode == dns.RcodeNameError:
			return r.none(noSuchDomain(q), min(ttl, reading.negative))
		case reading.end == "":
			return r.failed(temporary(q, "too many CNAMEs"))
		case reading.end == name: // no CNAME: the name has no record of this type
			return r.none(noData(q), min(ttl, reading.negative))
		}
		name = reading.end
	}
	return r.failed(temporary(q, "too many CNAMEs"))
}

func (r *Resolver) failed(err error) answer {
	return answer{err: err, until: r.opts.Clock().Add(keepFailure)}
}

// none is cached for as long as the zone says, RFC 2308 section 5.
func (r *Resolver) none(err error, ttl time.Duration) answer {
	return answer{err: err, until: r.opts.Clock().Add(min(ttl, r.opts.MaxNegative))}
}

// reading is the content of an answer about a name. Only the goroutine that parses the answer uses
// it.
type reading struct {
	records  []dns.RR
	end      string        // end of its chain of CNAMEs; empty if the chain is too long
	ttl      time.Duration // the minimum along the chain
	negative time.Duration // TTL of a negative answer
}

// read extracts the records that answer the question from a message, and nothing else.
func read(msg *dns.Msg, name string, qtype uint16) reading {
	out := reading{end: name, negative: keepFailure, ttl: time.Duration(1<<32-1) * time.Second}
	for hop := 0; ; hop++ {
		next := ""
		for _, rr := range msg.Answer {
			if canonical(rr.Header().Name) != out.end || rr.Header().Class != dns.ClassINET {
				continue
			}
			if cname, ok := rr.(*dns.CNAME); ok && qtype != dns.TypeCNAME {
				next = canonical(cname.Target)
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
		if out.end = next; hop == maxHops {
			out.end = ""
			return out
		}
	}
	for _, rr := range msg.Ns {
		if soa, ok := rr.(*dns.SOA); ok && dns.IsSubDomain(soa.Hdr.Name, dns.Fqdn(out.end)) {
			out.negative = time.Duration(min(soa.Hdr.Ttl, soa.Minttl)) * time.Second
		}
	}
	return out
}
