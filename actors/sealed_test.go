package actors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/sealed"
	"inboxd/persist/persisttest"
)

// A public key, and an unusable one: a point of low order.
const (
	somebodysKey = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
	lowOrderKey  = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z"
)

// vault creates an account with a public key and an encrypted inbox.
func vault(t testing.TB, s *System, prefix string) (account.ID, string) {
	t.Helper()
	profile := must[account.Profile](t)(s.OpenAccount(t.Context(), prefix+"@example.test", "correct horse", account.PlanPaid))
	key, err := sealed.ParseRecipient("public_key", somebodysKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetRecipient(t.Context(), profile.ID, key, ""); err != nil {
		t.Fatal(err)
	}
	view, place, err := s.CreateInbox(t.Context(), profile.ID, inbox.CreationRequest{Prefix: &prefix, Encrypted: true})
	if err != nil || !view.Encrypted || !place.Encrypted {
		t.Fatalf("%+v %v", view, err)
	}
	return profile.ID, view.Address
}

// TestSealedMailThatPartlyFails checks that each recipient deduplicates the message by its own
// keyed digest.
func TestSealedMailThatPartlyFails(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	_, a := vault(t, s, "a")
	_, b := vault(t, s, "b")
	makeInbox(t, s, "c@inbox.localhost")
	env := ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{a, b, "c@inbox.localhost"}}
	raw := []byte("Subject: hi\r\n\r\nbody\r\n")
	store.SetBefore(failing(b)) // the notice about the key may be in progress
	if err := s.ReceiveMessage(t.Context(), env, raw); !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Fatalf("one recipient fails for now: %v", err)
	}
	store.SetBefore(nil)
	plain := inbox.DigestOf(env.MailFrom, env.RcptTo, raw)
	for address, keyed := range map[string]bool{a: true, "c@inbox.localhost": false} {
		if m := s.ResidentView([]byte(address)).Messages[0]; m.RepeatDigest == nil || (*m.RepeatDigest == plain) == keyed || (m.EncryptedState != nil) != keyed {
			t.Errorf("%s knows it by %v", address, m.RepeatDigest)
		}
	}
	until(func() bool { return s.ReceiveMessage(t.Context(), env, raw) == nil })
	for _, address := range env.RcptTo {
		until(func() bool {
			m := s.ResidentView([]byte(address)).Messages
			return len(m) == 1 && m[0].RepeatDigest == nil
		})
	}
	if err := s.ReceiveMessage(t.Context(), env, raw); err != nil || count(t, s, a) != 2 || count(t, s, b) != 2 {
		t.Errorf("a deliberate repeat: %v, a has %d and b %d", err, count(t, s, a), count(t, s, b))
	}
}

// TestWhatCanNotBeSealedIsNotKept checks that the message is not stored unencrypted, and that its
// sender must retry.
func TestWhatCanNotBeSealedIsNotKept(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	id, address := vault(t, s, "a")
	makeInbox(t, s, "c@inbox.localhost")
	env := ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{address}}
	raw := []byte("Subject: hi\r\n\r\nbody\r\n")
	set := func(key string) {
		must[any](t)(s.accountOwners.sendCommand(t.Context(), id, account.SetRecipient{Recipient: key, PasswordHash: must[accountPicture](t)(s.accountOwners.readSnapshot(t.Context(), id)).profile.PasswordHash}))
	}
	for name, key := range map[string]string{"no key": "", "a damaged key": somebodysKey[:40], "a key that age refuses": lowOrderKey} {
		set(key)
		if err := s.ReceiveMessage(t.Context(), env, raw); !fault.Is(err, fault.TemporarilyUnavailable) || count(t, s, address) != 0 {
			t.Errorf("%s: %v, %d messages", name, err, count(t, s, address))
		}
		if _, err := s.SendMessage(t.Context(), address, letter("bob@far.test")); !fault.Is(err, fault.TemporarilyUnavailable) || count(t, s, address) != 0 {
			t.Errorf("%s, a letter: %v", name, err)
		}
		both := ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{"c@inbox.localhost", address}}
		if err := s.ReceiveMessage(t.Context(), both, raw); !fault.Is(err, fault.TemporarilyUnavailable) || count(t, s, address) != 0 {
			t.Errorf("%s, with another recipient: %v", name, err)
		}
	}
	set(somebodysKey)
	store.SetFull(true)
	if err := s.ReceiveMessage(t.Context(), env, raw); !fault.Is(err, fault.StorageFull) || count(t, s, address) != 0 {
		t.Errorf("on a full disk: %v", err)
	}
	store.SetFull(false)
	if err := s.ReceiveMessage(t.Context(), env, raw); err != nil || count(t, s, address) != 1 {
		t.Errorf("with space again: %v", err)
	}
}

