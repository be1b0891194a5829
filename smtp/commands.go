package smtp

import (
	"bytes"
	"crypto/tls"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"inboxd/internal/base/address"
	"inboxd/smtp/lines"
)

// send writes a reply of our own.
func (s *session) send(r *reply) {
	if _, err := s.Conn.Write(r.line()); err != nil {
		s.closing = true
	}
}

// hangUp sends a last reply and ends the session.
func (s *session) hangUp(r *reply) {
	s.send(r)
	s.closing = true
}

// command reads one command line and either answers it or returns it: then it is go-smtp's to
// read.
func (s *session) command() []byte {
	s.answered()
	if s.refusals >= maxRefusals {
		s.hangUp(replyErrors)
		return nil
	}
	line, err := s.await()
	if err != nil {
		s.leave(err)
		return nil
	}
	text := string(bytes.TrimRight(line, "\r\n"))
	verb, arg, _ := strings.Cut(text, " ")
	verb = asciiUpper(verb)
	s.timed = timed{command: verb, began: time.Now()}
	switch word, misplaced := firstWord(text), s.misplaced(verb); {
	case webMethods[word], strings.Contains(text, " HTTP/"):
		s.hangUp(s.refuse(replyWeb))
	case strings.HasPrefix(word, "BDAT"): // however it is spelt, a chunk may follow
		return s.chunk(text)
	case !isPlain(text), verb != "MAIL" && verb != "RCPT" && !address.IsASCII(text):
		s.send(s.refuse(replyControl))
	case !isWord(verb):
		// go-smtp folds case by Unicode: a long s would make another STARTTLS.
		s.send(s.refuse(replyCommand))
	case verb == "STARTTLS" && s.offersTLS():
		s.startTLS(arg)
	case verb == "STARTTLS" && s.secure:
		s.send(s.refuse(replySecure))
	case strings.HasPrefix(verb, "STARTTLS") && verb != "STARTTLS":
		s.send(s.refuse(replyCommand))
	case misplaced != nil:
		s.send(s.refuse(misplaced))
	case verb == "MAIL" && s.declaredTooLarge(arg):
		s.send(s.refuse(replyTooLarge))
	default:
		if verb == "RCPT" {
			line, arg = s.complete(line, arg)
		}
		s.note(verb, arg)
		return line
	}
	return nil
}

// misplaced returns the reply to a command that is out of sequence (RFC 5321 sections 4.1.4 and
// 4.3.2, RFC 4954 section 4), else nil. go-smtp would reply that it is not implemented.
func (s *session) misplaced(verb string) *reply {
	begins := verb == "MAIL" || verb == "AUTH"
	switch {
	case !begins && verb != "RCPT" && verb != "DATA":
		return nil
	case s.helo == nil:
		return replyGreet
	case s.tx.chunking, begins && s.tx.open:
		return replySequence
	case verb == "RCPT" && !s.tx.open:
		return replyNoMail
	case verb == "DATA" && len(s.tx.env.RcptTo) == 0:
		return replyNoRcpt
	}
	return nil
}

// complete gives the one recipient that needs no domain, postmaster (RFC 5321 section
// 4.5.1), ours. Whether there is such an inbox is then asked as for any other.
func (s *session) complete(line []byte, arg string) ([]byte, string) {
	const bare = "postmaster"
	to, params, found := strings.Cut(arg, ">")
	if !found || !isASCIIFold(strings.ReplaceAll(to, " ", ""), "TO:<POSTMASTER") {
		return line, arg
	}
	arg = "TO:<" + bare + "@" + s.srv.opts.Domain + ">" + params
	return []byte("RCPT " + arg + "\r\n"), arg
}

// note keeps what go-smtp will not tell.
func (s *session) note(verb, arg string) {
	switch verb {
	case "HELO", "EHLO":
		s.esmtp = verb == "EHLO"
	case "MAIL", "RCPT":
		s.path = pathOf(arg)
	}
}

// await returns the next command line. A line must come whole within the time allowed for
// silence: bytes that trickle gain nothing.
func (s *session) await() ([]byte, error) {
	timeout := s.srv.opts.IdleTimeout
	if !s.heard {
		timeout = s.srv.opts.SilentTimeout
	}
	until := time.Now().Add(timeout)
	if body := &s.tx.body; body.charged > 0 && body.progress.Until.Before(until) {
		until = body.progress.Until // between chunks too, memory is held by sending alone
	}
	line, err := s.Line(until, !s.tx.open)
	s.heard = true
	return line, err
}

