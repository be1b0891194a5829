package mailqueue

import (
	"context"
	"slices"
	"time"

	"inboxd/internal/core/inbox"
)

// Item is a queued message as the operator sees it.
type Item struct {
	Inbox      string    `json:"inbox"`
	ID         int64     `json:"message_id"`
	Due        time.Time `json:"due"`
	Running    bool      `json:"running"`
	Accepted   time.Time `json:"accepted"`
	Attempts   int       `json:"attempts"`
	Status     string    `json:"status"`
	Recipients []string  `json:"recipients"` // those that are not settled
	Error      string    `json:"error"`
}

// List returns up to limit queued messages, the next due first, and whether more follow. It
// activates their inboxes.
func (q *Queue) List(ctx context.Context, limit int) ([]Item, bool, error) {
	entries, more, err := q.Store.MailQueue(inbox.QueueEntry{}, limit)
	if err != nil {
		return nil, false, err
	}
	items := make([]Item, 0, len(entries))
	for _, e := range entries {
		m, err := q.Inboxes.Queued(ctx, e.Address, e.ID)
		if err != nil {
			return nil, false, err
		}
		if m != nil { // otherwise settled meanwhile
			items = append(items, itemOf(e.Address, m))
		}
	}
	return items, more, nil
}

func itemOf(address string, m *inbox.Message) Item {
	item := Item{
		Inbox: address, ID: m.ID, Due: m.Sending.Due, Running: m.Sending.Leased, Accepted: m.ReceivedAt,
		Attempts: m.Sending.Attempts, Status: m.Sending.Status.String(), Error: m.Sending.Reason(),
	}
	for _, r := range m.Sending.Recipients {
		if !r.Status.Final() {
			item.Recipients = append(item.Recipients, r.Email)
		}
	}
	return item
}

// Retry makes a queued message due now. It is attempted even if its destinations did not respond a
// moment ago, because the operator may have fixed them.
func (q *Queue) Retry(ctx context.Context, address string, id int64) error {
	m, err := q.Inboxes.Queued(ctx, address, id)
	if err != nil {
		return err
	}
	if m != nil {
		q.probe(address, m)
	}
	outcome, err := q.Inboxes.Do(ctx, address, inbox.Requeue{ID: id})
	if err == nil && outcome.Count > 0 {
		q.Logger.Info("retried", "inbox", address, "message_id", id)
	}
	return err
}

func (q *Queue) probe(address string, m *inbox.Message) {
	var domains []string
	for d := range m.Sending.Pending() {
		domains = append(domains, d)
	}
	slices.Sort(domains)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line.Probe(q.now(), q.entry(inbox.QueueEntry{At: m.Sending.Due, Address: address, ID: m.ID, Since: m.ReceivedAt, Domains: domains}))
}

// Drop ends a queued message as failed.
func (q *Queue) Drop(ctx context.Context, address string, id int64) error {
	_, err := q.Inboxes.Do(ctx, address, inbox.GiveUp{ID: id, Why: "The operator of this service dropped the message from the queue"})
	if err == nil {
		q.Logger.Info("dropped", "inbox", address, "message_id", id)
	}
	return err
}
