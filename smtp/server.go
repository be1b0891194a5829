// Package smtp is the SMTP server that receives messages. It knows SMTP and its replies, and limits
// what hostile, slow or numerous peers can use up. It does not know actors, storage or HTTP:
// recipients and complete messages go through the InboxReceiver interface.
//
// It is built on go-smtp, but handles lines, bodies, timeouts, limits and STARTTLS itself; the
// comment on inner says why. Package smtp/courier sends messages.
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
	Domain          string           // our name in the greeting and in Received; default inbox.localhost
	MaxMessageBytes int64            // octets of one message; default 25 MiB
	MaxRecipients   int              // of one transaction; default 100
	MaxConns        int              // open connections in total; default 1,000
	MaxConnsPerIP   int              // open connections per IPv4 address or IPv6 /64; default 50
	TLSConfig       *tls.Config      // for STARTTLS; default nil: STARTTLS is not offered
	ProxyProtocol   []netip.Prefix   // peers whose connections begin with a PROXY header; default none
	BodyMemory      int64            // octets that all bodies above 64 KiB may hold; see share; default 256 MiB
	SilentTimeout   time.Duration    // from connection or STARTTLS to the first command; default 30 s
	IdleTimeout     time.Duration    // for each later command; default 5 min, RFC 5321 section 4.5.3.2.7
	ProgressTimeout time.Duration    // span of lines.Progress for bodies, and limit for writing a reply; default 30 s
	TransferTimeout time.Duration    // for a whole body, all chunks of BDAT together; default 15 min
	Logger          *slog.Logger     // default: nothing is logged
	MailDominates   func() bool      // polled every 100 ms: does mail take too much of the CPU? default: never
	Clock           func() time.Time // for ReceivedAt; default time.Now. Deadlines use real time
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

// Server receives messages. Make it with New; it may serve several listeners. It is safe for
// concurrent use: the fields above mu are fixed by New or synchronize themselves.
type Server struct {
	opts             Options
	inboxes          InboxReceiver
	log              *slog.Logger
	throttledLog     rate.Sometimes // throttles warnings that a full disk or a lack of descriptors repeats
	stats            counters
	lineServer       lines.SharedState
	bootID           string // random; together with the counter it makes ids unique across restarts
	messageCount     atomic.Uint64
	memoryBudget     memoryBudget
	pushback         pushback
	admissionControl admissionControl

	ctx          context.Context // passed to InboxReceiver; Shutdown cancels it, which also ends go-smtp's accept loop
	giveUp       context.CancelFunc
	stopChan     chan struct{} // closed when Shutdown begins: no new connections after that
	startOnce    sync.Once
	newSessions  chan *session // for go-smtp to accept
	sessionEnded chan struct{} // receives a value, if there is room, when a session ends

	mu             sync.Mutex // guards all fields below; never held during a blocking call
	listeners      map[net.Listener]struct{}
	activeSessions map[*session]struct{}
	byGroup        map[netip.Addr]int    // number of live sessions by peer.limitGroup
	awaitingProxy  map[net.Conn]struct{} // connections whose PROXY header has not arrived yet
}

// New returns a server that is not yet listening.
func New(opts Options, inboxes InboxReceiver) *Server {
	s := &Server{
		opts: opts.withDefaults(), inboxes: inboxes,
		throttledLog:   rate.Sometimes{First: 10, Interval: time.Second},
		bootID:         strings.ToLower(rand.Text()[:8]),
		stopChan:       make(chan struct{}),
		newSessions:    make(chan *session),
		listeners:      make(map[net.Listener]struct{}),
		activeSessions: make(map[*session]struct{}),
		byGroup:        make(map[netip.Addr]int),
		awaitingProxy:  make(map[net.Conn]struct{}),
		sessionEnded:   make(chan struct{}, 1),
	}
	s.log = s.opts.Logger
	s.stats.rejectedByReason = make([]atomic.Uint64, len(refusalReasons))
	s.memoryBudget = memoryBudget{maxOctets: s.opts.BodyMemory, of: make(map[netip.Addr]int64)}
	s.lineServer.WriteTimeout = s.opts.ProgressTimeout
	s.pushback.storingCount = &s.lineServer.StoringCount
	s.admissionControl.maxActive, s.admissionControl.idleEnds = s.opts.MaxConns, make(chan struct{}, 1)
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	return s
}

func (s *Server) now() time.Time { return s.opts.Clock().UTC() }

func (s *Server) newID() string {
	id := append(make([]byte, 0, 24), s.bootID...)
	return string(strconv.AppendUint(id, s.messageCount.Add(1), 36))
}

func (s *Server) logSometimes(level slog.Level, msg string, attrs ...slog.Attr) {
	s.throttledLog.Do(func() { s.log.LogAttrs(s.ctx, level, msg, attrs...) })
}
