package courier

import (
	"fmt"
	"strconv"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/core/delivery"
)

// transact sends one copy (RFC 5321 section 3.3). An error means that this server does not have it.
// After unwantedNow the link can send other copies; after any other error it is unusable.
func (l *link) transact(x *exchange, e envelope) (verdict, error) {
	if v, bad := l.unable(x, e); bad {
		return v, nil
	}
	if x.short {
		e.shorten()
	}
	v, accepted, err := l.envelope(x, e)
	if err == nil && x.refused && e.shorten() {
		x.short = true
		return l.transact(x, e)
	}
	if err != nil || !accepted {
		return v, err
	}
	l.mails++
	return l.content(x.Raw)
}

// unwantedNow is a temporary refusal of one copy.
type unwantedNow struct{ *trouble }

func (u *unwantedNow) Unwrap() error { return u.trouble }

// unable reports why the server cannot accept the copy, if its EHLO reply says so.
func (l *link) unable(x *exchange, e envelope) (verdict, bool) {
	switch {
	case e.utf8 && !l.ext.smtpUTF8:
		return because(delivery.NeedsSMTPUTF8, "%s does not accept non-ASCII addresses (SMTPUTF8)", l.host), true
	case x.eightBit && !l.ext.eightBit && !l.ext.smtpUTF8:
		return because(delivery.Needs8Bit, "%s does not accept 8-bit messages (8BITMIME)", l.host), true
	case l.ext.limit > 0 && int64(len(x.Raw)) > l.ext.limit:
		return because(delivery.TooLarge, "The message has %d bytes, but %s accepts at most %d", len(x.Raw), l.host, l.ext.limit), true
	}
	return verdict{}, false
}

// commands returns the commands before the content, in order.
func (l *link) commands(x *exchange, e envelope) []string {
	mail, rcpt := "MAIL FROM:<"+address.Written(e.mailFrom)+">", "RCPT TO:<"+address.Written(e.rcpt)+">"
	if l.ext.limit > 0 {
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

// envelope sends everything up to DATA. accepted means that the server waits for the content.
func (l *link) envelope(x *exchange, e envelope) (v verdict, accepted bool, err error) {
	next, err := l.dialogue(l.commands(x, e))
	if err != nil {
		return verdict{}, false, err
	}
	mail, err := next()
	v = judge(mail)
	x.refused = err == nil && v.outcome == delivery.Permanent
	switch {
	case err != nil:
		return verdict{}, false, err
	case !mail.ok() && v.outcome == delivery.Temporary:
		return verdict{}, false, refusal(mail)
	case !mail.ok() && !l.ext.pipelining:
		return v, false, nil
	}
	rcpt, err := next()
	if err != nil {
		return verdict{}, false, err
	}
	if mail.ok() {
		v = judge(rcpt)
	}
	if accepted = v.outcome == delivery.Delivered; !accepted && !l.ext.pipelining {
		return v, false, nil
	}
	data, err := next()
	switch {
	case err != nil:
		return verdict{}, false, err
	case data.code == 354 && !accepted: // RFC 2920 section 3.1: an empty message without recipients
		_, err = l.command(".")
		return v, false, err
	case data.code == 354 || !accepted:
		return v, accepted, nil
	case data.code < 400:
		return verdict{}, false, refusal(data) // not a valid reply to DATA
	case data.code < 500:
		return verdict{}, false, &unwantedNow{&trouble{judge(data)}}
	}
	return judge(data), false, nil
}

// dialogue returns a function that returns the reply to each command in turn. With PIPELINING (RFC
// 2920) it sends all commands at once, after RSET if the link sent a message before. Without, next
// sends each command when it is called.
func (l *link) dialogue(commands []string) (next func() (reply, error), err error) {
	reset := l.used
	if l.used = true; reset {
		commands = append([]string{"RSET"}, commands...)
	}
	next = func() (reply, error) {
		command := commands[0]
		commands = commands[1:]
		return l.command(command)
	}
	if l.ext.pipelining {
		for _, command := range commands {
			l.say(command)
		}
		if err := l.flush(); err != nil {
			return nil, err
		}
		next = func() (reply, error) { return l.hear(l.timeouts.Command, nil) }
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
