package http

import (
	"context"
	"slices"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// Send queues a message by the real rules; its raw form is just its text.
func (f *fakeInboxes) Send(ctx context.Context, address string, l inbox.SendRequest) (int64, error) {
	f.mu.Lock()
	f.letters = append(f.letters, l)
	f.mu.Unlock()
	to := []message.Mailbox{{Email: l.To}}
	answer, err := f.Do(ctx, address, inbox.Submit{
		From: message.Mailbox{Email: address}, Subject: l.Subject, Raw: []byte(l.Text), Recipients: l.Recipients(),
		Content: &inbox.Content{Doc: message.ParsedMessage{Subject: l.Subject, To: to, Text: l.Text}},
	})
	return answer.ID, err
}

// SendOnce stores its response under the idempotency key.
func (f *fakeInboxes) SendOnce(ctx context.Context, address string, l inbox.SendRequest, req idempotency.Request, describe func(inbox.CommandOutcome) []byte) (idempotency.FirstResult, error) {
	f.mu.RLock()
	known, again := f.requests[req.Key]
	f.mu.RUnlock()
	if again {
		return known.FirstResult, known.CheckSame(req)
	}
	id, err := f.Send(ctx, address, l)
	if err != nil {
		return idempotency.FirstResult{}, err
	}
	a := idempotency.FirstResult{EncodedResponse: describe(inbox.CommandOutcome{ID: id})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests[req.Key] = idempotency.Record{Request: req, FirstResult: a}
	return a, nil
}

func (f *fakeAccounts) Suppressions(_ context.Context, id account.ID, inbox, after string, limit int) (out []account.Suppression, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, s := range f.suppressed[id] {
		if s.Email > after && (inbox == "" || s.Inbox == inbox) && len(out) < limit {
			out = append(out, s)
		}
	}
	return out, nil
}

func (f *fakeAccounts) DropSuppression(_ context.Context, id account.ID, inbox, email string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.suppressed[id])
	f.suppressed[id] = slices.DeleteFunc(f.suppressed[id], func(s account.Suppression) bool { return s.Email == email && (inbox == "" || s.Inbox == inbox) })
	if len(f.suppressed[id]) == n {
		return fault.New(fault.NotFound, "The address "+email+" is not suppressed. GET /api/v1/suppressions lists the suppressed addresses")
	}
	return nil
}
