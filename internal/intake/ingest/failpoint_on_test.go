//go:build failpoints

package ingest_test

import (
	"bytes"
	"testing"

	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/message"
)

// TestFailpointParserPanics checks that a message that breaks the parser is stored as received,
// with its envelope sender, and that the next one is parsed normally.
func TestFailpointParserPanics(t *testing.T) {
	env := ingest.Envelope{MailFrom: "s@shop.test", RcptTo: []string{"a@x.test", "b@x.test"}}
	poisoned := wire("From: other@shop.test", "X-Failpoint: parser-panic", "Subject: Your code is 482913", "", "Your code is 482913")
	m := ingest.ParseMessage(env, poisoned)
	if !m.Content.Doc.IsDegraded || m.Content.OTP.Code != "" || m.Subject != "" || m.From != (message.Mailbox{Email: "s@shop.test"}) {
		t.Errorf("read as %+v", m)
	}
	if cmd := m.ReceiveFor("a@x.test"); !bytes.Equal(cmd.Raw, poisoned) || cmd.Content == nil || cmd.Digest == (inbox.MessageDigest{}) {
		t.Errorf("delivered as %+v", cmd)
	}
	next := ingest.ParseMessage(env, wire("From: other@shop.test", "Subject: Your code is 482913", "", "Your code is 482913"))
	if next.Content.Doc.IsDegraded || next.Content.OTP.Code != "482913" || next.From.Email != "other@shop.test" {
		t.Errorf("the next mail is read as %+v", next)
	}
}
