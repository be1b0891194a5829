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

// writeReply writes one of our own replies.
func (s *session) writeReply(r *smtpReply) {
	if _, err := s.Conn.Write(r.formatLine()); err != nil {
		s.isClosing = true
	}
}

// hangUp sends a final reply and ends the session.
func (s *session) hangUp(r *smtpReply) {
	s.writeReply(r)
	s.isClosing = true
}

// readCommand reads one command line. It either replies itself, or returns the line for go-smtp to
// process.
func (s *session) readCommand() []byte {
	s.recordDuration()
	if s.refusalCount >= maxRefusals {
		s.hangUp(replyErrors)
		return nil
	}
	line, err := s.awaitLine()
	if err != nil {
		s.sayGoodbye(err)
		return nil
	}
	text := string(bytes.TrimRight(line, "\r\n"))
	verb, arg, _ := strings.Cut(text, " ")
	verb = asciiUpper(verb)
	s.commandTimer = commandTimer{command: verb, startedAt: time.Now()}
	switch word, misplaced := firstWord(text), s.checkSequence(verb); {
	case webMethods[word], strings.Contains(text, " HTTP/"):
		s.hangUp(s.recordRefusal(replyWeb))
	case strings.HasPrefix(word, "BDAT"): // however it is spelled, a chunk may follow
		return s.readChunk(text)
	case !isPlain(text), verb != "MAIL" && verb != "RCPT" && !address.IsASCII(text):
		s.writeReply(s.recordRefusal(replyControl))
	case !isWord(verb):
		// go-smtp folds case by Unicode rules: with a long s (U+017F), another word becomes
		// STARTTLS.
		s.writeReply(s.recordRefusal(replyCommand))
	case verb == "STARTTLS" && s.offersTLS():
		s.startTLS(arg)
	case verb == "STARTTLS" && s.isTLS:
		s.writeReply(s.recordRefusal(replySecure))
	case strings.HasPrefix(verb, "STARTTLS") && verb != "STARTTLS":
		s.writeReply(s.recordRefusal(replyCommand))
	case misplaced != nil:
		s.writeReply(s.recordRefusal(misplaced))
	case verb == "MAIL" && s.declaredTooLarge(arg):
		s.writeReply(s.recordRefusal(replyTooLarge))
	default:
		if verb == "RCPT" {
			line, arg = s.completePostmaster(line, arg)
		}
		s.recordCommand(verb, arg)
		return line
	}
	return nil
}

// checkSequence returns the reply to a command that is out of sequence (RFC 5321 sections 4.1.4 and
// 4.3.2, RFC 4954 section 4), else nil. go-smtp would reply 502, "not implemented".
func (s *session) checkSequence(verb string) *smtpReply {
	begins := verb == "MAIL" || verb == "AUTH"
	switch {
	case !begins && verb != "RCPT" && verb != "DATA":
		return nil
	case s.helo == nil:
		return replyGreet
	case s.tx.chunking, begins && s.tx.isOpen:
		return replySequence
	case verb == "RCPT" && !s.tx.isOpen:
		return replyNoMail
	case verb == "DATA" && len(s.tx.env.RcptTo) == 0:
		return replyNoRcpt
	}
	return nil
}

// completePostmaster appends our domain to postmaster, the only recipient that is valid without one
// (RFC 5321 section 4.5.1). Whether that inbox exists is then checked like any other.
func (s *session) completePostmaster(line []byte, arg string) ([]byte, string) {
	const bare = "postmaster"
	to, params, found := strings.Cut(arg, ">")
	if !found || !isASCIIFold(strings.ReplaceAll(to, " ", ""), "TO:<POSTMASTER") {
		return line, arg
	}
	arg = "TO:<" + bare + "@" + s.srv.opts.Domain + ">" + params
	return []byte("RCPT " + arg + "\r\n"), arg
}

// recordCommand stores what go-smtp does not pass on.
func (s *session) recordCommand(verb, arg string) {
	switch verb {
	case "HELO", "EHLO":
		s.esmtp = verb == "EHLO"
	case "MAIL", "RCPT":
		s.commandPath = pathOf(arg)
	}
}

