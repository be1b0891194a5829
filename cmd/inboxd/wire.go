package main

import (
	"context"

	"inboxd/actors"
	"inboxd/internal/ingest"
	"inboxd/persist"
	"inboxd/smtp"
)

// The adapters do not know each other; these turn one's words into the other's.

var _ actors.Store = (*persist.Store)(nil)

// mailroom is actors as smtp wants it, with the judge.
type mailroom struct {
	*actors.System
	judge func(ctx context.Context, env ingest.Envelope, raw []byte) ingest.Verdict
}

var _ smtp.Inboxes = mailroom{}

// Receive implements smtp.Inboxes.
func (m mailroom) Receive(ctx context.Context, env smtp.Envelope, raw []byte) error {
	return m.System.Receive(ctx, ingest.Envelope{
		MailFrom: env.MailFrom, RcptTo: env.RcptTo, RemoteIP: env.RemoteIP, Helo: env.Helo, TraceLen: env.TraceLen,
		Judge: m.judge,
	}, raw)
}
