package courier

import (
	"fmt"
	"strconv"
	"strings"

	"inboxd/internal/address"
	"inboxd/internal/delivery"
)

// transact hands one mail over (RFC 5321 section 3.3). An error means that the link is of no
// more use and nothing was handed over.
func (l *link) transact(x *exchange) ([]verdict, error) {
	if v, bad := l.unable(x); bad {
		return x.all(v), nil
	}
	results, accepted, err := l.envelope(x)
	if err == nil && x.refused && x.shorten() {
		return l.transact(x)
	}
	if err != nil || !accepted {
		return results, err
	}
	l.mails++
	final, err := l.content(x.raw)
	if err != nil {
		return nil, err
	}
	settle(results, final)
	return results, nil
}

// settle gives those their verdict who were Delivered for the time being.
func settle(results []verdict, v verdict) {
	for i := range results {
		if results[i].outcome == delivery.Delivered {
			results[i] = v
		}
	}
}

// unable says what the server could not take.
func (l *link) unable(x *exchange) (verdict, bool) {
	switch {
	case x.utf8 && !l.ext.smtpUTF8:
		return because(delivery.NeedsSMTPUTF8, "%s can't take mail with addresses outside of ASCII (SMTPUTF8)", l.host), true
	case x.eightBit && !l.ext.eightBit && !l.ext.smtpUTF8:
		return because(delivery.Needs8Bit, "%s can't take mail outside of ASCII (8BITMIME)", l.host), true
	case l.ext.limit > 0 && int64(len(x.raw)) > l.ext.limit:
		return because(delivery.TooLarge, "The mail has %d bytes, %s takes at most %d", len(x.raw), l.host, l.ext.limit), true
	}
	return verdict{}, false
}

// commands are those before the content, in order.
func (l *link) commands(x *exchange) []string {
	mail := "MAIL FROM:<" + address.Written(x.mailFrom) + ">"
	if l.ext.limit > 0 {
		mail += " SIZE=" + strconv.Itoa(len(x.raw))
	}
	if l.ext.eightBit && (x.eightBit || x.utf8) {
		mail += " BODY=8BITMIME"
	}
	if x.utf8 {
		mail += " SMTPUTF8"
	}
	reports := l.ext.dsn && x.mailFrom != "" // nobody reports to the null sender
	if reports {
		mail += " RET=HDRS"
	}
	list := []string{mail}
	for _, rcpt := range x.rcpts {
		command := "RCPT TO:<" + address.Written(rcpt) + ">"
		if reports {
			command += reportFor(rcpt)
		}
		list = append(list, command)
	}
	return append(list, "DATA")
}

// reportFor asks for a report on a failed delivery that names rcpt as we know it, wherever the
// message was forwarded to (RFC 3461 sections 4.1 and 4.2). A report on a delay would change nothing.
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

// xtext writes what can't stand in a parameter's value as escapes (RFC 3461 section 4).
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

// envelope says everything up to DATA. accepted means that the content is expected and
// somebody gets it; their verdicts are Delivered for the time being.
func (l *link) envelope(x *exchange) (results []verdict, accepted bool, err error) {
	next, err := l.dialogue(l.commands(x))
	if err != nil {
		return nil, false, err
	}
	mail, err := next()
	x.refused = err == nil && judge(mail).outcome == delivery.Permanent
	switch {
	case err != nil:
		return nil, false, err
	case !mail.ok() && judge(mail).outcome == delivery.Temporary:
		return nil, false, refusal(mail)
	case !mail.ok() && !l.ext.pipelining:
		return x.all(judge(mail)), false, nil
	}
	results = x.all(judge(mail))
	for i := range x.rcpts {
		rcpt, err := next()
		if err != nil {
			return nil, false, err
		}
		if mail.ok() {
			results[i] = judge(rcpt)
		}
		accepted = accepted || results[i].outcome == delivery.Delivered
	}
	if !accepted && !l.ext.pipelining {
		return results, false, nil
	}
	data, err := next()
	switch {
	case err != nil:
		return nil, false, err
	case data.code == 354 && !accepted: // RFC 2920 section 3.1: an empty mail for nobody
		_, err = l.command(".")
		return results, false, err
	case data.code == 354:
		return results, true, nil
	case !accepted:
		return results, false, nil
	case data.code < 500:
		return nil, false, refusal(data) // 2xx is no reply to DATA
	}
	settle(results, judge(data))
	return results, false, nil
}

// dialogue returns a function that gives the reply to each command in turn. With PIPELINING
// (RFC 2920) all are sent at once, with RSET in front after an earlier mail; without, each
// is sent when its turn comes.
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
