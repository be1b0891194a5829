package inbox_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
	"inboxd/persist/persisttest"
)

// sealedMail is a message for an encrypted inbox.
func sealedMail(files ...int) inbox.Receive {
	c := inbox.Receive{
		From: message.Mailbox{Email: "s@example.test"}, EnvelopeTo: "a@inbox.localhost", Content: &inbox.Content{}, Raw: []byte("envelope"),
		EncryptedParts: &inbox.EncryptedParts{PlainSize: 20, RepeatDigest: inbox.MessageDigest{7}, HasMessageID: true},
	}
	for _, id := range files {
		c.EncryptedParts.EncryptedFiles = append(c.EncryptedParts.EncryptedFiles, sealed.FileEnvelope{ID: id, Envelope: []byte("file")})
	}
	return c
}

func sealedSubmit(to ...string) inbox.Submit {
	c := submit(false, to...)
	c.Subject, c.Content, c.Raw = "", &inbox.Content{}, []byte("envelope")
	c.EncryptedParts = &inbox.EncryptedParts{PlainSize: 20, QueuedMessage: []byte("under the folder's key"), EncryptedFiles: []sealed.FileEnvelope{{ID: 1, Envelope: []byte("file")}}}
	return c
}

// sealedFor usually encrypts a message for an encrypted inbox.
func sealedFor(t *rapid.T, s *inbox.State, cmd inbox.Command) inbox.Command {
	if !s.Encrypted || rapid.IntRange(0, 9).Draw(t, "in the clear") == 0 {
		return cmd
	}
	switch cmd := cmd.(type) {
	case inbox.Receive:
		c := sealedMail(rapid.SampledFrom([][]int{nil, {1}, {1, 3}}).Draw(t, "files")...)
		c.Digest, c.EncryptedParts.HasMessageID = cmd.Digest, rapid.Bool().Draw(t, "named")
		return c
	case inbox.Submit:
		c := sealedSubmit()
		c.Recipients, c.ServiceWritten = cmd.Recipients, cmd.ServiceWritten
		return c
	}
	return cmd
}

// TestReplayOfSealedSends is TestReplay for an encrypted inbox that mostly sends. The stored copy
// for delivery is removed by the commit that makes the status final, however that happens.
func TestReplayOfSealedSends(t *testing.T) {
	settled := 0
	rapid.Check(t, func(t *rapid.T) { settled += replay(t, drawSealedSends) })
	if settled == 0 {
		t.Errorf("%d sent mails became final", settled)
	}
}

func drawSealedSends(t *rapid.T, s *inbox.State, _ time.Time) inbox.Command {
	if !s.IsLive() {
		c := create()
		c.Encrypted, c.At = true, start.Add(time.Duration(s.LastID+1)*time.Hour)
		return c
	}
	id := rapid.Int64Range(1, s.LastID+1).Draw(t, "id")
	sending := drawSending(t, id)
	return sealedFor(t, s, rapid.SampledFrom(append(sending, sending[0], sending[1], sending[3], sending[5], sending[5],
		mail("one"), inbox.DeleteMessage{ID: id}, inbox.Burn{}, inbox.RemoveExpired{}, inbox.Delete{})).Draw(t, "command"))
}

// compareSealed checks that a queued encrypted message has its copy as long as it waits, and its
// files as long as it exists.
func compareSealed(t *rapid.T, s *inbox.State, store *persisttest.TestStore) {
	for id := int64(1); id <= s.LastID; id++ {
		m := &inbox.Message{}
		if i := slicesIndex(s, id); i >= 0 {
			m = s.Messages[i]
		}
		queued, err := store.QueuedCopy(s.Address, id)
		if waits := m.EncryptedState != nil && m.IsWaiting(); err != nil || waits != (queued != nil) {
			t.Fatalf("message %d waits sealed: %v; there are %q %v", id, waits, queued, err)
		}
		fields, err := store.FrozenSignature(s.Address, id)
		if err != nil || m.EncryptedState != nil && !m.IsWaiting() && fields != nil {
			t.Fatalf("message %d is delivered, its signature is %q %v", id, fields, err)
		}
		files := 0
		if m.EncryptedState != nil {
			files = m.EncryptedState.MaxFileID
		}
		for file := range 5 {
			envelope, err := store.OpenFile(s.Address, id, file)
			if err != nil || envelope != nil && file > files || envelope == nil && file > 0 && file == files {
				t.Fatalf("file %d of message %d: %v %v, the highest is %d", file, id, envelope != nil, err, files)
			}
		}
	}
}

func slicesIndex(s *inbox.State, id int64) int {
	for i, m := range s.Messages {
		if m.ID == id {
			return i
		}
	}
	return -1
}

