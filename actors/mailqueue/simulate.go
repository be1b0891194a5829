package mailqueue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
)

const (
	// simulatedDeferrals is how many attempts for deferred@ fail.
	simulatedDeferrals = 2
	// simulatedDelay is how long after its acceptance a message to slow@ is delivered.
	simulatedDelay = 5 * time.Second
)

// simulatedReplies are the replies of the simulated recipients, by local part.
var simulatedReplies = map[string]Handover{
	"bounced":  {Outcome: delivery.OutcomeDelivered, Code: 250, Enhanced: "2.0.0", Text: "250 2.0.0 OK (simulated, a bounce follows)"},
	"deferred": {Outcome: delivery.OutcomeTemporary, Code: 451, Enhanced: "4.7.1", Text: "451 4.7.1 Simulated: try again later"},
	"slow":     {Outcome: delivery.OutcomeDelivered, Code: 250, Enhanced: "2.0.0", Text: "250 2.0.0 OK (simulated)"},
	"rejected": {Outcome: delivery.OutcomePermanent, Code: 550, Enhanced: "5.1.1", Text: "550 5.1.1 Simulated: no such mailbox"},
}

// simulatedRole returns which simulated recipient an address is, if the server simulates. A tag does
// not matter, so that a test can distinguish its messages.
func (q *Queue) simulatedRole(rcpt string) string {
	local, host := address.Split(address.WithoutTag(canonicalRecipient(rcpt)))
	if !q.SimulateRecipients || host != "simulate."+q.ServiceDomain {
		return ""
	}
	return local
}

// simulateRecipient delivers a message to a simulated recipient; false for other recipients.
func (q *Queue) simulateRecipient(t *attemptTask, rcpt string) (h Handover, simulated bool) {
	role := q.simulatedRole(rcpt)
	if h, simulated = simulatedReplies[role]; !simulated {
		return h, false
	}
	h.Rcpt, h.MX = rcpt, "simulate."+q.ServiceDomain
	if role == "deferred" && t.attemptNumber > simulatedDeferrals {
		h.Outcome, h.Code, h.Enhanced, h.Text = delivery.OutcomeDelivered, 250, "2.0.0", "250 2.0.0 OK (simulated)"
	}
	return h, true
}

// earliestAttempt returns when a message may be attempted. One to slow@ waits without a worker.
func (q *Queue) earliestAttempt(m *inbox.Message) time.Time {
	isSlow := func(r inbox.OutgoingRecipient) bool { return q.simulatedRole(r.Email) == "slow" }
	if due := m.ReceivedAt.Add(simulatedDelay); due.After(m.OutgoingDelivery.NextDue) && slices.ContainsFunc(m.OutgoingDelivery.Recipients, isSlow) {
		return due
	}
	return m.OutgoingDelivery.NextDue
}

// returnSimulated returns the messages that bounced@ accepted, as its server would: by a report to
// the return path. If the process dies before that, the report is lost, as another server's may be.
func (q *Queue) returnSimulated(ctx context.Context, t *attemptTask, reports []Handover) {
	for _, r := range reports {
		if q.simulatedRole(r.Rcpt) != "bounced" || t.message.OutgoingDelivery.ServiceWritten {
			continue
		}
		index := slices.IndexFunc(t.message.OutgoingDelivery.Recipients, func(to inbox.OutgoingRecipient) bool { return to.Email == r.Rcpt })
		path := q.ReturnPath(t.messageKey.address, t.messageKey.id, index)
		report := fmt.Appendf(nil, simulatedReport, r.MX, path, q.now().Format(time.RFC1123Z), r.MX, r.Rcpt)
		if got := q.LocalReceiver.ReceiveLocal(ctx, canonicalRecipient(path), Incoming{RawMessage: report}); got != delivery.StoredLocally {
			q.Logger.Warn("simulated bounce was not received", "inbox", t.messageKey.address, "message_id", t.messageKey.id, "to", r.Rcpt)
		}
	}
}

// simulatedReport is a report of RFC 3464. Its code is about a policy, so the address is not
// suppressed and a test can be repeated (ADR 0124).
const simulatedReport = "From: mailer-daemon@%s\r\nTo: %s\r\nDate: %s\r\nSubject: Undelivered mail\r\nMIME-Version: 1.0\r\n" +
	"Content-Type: multipart/report; report-type=delivery-status; boundary=report\r\n\r\n" +
	"--report\r\nContent-Type: text/plain\r\n\r\nThe message could not be delivered.\r\n" +
	"--report\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; %s\r\n\r\n" +
	"Final-Recipient: rfc822; %s\r\nAction: failed\r\nStatus: 5.7.1\r\n" +
	"Diagnostic-Code: smtp; 550 5.7.1 Simulated: the message was accepted and then returned\r\n\r\n--report--\r\n"
