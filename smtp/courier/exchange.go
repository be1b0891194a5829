package courier

import (
	"context"
	"net/netip"
	"strings"

	"inboxd/internal/address"
	"inboxd/internal/deep"
	"inboxd/internal/delivery"
)

const (
	maxHosts     = 10  // MX hosts tried in one exchange
	maxDials     = 12  // addresses tried in one exchange
	maxReasonLen = 500 // octets of a Report's text
)

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
	refused  bool // the sender was, for good

	mx    string // that answered last
	tls   bool
	dials int
	last  *trouble // the most telling one
}

// address fills in the envelope. Recipients that can't be written are reported at once; it
// returns where in the reports the others belong.
func (x *exchange) address(job Consignment, reports []Report) (index []int) {
	whole := verdict{}
	if err := checkWire(job.Raw); err != "" {
		whole = because(delivery.BadMessage, "The message holds %s and can't be sent", err)
	}
	if job.MailFrom != "" {
		var ok bool
		if x.mailFrom, ok = address.Sender(job.MailFrom); !ok {
			whole = because(delivery.BadAddress, "The sender's address can't be used in SMTP")
		}
	}
	x.eightBit = !isASCII7(job.Raw)
	x.utf8 = job.NeedUTF8 || !address.IsASCII(x.mailFrom)
	for i, rcpt := range job.Rcpts {
		to, ok := address.Sender(rcpt)
		switch {
		case whole.text != "":
			reports[i] = x.report(rcpt, whole)
		case !ok:
			reports[i] = x.report(rcpt, because(delivery.BadAddress, "This address can't be used in SMTP"))
		default:
			x.rcpts, index = append(x.rcpts, to), append(index, i)
			x.utf8 = x.utf8 || !address.IsASCII(to)
		}
	}
	return index
}

func (x *exchange) report(rcpt string, v verdict) Report {
	return Report{Rcpt: rcpt, Outcome: v.outcome, Code: v.code, Enhanced: v.enhanced, Text: printable(v.text, maxReasonLen), MX: x.mx, TLS: x.tls}
}

// shorten leaves the tag off a sender whose local part is longer than servers must accept (RFC 5321
// section 4.5.3.1.1): better a message whose bounces find nothing than none. False: it is not longer.
func (x *exchange) shorten() bool {
	local, _ := address.Split(x.mailFrom)
	if len(local) <= address.MaxLocal {
		return false
	}
	short := address.WithoutTag(x.mailFrom)
	changed := short != x.mailFrom
	x.mailFrom = short
	return changed
}

// run returns one verdict per recipient.
func (x *exchange) run(ctx context.Context, domain string) []verdict {
	if x.courier.opts.Smarthost.Addr != "" {
		return x.smarthost(ctx)
	}
	domain, ok := address.Host(strings.TrimSuffix(domain, "."))
	if !ok {
		return x.all(because(delivery.BadAddress, "The recipient's domain can't be looked up"))
	}
	var policy stsPolicy
	deep.Do(func() { policy = x.courier.sts.policy(ctx, domain) })
	if results, ok := x.overIdle(ctx, domain, policy.accepts); ok {
		return results
	}
	var hosts []string
	var v *verdict
	if deep.Do(func() { hosts, v = x.courier.mailHosts(ctx, domain) }); v != nil {
		return x.all(*v)
	}
	for _, host := range hosts {
		if results, ok := x.host(ctx, domain, host, policy); ok {
			return results
		}
	}
	return x.exhausted(domain)
}

func (x *exchange) smarthost(ctx context.Context) []verdict {
	if results, ok := x.overIdle(ctx, "", func(*link) bool { return true }); ok {
		return results
	}
	var targets []target
	var host string
	var why *trouble
	if deep.Do(func() { targets, host, why = x.courier.smarthostTargets(ctx) }); why != nil {
		x.fails(host, why)
	}
	for _, t := range targets {
		if results, ok := x.over(ctx, "", t); ok {
			return results
		}
		if ctx.Err() != nil {
			break
		}
	}
	return x.exhausted(x.courier.opts.Smarthost.Addr)
}

// host tries the addresses of one MX host.
func (x *exchange) host(ctx context.Context, domain, host string, policy stsPolicy) ([]verdict, bool) {
	if !policy.allows(host) {
		x.fails(host, &trouble{because(delivery.TLSPolicy, "%s is not among the mail servers that the MTA-STS policy of %s allows", host, domain)})
		return nil, false
	}
	var addrs []netip.Addr
	var why *trouble
	if deep.Do(func() { addrs, why = x.courier.addresses(ctx, host) }); why != nil {
		x.fails(host, why)
	}
	for _, addr := range addrs {
		if x.dials++; x.dials > maxDials || ctx.Err() != nil {
			break
		}
		if results, ok := x.over(ctx, domain, x.courier.mxTarget(host, addr, policy.enforce)); ok {
			return results, true
		}
	}
	return nil, false
}

// overIdle uses a connection that an earlier mail left. Its trouble goes unsaid: it may
// have ended long ago.
func (x *exchange) overIdle(ctx context.Context, key string, fits func(*link) bool) ([]verdict, bool) {
	l := x.courier.pool.take(key, fits)
	if l == nil {
		return nil, false
	}
	results, err := x.handOver(ctx, key, l)
	return results, err == nil
}

// over connects to a target and hands the mail over.
func (x *exchange) over(ctx context.Context, key string, t target) ([]verdict, bool) {
	var results []verdict
	l, err := x.courier.connect(ctx, t)
	if err == nil {
		results, err = x.handOver(ctx, key, l)
	}
	if err != nil {
		x.fails(t.host, broken(t.host, err))
	}
	return results, err == nil
}

func (x *exchange) handOver(ctx context.Context, key string, l *link) ([]verdict, error) {
	x.greeted()
	l.begin(ctx)
	results, err := l.transact(x)
	l.end()
	if err != nil {
		l.Close()
		return nil, err
	}
	x.mx, x.tls = l.host, l.tls
	x.courier.pool.put(key, l)
	return results, nil
}

// fails remembers why host did not take the mail, a server's words before our own.
func (x *exchange) fails(host string, t *trouble) {
	if t.code != 0 {
		x.mx = host
	}
	if x.last == nil || t.code != 0 || x.last.code == 0 {
		x.last = t
	}
}

func (x *exchange) exhausted(domain string) []verdict {
	if x.last == nil {
		return x.all(because(delivery.NoRoute, "No mail server of %s can be reached", domain))
	}
	return x.all(x.last.verdict)
}

func (x *exchange) all(v verdict) []verdict {
	results := make([]verdict, len(x.rcpts))
	for i := range results {
		results[i] = v
	}
	return results
}
