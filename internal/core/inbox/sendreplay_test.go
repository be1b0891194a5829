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
	recipients := make([]inbox.Recipient, len(to))
	for i, email := range to {
		recipients[i] = inbox.To(email)
	}
	return inbox.Submit{
		From: message.Mailbox{Email: "a@inbox.localhost"}, Subject: "sent", Raw: []byte("Subject: sent\r\n\r\n"), Recipients: recipients, Auto: auto,
		Content: &inbox.Content{Doc: message.Document{Subject: "sent", MessageID: "sent@inbox.localhost"}},
	}
}

func adds(cmd inbox.Command) bool {
	switch cmd.(type) {
	case inbox.Receive, inbox.Submit, inbox.Arrange:
		return true
	}
	return false
}

// drawSending makes commands of sending, both valid and late.
func drawSending(t *rapid.T, id int64) []inbox.Command {
	outcome := func(name string) delivery.Outcome { return delivery.Outcome(rapid.IntRange(0, 2).Draw(t, name)) }
	next := time.Time{}
	if rapid.Bool().Draw(t, "again") {
		next = start.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "next")) * time.Hour)
	}
	return []inbox.Command{
		submit(false, "x@far.test"), submit(false, "x@far.test", "y@other.test"), submit(true, "x@far.test"),
		inbox.Attempt{ID: id, Signed: inbox.Signed, Fields: []byte("DKIM-Signature: x\r\n")}, inbox.Attempt{ID: id, Signed: inbox.Unsigned},
		inbox.Attempted{ID: id, Attempt: rapid.IntRange(1, 2).Draw(t, "attempt"), Done: rapid.Bool().Draw(t, "done"), Next: next, Reports: []inbox.Report{
			{Email: "x@far.test", Outcome: outcome("x"), Error: "451 later", MX: "mx.far.test"}, {Email: "y@other.test", Outcome: outcome("y"), Error: "550 no"},
		}},
		inbox.Bounce{ID: id, Recipient: "x@far.test", Error: "5.1.1 gone"}, inbox.Requeue{ID: id}, inbox.MendEntry{ID: id, At: start.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "astray")) * time.Hour)}, inbox.GiveUp{ID: id, Why: "dropped"},
		inbox.Defer{At: start.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "at")) * time.Hour), Mails: []inbox.Deferral{
			{ID: id, Why: "silent", Jitter: rapid.Float64Range(0, 0.99).Draw(t, "jitter")}, {ID: id + 1, Why: "silent"}, {ID: id + 3, Why: "silent"},
		}},
	}
}

// compareQueue checks that the queue's index has exactly one entry for each waiting message: at its
// time, with the domains of the waiting recipients.
func compareQueue(t rapid.TB, s *inbox.State, store *persisttest.Store) {
	var want []string
	for _, m := range s.Messages {
		if !m.Waiting() {
			if m.Sending != nil && (!m.Sending.Due.IsZero() || m.Sending.Leased) {
				t.Fatalf("message %d is %s and due at %v", m.ID, m.Sending.Status, m.Sending.Due)
			}
			continue
		}
		var domains []string
		for d := range m.Sending.Pending() {
			domains = append(domains, d)
		}
		slices.Sort(domains)
		want = append(want, fmt.Sprint(m.ID, m.Sending.Due, m.ReceivedAt, domains, m.Sending.Leased))
	}
	queue, _, err := store.MailQueue(inbox.QueueEntry{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range queue {
		got = append(got, fmt.Sprint(q.ID, q.At, q.Since, q.Domains, q.Leased))
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
	store, s := persisttest.Open(t), &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	for _, cmd := range []inbox.Command{
		create(), submit(false, "x@far.test", "y@other.test"),
		inbox.Defer{At: start, Mails: []inbox.Deferral{{ID: 1, Why: "silent"}}},
		inbox.Attempted{ID: 1, Attempt: 1, Reports: []inbox.Report{{Email: "y@other.test", Outcome: delivery.Permanent, Error: "550 no"}}},
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
