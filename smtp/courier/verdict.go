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

// verdict is what an exchange brought for one recipient, or for all.
type verdict struct {
	outcome  delivery.Outcome
	code     int
	enhanced string
	text     string
}

// because makes a verdict that no reply gave.
func because(c delivery.Cause, format string, args ...any) verdict {
	return verdict{c.Outcome(), 0, c.Enhanced(), fmt.Sprintf(format, args...)}
}

// judge makes a verdict of a reply about the mail or a recipient. A refusal without words is put in words.
func judge(r reply) verdict {
	text := r.String()
	if r.text == "" && !r.ok() {
		text = delivery.RecipientReport{Status: r.enhanced, Diagnostic: text}.Reason()
	}
	return verdict{delivery.Classify(r.code, r.enhanced), r.code, r.enhanced, text}
}

// trouble is an error that ends a connection but not the exchange: nothing was handed over,
// and another server may take it.
type trouble struct{ verdict }

func (t *trouble) Error() string { return t.text }

// refusal makes trouble of a reply to the session, not to the mail. It is never final: a
// server that wants nothing of us today says nothing about the recipient.
func refusal(r reply) error {
	return &trouble{verdict{delivery.Temporary, r.code, r.enhanced, r.String()}}
}

// broken makes trouble of what the network said about host.
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

// plainReason leaves the addresses of our own side out of an error.
func plainReason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}

// printable makes one line of at most max octets that can be shown to a person.
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
