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
	maxReasonLen = 500 // octets of a RecipientOutcome's text
)

// exchange is one call of Deliver: it finds a server and sends it the copies. Only the goroutine of
// Deliver uses it.
type exchange struct {
	DeliveryRequest
	courier       *Courier
	reports       []RecipientOutcome // by recipient
	pendingCopies []copyEnvelope     // copies without a report
	acceptedCount int                // copies that servers accepted
	eightBit      bool               // Raw is not ASCII
	senderRefused bool               // the sender of the latest copy was refused permanently
	mustShorten   bool               // a server refused a sender longer than it must accept

	mx          string // server that replied last
	dialCount   int
	lastTrouble *connectionError // the most informative one
}

// copyEnvelope is the envelope of one recipient's copy.
type copyEnvelope struct {
	rcptIndex int // in Rcpts
	mailFrom  string
	rcpt      string
	utf8      bool // SMTPUTF8 is needed
}

// buildEnvelopes makes the envelopes. Recipients whose address cannot be sent are reported immediately.
func (x *exchange) buildEnvelopes() {
	x.eightBit = !isASCII7(x.Raw)
	wire := checkWire(x.Raw)
	for i, rcpt := range x.Rcpts {
		e, ok := copyEnvelope{rcptIndex: i}, true
		if x.Senders != nil && x.Senders[i] != "" {
			e.mailFrom, ok = address.CanonicalSender(x.Senders[i])
		}
		to, canBeWritten := address.CanonicalSender(rcpt)
		switch {
		case wire != "":
			x.reportOutcome(e, localVerdict(delivery.BadMessage, "The message contains %s and cannot be sent", wire), nil)
		case !ok:
			x.reportOutcome(e, localVerdict(delivery.BadAddress, "The sender's address cannot be used in SMTP"), nil)
		case !canBeWritten:
			x.reportOutcome(e, localVerdict(delivery.BadAddress, "This address cannot be used in SMTP"), nil)
		default:
			e.rcpt, e.utf8 = to, x.NeedUTF8 || !address.IsASCII(e.mailFrom) || !address.IsASCII(to)
			x.pendingCopies = append(x.pendingCopies, e)
		}
	}
}

// reportOutcome reports the outcome of a copy. l is the connection that it went over, nil for none.
func (x *exchange) reportOutcome(e copyEnvelope, v deliveryVerdict, l *link) {
	r := RecipientOutcome{Rcpt: x.Rcpts[e.rcptIndex], Outcome: v.outcome, Code: v.code, Enhanced: v.enhancedCode, Text: printableLine(v.text, maxReasonLen), MX: x.mx}
	if l != nil {
		r.MX, r.TLS = l.hostName, l.tls
	}
	x.reports[e.rcptIndex] = r
}

// settleAll reports the same outcome for all copies that are left.
func (x *exchange) settleAll(v deliveryVerdict) {
	for _, e := range x.pendingCopies {
		x.reportOutcome(e, v, nil)
	}
	x.pendingCopies = nil
}

// shortenSender removes the tag of a sender whose local part is longer than servers must accept
// (RFC 5321 section 4.5.3.1.1). A message whose bounces cannot be matched is better than one that
// is not sent. It returns false if nothing changed.
func (e *copyEnvelope) shortenSender() bool {
	local, _ := address.Split(e.mailFrom)
	if len(local) <= address.MaxLocal {
		return false
	}
	short := address.WithoutTag(e.mailFrom)
	changed := short != e.mailFrom
	e.mailFrom = short
	return changed
}

// deliverAll sends all copies for which it finds a server, and reports why the others were not sent.
func (x *exchange) deliverAll(ctx context.Context) {
	if x.courier.opts.Smarthost.Addr != "" {
		x.smarthost(ctx)
		return
	}
	domain, ok := address.CanonicalHost(strings.TrimSuffix(x.Domain, "."))
	if !ok {
		x.settleAll(localVerdict(delivery.BadAddress, "The recipient's domain cannot be looked up"))
		return
	}
	var policy stsPolicy
	stackpool.Do(func() { policy = x.courier.sts.policyFor(ctx, domain) })
	if x.overIdle(ctx, domain, policy.acceptsLink) {
		return
	}
	var hosts []string
	var v *deliveryVerdict
	if stackpool.Do(func() { hosts, v = x.courier.mailHosts(ctx, domain) }); v != nil {
		x.settleAll(*v)
		return
	}
	for _, host := range hosts {
		if x.tryHost(ctx, domain, host, policy) {
			return
		}
	}
	x.reportExhausted(domain)
}

