package courier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"unicode/utf8"

	"inboxd/internal/address"
	"inboxd/internal/deep"
	"inboxd/internal/delivery"
	"inboxd/internal/netguard"
)

const (
	maxHosts     = 10  // MX hosts tried in one exchange
	maxDials     = 12  // addresses tried in one exchange
	maxReasonLen = 500 // octets of a Report's text
)

// verdict is what an exchange brought for one recipient, or for all.
type verdict struct {
	outcome  delivery.Outcome
	code     int
	enhanced string
	text     string
}

// because makes a verdict that no reply gave.
func because(c delivery.Cause, format string, args ...any) verdict {
	return verdict{c.Outcome(), 0, c.Enhanced(), fmt.Sprintf(format, args...)}
}

// judge makes a verdict of a reply about the mail or a recipient.
func judge(a reply) verdict {
	return verdict{delivery.Classify(a.code, a.enhanced), a.code, a.enhanced, a.String()}
}

// trouble is an error that ends a connection but not the exchange: nothing was handed over,
// and another server may take it.
type trouble struct{ verdict }

func (t *trouble) Error() string { return t.text }

// refusal makes trouble of a reply to the session, not to the mail. It is never final: a
// server that wants nothing of us today says nothing about the recipient.
func refusal(a reply) error {
	return &trouble{verdict{delivery.Temporary, a.code, a.enhanced, a.String()}}
}

// broken makes trouble of what the network said about host.
func broken(host string, err error) *trouble {
	var already *trouble
	var refused *netguard.Refused
	switch {
	case errors.As(err, &already):
		return already
	case errors.As(err, &refused):
		return &trouble{because(delivery.NoRoute, "%s can't be used: %s", host, refused)}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return &trouble{because(delivery.TimedOut, "%s did not answer in time", host)}
	case errors.Is(err, context.Canceled):
		return &trouble{because(delivery.TimedOut, "The attempt was broken off")}
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return &trouble{because(delivery.NoRoute, "%s can't be reached", host)}
	}
	return &trouble{because(delivery.Broken, "The connection to %s broke: %s", host, plainReason(err))}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// plainReason leaves the addresses of our own side out of an error.
func plainReason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}

// exchange is one Deliver: it looks for a server and hands it the mail. Only the goroutine of
// Deliver touches it.
type exchange struct {
	courier  *Courier
	mailFrom string
	rcpts    []string
	raw      []byte
	utf8     bool // SMTPUTF8 is needed
	eightBit bool // raw is not ASCII
	greeted  func()

	mx    string // that answered last
	tls   bool
	dials int
	last  *trouble // the most telling one
}

// address fills in the envelope. Recipients that can't be written are reported at once; it
// returns where in the reports the others belong.
func (a *exchange) address(job Consignment, reports []Report) (index []int) {
	whole := verdict{}
	if err := checkWire(job.Raw); err != "" {
		whole = because(delivery.BadMessage, "The message holds %s and can't be sent", err)
	}
	if job.MailFrom != "" {
		var ok bool
		if a.mailFrom, ok = address.Sender(job.MailFrom); !ok {
			whole = because(delivery.BadAddress, "The sender's address can't be used in SMTP")
		}
	}
	a.eightBit = !isASCII7(job.Raw)
	a.utf8 = job.NeedUTF8 || !address.IsASCII(a.mailFrom)
	for i, rcpt := range job.Rcpts {
		to, ok := address.Sender(rcpt)
		switch {
		case whole.text != "":
			reports[i] = a.report(rcpt, whole)
		case !ok:
			reports[i] = a.report(rcpt, because(delivery.BadAddress, "This address can't be used in SMTP"))
		default:
			a.rcpts, index = append(a.rcpts, to), append(index, i)
			a.utf8 = a.utf8 || !address.IsASCII(to)
		}
	}
	return index
}

func (a *exchange) report(rcpt string, v verdict) Report {
	return Report{Rcpt: rcpt, Outcome: v.outcome, Code: v.code, Enhanced: v.enhanced, Text: printable(v.text, maxReasonLen), MX: a.mx, TLS: a.tls}
}