// TestRepeatedLetterOfAnEncryptedInbox checks that a request is deduplicated by a keyed digest.
func TestRepeatedLetterOfAnEncryptedInbox(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	_, address := vault(t, s, "a")
	request := func(body string) idempotency.Request {
		req, err := idempotency.NewRequest("name", "POST send", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	describe := func(inbox.CommandOutcome) []byte { return []byte("told") }
	for range 2 {
		if given, err := s.SendOnce(t.Context(), address, letter("bob@far.test"), request("body"), describe); err != nil || string(given.EncodedResponse) != "told" {
			t.Errorf("%s %v", given.EncodedResponse, err)
		}
	}
	if _, err := s.SendOnce(t.Context(), address, letter("bob@far.test"), request("other"), describe); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("another body: %v", err)
	}
	kept := must[*idempotency.Record](t)(store.InboxOnce(address, request("body").Key))
	if n := count(t, s, address); n != 1 || kept.Digest == request("body").Digest {
		t.Errorf("%d letters, known by the digest of the body: %v", n, kept.Digest == request("body").Digest)
	}
}

// TestSealedRepeatAfterACrash checks that the row of a message that may be unacknowledged has its
// digest.
func TestSealedRepeatAfterACrash(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	_, address := vault(t, s, "a")
	env := ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{address}}
	raw := []byte("Message-ID: <m@b.test>\r\n\r\nbody\r\n")
	if err := s.ReceiveMessage(context.Background(), env, raw); err != nil {
		t.Fatal(err)
	}
	digest := inbox.DigestOf(env.MailFrom, env.RcptTo, raw)
	mac := must[[]byte](t)(store.ComputeMAC("mail", digest[:]))
	m := s.ResidentView([]byte(address)).Messages[0]
	if !bytes.Equal(m.EncryptedState.RepeatDigest[:], mac) {
		t.Errorf("known by %x, want %x", m.EncryptedState.RepeatDigest, mac)
	}
	e := &inboxEntity{}
	if got, known := e.repeatOf(m); !known || got != inbox.MessageDigest(mac) {
		t.Errorf("known again: %v", known)
	}
	if _, known := e.repeatOf(&inbox.Message{EncryptedState: &inbox.EncryptedState{}}); known {
		t.Error("a mail without a Message-ID is known again")
	}
}

// dump formats everything that can be reached from a command.
func dump(cmd inbox.Receive) string {
	return fmt.Sprintf("%+v %+v %+v %+v %s", cmd, *cmd.Content, *cmd.EncryptedParts, *cmd.Content.Spam, cmd.Raw)
}

// TestSealedCommandsHoldNothingInTheClear checks the commands in any log or dump.
func TestSealedCommandsHoldNothingInTheClear(t *testing.T) {
	key, err := sealed.ParseStored(somebodysKey)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "canarycanarycanarycanary"
	raw := []byte("From: " + secret + " <a@b.test>\r\nSubject: " + secret + "\r\nMessage-ID: <" + secret + "@b>\r\nContent-Disposition: attachment; filename=" + secret + "\r\n\r\n" + secret)
	mail := ingest.ParseMessage(ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{"x"}, StoredEncrypted: true}, raw)
	mail.Content.Spam = &inbox.SpamVerdict{Rules: []inbox.SpamRule{{Name: "RULE", Weight: 1, Description: secret}}}
	cmd, err := mail.SealedFor([]string{"x"}, key, func(d inbox.MessageDigest) (inbox.MessageDigest, error) { return inbox.MessageDigest{1}, nil })
	if err != nil || cmd.Content.Spam.Rules[0] != (inbox.SpamRule{Name: "RULE", Weight: 1}) || len(cmd.EncryptedParts.EncryptedFiles) != 1 || len(cmd.Content.Doc.Attachments) != 1 {
		t.Fatalf("%+v %v", cmd, err)
	}
	if text := dump(cmd); strings.Contains(text, secret) {
		t.Errorf("%s", text)
	}
	if _, err := mail.SealedFor([]string{"x"}, key, func(inbox.MessageDigest) (inbox.MessageDigest, error) {
		return inbox.MessageDigest{}, errors.New("no key")
	}); err == nil {
		t.Error("sealed without a keyed digest")
	}
}
