package courier

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/base/stackpool"
	"inboxd/internal/core/delivery"
)

const (
	maxHosts     = 10  // MX hosts tried in one exchange
	maxDials     = 12  // addresses tried in one exchange
	maxReasonLen = 500 // octets of a Report's text
)

// exchange is one call of Deliver: it finds a server and sends it the copies. Only the goroutine of
// Deliver uses it.
type exchange struct {
	Consignment
	courier  *Courier
	reports  []Report   // by recipient
	left     []envelope // copies without a report
	taken    int        // copies that servers accepted
	eightBit bool       // Raw is not ASCII
	refused  bool       // the sender of the latest copy was refused permanently
	short    bool       // a server refused a sender longer than it must accept

	mx    string // server that replied last
	dials int
	last  *trouble // the most informative one
}

// envelope is the envelope of one recipient's copy.
type envelope struct {
	index    int // in Rcpts
	mailFrom string
	rcpt     string
	utf8     bool // SMTPUTF8 is needed
}

// address makes the envelopes. Recipients whose address cannot be sent are reported immediately.
func (x *exchange) address() {
	x.eightBit = !isASCII7(x.Raw)
	wire := checkWire(x.Raw)
	for i, rcpt := range x.Rcpts {
		e, ok := envelope{index: i}, true
		if x.Senders != nil && x.Senders[i] != "" {
			e.mailFrom, ok = address.Sender(x.Senders[i])
		}
		to, canBeWritten := address.Sender(rcpt)
		switch {
		case wire != "":
			x.settle(e, because(delivery.BadMessage, "The message contains %s and cannot be sent", wire), nil)
		case !ok:
			x.settle(e, because(delivery.BadAddress, "The sender's address cannot be used in SMTP"), nil)
		case !canBeWritten:
			x.settle(e, because(delivery.BadAddress, "This address cannot be used in SMTP"), nil)
		default:
			e.rcpt, e.utf8 = to, x.NeedUTF8 || !address.IsASCII(e.mailFrom) || !address.IsASCII(to)
			x.left = append(x.left, e)
		}
	}
}

// settle reports the outcome of a copy. l is the connection that it went over, nil for none.
func (x *exchange) settle(e envelope, v verdict, l *link) {
	r := Report{Rcpt: x.Rcpts[e.index], Outcome: v.outcome, Code: v.code, Enhanced: v.enhanced, Text: printable(v.text, maxReasonLen), MX: x.mx}
	if l != nil {
		r.MX, r.TLS = l.host, l.tls
	}
	x.reports[e.index] = r
}

// settleAll reports the same outcome for all copies that are left.
func (x *exchange) settleAll(v verdict) {
	for _, e := range x.left {
		x.settle(e, v, nil)
	}
	x.left = nil
}

// shorten removes the tag of a sender whose local part is longer than servers must accept (RFC 5321
// section 4.5.3.1.1). A message whose bounces cannot be matched is better than one that is not
// sent. It returns false if nothing changed.
func (e *envelope) shorten() bool {
	local, _ := address.Split(e.mailFrom)
	if len(local) <= address.MaxLocal {
		return false
	}
	short := address.WithoutTag(e.mailFrom)
	changed := short != e.mailFrom
	e.mailFrom = short
	return changed
}

// run sends all copies for which it finds a server, and reports why the others were not sent.
func (x *exchange) run(ctx context.Context) {
	if x.courier.opts.Smarthost.Addr != "" {
		x.smarthost(ctx)
		return
	}
	domain, ok := address.Host(strings.TrimSuffix(x.Domain, "."))
	if !ok {
		x.settleAll(because(delivery.BadAddress, "The recipient's domain cannot be looked up"))
		return
	}
	var policy stsPolicy
	stackpool.Do(func() { policy = x.courier.sts.policy(ctx, domain) })
	if x.overIdle(ctx, domain, policy.accepts) {
		return
	}
	var hosts []string
	var v *verdict
	if stackpool.Do(func() { hosts, v = x.courier.mailHosts(ctx, domain) }); v != nil {
		x.settleAll(*v)
		return
	}
	for _, host := range hosts {
		if x.host(ctx, domain, host, policy) {
			return
		}
	}
	x.exhausted(domain)
}

