package actors

import (
	"context"
	"time"

	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

// QueueItem is a mail in the queue as the operator sees it.
type QueueItem struct {
	Inbox      string    `json:"inbox"`
	ID         int64     `json:"message_id"`
	Due        time.Time `json:"due"`
	Running    bool      `json:"running"`
	Accepted   time.Time `json:"accepted"`
	Attempts   int       `json:"attempts"`
	Status     string    `json:"status"`
	Recipients []string  `json:"recipients"` // those that wait
	Error      string    `json:"error"`
}

// Queue lists up to limit mails of the queue, the next first, and whether more follow. It
// loads their inboxes.
func (s *System) Queue(ctx context.Context, limit int) ([]QueueItem, bool, error) {
	entries, more, err := s.store.MailQueue(inbox.QueueEntry{}, limit)
	if err != nil {
		return nil, false, err
	}
	items := make([]QueueItem, 0, len(entries))
	for _, e := range entries {
		view, err := s.View(ctx, e.Address)
		if fault.Is(err, fault.NoInbox) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		m := view.Message(e.ID, s.now())
		if m == nil || !m.Waiting() {
			continue // settled meanwhile
		}
		item := QueueItem{
			Inbox: e.Address, ID: e.ID, Due: m.Sending.Due, Running: m.Sending.Leased, Accepted: m.ReceivedAt,
			Attempts: m.Sending.Attempts, Status: m.Sending.Status.String(), Error: m.Sending.Reason(),
		}
		for _, r := range m.Sending.Recipients {
			if !r.Status.Final() {
				item.Recipients = append(item.Recipients, r.Email)
			}
		}
		items = append(items, item)
	}
	return items, more, nil
}

// Retry makes a mail of the queue due now, and has it tried even where its destinations were
// silent a moment ago: who asks for it may have mended them.
func (s *System) Retry(ctx context.Context, address string, id int64) error {
	view, err := s.View(ctx, address)
	if err != nil {
		return err
	}
	if m := view.Message(id, s.now()); m != nil && m.Waiting() {
		s.mail.probe(mailKey{address, id}, m.ReceivedAt, m.Sending)
	}
	answer, err := s.Do(ctx, address, inbox.Requeue{ID: id})
	if err == nil && answer.Count > 0 {
		s.Logger.Info("retried", "inbox", address, "message_id", id)
	}
	return err
}

// GiveUp ends a mail of the queue as failed.
func (s *System) GiveUp(ctx context.Context, address string, id int64) error {
	_, err := s.Do(ctx, address, inbox.GiveUp{ID: id, Why: "The operator of this service dropped the mail from the queue"})
	if err == nil {
		s.Logger.Info("dropped", "inbox", address, "message_id", id)
	}
	return err
}
