// Package courier hands mail to other servers: it finds the MX hosts of a domain or takes the
// smarthost, connects under the guard, speaks SMTP with a client of its own (ADR 0014), and
// says what became of each recipient. It knows MTA-STS (RFC 8461), null MX (7505) and AUTH
// (4954) towards a smarthost. It refuses to know queues, retries, storage and actors: it
// keeps nothing about a mail once Deliver returned.
package courier

import (
	"cmp"
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"time"

	"inboxd/internal/base/netguard"
	"inboxd/internal/base/stackpool"
	"inboxd/internal/core/delivery"
)

// Resolver is what a Courier asks of the DNS; *net.Resolver is one. A *net.DNSError with
// IsNotFound means that the name or the record does not exist, any other error that nothing
// is known.
type Resolver interface {
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// TLSMode says how to speak with a smarthost.
type TLSMode uint8

const (
	TLSAuto     TLSMode = iota // required and verified with a password, else opportunistic
	TLSRequired                // STARTTLS with a verified certificate, or nothing
	TLSImplicit                // TLS from the first byte (RFC 8314), verified
	TLSNone                    // never
)

// Smarthost takes all mail instead of the recipients' own servers.
type Smarthost struct {
	Addr               string // host:port; empty for none
	Username, Password string // AUTH PLAIN, else LOGIN; empty for none
	TLS                TLSMode
	Resolver           Resolver // of its name, which may be relative; nil for that of the Courier
}

// SendsClear reports a password that would have to cross the network in clear.
func (s Smarthost) SendsClear() bool {
	host, _, err := net.SplitHostPort(s.Addr)
	return err == nil && s.Username != "" && s.TLS == TLSNone && !isLoopback(host)
}

// Timeouts bound an exchange; zero means the default.
type Timeouts struct {
	Connect time.Duration // TCP and TLS, per address: 30 s
	Command time.Duration // a reply, and progress of a write: 2 min
	Dot     time.Duration // the reply to the final dot: 5 min
	Whole   time.Duration // everything: 10 min
	Idle    time.Duration // a connection that waits for the next mail: 15 s
}

// Options configure a Courier. The zero value sends straight to public MX hosts with
// the system's resolver.
type Options struct {
	Hello     string          // our name in EHLO; "localhost"
	Resolver  Resolver        // net.DefaultResolver
	MXPort    int             // 25
	STSPort   int             // of MTA-STS policies, 443
	Smarthost Smarthost       // reached without the guard: the operator chose it
	Guard     netguard.Policy // what an MX may resolve to
	RootCAs   *x509.CertPool  // for verified certificates; nil for the system's
	Timeouts  Timeouts
	Logger    *slog.Logger // discarded when nil
}

// Consignment is one message for recipients of one domain. Each of them gets a copy in a transaction of
// its own, over the same connection where the server allows it.
type Consignment struct {
	Domain   string   // of the recipients; decides the MX. Unused with a smarthost
	Rcpts    []string // at most 100
	Senders  []string // of the envelope, for each of Rcpts; nil for the null sender
	Raw      []byte   // CRLF line ends alone; not changed, nor held on to
	NeedUTF8 bool     // the header is not ASCII: only a server with SMTPUTF8 can take it
	Greeted  func()   // called when a server is ready for the mail, before any of it is sent; may be nil

	// Taken is called when a server has taken a recipient's copy and others are left, before the next one
	// is begun; may be nil.
	Taken func(rcpt, mx string)
}

// Report is what an exchange brought for one recipient.
type Report struct {
	Rcpt     string
	Outcome  delivery.Outcome
	Code     int    // of the SMTP reply; 0 when there was none
	Enhanced string // "5.1.1"; "" when unknown
	Text     string // one sentence for the sender, printable, at most 500 octets
	MX       string // host name of the server that answered last; "" when none did
	TLS      bool   // the connection was encrypted
}

// Courier hands mail over to other servers. It is safe for use by many goroutines; Close
// stops what it keeps.
//
// Its client is our own: a hostile server must not be able to make it hold more than one
// reply, and a mail on a connection used before costs two round trips (ADR 0014).
type Courier struct {
	opts Options
	pool *pool
	sts  *stsCache
}

// New returns a Courier that runs nothing until Deliver is called.
func New(opts Options) *Courier {
	opts = opts.withDefaults()
	return &Courier{opts: opts, pool: newPool(opts.Timeouts.Idle), sts: newSTSCache(opts)}
}

func (o Options) withDefaults() Options {
	o.Hello = cmp.Or(o.Hello, "localhost")
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	o.MXPort, o.STSPort = cmp.Or(o.MXPort, 25), cmp.Or(o.STSPort, 443)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Smarthost.Resolver == nil {
		o.Smarthost.Resolver = o.Resolver
	}
	t := &o.Timeouts
	t.Connect, t.Command = cmp.Or(t.Connect, 30*time.Second), cmp.Or(t.Command, 2*time.Minute)
	t.Dot, t.Whole = cmp.Or(t.Dot, 5*time.Minute), cmp.Or(t.Whole, 10*time.Minute)
	t.Idle = cmp.Or(t.Idle, 15*time.Second)
	return o
}

// Deliver makes one exchange and returns one Report per recipient, in their order. It never
// takes longer than Timeouts.Whole and returns soon after ctx ends: a recipient whose turn did not
// come by then is reported as Temporary.
func (c *Courier) Deliver(ctx context.Context, job Consignment) []Report {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeouts.Whole)
	defer cancel()
	x := exchange{courier: c, Consignment: job, reports: make([]Report, len(job.Rcpts))}
	stackpool.Do(x.address)
	if len(x.left) > 0 {
		x.run(ctx)
	}
	return x.reports
}

// Close hangs up every idle connection.
func (c *Courier) Close() { c.pool.close() }
