package main

import (
	"context"

	"inboxd/actors"
	"inboxd/internal/intake/ingest"
	"inboxd/persist"
	"inboxd/smtp"
)

// The adapters do not know each other. The types below translate between their interfaces.

var _ actors.Store = (*persist.Store)(nil)

// inboxes implements smtp.Inboxes with the actor system and the judge of incoming messages.
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