// awaitLine returns the next command line. The whole line must arrive within the timeout: single bytes
// that trickle in do not extend it.
func (s *session) awaitLine() ([]byte, error) {
	timeout := s.srv.opts.IdleTimeout
	if !s.commandReceived {
		timeout = s.srv.opts.SilentTimeout
	}
	until := time.Now().Add(timeout)
	if body := &s.tx.body; body.chargedOctets > 0 && body.progress.NextDeadline.Before(until) {
		until = body.progress.NextDeadline // between chunks, too, a body may hold memory only while it makes progress
	}
	line, err := s.ReadLine(until, !s.tx.isOpen)
	s.commandReceived = true
	return line, err
}

// sayGoodbye ends a session whose peer sent no usable line.
func (s *session) sayGoodbye(err error) {
	switch {
	case errors.Is(err, lines.ErrLong):
		s.hangUp(s.recordRefusal(replyLongLine))
	case errors.Is(err, lines.ErrTLS):
		s.recordRefusal(replyCommand) // the peer could not read a reply
		s.isClosing = true
	case errors.Is(err, lines.ErrDraining):
		s.hangUp(replyShutdown)
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.srv.stats.timeouts.Add(1)
		s.hangUp(replyIdle)
	default: // the peer disconnected, often without QUIT
		s.isClosing = true
	}
}

func (s *session) offersTLS() bool { return s.srv.opts.TLSConfig != nil && !s.isTLS }

// startTLS passes the connection to a new session under TLS, so that nothing said in plain text is
// remembered (RFC 3207 section 4.2). Bytes that the peer sent after the command without waiting for
// our 220 are dropped with this session's buffer.
func (s *session) startTLS(arg string) {
	if arg != "" {
		s.writeReply(s.recordRefusal(replyArgument))
		return
	}
	s.writeReply(replyStartTLS)
	s.isClosing = true
	if s.SetReadDeadline(time.Now().Add(s.srv.opts.SilentTimeout)) != nil || s.Flush() != nil {
		return
	}
	next := newSession(s.srv, tls.Server(s.Conn.Conn, s.srv.opts.TLSConfig), s.peer)
	next.isResumed = true
	s.resetTransaction()
	s.isDetached = true
	s.srv.replaceSession(s, next)
}

// declaredTooLarge reports a SIZE parameter above the limit. go-smtp reports a value beyond 32 bits
// as a syntax error; RFC 1870 allows 20 digits.
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

// pathOf returns the mailbox of a MAIL or RCPT argument exactly as it was sent, without its angle
// brackets and source route. go-smtp's own parser strips quotes before we could reject them.
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

// webMethods are the first words of HTTP requests. A web page can make a browser inside our network
// send such a request here, with SMTP commands as its body.
var webMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true,
	"OPTIONS": true, "CONNECT": true, "TRACE": true, "PRI": true,
}

// firstWord returns the ASCII letters at the start of a line, in upper case. Leading blanks and
// control characters are skipped.
func firstWord(line string) string {
	line = strings.TrimLeftFunc(line, func(r rune) bool { return r <= ' ' })
	if end := strings.IndexFunc(line, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }); end >= 0 {
		line = line[:end]
	}
	return asciiUpper(line)
}

// isPlain reports whether a line has no control characters.
func isPlain(line string) bool {
	return !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// isWord reports whether verb has upper-case ASCII letters only. An empty verb passes: go-smtp
// refuses it.
func isWord(verb string) bool {
	return !strings.ContainsFunc(verb, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// isASCIIFold compares two strings, ignoring the case of ASCII letters. The lengths must be equal,
// because a non-ASCII letter that folds to an ASCII one has more bytes.
func isASCIIFold(s, t string) bool { return len(s) == len(t) && strings.EqualFold(s, t) }

// asciiUpper converts ASCII letters to upper case. Unlike strings.ToUpper it changes nothing else.
func asciiUpper(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}
