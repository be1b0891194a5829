package courier

import (
	"fmt"
	"strconv"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/core/delivery"
)

// sendCopy sends one copy (RFC 5321 section 3.3). An error means that this server does not have it.
// After unwantedNow the link can send other copies; after any other error it is unusable.
func (l *link) sendCopy(x *exchange, e copyEnvelope) (deliveryVerdict, error) {
	if v, bad := l.unsupportedFeature(x, e); bad {
		return v, nil
	}
	if x.mustShorten {
		e.shortenSender()
	}
	v, accepted, err := l.sendEnvelope(x, e)
	if err == nil && x.senderRefused && e.shortenSender() {
		x.mustShorten = true
		return l.sendCopy(x, e)
	}
	if err != nil || !accepted {
		return v, err
	}
	l.messageCount++
	return l.sendContent(x.Raw)
}

// unwantedNow is a temporary refusal of one copy.
type unwantedNow struct{ *connectionError }

func (u *unwantedNow) Unwrap() error { return u.connectionError }

// unsupportedFeature reports why the server cannot accept the copy, if its EHLO reply says so.
func (l *link) unsupportedFeature(x *exchange, e copyEnvelope) (deliveryVerdict, bool) {
	switch {
	case e.utf8 && !l.ext.smtpUTF8:
		return localVerdict(delivery.NeedsSMTPUTF8, "%s does not accept non-ASCII addresses (SMTPUTF8)", l.hostName), true
	case x.eightBit && !l.ext.eightBit && !l.ext.smtpUTF8:
		return localVerdict(delivery.Needs8Bit, "%s does not accept 8-bit messages (8BITMIME)", l.hostName), true
	case l.ext.sizeLimit > 0 && int64(len(x.Raw)) > l.ext.sizeLimit:
		return localVerdict(delivery.TooLarge, "The message has %d bytes, but %s accepts at most %d", len(x.Raw), l.hostName, l.ext.sizeLimit), true
	}
	return deliveryVerdict{}, false
}

// envelopeCommands returns the commands before the content, in order.
func (l *link) envelopeCommands(x *exchange, e copyEnvelope) []string {
	mail, rcpt := "MAIL FROM:<"+address.WireForm(e.mailFrom)+">", "RCPT TO:<"+address.WireForm(e.rcpt)+">"
	if l.ext.sizeLimit > 0 {
		mail += " SIZE=" + strconv.Itoa(len(x.Raw))
	}
	if l.ext.eightBit && (x.eightBit || e.utf8) {
		mail += " BODY=8BITMIME"
	}
	if e.utf8 {
		mail += " SMTPUTF8"
	}
	if l.ext.dsn && e.mailFrom != "" { // the null sender gets no reports
		mail += " RET=HDRS"
		rcpt += reportFor(e.rcpt)
	}
	return []string{mail, rcpt, "DATA"}
}

// reportFor requests a report on a failed delivery. The report names rcpt as we know it, wherever
// the message was forwarded to (RFC 3461 sections 4.1 and 4.2). A report on a delay would change
// nothing.
func reportFor(rcpt string) string {
	const maxOriginal = 500 // octets, RFC 3461 section 4.2
	original := "rfc822;" + xtext(rcpt, "+%02X")
	if !address.IsASCII(rcpt) {
		original = "utf-8;" + xtext(rcpt, `\x{%X}`) // RFC 6533 section 3
	}
	if len(original) > maxOriginal {
		return " NOTIFY=FAILURE"
	}
	return " NOTIFY=FAILURE ORCPT=" + original
}

// xtext escapes what a parameter's value must not contain (RFC 3461 section 4).
func xtext(s, escape string) string {
	var b strings.Builder
	for _, r := range s {
		plain := r > ' ' && r < 0x7f && r != '+' && r != '='
		if plain && (r != '\\' || escape[0] == '+') {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, escape, r)
		}
	}
	return b.String()
}

// sendEnvelope sends everything up to DATA. accepted means that the server waits for the content.
func (l *link) sendEnvelope(x *exchange, e copyEnvelope) (v deliveryVerdict, accepted bool, err error) {
	next, err := l.replySequence(l.envelopeCommands(x, e))
	if err != nil {
		return deliveryVerdict{}, false, err
	}
	mail, err := next()
	v = replyVerdict(mail)
	x.senderRefused = err == nil && v.outcome == delivery.OutcomePermanent
	switch {
	case err != nil:
		return deliveryVerdict{}, false, err
	case !mail.ok() && v.outcome == delivery.OutcomeTemporary:
		return deliveryVerdict{}, false, sessionRefusal(mail)
	case !mail.ok() && !l.ext.pipelining:
		return v, false, nil
	}
	rcpt, err := next()
	if err != nil {
		return deliveryVerdict{}, false, err
	}
	if mail.ok() {
		v = replyVerdict(rcpt)
	}
	if accepted = v.outcome == delivery.OutcomeDelivered; !accepted && !l.ext.pipelining {
		return v, false, nil
	}
	data, err := next()
	switch {
	case err != nil:
		return deliveryVerdict{}, false, err
	case data.code == 354 && !accepted: // RFC 2920 section 3.1: an empty message without recipients
		_, err = l.sendCommand(".")
		return v, false, err
	case data.code == 354 || !accepted:
		return v, accepted, nil
	case data.code < 400:
		return deliveryVerdict{}, false, sessionRefusal(data) // not a valid reply to DATA
	case data.code < 500:
		return deliveryVerdict{}, false, &unwantedNow{&connectionError{replyVerdict(data)}}
	}
	return replyVerdict(data), false, nil
}

// replySequence returns a function that returns the reply to each command in turn. With PIPELINING (RFC
// 2920) it sends all commands at once, after RSET if the link sent a message before. Without, next
// sends each command when it is called.
func (l *link) replySequence(commands []string) (next func() (serverReply, error), err error) {
	reset := l.wasUsed
	if l.wasUsed = true; reset {
		commands = append([]string{"RSET"}, commands...)
	}
	next = func() (serverReply, error) {
		command := commands[0]
		commands = commands[1:]
		return l.sendCommand(command)
	}
	if l.ext.pipelining {
		for _, command := range commands {
			l.queueCommand(command)
		}
		if err := l.flushOutput(); err != nil {
			return nil, err
		}
		next = func() (serverReply, error) { return l.awaitReply(l.timeouts.Command, nil) }
	}
	if reset {
		r, err := next()
		if err == nil && !r.ok() {
			err = errReply
		}
		return next, err
	}
	return next, nil
}