// leave says good-bye to a peer that sends no usable line.
func (s *session) leave(err error) {
	switch {
	case errors.Is(err, lines.ErrLong):
		s.hangUp(s.refuse(replyLongLine))
	case errors.Is(err, lines.ErrTLS):
		s.refuse(replyCommand) // which the peer could not read
		s.closing = true
	case errors.Is(err, lines.ErrDraining):
		s.hangUp(replyShutdown)
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.srv.stats.timeouts.Add(1)
		s.hangUp(replyIdle)
	default: // the peer has gone, often enough without QUIT
		s.closing = true
	}
}

func (s *session) offersTLS() bool { return s.srv.opts.TLSConfig != nil && !s.secure }

// startTLS hands the connection to a new session under TLS, so that nothing said in clear
// is remembered (RFC 3207 section 4.2). Bytes that were sent behind the command without
// waiting for our 220 stay behind in this session's buffer.
func (s *session) startTLS(arg string) {
	if arg != "" {
		s.send(s.refuse(replyArgument))
		return
	}
	s.send(replyStartTLS)
	s.closing = true
	if s.SetReadDeadline(time.Now().Add(s.srv.opts.SilentTimeout)) != nil || s.Flush() != nil {
		return
	}
	next := newSession(s.srv, tls.Server(s.Conn.Conn, s.srv.opts.TLSConfig), s.peer)
	next.resumed = true
	s.reset()
	s.detached = true
	s.srv.replace(s, next)
}

// declaredTooLarge reports a SIZE parameter above the limit. go-smtp takes one beyond 32
// bits for a syntax error; RFC 1870 allows 20 digits.
func (s *session) declaredTooLarge(arg string) bool {
	for param := range strings.FieldsSeq(arg) {
		name, digits, _ := strings.Cut(param, "=")
		if !isASCIIFold(name, "SIZE") || digits == "" || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || int64(n) > s.srv.opts.MaxMessageBytes {
			return true
		}
	}
	return false
}

// pathOf returns the mailbox of a MAIL or RCPT argument exactly as it stands on the wire,
// without its angle brackets and source route. go-smtp's own parser strips quotes before
// anyone can object to them.
func pathOf(arg string) string {
	_, path, _ := strings.Cut(arg, ":")
	path = strings.TrimSpace(path)
	if !strings.HasPrefix(path, "<") {
		path, _, _ = strings.Cut(path, " ")
		return unrouted(path)
	}
	quoted := false
	for i := 1; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '>' && !quoted:
			return unrouted(path[1:i])
		}
	}
	return unrouted(path[1:])
}

// unrouted returns a path without its source route, @one,@two:joe@three, which a server ignores
// (RFC 5321 section 4.1.1.3 and appendix C).
func unrouted(path string) string {
	if !strings.HasPrefix(path, "@") {
		return path
	}
	_, mailbox, _ := strings.Cut(path, ":")
	return mailbox
}

// webMethods begin requests of HTTP, whatever follows. A web page can have a browser inside send
// one here, with commands of ours as its body.
var webMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true,
	"OPTIONS": true, "CONNECT": true, "TRACE": true, "PRI": true,
}

// firstWord returns the ASCII letters that a line begins with, in upper case, behind blanks and
// control characters.
func firstWord(line string) string {
	line = strings.TrimLeftFunc(line, func(r rune) bool { return r <= ' ' })
	if end := strings.IndexFunc(line, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }); end >= 0 {
		line = line[:end]
	}
	return asciiUpper(line)
}

// isPlain reports a line without control characters.
func isPlain(line string) bool {
	return !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// isWord reports ASCII letters only. An empty line is go-smtp's to refuse.
func isWord(verb string) bool {
	return !strings.ContainsFunc(verb, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// isASCIIFold compares without the case of ASCII letters. A letter beyond ASCII that folds to
// one within takes more bytes than it.
func isASCIIFold(s, t string) bool { return len(s) == len(t) && strings.EqualFold(s, t) }

// asciiUpper folds ASCII letters and leaves the rest alone, unlike strings.ToUpper.
func asciiUpper(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}