func (x *exchange) smarthost(ctx context.Context) {
	if x.overIdle(ctx, "", func(*link) bool { return true }) {
		return
	}
	var targets []connectTarget
	var host string
	var why *connectionError
	if stackpool.Do(func() { targets, host, why = x.courier.smarthostTargets(ctx) }); why != nil {
		x.recordFailure(host, why)
	}
	for _, t := range targets {
		if x.deliverOver(ctx, "", t) {
			return
		}
		if ctx.Err() != nil {
			break
		}
	}
	x.reportExhausted(x.courier.opts.Smarthost.Addr)
}

// tryHost tries the addresses of one MX host. It returns true when no copy is left.
func (x *exchange) tryHost(ctx context.Context, domain, host string, policy stsPolicy) bool {
	if !policy.allowsHost(host) {
		x.recordFailure(host, &connectionError{localVerdict(delivery.TLSPolicy, "The MTA-STS policy does not allow the mail server %s for %s", host, domain)})
		return false
	}
	var addrs []netip.Addr
	var why *connectionError
	if stackpool.Do(func() { addrs, why = x.courier.lookupAddresses(ctx, host) }); why != nil {
		x.recordFailure(host, why)
	}
	for _, addr := range addrs {
		if x.dialCount++; x.dialCount > maxDials || ctx.Err() != nil {
			break
		}
		if x.deliverOver(ctx, domain, x.courier.mxTarget(host, addr, policy.isEnforced)) {
			return true
		}
	}
	return false
}

// overIdle uses an idle connection of an earlier exchange. Its error is not reported: the server
// may have closed it long ago.
func (x *exchange) overIdle(ctx context.Context, key string, fits func(*link) bool) bool {
	l := x.courier.pool.acquireLink(key, fits)
	return l != nil && x.handOver(ctx, key, l) == nil
}

// deliverOver connects to a target and sends it the copies that are left. If the connection ends
// after the server accepted some, it connects again, because servers limit the copies per
// connection. It returns true when no copy is left.
func (x *exchange) deliverOver(ctx context.Context, key string, t connectTarget) bool {
	for {
		before := x.acceptedCount
		l, err := x.courier.connect(ctx, t)
		if err == nil {
			err = x.handOver(ctx, key, l)
		}
		if err == nil {
			return true
		}
		x.recordFailure(t.host, networkError(t.label, err))
		var unwanted *unwantedNow
		if x.acceptedCount == before || ctx.Err() != nil || errors.As(err, &unwanted) {
			return false
		}
		if x.dialCount++; x.dialCount > maxDials {
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
	l.bindExchange(ctx)
	err := x.handAll(l)
	l.unbindExchange()
	if err != nil {
		l.Close()
		return err
	}
	x.courier.pool.releaseLink(key, l)
	return nil
}

// handAll sends the copies one after the other. A copy that this server refuses temporarily is left
// for another server, and the next copy is tried: the refusal may concern only that recipient.
func (x *exchange) handAll(l *link) error {
	var later []copyEnvelope
	var why error // the reason that copies are left for another server
	for len(x.pendingCopies) > 0 {
		e := x.pendingCopies[0]
		v, err := l.sendCopy(x, e)
		var unwanted *unwantedNow
		switch {
		case errors.As(err, &unwanted):
			later, why = append(later, e), err
			x.pendingCopies = x.pendingCopies[1:]
			continue
		case err != nil:
			x.pendingCopies = append(x.pendingCopies, later...)
			return err
		}
		x.reportOutcome(e, v, l)
		if x.pendingCopies = x.pendingCopies[1:]; v.outcome == delivery.OutcomeDelivered {
			x.acceptedCount++
			if more := len(x.pendingCopies)+len(later) > 0; more && x.Taken != nil {
				x.Taken(x.Rcpts[e.rcptIndex], l.hostName)
			}
		}
		if l.isSpent && len(x.pendingCopies) > 0 {
			x.pendingCopies = append(x.pendingCopies, later...)
			return &connectionError{localVerdict(delivery.ConnectionBroken, "%s ended the connection", l.hostName)}
		}
	}
	x.pendingCopies = later
	return why
}

// recordFailure records why host did not accept the copies. A server's own reply wins over our own
// words.
func (x *exchange) recordFailure(host string, t *connectionError) {
	if t.code != 0 {
		x.mx = host
	}
	if x.lastTrouble == nil || t.code != 0 || x.lastTrouble.code == 0 {
		x.lastTrouble = t
	}
}

// reportExhausted reports that no server was found for the copies that are left.
func (x *exchange) reportExhausted(domain string) {
	if x.lastTrouble == nil {
		x.settleAll(localVerdict(delivery.NoRoute, "No mail server of %s can be reached", domain))
		return
	}
	x.settleAll(x.lastTrouble.deliveryVerdict)
}
