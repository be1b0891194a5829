package smtp

import (
	"bytes"
	"net/netip"
	"strings"
	"time"

	"inboxd/internal/base/address"
)

// maxReceived is the number of Received fields above which a message is considered to be in a loop.
// RFC 5321 section 6.3 requires at least 100.
const maxReceived = 100

// traceDate has a fixed width in UTC, so that stampTrace can overwrite the time at which DATA began
// with the time of arrival.
const traceDate = "Mon, 02 Jan 2006 15:04:05 +0000"

// appendTrace appends the Return-Path and Received lines of RFC 5321 section 4.4. The date must be
// last: see stampTrace.
func appendTrace(b []byte, env *Envelope, domain string, esmtp bool) []byte {
	b = append(b, "Return-Path: <"...)
	b = append(b, env.MailFrom...)
	b = append(b, ">\r\nReceived: from "...)
	b = append(b, env.Helo...)
	b = append(b, " ("...)
	b = appendLiteral(b, env.RemoteIP)
	b = append(b, ")\r\n\tby "...)
	b = append(b, domain...)
	b = append(b, " with "...)
	b = append(b, withProtocol(env, esmtp)...)
	b = append(b, " id "...)
	b = append(b, env.ID...)
	if len(env.RcptTo) == 1 { // more would reveal the recipients to each other
		b = append(b, "\r\n\tfor <"...)
		b = append(b, env.RcptTo[0]...)
		b = append(b, '>')
	}
	b = append(b, ";\r\n\t"...)
	b = env.ReceivedAt.AppendFormat(b, traceDate)
	return append(b, crlf...)
}

// stampTrace overwrites the date of a trace that appendTrace made.
func stampTrace(trace []byte, at time.Time) {
	at.AppendFormat(trace[:len(trace)-len(traceDate)-len(crlf)], traceDate)
}

func appendLiteral(b []byte, ip netip.Addr) []byte {
	switch {
	case !ip.IsValid():
		return append(b, "unknown"...)
	case ip.Is4():
		b = append(b, '[')
	default:
		b = append(b, "[IPv6:"...)
	}
	return append(ip.WithZone("").AppendTo(b), ']')
}

// withProtocol returns the registered value for "with", RFC 3848 and RFC 6531 section 4.3.
func withProtocol(env *Envelope, esmtp bool) string {
	switch {
	case env.SMTPUTF8 && env.TLS:
		return "UTF8SMTPS"
	case env.SMTPUTF8:
		return "UTF8SMTP"
	case env.TLS:
		return "ESMTPS"
	case esmtp:
		return "ESMTP"
	}
	return "SMTP"
}

// printableHelo returns the peer's HELO name. Characters that could have a meaning inside a header
// field are replaced.
func printableHelo(helo string) string {
	if helo == "" {
		return "unknown"
	}
	b := []byte(helo[:min(len(helo), address.MaxName)])
	for i, c := range b {
		if !isHeloByte(c) {
			b[i] = '?'
		}
	}
	return string(b)
}

func isHeloByte(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z':
		return true
	}
	return strings.IndexByte(".-_:[]", c) >= 0
}

var (
	crlf         = []byte("\r\n")
	receivedName = []byte("received:")
)

// isLooping reports whether the header of a message has more than maxReceived Received fields. The
// lines must end in CRLF.
func isLooping(msg []byte) bool {
	count := 0
	for len(msg) > 0 {
		line, rest, _ := bytes.Cut(msg, crlf)
		if len(line) == 0 {
			return false
		}
		if len(line) >= len(receivedName) && bytes.EqualFold(line[:len(receivedName)], receivedName) {
			if count++; count > maxReceived {
				return true
			}
		}
		msg = rest
	}
	return false
}
