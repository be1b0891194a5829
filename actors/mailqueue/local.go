package mailqueue

import (
	"context"
	"fmt"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/core/inbox"
)

// sort separates recipients on this node, including those at verified own domains, from all others.
func (q *Queue) sort(ctx context.Context, rcpts []string) (here, away []string) {
	own := map[string]bool{}
	for _, rcpt := range rcpts {
		host := address.DomainOf(rcpt)
		if _, known := own[host]; !known {
			own[host] = q.isOurs(host) || q.Local.ReceivesHere(ctx, host)
		}
		if own[host] {
			here = append(here, rcpt)
		} else {
			away = append(away, rcpt)
		}
	}
	return here, away
}

// handHere delivers a message to recipients on this node, as if it came from outside.
func (q *Queue) handHere(ctx context.Context, t *task, rcpts []string) []Handover {
	out := make([]Handover, len(rcpts))
	for i, rcpt := range rcpts {
		out[i] = q.handToOne(ctx, t, rcpt)
	}
	return out
}

func (q *Queue) handToOne(ctx context.Context, t *task, rcpt string) Handover {
	receipt := q.Local.Receive(ctx, canonical(rcpt), t.local())
	h := Handover{Rcpt: rcpt, Outcome: receipt.Outcome(), MX: q.Domain}
	h.Code, h.Enhanced, h.Text = receipt.Reply()
	return h
}

func canonical(rcpt string) string {
	if to, ok := address.Inbox(rcpt); ok {
		return to
	}
	return rcpt
}

// incoming puts Return-Path and Received above a message. All recipients share the bytes, in memory
// and on disk, so Received names the recipient only if there is just one.
func (q *Queue) incoming(t *task) Incoming {
	var in Incoming
	if !t.message.Sending.Auto {
		in.MailFrom = t.key.address
	}
	by := fmt.Sprintf("Received: by %s with LOCAL id %d.%d", q.Domain, t.key.id, t.number)
	if rcpts := t.message.Sending.Recipients; len(rcpts) == 1 {
		by += fmt.Sprintf("\r\n\tfor <%s>", canonical(rcpts[0].Email))
	} else {
		in.Shared = new(inbox.Shared)
	}
	trace := fmt.Appendf(nil, "Return-Path: <%s>\r\n%s;\r\n\t%s\r\n", in.MailFrom, by, q.now().Format(time.RFC1123Z))
	in.Raw, in.TraceLen = append(trace, t.raw...), len(trace)
	return in
}
