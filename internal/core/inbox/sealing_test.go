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
		Sealed: &inbox.Sealing{Size: 20, Repeat: inbox.Digest{7}, Named: true},
	}
	for _, id := range files {
		c.Sealed.Files = append(c.Sealed.Files, sealed.File{ID: id, Envelope: []byte("file")})
	}
	return c
}

func sealedSubmit(to ...string) inbox.Submit {
	c := submit(false, to...)
	c.Subject, c.Content, c.Raw = "", &inbox.Content{}, []byte("envelope")
	c.Sealed = &inbox.Sealing{Size: 20, Queued: []byte("under the folder's key"), Files: []sealed.File{{ID: 1, Envelope: []byte("file")}}}
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
		c.Digest, c.Sealed.Named = cmd.Digest, rapid.Bool().Draw(t, "named")
		return c
	case inbox.Submit:
		c := sealedSubmit()
		c.Recipients, c.Auto = cmd.Recipients, cmd.Auto
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
	if !s.Live() {
		c := create()
		c.Encrypted, c.At = true, start.Add(time.Duration(s.LastID+1)*time.Hour)
		return c
	}
	id := rapid.Int64Range(1, s.LastID+1).Draw(t, "id")
	sending := drawSending(t, id)
	return sealedFor(t, s, rapid.SampledFrom(append(sending, sending[0], sending[1], sending[3], sending[5], sending[5],
		mail("one"), inbox.DeleteMessage{ID: id}, inbox.Burn{}, inbox.Expire{}, inbox.Delete{})).Draw(t, "command"))
}

// compareSealed checks that a queued encrypted message has its copy as long as it waits, and its
// files as long as it exists.
func compareSealed(t *rapid.T, s *inbox.State, store *persisttest.Store) {
	for id := int64(1); id <= s.LastID; id++ {
		m := &inbox.Message{}
		if i := slicesIndex(s, id); i >= 0 {
			m = s.Messages[i]
		}
		queued, err := store.QueuedCopy(s.Address, id)
		if waits := m.Sealed != nil && m.Waiting(); err != nil || waits != (queued != nil) {
			t.Fatalf("message %d waits sealed: %v; there are %q %v", id, waits, queued, err)
		}
		fields, err := store.Signature(s.Address, id)
		if err != nil || m.Sealed != nil && !m.Waiting() && fields != nil {
			t.Fatalf("message %d is delivered, its signature is %q %v", id, fields, err)
		}
		files := 0
		if m.Sealed != nil {
			files = m.Sealed.Files
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
		if _, err := do(cmd); !fault.Is(err, fault.Unavailable) || len(s.Messages) > 0 {
			t.Errorf("%s in the clear: %v", name, err)
		}
	}
	if _, err := do(inbox.Arrange{Plan: calendar.Plan{Changed: true}}); !fault.Is(err, fault.Refused) || err.Error() != "refused: "+inbox.NoCalendar {
		t.Errorf("a meeting: %v", err)
	}
	rows, err := do(sealedMail(1, 2))
	m := s.Messages[0]
	if err != nil || m.Size != 20 || m.Thread != 0 || m.Subject != "" || m.OTP != "" || m.Unsettled != nil || *m.Sealed != (inbox.Sealed{Repeat: inbox.Digest{7}, Files: 2}) {
		t.Errorf("received as %+v, %+v, %v", m, m.Sealed, err)
	}
	if st := rows.Store[0]; st.Unread || string(st.Raw) != "envelope" || len(st.Files) != 2 || st.Queued != nil || st.Size() != 16 {
		t.Errorf("stored as %+v", st)
	}
	if p := rows.Public[0]; !p.Encrypted || p.Subject != "" || p.From != "s@example.test" || p.MessageID != 1 {
		t.Errorf("told as %+v", p)
	}
	again := sealedMail()
	again.Digest = inbox.Digest{9}
	if _, err := do(again); err != nil || *s.Messages[1].Unsettled != (inbox.Digest{9}) {
		t.Errorf("with several recipients: %+v %v", s.Messages[1], err)
	}
	if _, err := do(again); err != nil || len(s.Messages) != 2 {
		t.Errorf("repeated: %d messages, %v", len(s.Messages), err)
	}
	unnamed := sealedMail()
	unnamed.Sealed.Named = false
	if _, err := do(unnamed); err != nil || s.Messages[2].Sealed.Repeat != (inbox.Digest{}) || unnamed.Repeat() != (inbox.Digest{7}) {
		t.Errorf("without a Message-ID: %+v %v", s.Messages[2].Sealed, err)
	}
	rows, err = do(sealedSubmit("x@far.test"))
	if m := s.Messages[3]; err != nil || m.Size != 20 || m.Subject != "" || m.Sealed.Files != 1 || string(rows.Store[0].Queued) != "under the folder's key" || len(rows.Settled) > 0 {
		t.Errorf("sent as %+v, %v", m, err)
	}
	if rows, err = do(inbox.Attempt{ID: 4, Signed: inbox.Signed, Fields: []byte("sealed fields")}); err != nil || len(rows.Settled) > 0 {
		t.Errorf("an attempt settles %v, %v", rows.Settled, err)
	}
	report := []inbox.Report{{Email: "x@far.test", Outcome: delivery.Delivered}}
	if rows, err = do(inbox.Attempted{ID: 4, Attempt: 1, Reports: report, Done: true}); err != nil || len(rows.Settled) != 1 || rows.Settled[0].ID != 4 {
		t.Errorf("the last report settles %v, %v", rows.Settled, err)
	}

	clear := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	evs, _, _ := inbox.Decide(clear, create(), env(start))
	change(clear, evs)
	for name, cmd := range map[string]inbox.Command{"mail": sealedMail(), "a letter": sealedSubmit("x@far.test")} {
		if _, _, err := inbox.Decide(clear, cmd, env(start)); !fault.Is(err, fault.Unavailable) {
			t.Errorf("sealed %s in the clear: %v", name, err)
		}
	}
}
