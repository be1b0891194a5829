package mailqueue

import (
	"context"
	"fmt"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/core/inbox"
)

// splitRecipients separates recipients on this node, including those at verified own domains, from
// all others.
func (q *Queue) splitRecipients(ctx context.Context, rcpts []string) (here, away []string) {
	own := map[string]bool{}
	for _, rcpt := range rcpts {
		host := address.DomainOf(rcpt)
		if _, known := own[host]; !known {
			own[host] = q.isServiceHost(host) || q.LocalReceiver.ReceivesHere(ctx, host)
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
func (q *Queue) handHere(ctx context.Context, t *attemptTask, rcpts []string) []Handover {
	out := make([]Handover, len(rcpts))
	for i, rcpt := range rcpts {
		out[i] = q.handToOne(ctx, t, rcpt)
	}
	return out
}

func (q *Queue) handToOne(ctx context.Context, t *attemptTask, rcpt string) Handover {
	if h, simulated := q.simulateRecipient(t, rcpt); simulated {
		return h
	}
	receipt := q.LocalReceiver.ReceiveLocal(ctx, canonicalRecipient(rcpt), t.localMessage())
	h := Handover{Rcpt: rcpt, Outcome: receipt.Outcome(), MX: q.ServiceDomain}
	h.Code, h.Enhanced, h.Text = receipt.SMTPReply()
	return h
}

func canonicalRecipient(rcpt string) string {
	if to, ok := address.CanonicalInbox(rcpt); ok {
		return to
	}
	return rcpt
}

// buildIncoming puts Return-Path and Received above a message. All recipients share the bytes, in
// memory and on disk, so Received names the recipient only if there is just one.
func (q *Queue) buildIncoming(t *attemptTask) Incoming {
	var in Incoming
	if !t.message.OutgoingDelivery.ServiceWritten {
		in.MailFrom = t.messageKey.address
	}
	by := fmt.Sprintf("Received: by %s with LOCAL id %d.%d", q.ServiceDomain, t.messageKey.id, t.attemptNumber)
	if rcpts := t.message.OutgoingDelivery.Recipients; len(rcpts) == 1 {
		by += fmt.Sprintf("\r\n\tfor <%s>", canonicalRecipient(rcpts[0].Email))
	} else {
		in.SharedBody = new(inbox.SharedStorage)
	}
	trace := fmt.Appendf(nil, "Return-Path: <%s>\r\n%s;\r\n\t%s\r\n", in.MailFrom, by, q.now().Format(time.RFC1123Z))
	in.RawMessage, in.TraceLen = append(trace, t.signedRaw...), len(trace)
	return in
}
