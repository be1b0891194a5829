package courier

import (
	"bytes"
	"strconv"

	"inboxd/internal/delivery"
)

// transact hands one mail over (RFC 5321 section 3.3). An error means that the link is of no
// more use and nothing was handed over.
func (l *link) transact(a *exchange) ([]verdict, error) {
	if v, bad := l.unable(a); bad {
		return a.all(v), nil
	}
	results, accepted, err := l.envelope(a)
	if err != nil || !accepted {
		return results, err
	}
	l.mails++
	final, err := l.content(a.raw)
	if err != nil {
		return nil, err
	}
	for i := range results {
		if results[i].outcome == delivery.Delivered {
			results[i] = final
		}
	}
	return results, nil
}

// unable says what the server could not take.
func (l *link) unable(a *exchange) (verdict, bool) {
	switch {
	case a.utf8 && !l.ext.smtpUTF8:
		return because(delivery.NeedsSMTPUTF8, "%s can't take mail with addresses outside of ASCII (SMTPUTF8)", l.host), true
	case a.eightBit && !l.ext.eightBit && !l.ext.smtpUTF8:
		return because(delivery.Needs8Bit, "%s can't take mail outside of ASCII (8BITMIME)", l.host), true
	case l.ext.limit > 0 && int64(len(a.raw)) > l.ext.limit:
		return because(delivery.TooLarge, "The mail has %d bytes, %s takes at most %d", len(a.raw), l.host, l.ext.limit), true
	}
	return verdict{}, false
}

// commands are those before the content, in order.
func (l *link) commands(a *exchange) []string {
	mail := "MAIL FROM:<" + a.mailFrom + ">"
	if l.ext.limit > 0 {
		mail += " SIZE=" + strconv.Itoa(len(a.raw))
	}
	if l.ext.eightBit && (a.eightBit || a.utf8) {
		mail += " BODY=8BITMIME"
	}
	if a.utf8 {
		mail += " SMTPUTF8"
	}
	list := []string{mail}
	for _, rcpt := range a.rcpts {
		list = append(list, "RCPT TO:<"+rcpt+">")
	}
	return append(list, "DATA")
}

// envelope says everything up to DATA. accepted means that the content is expected and
// somebody gets it; their verdicts are Delivered for the time being.
func (l *link) envelope(a *exchange) (results []verdict, accepted bool, err error) {
	next, err := l.dialogue(l.commands(a))
	if err != nil {
		return nil, false, err
	}
	mail, err := next()
	switch {
	case err != nil:
		return nil, false, err
	case !mail.ok() && judge(mail).outcome == delivery.Temporary:
		return nil, false, refusal(mail)
	case !mail.ok() && !l.ext.pipelining:
		return a.all(judge(mail)), false, nil
	}
	results = a.all(judge(mail))
	for i := range a.rcpts {
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
		_, err = l.ask(".")
		return results, false, err
	case data.code == 354:
		return results, true, nil
	case !accepted:
		return results, false, nil
	case data.code < 500:
		return nil, false, refusal(data) // 2xx is no reply to DATA
	}
	for i := range results {
		if results[i].outcome == delivery.Delivered {
			results[i] = judge(data)
		}
	}
	return results, false, nil
}

// dialogue returns a function that gives the reply to each command in turn. With PIPELINING
// (RFC 2920) all are sent at once, with RSET in front after an earlier mail; without, each
// is sent when its turn comes.
func (l *link) dialogue(commands []string) (next func() (reply, error), err error) {
	reset := l.used
	l.used = true
	if !l.ext.pipelining {
		if reset {
			if a, err := l.ask("RSET"); err != nil || !a.ok() {
				return nil, errReplyOr(err)
			}
		}
		return func() (reply, error) {
			command := commands[0]
			commands = commands[1:]
			return l.ask(command)
		}, nil
	}
	if reset {
		l.say("RSET")
	}
	for _, command := range commands {
		l.say(command)
	}
	if err := l.flush(); err != nil {
		return nil, err
	}
	if reset {
		if a, err := l.hear(l.timeouts.Command, nil); err != nil || !a.ok() {
			return nil, errReplyOr(err)
		}
	}
	return func() (reply, error) { return l.hear(l.timeouts.Command, nil) }, nil
}

func errReplyOr(err error) error {
	if err == nil {
		err = errReply
	}
	return err
}

// content sends the mail with dots doubled (RFC 5321 section 4.5.2) and reads what became of
// it. Once the final dot may be on its way, no error can say any more that nothing was
// handed over.
func (l *link) content(raw []byte) (verdict, error) {
	whole := len(raw) == 0 || bytes.HasSuffix(raw, crlf)
	lineStarts := true
	for len(raw) > 0 {
		if lineStarts && raw[0] == '.' {
			l.out = append(l.out, '.')
		}
		n := min(len(raw), linkOutput)
		if i := bytes.Index(raw[:n], dotLine); i >= 0 {
			n = i + 1 // the next round begins with the dot
		}
		lineStarts = raw[n-1] == '\n'
		l.out = append(l.out, raw[:n]...)
		if raw = raw[n:]; len(l.out) < linkOutput {
			continue
		}
		if err := l.flush(); err != nil {
			return l.complaint(err)
		}
	}
	if !whole {
		l.out = append(l.out, "\r\n"...)
	}
	l.out = append(l.out, ".\r\n"...)
	if err := l.flush(); err != nil {
		return l.unknown(), nil
	}
	a, err := l.hear(l.timeouts.Dot, nil)
	if err != nil && a.code != 421 || a.code < 400 && !a.ok() {
		return l.unknown(), nil
	}
	l.spent = err != nil
	return judge(a), nil
}

var (
	crlf    = []byte("\r\n")
	dotLine = []byte("\n.")
)

// complaint looks for the words with which a server stopped to read; err is what the write
// brought.
func (l *link) complaint(err error) (verdict, error) {
	if a, late := l.hear(quitTime, nil); late == nil && a.code >= 400 {
		l.spent = true
		return judge(a), nil
	}
	return verdict{}, err
}

func (l *link) unknown() verdict {
	l.spent = true
	return because(delivery.Unknown, "The connection to %s broke before it confirmed the mail; it will be sent again and could arrive twice", l.host)
}