// TestSealedMessages checks what is stored unencrypted, and that unencrypted messages are refused.
func TestSealedMessages(t *testing.T) {
	s := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	now := start
	do := func(cmd inbox.Command) (*inbox.Rows, error) {
		t.Helper()
		now = now.Add(time.Second)
		evs, _, err := inbox.Decide(s, cmd, env(now))
		return change(s, evs), err
	}
	order := create()
	order.Encrypted = true
	if rows, err := do(order); err != nil || !s.Encrypted || !rows.Profile.Encrypted {
		t.Fatalf("%+v %v", s.Profile, err)
	}
	for name, cmd := range map[string]inbox.Command{"mail": mail("one"), "a letter": submit(false, "x@far.test")} {
		if _, err := do(cmd); !fault.Is(err, fault.TemporarilyUnavailable) || len(s.Messages) > 0 {
			t.Errorf("%s in the clear: %v", name, err)
		}
	}
	if _, err := do(inbox.ApplyMeetingPlan{MeetingPlan: calendar.PlannedChange{HasChanged: true}}); !fault.Is(err, fault.Refused) || err.Error() != "refused: "+inbox.NoCalendar {
		t.Errorf("a meeting: %v", err)
	}
	rows, err := do(sealedMail(1, 2))
	m := s.Messages[0]
	if err != nil || m.Size != 20 || m.ThreadKey != 0 || m.Subject != "" || m.OTP != "" || m.RepeatDigest != nil || *m.EncryptedState != (inbox.EncryptedState{RepeatDigest: inbox.MessageDigest{7}, MaxFileID: 2}) {
		t.Errorf("received as %+v, %+v, %v", m, m.EncryptedState, err)
	}
	if st := rows.StoreMessages[0]; st.DocumentOmitted || string(st.Raw) != "envelope" || len(st.EncryptedFiles) != 2 || st.QueuedMessage != nil || st.Size() != 16 {
		t.Errorf("stored as %+v", st)
	}
	if p := rows.PublicEvents[0]; !p.Encrypted || p.Subject != "" || p.From != "s@example.test" || p.MessageID != 1 {
		t.Errorf("told as %+v", p)
	}
	again := sealedMail()
	again.Digest = inbox.MessageDigest{9}
	if _, err := do(again); err != nil || *s.Messages[1].RepeatDigest != (inbox.MessageDigest{9}) {
		t.Errorf("with several recipients: %+v %v", s.Messages[1], err)
	}
	if _, err := do(again); err != nil || len(s.Messages) != 2 {
		t.Errorf("repeated: %d messages, %v", len(s.Messages), err)
	}
	unnamed := sealedMail()
	unnamed.EncryptedParts.HasMessageID = false
	if _, err := do(unnamed); err != nil || s.Messages[2].EncryptedState.RepeatDigest != (inbox.MessageDigest{}) || unnamed.RepeatDigest() != (inbox.MessageDigest{7}) {
		t.Errorf("without a Message-ID: %+v %v", s.Messages[2].EncryptedState, err)
	}
	rows, err = do(sealedSubmit("x@far.test"))
	if m := s.Messages[3]; err != nil || m.Size != 20 || m.Subject != "" || m.EncryptedState.MaxFileID != 1 || string(rows.StoreMessages[0].QueuedMessage) != "under the folder's key" || len(rows.FinalMessages) > 0 {
		t.Errorf("sent as %+v, %v", m, err)
	}
	if rows, err = do(inbox.BeginAttempt{ID: 4, SigningResult: inbox.MessageSigned, SignatureFields: []byte("sealed fields")}); err != nil || len(rows.FinalMessages) > 0 {
		t.Errorf("an attempt settles %v, %v", rows.FinalMessages, err)
	}
	report := []inbox.AttemptReport{{Email: "x@far.test", Outcome: delivery.OutcomeDelivered}}
	if rows, err = do(inbox.ReportAttempt{ID: 4, AttemptNumber: 1, Reports: report, IsDone: true}); err != nil || len(rows.FinalMessages) != 1 || rows.FinalMessages[0].ID != 4 {
		t.Errorf("the last report settles %v, %v", rows.FinalMessages, err)
	}

	clear := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	evs, _, _ := inbox.Decide(clear, create(), env(start))
	change(clear, evs)
	for name, cmd := range map[string]inbox.Command{"mail": sealedMail(), "a letter": sealedSubmit("x@far.test")} {
		if _, _, err := inbox.Decide(clear, cmd, env(start)); !fault.Is(err, fault.TemporarilyUnavailable) {
			t.Errorf("sealed %s in the clear: %v", name, err)
		}
	}
}
