// Package resolve asks a recursive DNS server: TXT, MX, addresses and reverse names, shaped
// like net.Resolver, so that every user can declare the small interface it needs. It keeps
// answers for as long as they say, asks once for what many want to know at the same time,
// and believes an answer only when it answers the question. It knows DNS (RFC 1035, 2308,
// 6891) and refuses to know mail: what a record means is its users' business.
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
	Timeout     time.Duration    // for one look-up, all tries together; default 4.5 s
	MaxEntries  int              // answers that are kept; default 20,000
	MaxTTL      time.Duration    // for which an answer is kept at most; default 1 h
	MaxNegative time.Duration    // for which "there is none" is kept at most; default 5 min
	MaxFlights  int              // questions under way at once; default 256
	Clock       func() time.Time // for what is kept; default time.Now. Deadlines are real time
}

const (
	// keepFailure is for how long a failure is not asked about again, RFC 9520 section 3.2,
	// nor what is not there according to a server that does not say for how long.
	keepFailure = time.Second
	// maxHops bounds a chain of CNAMEs.
	maxHops = 8
	// maxRecords bounds what is taken of one answer.
	maxRecords = 256
)

// Resolver answers look-ups. Any goroutine may call its methods.
type Resolver struct {
	opts    Options
	system  bool     // the servers are those of this machine, and not named by an operator
	servers []string // host:port
	health  *health
	places  chan struct{} // one for each question under way

	mu      sync.Mutex // guards what follows; nothing that blocks is done under it
	cache   cache
	flights map[question]*flight
}

// question is what is asked. The name is in lower case, without the dot at its end.
type question struct {
	name  string
	qtype uint16
}

// answer is what is known of a question: records, or err, which is a *net.DNSError.
type answer struct {
	records []dns.RR
	texts   []string // what LookupTXT makes of them
	err     error
	until   time.Time
}

// flight is one question under way. Its own goroutine alone writes answer, before it closes
// done.
type flight struct {
	done   chan struct{}
	answer answer
}

// New makes a resolver over server (host:port). Empty means the servers of
// /etc/resolv.conf: these are held to be silent until one of them has said something, for a
// machine without DNS must not make anybody wait. Without any, each look-up fails at once.
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

// ask answers q from what is kept, or waits for a flight, its own or another's. Every error
// is a *net.DNSError.
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

// known answers q if that takes no waiting. The lock is held.
func (r *Resolver) known(q question) (answer, bool) {
	a, ok := r.cache.get(q, r.opts.Clock())
	if !ok && r.flights[q] == nil && r.silent() {
		a, ok = answer{err: timedOut(q, "the DNS server does not answer")}, true
	}
	return a, ok
}

// askKnown is ask for who would rather not wait.
func (r *Resolver) askKnown(_ context.Context, q question) ([]dns.RR, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.known(q); ok {
		return a.records, a.err
	}
	return nil, errUnknown
}

// fly asks for everybody who waits on f. It does not end with the first caller's context:
// the others still want to know, and so will the next one. Options.Timeout bounds it.
func (r *Resolver) fly(q question, f *flight) {
	ctx, cancel := context.WithTimeout(context.Background(), r.opts.Timeout)
	defer cancel()
	select {
	case r.places <- struct{}{}:
		f.answer = r.follow(ctx, q)
		<-r.places
	case <-ctx.Done():
		f.answer = answer{err: temporary(q, "too many DNS questions at once")}
	}
	r.mu.Lock()
	if f.answer.until.After(r.opts.Clock()) {
		r.cache.put(q, f.answer)
	}
	delete(r.flights, q)
	r.mu.Unlock()
	close(f.done)
}

// follow asks and goes along CNAMEs that the answer does not resolve itself. A panic over
// what a server sent is one failed look-up: nobody stands above this goroutine.
func (r *Resolver) follow(ctx context.Context, q question) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("reading a DNS answer panicked", "name", q.name, "err", fmt.Sprint(p))
			a = r.failed(temporary(q, "the DNS server's answer could not be read"))
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
		case reading.end == name: // no CNAME: there is nothing of this type
			return r.none(noData(q), min(ttl, reading.negative))
		}
		name = reading.end
	}
	return r.failed(temporary(q, "too many CNAMEs"))
}

func (r *Resolver) failed(err error) answer {
	return answer{err: err, until: r.opts.Clock().Add(keepFailure)}
}

// none is kept for as long as the zone says, RFC 2308 section 5.
func (r *Resolver) none(err error, ttl time.Duration) answer {
	return answer{err: err, until: r.opts.Clock().Add(min(ttl, r.opts.MaxNegative))}
}

// reading is what an answer says about a name; only the goroutine that reads it touches it.
type reading struct {
	records  []dns.RR
	end      string        // where its chain of CNAMEs ends; empty when it is too long
	ttl      time.Duration // the least along the chain
	negative time.Duration // for which there is none
}

// read picks what answers the question, and nothing else, out of a message.
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
