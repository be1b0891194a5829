package courier

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"inboxd/internal/base/netguard"
	"inboxd/internal/core/delivery"
)

// deliveryVerdict is the outcome of an exchange for one recipient, or for all.
type deliveryVerdict struct {
	outcome      delivery.AttemptOutcome
	code         int
	enhancedCode string
	text         string
}

// localVerdict returns a verdict that is not based on a reply.
func localVerdict(c delivery.FailureCause, format string, args ...any) deliveryVerdict {
	return deliveryVerdict{c.Outcome(), 0, c.EnhancedCode(), fmt.Sprintf(format, args...)}
}

// replyVerdict returns the verdict of a reply about the message or a recipient. A refusal without text
// gets an explanatory one.
func replyVerdict(r serverReply) deliveryVerdict {
	text := r.String()
	if r.text == "" && !r.ok() {
		text = delivery.RecipientReport{Status: r.enhancedCode, Diagnostic: text}.Reason()
	}
	return deliveryVerdict{delivery.ClassifyReply(r.code, r.enhancedCode), r.code, r.enhancedCode, text}
}

// connectionError is an error that ends a connection but not the exchange: nothing was sent, and
// another server may accept the copies.
type connectionError struct{ deliveryVerdict }

func (t *connectionError) Error() string { return t.text }

// sessionRefusal returns the error for a reply that concerns the session, not the message. It is never
// permanent: a server that refuses us today says nothing about the recipient.
func sessionRefusal(r serverReply) error {
	return &connectionError{deliveryVerdict{delivery.OutcomeTemporary, r.code, r.enhancedCode, r.String()}}
}

// networkError returns the error for a failure of the network at host.
func networkError(host string, err error) *connectionError {
	var already *connectionError
	var refused *netguard.RefusedError
	switch {
	case errors.As(err, &already):
		return already
	case errors.As(err, &refused):
		return &connectionError{localVerdict(delivery.NoRoute, "%s cannot be used: %s", host, refused)}
	case isTimeout(err):
		return &connectionError{localVerdict(delivery.TimedOut, "%s did not respond in time", host)}
	case errors.Is(err, context.Canceled):
		return &connectionError{localVerdict(delivery.TimedOut, "The attempt was cancelled")}
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return &connectionError{localVerdict(delivery.NoRoute, "%s cannot be reached: %s", host, plainReason(err))}
	}
	return &connectionError{localVerdict(delivery.ConnectionBroken, "The connection to %s broke: %s", host, plainReason(err))}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// plainReason returns an error's text without our own addresses.
func plainReason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}

// printableLine returns s as one printable line of at most max octets.
func printableLine(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "")
	}
	return strings.TrimSpace(s)
}
