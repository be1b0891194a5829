package ingest_test

import (
	"context"
	"testing"

	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
)

// scanner returns a verdict when its message may end.
type scanner func(env ingest.Envelope, raw []byte) *inbox.SpamVerdict

func (s scanner) Scan(_ context.Context, env ingest.Envelope, raw []byte) *inbox.SpamVerdict {
	return s(env, raw)
}

func TestReadScanned(t *testing.T) {
	raw := wire("Subject: Your code is 482913", "", "Your code is 482913")
	read := func(s ingest.Scanner) *inbox.Content {
		t.Helper()
		m := ingest.ReadScanned(t.Context(), s, envelope, raw)
		if m.Content.OTP.Code != "482913" || m.From.Email != envelope.MailFrom {
			t.Errorf("read as %+v", m)
		}
		return m.Content
	}
	verdict := &inbox.SpamVerdict{Score: 0, RequiredScore: 5}
	got := read(scanner(func(env ingest.Envelope, b []byte) *inbox.SpamVerdict {
		if env.MailFrom != envelope.MailFrom || &b[0] != &raw[0] {
			t.Errorf("scanned %+v, %d bytes", env, len(b))
		}
		return verdict
	}))
	if got.Spam != verdict {
		t.Errorf("verdict %+v", got.Spam)
	}
	if read(nil).Spam != nil || read(scanner(func(ingest.Envelope, []byte) *inbox.SpamVerdict { return nil })).Spam != nil {
		t.Error("a verdict out of nothing")
	}
	if read(scanner(func(ingest.Envelope, []byte) *inbox.SpamVerdict { panic("scanner") })).Spam != nil {
		t.Error("a verdict out of a panic")
	}
}

// TestJudgeAndScannerSideBySide checks that both examine a message concurrently: each waits for the
// other.
func TestJudgeAndScannerSideBySide(t *testing.T) {
	scanning, judging := make(chan struct{}), make(chan struct{})
	env := envelope
	env.DetermineVerdict = func(context.Context, ingest.Envelope, []byte) ingest.AuthVerdict {
		close(judging)
		<-scanning
		return ingest.AuthVerdict{Auth: inbox.Auth{CheckingServer: "inbox.test"}}
	}
	m := ingest.ReadScanned(t.Context(), scanner(func(ingest.Envelope, []byte) *inbox.SpamVerdict {
		close(scanning)
		<-judging
		return &inbox.SpamVerdict{Score: 1}
	}), env, wire("Subject: x", "", "x"))
	if m.Content.Spam == nil || m.Content.Auth.CheckingServer != "inbox.test" || len(m.Content.Doc.Headers) != 2 {
		t.Errorf("read as %+v", m.Content)
	}
}
