package smtp

import (
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	gosmtp "github.com/emersion/go-smtp"
)

// The commands of a transaction never reach go-smtp: every mail has three, and it made some
// thirty pieces of garbage of them. What is answered here is answered in its words.

// transact does MAIL, RCPT or DATA.
func (s *session) transact(verb, arg string) {
	switch arg = strings.TrimSpace(arg); verb {
	case "MAIL":
		s.path = pathOf(arg)
		s.mail(arg)
	case "RCPT":
		arg = s.complete(arg)
		s.path = pathOf(arg)
		s.rcpt(arg)
	default:
		s.data(arg)
	}
}

// isTransaction reports the verbs of transact.
func isTransaction(verb string) bool { return verb == "MAIL" || verb == "RCPT" || verb == "DATA" }

// complete gives the one recipient that needs no domain, postmaster (RFC 5321 section
// 4.5.1), ours. Whether there is such an inbox is then asked as for any other.
func (s *session) complete(arg string) string {
	const bare = "postmaster"
	to, params, found := strings.Cut(arg, ">")
	if !found || !isASCIIFold(strings.ReplaceAll(to, " ", ""), "TO:<POSTMASTER") {
		return arg
	}
	return "TO:<" + bare + "@" + s.srv.opts.Domain + ">" + params
}

// mail opens a transaction. There is one only after HELO and outside another.
func (s *session) mail(arg string) {
	if s.smtp == nil {
		s.send(replyHello)
		return
	}
	path, params, ok := cutPath(arg, "FROM:")
	if !ok {
		s.send(replyMailSyntax)
		return
	}
	opts, r := readMailParams(params)
	if r == nil {
		r = s.open(opts)
	}
	if r != nil {
		s.send(r)
		return
	}
	s.say("250 2.0.0 Roger, accepting mail from <", path, ">")
}

func (s *session) open(opts mailParams) *reply {
	switch {
	case s.draining.Load():
		s.closing = true
		return replyShutdown
	case s.tx.open:
		return s.refuse(replySequence)
	case !s.srv.gate.open(time.Now()), opts.size > pooledBody && !s.srv.memory.fits(opts.size):
		return s.refuse(replyOverload)
	}
	tx := transaction{open: true, utf8: opts.utf8, size: opts.size}
	if s.path != "" { // empty for a bounce, RFC 5321 section 4.5.5
		from, err := canonicalSender(s.path, opts.utf8)
		if err != nil {
			return s.refuse(replyToAddress(err, replyBadSender))
		}
		tx.env.MailFrom = from
	}
	s.tx = tx
	return nil
}

// rcpt adds a recipient.
func (s *session) rcpt(arg string) {
	if !s.tx.open {
		s.send(replyNoMail)
		return
	}
	path, params, ok := cutPath(arg, "TO:")
	switch {
	case !ok:
		s.send(replyRcptSyntax)
		return
	case s.tx.rcpts >= s.srv.opts.MaxRecipients:
		s.say("452 4.5.3 Maximum limit of ", strconv.Itoa(s.srv.opts.MaxRecipients), " recipients reached")
		return
	}
	r := readRcptParams(params)
	if r == nil {
		r = s.address()
	}
	if r != nil {
		s.send(r)
		return
	}
	s.tx.rcpts++
	s.say("250 2.0.0 I'll make sure <", path, "> gets this")
}

// address asks for the recipient at once; one that was named before is taken again.
func (s *session) address() *reply {
	rcpt, err := Canonical(s.path, s.tx.utf8)
	if err != nil {
		return s.refuse(replyToAddress(err, replyBadRcpt))
	}
	if slices.Contains(s.tx.env.RcptTo, rcpt) {
		return nil
	}
	if err := s.srv.inboxes.Accepts(s.srv.ctx, rcpt); err != nil {
		return s.fail(err, slog.String("inbox", rcpt))
	}
	s.tx.env.RcptTo = append(s.tx.env.RcptTo, rcpt)
	return nil
}

// data takes a message.
func (s *session) data(arg string) {
	switch {
	case arg != "":
		s.send(replyDataArgument)
		return
	case len(s.tx.env.RcptTo) == 0:
		s.send(replyMissingRcpt)
		return
	}
	s.say("354 Go ahead. End your data with <CR><LF>.<CR><LF>")
	s.begin(true)
	if err := s.receive(); err != nil {
		s.finish(s.abort(err))
		return
	}
	s.finish(s.deliver())
}

// finish answers for the whole message, nil: it is stored. The answer leaves at once: a 250
// that waits for more input is a duplicate in the making.
func (s *session) finish(r *reply) {
	if r != nil {
		s.send(r)
	} else {
		s.say("250 2.0.0 OK, stored as ", s.stored.id)
	}
	s.Reset()
	if err := s.flush(); err != nil {
		s.closing = true
	}
}

// say writes a reply of one line.
func (s *session) say(words ...string) {
	for _, w := range words {
		s.out = append(s.out, w...)
	}
	s.out = append(s.out, crlf...)
}

// Mail, Rcpt and Data are what go-smtp wants of its Session. It is never asked for them.
func (s *session) Mail(string, *gosmtp.MailOptions) error { return replySequence }
func (s *session) Rcpt(string, *gosmtp.RcptOptions) error { return replySequence }
func (s *session) Data(io.Reader) error                   { return replySequence }

// cutPath takes the word and the path off the argument of MAIL or RCPT: an address, and only
// behind FROM: an empty one. How good an address it is Canonical says.
func cutPath(arg, word string) (path, params string, ok bool) {
	if len(arg) < len(word) || !isASCIIFold(arg[:len(word)], word) {
		return "", "", false
	}
	s := strings.TrimSpace(arg[len(word):])
	if rest, null := strings.CutPrefix(s, "<>"); null && word == "FROM:" {
		return "", rest, true
	}
	s, bracket := strings.CutPrefix(s, "<")
	if strings.HasPrefix(s, "@") { // a source route
		_, behind, found := strings.Cut(s, ":")
		if !found {
			return "", "", false
		}
		s = behind
	}
	at := localEnd(s)
	if at < 1 || at == len(s) || s[at] != '@' {
		return "", "", false
	}
	end := len(s)
	if i := strings.IndexAny(s[at:], " \t>"); i >= 0 {
		end = at + i
	}
	path, params = s[:end], s[end:]
	if bracket {
		params, bracket = strings.CutPrefix(params, ">")
		ok = bracket
	} else {
		ok = true
	}
	return path, params, ok && end > at+1
}

// localEnd is the length of the local part on top of s; 0 when there is none.
func localEnd(s string) int {
	if !strings.HasPrefix(s, `"`) {
		if i := strings.IndexAny(s, "@()<>[]:;\\,\" \t"); i >= 0 {
			return i
		}
		return len(s)
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			if i == 1 {
				return 0 // nothing in quotes
			}
			return i + 1
		}
	}
	return 0
}
