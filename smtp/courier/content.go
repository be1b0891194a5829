package courier

import (
	"bytes"
	"unicode/utf8"

	"inboxd/internal/core/delivery"
)

// sendContent sends the message with leading dots doubled (RFC 5321 section 4.5.2) and reads the reply.
// Once the final dot may have been sent, a failure is reported as delivery.ReplyMissing and not as an
// error: an error means that the server does not have the message.
func (l *link) sendContent(raw []byte) (deliveryVerdict, error) {
	whole := len(raw) == 0 || bytes.HasSuffix(raw, crlf)
	lineStarts := true
	for len(raw) > 0 {
		if lineStarts && raw[0] == '.' {
			l.outBuffer = append(l.outBuffer, '.')
		}
		n := min(len(raw), linkOutput)
		if i := bytes.Index(raw[:n], dotLine); i >= 0 {
			n = i + 1 // the next iteration begins with the dot
		}
		lineStarts = raw[n-1] == '\n'
		l.outBuffer = append(l.outBuffer, raw[:n]...)
		if raw = raw[n:]; len(l.outBuffer) < linkOutput {
			continue
		}
		if err := l.flushOutput(); err != nil {
			return l.readComplaint(err)
		}
	}
	if !whole {
		l.outBuffer = append(l.outBuffer, "\r\n"...)
	}
	l.outBuffer = append(l.outBuffer, ".\r\n"...)
	if err := l.flushOutput(); err != nil {
		return l.ambiguousVerdict(), nil
	}
	r, err := l.awaitReply(l.timeouts.FinalDot, nil)
	if err != nil && r.code != 421 || r.code < 400 && !r.ok() {
		return l.ambiguousVerdict(), nil
	}
	l.isSpent = err != nil
	return replyVerdict(r), nil
}

var (
	crlf    = []byte("\r\n")
	dotLine = []byte("\n.")
)

// readComplaint looks for the reply with which a server stopped reading. err is the error of the write.
func (l *link) readComplaint(err error) (deliveryVerdict, error) {
	if r, late := l.awaitReply(quitTime, nil); late == nil && r.code >= 400 {
		l.isSpent = true
		return replyVerdict(r), nil
	}
	return deliveryVerdict{}, err
}

func (l *link) ambiguousVerdict() deliveryVerdict {
	l.isSpent = true
	return localVerdict(delivery.ReplyMissing, "The connection to %s broke before it confirmed the message, which will be sent again and could arrive twice", l.hostName)
}

// checkWire names what in raw must not be sent to any server, or returns "". What one server reads
// as a line end and the next does not can hide a second message (SMTP smuggling).
func checkWire(raw []byte) string {
	if bytes.IndexByte(raw, 0) >= 0 {
		return "a NUL"
	}
	for rest := raw; ; {
		i := bytes.IndexAny(rest, "\r\n")
		switch {
		case i < 0:
			return ""
		case rest[i] == '\n':
			return "a line feed without carriage return"
		case i+1 == len(rest) || rest[i+1] != '\n':
			return "a carriage return without line feed"
		}
		rest = rest[i+2:]
	}
}

func isASCII7(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
