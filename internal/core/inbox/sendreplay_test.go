package inbox_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/persist/persisttest"
)

func submit(auto bool, to ...string) inbox.Submit {
	recipients := make([]inbox.OutgoingRecipient, len(to))
	for i, email := range to {
		recipients[i] = inbox.To(email)
	}
	return inbox.Submit{
		From: message.Mailbox{Email: "a@inbox.localhost"}, Subject: "sent", Raw: []byte("Subject: sent\r\n\r\n"), Recipients: recipients, ServiceWritten: auto,
		Content: &inbox.Content{Doc: message.ParsedMessage{Subject: "sent", MessageID: "sent@inbox.localhost"}},
	}
}

func adds(cmd inbox.Command) bool {
	switch cmd.(type) {
	case inbox.Receive, inbox.Submit, inbox.ApplyMeetingPlan:
		return true
	}
	return false
}

// drawSending makes commands of sending, both valid and late.
func drawSending(t *rapid.T, id int64) []inbox.Command {
	outcome := func(name string) delivery.AttemptOutcome {
		return delivery.AttemptOutcome(rapid.IntRange(0, 2).Draw(t, name))
	}
	next := time.Time{}
	if rapid.Bool().Draw(t, "again") {
		next = start.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "next")) * time.Hour)
	}
	return []inbox.Command{
		submit(false, "x@far.test"), submit(false, "x@far.test", "y@other.test"), submit(true, "x@far.test"),
		inbox.BeginAttempt{ID: id, SigningResult: inbox.MessageSigned, SignatureFields: []byte("DKIM-Signature: x\r\n")}, inbox.BeginAttempt{ID: id, SigningResult: inbox.MessageUnsigned},
		inbox.ReportAttempt{ID: id, AttemptNumber: rapid.IntRange(1, 2).Draw(t, "attempt"), IsDone: rapid.Bool().Draw(t, "done"), NextAttempt: next, Reports: []inbox.AttemptReport{
			{Email: "x@far.test", Outcome: outcome("x"), Error: "451 later", MX: "mx.far.test"}, {Email: "y@other.test", Outcome: outcome("y"), Error: "550 no"},
		}},
		inbox.RecordBounce{ID: id, Recipient: "x@far.test", Error: "5.1.1 gone"}, inbox.Requeue{ID: id}, inbox.MendEntry{ID: id, At: start.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "astray")) * time.Hour)}, inbox.GiveUp{ID: id, FailureReason: "dropped"},
		inbox.DeferMessages{At: start.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "at")) * time.Hour), MessageDeferrals: []inbox.Deferral{
			{ID: id, FailureReason: "silent", Jitter: rapid.Float64Range(0, 0.99).Draw(t, "jitter")}, {ID: id + 1, FailureReason: "silent"}, {ID: id + 3, FailureReason: "silent"},
		}},
	}
}

// compareQueue checks that the queue's index has exactly one entry for each waiting message: at its
// time, with the domains of the waiting recipients.
func compareQueue(t rapid.TB, s *inbox.State, store *persisttest.TestStore) {
	var want []string
	for _, m := range s.Messages {
		if !m.IsWaiting() {
			if m.OutgoingDelivery != nil && (!m.OutgoingDelivery.NextDue.IsZero() || m.OutgoingDelivery.AttemptLeased) {
				t.Fatalf("message %d is %s and due at %v", m.ID, m.OutgoingDelivery.Status, m.OutgoingDelivery.NextDue)
			}
			continue
		}
		var domains []string
		for d := range m.OutgoingDelivery.PendingByDomain() {
			domains = append(domains, d)
		}
		slices.Sort(domains)
		want = append(want, fmt.Sprint(m.ID, m.OutgoingDelivery.NextDue, m.ReceivedAt, domains, m.OutgoingDelivery.AttemptLeased))
	}
	queue, _, err := store.MailQueue(inbox.QueueEntry{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range queue {
		got = append(got, fmt.Sprint(q.ID, q.At, q.AcceptedAt, q.WaitingDomains, q.AttemptLeased))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Fatalf("the queue holds %v, the messages want %v", got, want)
	}
}

// TestALateReportChangesTheEntry has an attempt's report arrive after the message was deferred. The
// deferred time stays, but the waiting domains change.
func TestALateReportChangesTheEntry(t *testing.T) {
	store, s := persisttest.OpenStore(t), &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	for _, cmd := range []inbox.Command{
		create(), submit(false, "x@far.test", "y@other.test"),
		inbox.DeferMessages{At: start, MessageDeferrals: []inbox.Deferral{{ID: 1, FailureReason: "silent"}}},
		inbox.ReportAttempt{ID: 1, AttemptNumber: 1, Reports: []inbox.AttemptReport{{Email: "y@other.test", Outcome: delivery.OutcomePermanent, Error: "550 no"}}},
	} {
		evs, _, err := inbox.Decide(s, cmd, env(start))
		if err != nil || len(evs) == 0 {
			t.Fatalf("%T: %v %v", cmd, evs, err)
		}
		if err := store.CommitInbox(change(s, evs)); err != nil {
			t.Fatal(err)
		}
		compareQueue(t, s, store)
	}
}
