// Package spam asks a spam scanner beside the node, rspamd or SpamAssassin's spamd, what it
// thinks of a mail. It knows their two protocols and how to meet a scanner that is slow,
// dead or lying: a mail is never kept waiting beyond a few seconds, never refused, and its
// verdict is bounded. It refuses to know what becomes of a verdict.
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
	// timeout bounds one mail's whole wait, the wait for its turn included.
	timeout = 5 * time.Second
	// atOnce is how many mails are with the scanner at once; the others wait their turn.
	atOnce = 32
	// maxAnswer bounds what is read of a scanner's answer, in bytes.
	maxAnswer = 1 << 20

	maxRules       = 200
	maxName        = 100 // bytes of a rule's name
	maxDescription = 300 // bytes of a rule's description
)

// Scanner is one scanner and its state of health. Any goroutine may use it: only breaker
// changes, under a lock of its own.
type Scanner struct {
	judge   judge
	limit   int64         // size of the largest mail it is asked about, in bytes
	places  chan struct{} // one for each mail that it is asked about
	breaker breaker
	timeout time.Duration
}

var _ ingest.Scanner = (*Scanner)(nil)

// judge is one protocol. A verdict of nil without an error says that the scanner did not
// look at the mail.
type judge interface {
	judge(ctx context.Context, env ingest.Envelope, raw []byte) (*inbox.Spam, error)
}

// isServer reports a URL of host and port and nothing more.
func isServer(u *url.URL) bool {
	if u.Port() == "" || u.Hostname() == "" {
		return false
	}
	return strings.Trim(u.Path, "/") == "" && u.User == nil && u.RawQuery == ""
}

// New makes a Scanner from its address: rspamd+http://host:port or spamd://host:port. It
// does not connect yet.
func New(address string, logger *slog.Logger) (*Scanner, error) {
	u, err := url.Parse(address)
	if err != nil || !isServer(u) {
		return nil, fmt.Errorf("%q is no scanner's address such as rspamd+http://127.0.0.1:11333 or spamd://127.0.0.1:783", address)
	}
	s := &Scanner{places: make(chan struct{}, atOnce), timeout: timeout, breaker: breaker{log: logger, now: time.Now}}
	switch u.Scheme {
	case "rspamd+http":
		s.judge, s.limit = newRspamd(u.Host), 32<<20
	case "spamd":
		// spamc's own limit is 500 KB: its rules take seconds for what is larger.
		s.judge, s.limit = spamd{address: u.Host}, 512<<10
	default:
		return nil, fmt.Errorf("%q: a scanner is rspamd+http:// or spamd://", address)
	}
	return s, nil
}

// Scan implements ingest.Scanner: nil when there is no verdict in time.
func (s *Scanner) Scan(ctx context.Context, env ingest.Envelope, raw []byte) *inbox.Spam {
	if int64(len(raw)) > s.limit || !s.breaker.allow() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		s.breaker.untried()
		return nil
	}
	verdict, err := s.judge.judge(ctx, env, raw)
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		s.breaker.untried() // the server is stopping: no fault of the scanner's
		return nil
	}
	s.breaker.report(err)
	return bounded(verdict)
}

// bounded makes a verdict fit to be stored, whatever the scanner said.
func bounded(v *inbox.Spam) *inbox.Spam {
	if v == nil {
		return nil
	}
	v.Rules = v.Rules[:min(len(v.Rules), maxRules)]
	for i := range v.Rules {
		v.Rules[i].Name = cut(v.Rules[i].Name, maxName)
		v.Rules[i].Description = cut(v.Rules[i].Description, maxDescription)
	}
	return v
}

// cut shortens s to max bytes of valid UTF-8.
func cut(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= max {
		return s
	}
	for !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// dialer connects to a scanner; the mail's deadline bounds it.
var dialer net.Dialer
