package mailqueue

import (
	"context"
	"slices"
	"time"

	"inboxd/internal/core/inbox"
)

// QueueItem is a queued message as the operator sees it.
type QueueItem struct {
	InboxAddress      string    `json:"inbox"`
	ID                int64     `json:"message_id"`
	NextAttemptAt     time.Time `json:"due"`
	IsRunning         bool      `json:"running"`
	AcceptedAt        time.Time `json:"accepted"`
	AttemptCount      int       `json:"attempts"`
	Status            string    `json:"status"`
	WaitingRecipients []string  `json:"recipients"` // those that are not settled
	LastError         string    `json:"error"`
}

// ListItems returns up to limit queued messages, the next due first, and whether more follow. It
// activates their inboxes.
func (q *Queue) ListItems(ctx context.Context, limit int) ([]QueueItem, bool, error) {
	entries, more, err := q.Store.MailQueue(inbox.QueueEntry{}, limit)
	if err != nil {
		return nil, false, err
	}
	items := make([]QueueItem, 0, len(entries))
	for _, e := range entries {
		m, err := q.Inboxes.QueuedMessage(ctx, e.Address, e.ID)
		if err != nil {
			return nil, false, err
		}
		if m != nil { // otherwise settled meanwhile
			items = append(items, itemOf(e.Address, m))
		}
	}
	return items, more, nil
}

func itemOf(address string, m *inbox.Message) QueueItem {
	item := QueueItem{
		InboxAddress: address, ID: m.ID, NextAttemptAt: m.OutgoingDelivery.NextDue, IsRunning: m.OutgoingDelivery.AttemptLeased, AcceptedAt: m.ReceivedAt,
		AttemptCount: m.OutgoingDelivery.AttemptCount, Status: m.OutgoingDelivery.Status.String(), LastError: m.OutgoingDelivery.LastFailure(),
	}
	for _, r := range m.OutgoingDelivery.Recipients {
		if !r.Status.IsFinal() {
			item.WaitingRecipients = append(item.WaitingRecipients, r.Email)
		}
	}
	return item
}

// RetryNow makes a queued message due now. It is attempted even if its destinations did not respond a
// moment ago, because the operator may have fixed them.
func (q *Queue) RetryNow(ctx context.Context, address string, id int64) error {
	m, err := q.Inboxes.QueuedMessage(ctx, address, id)
	if err != nil {
		return err
	}
	if m != nil {
		q.probeDestinations(address, m)
	}
	outcome, err := q.Inboxes.Do(ctx, address, inbox.Requeue{ID: id})
	if err == nil && outcome.Count > 0 {
		q.Logger.Info("retried", "inbox", address, "message_id", id)
	}
	return err
}

func (q *Queue) probeDestinations(address string, m *inbox.Message) {
	var domains []string
	for d := range m.OutgoingDelivery.PendingByDomain() {
		domains = append(domains, d)
	}
	slices.Sort(domains)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.attemptScheduler.ProbeEntry(q.now(), q.schedulerEntry(inbox.QueueEntry{At: m.OutgoingDelivery.NextDue, Address: address, ID: m.ID, AcceptedAt: m.ReceivedAt, WaitingDomains: domains}))
}

// DropMessage ends a queued message as failed.
func (q *Queue) DropMessage(ctx context.Context, address string, id int64) error {
	_, err := q.Inboxes.Do(ctx, address, inbox.GiveUp{ID: id, FailureReason: "The operator of this service dropped the message from the queue"})
	if err == nil {
		q.Logger.Info("dropped", "inbox", address, "message_id", id)
	}
	return err
}