func (x *exchange) smarthost(ctx context.Context) {
	if x.overIdle(ctx, "", func(*link) bool { return true }) {
		return
	}
	var targets []target
	var host string
	var why *trouble
	if stackpool.Do(func() { targets, host, why = x.courier.smarthostTargets(ctx) }); why != nil {
		x.fails(host, why)
	}
	for _, t := range targets {
		if x.over(ctx, "", t) {
			return
		}
		if ctx.Err() != nil {
			break
		}
	}
	x.exhausted(x.courier.opts.Smarthost.Addr)
}

// host tries the addresses of one MX host. It returns true when no copy is left.
func (x *exchange) host(ctx context.Context, domain, host string, policy stsPolicy) bool {
	if !policy.allows(host) {
		x.fails(host, &trouble{because(delivery.TLSPolicy, "The MTA-STS policy does not allow the mail server %s for %s", host, domain)})
		return false
	}
	var addrs []netip.Addr
	var why *trouble
	if stackpool.Do(func() { addrs, why = x.courier.addresses(ctx, host) }); why != nil {
		x.fails(host, why)
	}
	for _, addr := range addrs {
		if x.dials++; x.dials > maxDials || ctx.Err() != nil {
			break
		}
		if x.over(ctx, domain, x.courier.mxTarget(host, addr, policy.enforce)) {
			return true
		}
	}
	return false
}

// overIdle uses an idle connection of an earlier exchange. Its error is not reported: the server
// may have closed it long ago.
func (x *exchange) overIdle(ctx context.Context, key string, fits func(*link) bool) bool {
	l := x.courier.pool.take(key, fits)
	return l != nil && x.handOver(ctx, key, l) == nil
}

// over connects to a target and sends it the copies that are left. If the connection ends after the
// server accepted some, it connects again, because servers limit the copies per connection. It
// returns true when no copy is left.
func (x *exchange) over(ctx context.Context, key string, t target) bool {
	for {
		before := x.taken
		l, err := x.courier.connect(ctx, t)
		if err == nil {
			err = x.handOver(ctx, key, l)
		}
		if err == nil {
			return true
		}
		x.fails(t.host, broken(t.host, err))
		var unwanted *unwantedNow
		if x.taken == before || ctx.Err() != nil || errors.As(err, &unwanted) {
			return false
		}
		if x.dials++; x.dials > maxDials {
			return false
		}
	}
}

// handOver sends all copies that are left. An error means that copies remain, none of which this
// server has.
func (x *exchange) handOver(ctx context.Context, key string, l *link) error {
	if x.Greeted != nil {
		x.Greeted()
	}
	l.begin(ctx)
	err := x.handAll(l)
	l.end()
	if err != nil {
		l.Close()
		return err
	}
	x.courier.pool.put(key, l)
	return nil
}

// handAll sends the copies one after the other. A copy that this server refuses temporarily is left
// for another server, and the next copy is tried: the refusal may concern only that recipient.
func (x *exchange) handAll(l *link) error {
	var later []envelope
	var why error // the reason that copies are left for another server
	for len(x.left) > 0 {
		e := x.left[0]
		v, err := l.transact(x, e)
		var unwanted *unwantedNow
		switch {
		case errors.As(err, &unwanted):
			later, why = append(later, e), err
			x.left = x.left[1:]
			continue
		case err != nil:
			x.left = append(x.left, later...)
			return err
		}
		x.settle(e, v, l)
		if x.left = x.left[1:]; v.outcome == delivery.Delivered {
			x.taken++
			if more := len(x.left)+len(later) > 0; more && x.Taken != nil {
				x.Taken(x.Rcpts[e.index], l.host)
			}
		}
		if l.spent && len(x.left) > 0 {
			x.left = append(x.left, later...)
			return &trouble{because(delivery.Broken, "%s ended the connection", l.host)}
		}
	}
	x.left = later
	return why
}

// fails records why host did not accept the copies. A server's own reply wins over our own words.
func (x *exchange) fails(host string, t *trouble) {
	if t.code != 0 {
		x.mx = host
	}
	if x.last == nil || t.code != 0 || x.last.code == 0 {
		x.last = t
	}
}

// exhausted reports that no server was found for the copies that are left.
func (x *exchange) exhausted(domain string) {
	if x.last == nil {
		x.settleAll(because(delivery.NoRoute, "No mail server of %s can be reached", domain))
		return
	}
	x.settleAll(x.last.verdict)
}
