// Package spam asks a spam scanner next to the node, rspamd or SpamAssassin's spamd, for a verdict
// on a message. It implements their two protocols and copes with a scanner that is slow, dead or
// malicious: a message never waits longer than a few seconds and is never refused, and the size of
// its verdict is limited. The package does not know what a verdict is used for.
package spam

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
)

const (
	// timeout limits the whole wait of one message, including the wait for a slot.
	timeout = 5 * time.Second
	// atOnce is how many messages are scanned concurrently; the others wait for a slot.
	atOnce = 32
	// maxAnswer limits what is read of a scanner's response, in bytes.
	maxAnswer = 1 << 20

	maxRules       = 200
	maxName        = 100 // bytes of a rule's name
	maxDescription = 300 // bytes of a rule's description
)

// Scanner is one scanner and its health. Any goroutine may use it: only breaker changes, and has
// its own lock.
type Scanner struct {
	scanProtocol scanProtocol
	maxBytes     int64         // size of the largest message to scan, in bytes
	scanSlots    chan struct{} // one slot for each message being scanned
	breaker      circuitBreaker
	timeout      time.Duration
}

var _ ingest.Scanner = (*Scanner)(nil)

// scanProtocol is one protocol. A nil verdict without an error means that the scanner did not scan the
// message.
type scanProtocol interface {
	judgeMessage(ctx context.Context, env ingest.Envelope, raw []byte) (*inbox.SpamVerdict, error)
}

// isServer reports whether a URL consists of host and port only.
func isServer(u *url.URL) bool {
	if u.Port() == "" || u.Hostname() == "" {
		return false
	}
	return strings.Trim(u.Path, "/") == "" && u.User == nil && u.RawQuery == ""
}

// New makes a Scanner from its address: rspamd+http://host:port or spamd://host:port. It does not
// connect yet.
func New(address string, logger *slog.Logger) (*Scanner, error) {
	u, err := url.Parse(address)
	if err != nil || !isServer(u) {
		return nil, fmt.Errorf("invalid scanner %q: use an address such as rspamd+http://127.0.0.1:11333 or spamd://127.0.0.1:783", address)
	}
	s := &Scanner{scanSlots: make(chan struct{}, atOnce), timeout: timeout, breaker: circuitBreaker{log: logger, now: time.Now}}
	switch u.Scheme {
	case "rspamd+http":
		s.scanProtocol, s.maxBytes = newRspamd(u.Host), 32<<20
	case "spamd":
		// spamc's own limit is 500 KB, because the rules take seconds for larger messages.
		s.scanProtocol, s.maxBytes = spamd{address: u.Host}, 512<<10
	default:
		return nil, fmt.Errorf("invalid scanner %q: it must begin with rspamd+http:// or spamd://", address)
	}
	return s, nil
}

// Scan implements ingest.Scanner: nil if the verdict does not come in time.
func (s *Scanner) Scan(ctx context.Context, env ingest.Envelope, raw []byte) *inbox.SpamVerdict {
	if int64(len(raw)) > s.maxBytes || !s.breaker.allowRequest() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	select {
	case s.scanSlots <- struct{}{}:
		defer func() { <-s.scanSlots }()
	case <-ctx.Done():
		s.breaker.cancelAllow()
		return nil
	}
	verdict, err := s.scanProtocol.judgeMessage(ctx, env, raw)
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		s.breaker.cancelAllow() // the server is stopping: not the scanner's failure
		return nil
	}
	s.breaker.reportResult(err)
	return boundVerdict(verdict)
}

// boundVerdict limits a verdict so that it can be stored, whatever the scanner returned.
func boundVerdict(v *inbox.SpamVerdict) *inbox.SpamVerdict {
	if v == nil {
		return nil
	}
	v.Rules = v.Rules[:min(len(v.Rules), maxRules)]
	for i := range v.Rules {
		v.Rules[i].Name = truncateText(v.Rules[i].Name, maxName)
		v.Rules[i].Description = truncateText(v.Rules[i].Description, maxDescription)
	}
	return v
}

// truncateText shortens s to max bytes of valid UTF-8.
func truncateText(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= max {
		return s
	}
	for !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// dialer connects to a scanner; the message's deadline limits it.
var dialer net.Dialer
