package main

import (
	"context"

	"inboxd/actors"
	"inboxd/internal/intake/ingest"
	"inboxd/persist"
	"inboxd/smtp"
)

// The adapters do not know each other; these turn one's words into the other's.

var _ actors.Store = (*persist.Store)(nil)

// inboxes are actors as smtp wants them, with the judge of mail from outside.
type inboxes struct {
	*actors.System
	judge ingest.Judge
}

var _ smtp.Inboxes = inboxes{}

// Receive implements smtp.Inboxes.
func (i inboxes) Receive(ctx context.Context, env smtp.Envelope, raw []byte) error {
	return i.System.Receive(ctx, ingest.Envelope{
		MailFrom: env.MailFrom, RcptTo: env.RcptTo, RemoteIP: env.RemoteIP, Helo: env.Helo, TraceLen: env.TraceLen,
		Judge: i.judge.Verdict, Stored: env.Stored,
	}, raw)
}
