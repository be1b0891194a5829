// Package delivery holds the rules of outgoing delivery: what an SMTP reply means, when to retry,
// what a message's status is, and what a returned bounce says. It is pure: it knows neither sockets
// nor timers, and time and randomness are arguments.
package delivery

import "strings"

// AttemptOutcome is the result of one attempt for one recipient. The zero value is
// OutcomeTemporary, so an unclassified result is retried and never bounces.
type AttemptOutcome uint8

const (
	OutcomeTemporary AttemptOutcome = iota // retry later
	OutcomeDelivered                       // the next server took responsibility
	OutcomePermanent                       // a retry cannot help
)

var outcomeNames = [...]string{"temporary", "delivered", "permanent"}

func (o AttemptOutcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// ClassifyReply returns the meaning of an SMTP reply to MAIL, RCPT, DATA or the final dot (RFC 5321
// section 4.2.1). enhanced is "" if the reply had none. The reply code decides, but two kinds of
// 5xx are retried. The first is 552 to RCPT for too many recipients (RFC 5321 section 4.5.3.1.10),
// recognized by its enhanced code 4.x.x or 5.5.3. The second is a requirement on this server rather
// than on the message (530, 534, 535, 538: authentication), because the operator can fix it.
func ClassifyReply(code int, enhanced string) AttemptOutcome {
	switch {
	case code >= 200 && code < 300:
		return OutcomeDelivered
	case code == 530, code == 534, code == 535, code == 538:
		return OutcomeTemporary
	case code == 552 && (strings.HasPrefix(enhanced, "4.") || enhanced == "5.5.3"):
		return OutcomeTemporary
	case code >= 500 && code < 600:
		return OutcomePermanent
	}
	return OutcomeTemporary
}

// FailureCause is why an attempt ended without an SMTP reply about the recipient.
type FailureCause uint8

// The causes. Outcome says which of them are final.
const (
	NoCause          FailureCause = iota
	NullMX                        // the domain declares that it does not accept mail (RFC 7505)
	NoDomain                      // the domain does not exist, or has no host that could accept mail
	BadAddress                    // the address cannot be written in an SMTP command
	NeedsSMTPUTF8                 // the server does not support non-ASCII addresses (RFC 6531)
	Needs8Bit                     // the server does not support 8-bit content (RFC 6152)
	TooLarge                      // above the SIZE that the server announced (RFC 1870)
	DNSFailure                    // the lookup failed, which says nothing about the domain
	NoRoute                       // no address of the domain is reachable or permitted
	TimedOut                      // the peer was too slow
	ConnectionBroken              // the connection broke, or the peer does not speak SMTP
	TLSPolicy                     // the domain's MTA-STS policy, or ours, forbids this connection
	ReplyMissing                  // all bytes were sent, but no reply came: a retry may create a duplicate
	BadMessage                    // contains NUL or lines that do not end in CRLF, and cannot be sent
)

// causeCodes gives each FailureCause its enhanced code (RFC 3463, RFC 7505, RFC 6531).
var causeCodes = [...]string{
	NoCause: "", NullMX: "5.1.10", NoDomain: "5.1.2", BadAddress: "5.1.3", NeedsSMTPUTF8: "5.6.7",
	Needs8Bit: "5.6.3", TooLarge: "5.3.4", DNSFailure: "4.4.3", NoRoute: "4.4.1", TimedOut: "4.4.2",
	ConnectionBroken: "4.4.2", TLSPolicy: "4.7.5", ReplyMissing: "4.4.2", BadMessage: "5.6.0",
}

// EnhancedCode returns the cause as an enhanced status code.
func (c FailureCause) EnhancedCode() string {
	if int(c) < len(causeCodes) {
		return causeCodes[c]
	}
	return ""
}

// AttemptOutcome returns what the cause means for the recipient (specification, Sending).
func (c FailureCause) Outcome() AttemptOutcome {
	if strings.HasPrefix(c.EnhancedCode(), "5.") {
		return OutcomePermanent
	}
	return OutcomeTemporary
}
