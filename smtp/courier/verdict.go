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

// verdict is the outcome of an exchange for one recipient, or for all.
type verdict struct {
	outcome  delivery.Outcome
	code     int
	enhanced string
	text     string
}

// because returns a verdict that is not based on a reply.
func because(c delivery.Cause, format string, args ...any) verdict {
	return verdict{c.Outcome(), 0, c.Enhanced(), fmt.Sprintf(format, args...)}
}

// judge returns the verdict of a reply about the message or a recipient. A refusal without text
// gets an explanatory one.
func judge(r reply) verdict {
	text := r.String()
	if r.text == "" && !r.ok() {
		text = delivery.RecipientReport{Status: r.enhanced, Diagnostic: text}.Reason()
	}
	return verdict{delivery.Classify(r.code, r.enhanced), r.code, r.enhanced, text}
}

// trouble is an error that ends a connection but not the exchange: nothing was sent, and another
// server may accept the copies.
type trouble struct{ verdict }

func (t *trouble) Error() string { return t.text }

// refusal returns the error for a reply that concerns the session, not the message. It is never
// permanent: a server that refuses us today says nothing about the recipient.
func refusal(r reply) error {
	return &trouble{verdict{delivery.Temporary, r.code, r.enhanced, r.String()}}
}

// broken returns the error for a failure of the network at host.
func broken(host string, err error) *trouble {
	var already *trouble
	var refused *netguard.Refused
	switch {
	case errors.As(err, &already):
		return already
	case errors.As(err, &refused):
		return &trouble{because(delivery.NoRoute, "%s cannot be used: %s", host, refused)}
	case isTimeout(err):
		return &trouble{because(delivery.TimedOut, "%s did not respond in time", host)}
	case errors.Is(err, context.Canceled):
		return &trouble{because(delivery.TimedOut, "The attempt was cancelled")}
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return &trouble{because(delivery.NoRoute, "%s cannot be reached", host)}
	}
	return &trouble{because(delivery.Broken, "The connection to %s broke: %s", host, plainReason(err))}
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

// printable returns s as one printable line of at most max octets.
func printable(s string, max int) string {
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
