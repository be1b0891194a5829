package mailqueue

import (
	"context"
	"fmt"
	"time"

	"inboxd/internal/address"
)

// sort tells recipients on this node, of verified own domains too, from all others.
func (q *Queue) sort(rcpts []string) (here, away []string) {
	for _, rcpt := range rcpts {
		if host := address.DomainOf(rcpt); q.isOurs(host) || q.Local.IsVerified(host) {
			here = append(here, rcpt)
		} else {
			away = append(away, rcpt)
		}
	}
	return here, away
}

// handHere hands a mail to recipients on this node, as if it came from outside.
func (q *Queue) handHere(ctx context.Context, t *task, rcpts []string) []Handover {
	out := make([]Handover, len(rcpts))
	for i, rcpt := range rcpts {
		out[i] = q.handToOne(ctx, t, rcpt)
	}
	return out
}

func (q *Queue) handToOne(ctx context.Context, t *task, rcpt string) Handover {
	to, ok := address.Inbox(rcpt)
	if !ok {
		to = rcpt
	}
	from := ""
	if !t.message.Sending.Auto {
		from = t.key.address
	}
	trace := fmt.Appendf(nil, "Return-Path: <%s>\r\nReceived: by %s with LOCAL id %d.%d\r\n\tfor <%s>;\r\n\t%s\r\n",
		from, q.Domain, t.key.id, t.number, to, q.now().Format(time.RFC1123Z))
	receipt := q.Local.Receive(ctx, from, to, append(trace, t.raw...), len(trace))
	h := Handover{Rcpt: rcpt, Outcome: receipt.Outcome(), MX: q.Domain}
	h.Code, h.Enhanced, h.Text = receipt.Reply()
	return h
}