// run returns one verdict per recipient.
func (a *exchange) run(ctx context.Context, domain string) []verdict {
	if a.courier.opts.Smarthost.Addr != "" {
		return a.smarthost(ctx)
	}
	domain, ok := address.Host(strings.TrimSuffix(domain, "."))
	if !ok {
		return a.all(because(delivery.BadAddress, "The recipient's domain can't be looked up"))
	}
	var policy stsPolicy
	deep.Do(func() { policy = a.courier.sts.policy(ctx, domain) })
	if results, ok := a.overKept(ctx, domain, policy.accepts); ok {
		return results
	}
	var hosts []string
	var v *verdict
	if deep.Do(func() { hosts, v = a.courier.mailHosts(ctx, domain) }); v != nil {
		return a.all(*v)
	}
	for _, host := range hosts {
		if results, ok := a.host(ctx, domain, host, policy); ok {
			return results
		}
	}
	return a.exhausted(domain)
}

func (a *exchange) smarthost(ctx context.Context) []verdict {
	if results, ok := a.overKept(ctx, "", func(*link) bool { return true }); ok {
		return results
	}
	if results, ok := a.over(ctx, "", a.courier.smarthostTarget()); ok {
		return results
	}
	return a.exhausted(a.courier.opts.Smarthost.Addr)
}

// host tries the addresses of one MX host.
func (a *exchange) host(ctx context.Context, domain, host string, policy stsPolicy) ([]verdict, bool) {
	if !policy.allows(host) {
		a.fails(host, &trouble{because(delivery.TLSPolicy, "%s is not among the mail servers that the MTA-STS policy of %s allows", host, domain)})
		return nil, false
	}
	var addrs []netip.Addr
	var why *trouble
	if deep.Do(func() { addrs, why = a.courier.addresses(ctx, host) }); why != nil {
		a.fails(host, why)
	}
	for _, addr := range addrs {
		if a.dials++; a.dials > maxDials || ctx.Err() != nil {
			break
		}
		if results, ok := a.over(ctx, domain, a.courier.mxTarget(host, addr, policy.enforce)); ok {
			return results, true
		}
	}
	return nil, false
}

// overKept uses a connection that an earlier mail left. Its trouble is not told: it may
// have ended long ago.
func (a *exchange) overKept(ctx context.Context, key string, fits func(*link) bool) ([]verdict, bool) {
	l := a.courier.pool.take(key, fits)
	if l == nil {
		return nil, false
	}
	results, err := a.handOver(ctx, key, l)
	return results, err == nil
}

// over connects to a target and hands the mail over.
func (a *exchange) over(ctx context.Context, key string, t target) ([]verdict, bool) {
	var results []verdict
	l, err := a.courier.connect(ctx, t)
	if err == nil {
		results, err = a.handOver(ctx, key, l)
	}
	if err != nil {
		a.fails(t.host, broken(t.host, err))
	}
	return results, err == nil
}

func (a *exchange) handOver(ctx context.Context, key string, l *link) ([]verdict, error) {
	a.greeted()
	l.begin(ctx)
	results, err := l.transact(a)
	l.end()
	if err != nil {
		l.Close()
		return nil, err
	}
	a.mx, a.tls = l.host, l.tls
	a.courier.pool.keep(key, l)
	return results, nil
}

// fails remembers why host did not take the mail, a server's words before our own.
func (a *exchange) fails(host string, t *trouble) {
	if t.code != 0 {
		a.mx = host
	}
	if a.last == nil || t.code != 0 || a.last.code == 0 {
		a.last = t
	}
}

func (a *exchange) exhausted(domain string) []verdict {
	if a.last == nil {
		return a.all(because(delivery.NoRoute, "No mail server of %s can be reached", domain))
	}
	return a.all(a.last.verdict)
}

func (a *exchange) all(v verdict) []verdict {
	results := make([]verdict, len(a.rcpts))
	for i := range results {
		results[i] = v
	}
	return results
}

// checkWire says what of raw no server may be sent: what one server reads as a line end and
// the next does not can hide a second mail (SMTP smuggling).
func checkWire(raw []byte) string {
	if bytes.IndexByte(raw, 0) >= 0 {
		return "a NUL"
	}
	for rest := raw; ; {
		i := bytes.IndexAny(rest, "\r\n")
		switch {
		case i < 0:
			return ""
		case rest[i] == '\n':
			return "a line feed without carriage return"
		case i+1 == len(rest) || rest[i+1] != '\n':
			return "a carriage return without line feed"
		}
		rest = rest[i+2:]
	}
}

func isASCII7(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// printable makes one line of at most max octets that can be shown to a person.
func printable(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "")
	}
	return strings.TrimSpace(s)
}
