// Package smtp is the house's SMTP edge. It knows SMTP, its replies, and how to meet peers
// that are hostile, slow or many. It refuses to know actors, storage and HTTP: recipients
// and finished mails go through the Inboxes interface.
//
// Receiving stands on go-smtp, and goes around it for lines, bodies, time, caps and STARTTLS; the
// comment on inner says why.
// Sending is the courier's (smtp/courier).
//
// Implemented: RFC 5321, SIZE (1870), 8BITMIME (6152), PIPELINING (2920), CHUNKING (3030),
// ENHANCEDSTATUSCODES (2034), STARTTLS (3207), SMTPUTF8 (6531).
package smtp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"inboxd/smtp/lines"
)

// Options configure a Server; the zero value works.
type Options struct {
	Domain          string           // our name in greeting and Received; default inbox.localhost
	MaxMessageBytes int64            // octets of one message; default 25 MiB
	MaxRecipients   int              // of one transaction; default 100
	MaxConns        int              // open connections in all; default 1,000
	MaxConnsPerIP   int              // open connections of one IPv4 address or IPv6 /64; default 50
	TLSConfig       *tls.Config      // for STARTTLS; default nil, STARTTLS is not offered
	ProxyProtocol   []netip.Prefix   // peers whose connections begin with a PROXY header; default none
	BodyMemory      int64            // octets that bodies above 64 KiB may hold in all, those of one IPv4 address or IPv6 /64 a share; default 256 MiB
	SilentTimeout   time.Duration    // from connection, or STARTTLS, to the first command; default 30 s
	IdleTimeout     time.Duration    // for each later command; default 5 min, RFC 5321 section 4.5.3.2.7
	ProgressTimeout time.Duration    // in which a body must bring 1 KiB, 1/32 of the memory it holds, or its end, and a reply be taken; default 30 s
	TransferTimeout time.Duration    // for the whole of a body, all chunks of BDAT together; default 15 min
	Logger          *slog.Logger     // default: nothing is logged
	Crowds          func() bool      // asked each 100 ms whether mail takes more of the machine than others have left; default: never
	Clock           func() time.Time // for ReceivedAt; default time.Now. Deadlines are real time
}

func (o Options) withDefaults() Options {
	o.Domain = cmp.Or(o.Domain, "inbox.localhost")
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, 25<<20)
	o.MaxRecipients = cmp.Or(o.MaxRecipients, 100)
	o.MaxConns = cmp.Or(o.MaxConns, 1000)
	o.MaxConnsPerIP = cmp.Or(o.MaxConnsPerIP, 50)
	o.BodyMemory = cmp.Or(o.BodyMemory, 256<<20)
	o.SilentTimeout = cmp.Or(o.SilentTimeout, 30*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 5*time.Minute)
	o.ProgressTimeout = cmp.Or(o.ProgressTimeout, 30*time.Second)
	o.TransferTimeout = cmp.Or(o.TransferTimeout, 15*time.Minute)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Server receives mail. Make it with New; it may serve several listeners. Any goroutine may use
// it: what stands above mu stays as New made it, or guards itself.
type Server struct {
	opts     Options
	inboxes  Inboxes
	log      *slog.Logger
	rarely   rate.Sometimes // for complaints that a full disk or a lack of descriptors repeats
	stats    counters
	lines    lines.Server
	bootID   string // random: with the count it makes ids unique across restarts
	mails    atomic.Uint64
	budget   budget
	pushback pushback
	pace     pace

	ctx      context.Context // given to Inboxes; ends with Shutdown, and go-smtp's accept loop with it
	giveUp   context.CancelFunc
	stop     chan struct{} // closed when Shutdown begins: nothing more is accepted
	start    sync.Once
	sessions chan *session // for go-smtp to accept
	gone     chan struct{} // gets a value, if there is room, when a session ends

	mu        sync.Mutex // guards all below; nothing that blocks is done under it
	listeners map[net.Listener]struct{}
	live      map[*session]struct{}
	byGroup   map[netip.Addr]int    // live sessions of one peer.group
	waiting   map[net.Conn]struct{} // connections whose PROXY header has not come yet
}

// New makes a server that is not yet listening.
func New(opts Options, inboxes Inboxes) *Server {
	s := &Server{
		opts: opts.withDefaults(), inboxes: inboxes,
		rarely:    rate.Sometimes{First: 10, Interval: time.Second},
		bootID:    strings.ToLower(rand.Text()[:8]),
		stop:      make(chan struct{}),
		sessions:  make(chan *session),
		listeners: make(map[net.Listener]struct{}),
		live:      make(map[*session]struct{}),
		byGroup:   make(map[netip.Addr]int),
		waiting:   make(map[net.Conn]struct{}),
		gone:      make(chan struct{}, 1),
	}
	s.log = s.opts.Logger
	s.stats.rejected = make([]atomic.Uint64, len(reasons))
	s.budget = budget{limit: s.opts.BodyMemory, of: make(map[netip.Addr]int64)}
	s.lines.WriteTimeout = s.opts.ProgressTimeout
	s.pushback.storing = &s.lines.Storing
	s.pace.most = s.opts.MaxConns
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	return s
}

func (s *Server) now() time.Time { return s.opts.Clock().UTC() }

func (s *Server) newID() string {
	id := append(make([]byte, 0, 24), s.bootID...)
	return string(strconv.AppendUint(id, s.mails.Add(1), 36))
}

func (s *Server) logSometimes(level slog.Level, msg string, attrs ...slog.Attr) {
	s.rarely.Do(func() { s.log.LogAttrs(s.ctx, level, msg, attrs...) })
}
