// Package courier sends messages to other servers. It finds the MX hosts of a domain or uses the
// smarthost, connects where netguard allows it, speaks SMTP with its own client (ADR 0014), and
// reports the outcome for each recipient. It implements MTA-STS (RFC 8461), null MX (7505), and
// AUTH (4954) with a smarthost. It does not know queues, retries, storage or actors, and keeps
// nothing of a message after Deliver returns.
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

// Resolver is the part of the DNS that a Courier uses; *net.Resolver implements it. A *net.DNSError
// with IsNotFound means that the name or the record does not exist. Any other error means that the
// lookup failed.
type Resolver interface {
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// TLSMode is how TLS is used with a smarthost.
type TLSMode uint8

const (
	TLSAuto     TLSMode = iota // required and verified if there is a password, else opportunistic
	TLSRequired                // STARTTLS with a verified certificate is mandatory
	TLSImplicit                // TLS from the first byte (RFC 8314), verified
	TLSNone                    // TLS is not used
)

// Smarthost receives all messages instead of the recipients' own servers.
type Smarthost struct {
	Addr               string // host:port; empty: no smarthost
	Username, Password string // AUTH PLAIN, else LOGIN; empty: no login
	TLS                TLSMode
	Resolver           Resolver // for the host name, which may be relative; nil: that of the Courier
}

// SendsClear reports whether the password would cross the network in plain text.
func (s Smarthost) SendsClear() bool {
	host, _, err := net.SplitHostPort(s.Addr)
	return err == nil && s.Username != "" && s.TLS == TLSNone && !isLoopback(host)
}

// Timeouts limit an exchange. Zero means the default given here.
type Timeouts struct {
	Connect        time.Duration // TCP and TLS, per address: 30 s
	Command        time.Duration // a reply, or one write: 2 min
	FinalDot       time.Duration // the reply to the final dot: 5 min
	WholeExchange  time.Duration // the whole exchange: 10 min
	IdleConnection time.Duration // an idle connection that waits for another message: 15 s
}

// Options configure a Courier; defaults are given here. The zero value sends directly to public MX
// hosts with the system's resolver.
type Options struct {
	HelloName     string                 // our name in EHLO; "localhost"
	Resolver      Resolver               // net.DefaultResolver
	MXPort        int                    // 25
	STSPort       int                    // of MTA-STS policies, 443
	Smarthost     Smarthost              // reached without the guard, because the operator chose it
	AddressPolicy netguard.AddressPolicy // which addresses an MX may resolve to
	RootCAs       *x509.CertPool         // for verified certificates; nil: the system's
	Timeouts      Timeouts
	Logger        *slog.Logger // nil: nothing is logged
}

// DeliveryRequest is one message for recipients of one domain. Each gets a copy in its own transaction,
// over the same connection where the server allows it.
type DeliveryRequest struct {
	Domain   string   // of the recipients; determines the MX hosts. Unused with a smarthost
	Rcpts    []string // at most 100
	Senders  []string // envelope sender for each of Rcpts; nil: the null sender for all
	Raw      []byte   // only CRLF line ends; not changed and not retained
	NeedUTF8 bool     // the header is not ASCII: only a server with SMTPUTF8 can take it
	Greeted  func()   // called when a server is ready for the message, before any of it is sent; may be nil

	// Taken is called when a server has accepted a recipient's copy and others are left, before the
	// next one begins; may be nil.
	Taken func(rcpt, mx string)
}

// RecipientOutcome is the outcome of an exchange for one recipient.
type RecipientOutcome struct {
	Rcpt     string
	Outcome  delivery.AttemptOutcome
	Code     int    // of the SMTP reply; 0 when there was none
	Enhanced string // "5.1.1"; "" when unknown
	Text     string // one sentence for the sender, printable, at most 500 octets
	MX       string // host name of the server that replied last; "" if none did
	TLS      bool   // the connection was encrypted
}

// Courier sends messages to other servers. It is safe for concurrent use. Close ends its idle
// connections.
//
// It has its own SMTP client, because a hostile server must not make it hold more than one reply in
// memory, and a message over a reused connection should cost two round trips (ADR 0014).
type Courier struct {
	opts Options
	pool *linkPool
	sts  *stsCache
}

// New returns a Courier. It starts nothing until Deliver is called.
func New(opts Options) *Courier {
	opts = opts.withDefaults()
	return &Courier{opts: opts, pool: newPool(opts.Timeouts.IdleConnection), sts: newSTSCache(opts)}
}

func (o Options) withDefaults() Options {
	o.HelloName = cmp.Or(o.HelloName, "localhost")
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
	t.FinalDot, t.WholeExchange = cmp.Or(t.FinalDot, 5*time.Minute), cmp.Or(t.WholeExchange, 10*time.Minute)
	t.IdleConnection = cmp.Or(t.IdleConnection, 15*time.Second)
	return o
}

// Deliver makes one exchange and returns one RecipientOutcome per recipient, in their order. It
// takes at most Timeouts.WholeExchange and returns soon after ctx ends. Recipients that were not
// reached by then are reported as Temporary.
func (c *Courier) Deliver(ctx context.Context, job DeliveryRequest) []RecipientOutcome {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeouts.WholeExchange)
	defer cancel()
	x := exchange{courier: c, DeliveryRequest: job, reports: make([]RecipientOutcome, len(job.Rcpts))}
	stackpool.Do(x.buildEnvelopes)
	if len(x.pendingCopies) > 0 {
		x.deliverAll(ctx)
	}
	return x.reports
}

// Close closes every idle connection.
func (c *Courier) Close() { c.pool.closeAll() }
