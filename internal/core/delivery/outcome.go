// Package delivery holds the rules of handing mail over: what an answer means, when to try
// again, what a message's status is, and what a bounce that comes back says. It is pure:
// it knows neither sockets nor timers, and time and chance are arguments.
package delivery

import "strings"

// Outcome is what one attempt meant for one recipient. The zero value is Temporary, so that
// what nobody classified is tried again and never bounces.
type Outcome uint8

const (
	Temporary Outcome = iota // try again later
	Delivered                // the next server took responsibility
	Permanent                // trying again can't help
)

var outcomeNames = [...]string{"temporary", "delivered", "permanent"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Classify says what an SMTP reply to MAIL, RCPT, DATA or the final dot means (RFC 5321
// section 4.2.1). enhanced is "" when there was none. The reply's code decides; two kinds of
// 5xx are nevertheless tried again: 552 to RCPT for too many recipients (RFC 5321 section
// 4.5.3.1.10, told by its enhanced code 4.x.x or 5.5.3), and a demand on us rather than on
// the mail (530, 534, 535, 538: authentication), which the operator can repair.
func Classify(code int, enhanced string) Outcome {
	switch {
	case code >= 200 && code < 300:
		return Delivered
	case code == 530, code == 534, code == 535, code == 538:
		return Temporary
	case code == 552 && (strings.HasPrefix(enhanced, "4.") || enhanced == "5.5.3"):
		return Temporary
	case code >= 500 && code < 600:
		return Permanent
	}
	return Temporary
}

// Cause is why an attempt ended without an SMTP reply about the recipient.
type Cause uint8

const (
	NoCause       Cause = iota
	NullMX              // the domain says that it takes no mail (RFC 7505)
	NoDomain            // the domain does not exist, or nothing of it could take mail
	BadAddress          // nothing that can be written in an SMTP command
	NeedsSMTPUTF8       // the server can't take an address outside of ASCII (RFC 6531)
	Needs8Bit           // the server can't take these bytes (RFC 6152)
	TooLarge            // above the SIZE the server announced (RFC 1870)
	DNSFailure          // the look-up failed, which says nothing about the domain
	NoRoute             // no address of the domain could be reached, or none may be
	TimedOut            // the peer was too slow
	Broken              // the connection broke, or the peer does not speak SMTP
	TLSPolicy           // the domain's MTA-STS policy, or ours, forbids this connection
	Unknown             // all bytes were sent, but no answer came: a repeat may be a second copy
	BadMessage          // lines that do not end in CRLF, or NUL: nothing that can be sent
)

// causes gives each Cause its enhanced code (RFC 3463, RFC 7505, RFC 6531).
var causes = [...]string{
	NoCause: "", NullMX: "5.1.10", NoDomain: "5.1.2", BadAddress: "5.1.3", NeedsSMTPUTF8: "5.6.7",
	Needs8Bit: "5.6.3", TooLarge: "5.3.4", DNSFailure: "4.4.3", NoRoute: "4.4.1", TimedOut: "4.4.2",
	Broken: "4.4.2", TLSPolicy: "4.7.5", Unknown: "4.4.2", BadMessage: "5.6.0",
}

// Enhanced returns the cause as an enhanced status code.
func (c Cause) Enhanced() string {
	if int(c) < len(causes) {
		return causes[c]
	}
	return ""
}

// Outcome says what the cause means for the recipient (specification, Sending).
func (c Cause) Outcome() Outcome {
	if strings.HasPrefix(c.Enhanced(), "5.") {
		return Permanent
	}
	return Temporary
}
