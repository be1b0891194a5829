package mailqueue

import (
	"context"
	"fmt"
	"time"

	"inboxd/internal/address"
	"inboxd/internal/delivery"
	"inboxd/internal/fault"
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
	h := localReply(q.Local.Receive(ctx, from, to, append(trace, t.raw...), len(trace)))
	h.Rcpt, h.MX = rcpt, q.Domain
	return h
}

// localReply is what became of a mail in the words that a server would have for it.
func localReply(err error) Handover {
	if err == nil {
		return Handover{Outcome: delivery.Delivered, Code: 250, Enhanced: "2.0.0", Text: "250 2.0.0 OK"}
	}
	switch fault.KindOf(err) {
	case fault.NoInbox:
		return Handover{Outcome: delivery.Permanent, Code: 550, Enhanced: "5.1.1", Text: "550 5.1.1 No such inbox here"}
	case fault.InboxFull:
		return Handover{Outcome: delivery.Temporary, Code: 452, Enhanced: "4.2.2", Text: "452 4.2.2 The recipient's inbox is full"}
	}
	return Handover{Outcome: delivery.Temporary, Code: 451, Enhanced: "4.3.0", Text: "451 4.3.0 The mail could not be stored, it is tried again"}
}
