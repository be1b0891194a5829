package main

import (
	"context"
	"time"

	"inboxd/actors"
	"inboxd/internal/account"
	"inboxd/internal/inbox"
	"inboxd/internal/ingest"
	"inboxd/persist"
	"inboxd/smtp"
)

// The adapters do not know each other; these turn one's words into the other's.

// store is persist as actors wants it.
type store struct{ *persist.Store }

var _ actors.Store = store{}

// DueInboxes implements actors.Store.
func (s store) DueInboxes(until time.Time, limit int) ([]string, time.Time, error) {
	due, next, err := s.Due(until, limit)
	addresses := make([]string, len(due))
	for i, d := range due {
		addresses[i] = d.Address
	}
	return addresses, next, err
}

// RecentJournal implements actors.Store.
func (s store) RecentJournal(id account.ID, limit int) ([]inbox.Public, error) {
	end, err := s.JournalEnd(id)
	if err != nil {
		return nil, err
	}
	page, err := s.JournalPage(id, end-min(end, uint64(limit)), "", time.Time{}, limit)
	events := make([]inbox.Public, len(page.Entries))
	for i, e := range page.Entries {
		events[i] = e.Public
	}
	return events, err
}

// mailroom is actors as smtp wants it, with the judge.
type mailroom struct {
	*actors.System
	judge func(ctx context.Context, env ingest.Envelope, raw []byte) ingest.Verdict
}

var _ smtp.Inboxes = mailroom{}

// Deliver implements smtp.Inboxes.
func (m mailroom) Deliver(ctx context.Context, env smtp.Envelope, raw []byte) error {
	return m.System.Deliver(ctx, ingest.Envelope{
		MailFrom: env.MailFrom, RcptTo: env.RcptTo, RemoteIP: env.RemoteIP, Helo: env.Helo, TraceLen: env.TraceLen,
		Judge: m.judge,
	}, raw)
}
