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

// inboxReceiver implements smtp.InboxReceiver with the actor system and the judge of incoming messages.
type inboxReceiver struct {
	*actors.System
	messageJudge ingest.MessageAuthenticator
}

var _ smtp.InboxReceiver = inboxReceiver{}

// Receive implements smtp.InboxReceiver.
func (i inboxReceiver) Receive(ctx context.Context, env smtp.Envelope, raw []byte) error {
	return i.System.ReceiveMessage(ctx, ingest.Envelope{
		MailFrom: env.MailFrom, RcptTo: env.RcptTo, RemoteIP: env.RemoteIP, Helo: env.Helo, TraceLen: env.TraceLen,
		DetermineVerdict: i.messageJudge.VerdictFor, OnStored: env.OnStored,
	}, raw)
}
