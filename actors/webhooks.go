package actors

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/webhook"
)

// AddWebhook subscribes a URL to events of an account, or of one of its inboxes. The answer
// holds the secret; nothing else ever does. URL and event have been checked in form.
func (s *System) AddWebhook(ctx context.Context, id account.ID, url, event, inbox string) (account.Webhook, error) {
	if inbox != "" {
		if _, err := s.ViewFor(ctx, id, inbox); err != nil {
			return account.Webhook{}, err
		}
	}
	if err := s.Poster.Check(ctx, url); err != nil {
		return account.Webhook{}, err
	}
	got, err := s.ask(ctx, id, account.AddWebhook{Webhook: account.Webhook{URL: url, Event: event, Inbox: inbox, Secret: string(s.mintSecret())}})
	if err != nil {
		return account.Webhook{}, err
	}
	return got.(account.Webhook), nil
}

func (s *System) mintSecret() webhook.Secret {
	var random [32]byte
	s.Random(random[:])
	return webhook.MintSecret(random)
}

// ListWebhooks returns the account's webhooks, oldest first, with their last attempts.
func (s *System) ListWebhooks(ctx context.Context, id account.ID) ([]webhook.Listed, error) {
	got, err := s.ask(ctx, id, readWebhooks{})
	if err != nil {
		return nil, err
	}
	last, err := s.store.LastAttempts(id)
	if err != nil {
		return nil, engine.Busy(err)
	}
	hooks := got.([]account.Webhook)
	out := make([]webhook.Listed, len(hooks))
	for i, w := range hooks {
		out[i] = webhook.Listed{Webhook: w, LastAt: last[w.ID].At, LastStatus: last[w.ID].Status}
	}
	return out, nil
}

// Webhook returns one of them: NotFound when there is none.
func (s *System) Webhook(ctx context.Context, id account.ID, hook int64) (webhook.Listed, error) {
	all, err := s.ListWebhooks(ctx, id)
	for _, w := range all {
		if w.ID == hook {
			return w, nil
		}
	}
	if err == nil {
		err = account.NoWebhook(fmt.Sprint(hook))
	}
	return webhook.Listed{}, err
}

// ChangeWebhook changes URL, event, or both. Deliveries that wait go to the new URL.
func (s *System) ChangeWebhook(ctx context.Context, id account.ID, hook int64, url, event *string) error {
	if url != nil {
		if err := s.Poster.Check(ctx, *url); err != nil {
			return err
		}
	}
	_, err := s.ask(ctx, id, account.ChangeWebhook{ID: hook, URL: url, Event: event})
	return err
}

// RotateSecret gives a webhook a new secret; the old one signs beside it for a day.
func (s *System) RotateSecret(ctx context.Context, id account.ID, hook int64) (string, error) {
	secret := string(s.mintSecret())
	_, err := s.ask(ctx, id, account.RotateSecret{ID: hook, Secret: secret, Overlap: webhook.SecretOverlap})
	return secret, err
}

// DropWebhook ends a subscription: what waits to be delivered to it is not tried any more.
func (s *System) DropWebhook(ctx context.Context, id account.ID, hook int64) error {
	_, err := s.ask(ctx, id, account.DropWebhook{ID: hook})
	return err
}

// noPoster is a Poster without a network.
type noPoster struct{}

// Post implements Poster.
func (noPoster) Post(context.Context, string, []webhook.Header, []byte) webhook.Answer {
	return webhook.Answer{Error: "Webhooks are not set up on this service"}
}

// Check implements Poster.
func (noPoster) Check(context.Context, string) error { return nil }

// testsAtOnce bounds the test calls of all accounts.
const testsAtOnce = 64

// TestWebhook posts a sample of the webhook's event and says what the receiver answered. No
// record is kept of it.
func (s *System) TestWebhook(ctx context.Context, id account.ID, hook int64) (webhook.Answer, error) {
	w, err := s.Webhook(ctx, id, hook)
	if err != nil {
		return webhook.Answer{}, err
	}
	select {
	case s.testing <- struct{}{}:
		defer func() { <-s.testing }()
	case <-ctx.Done():
		return webhook.Answer{}, engine.Busy(nil)
	}
	address := w.Inbox
	if address == "" {
		address = "test@" + s.Namespaces.Domain
	}
	now := s.now()
	e := webhook.Sample(w.Event, address, now)
	body := webhook.Payload(e)
	return s.Poster.Post(ctx, w.URL, webhook.Headers(e.Name, s.testID(), now, body, secretsOf(&w.Webhook, now)...), body), nil
}

func (s *System) testID() string {
	var random [12]byte
	s.Random(random[:])
	return "evt_test_" + hex.EncodeToString(random[:])
}

// Deliveries returns up to limit deliveries of the account with ids below before (0: all),
// newest first, to one webhook unless hook is 0. One that waits although its webhook or its
// inbox is gone is shown as what it is about to become.
func (s *System) Deliveries(ctx context.Context, id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error) {
	out, err := s.store.Deliveries(id, hook, before, limit)
	for i := 0; err == nil && i < len(out); i++ {
		if out[i].State == webhook.Retrying {
			_, err = s.deliveries.wanted(&out[i])
		}
	}
	if err != nil {
		return nil, engine.Busy(err)
	}
	return out, nil
}

// Redeliver tries a settled delivery anew, with the same id and bytes, by the whole
// schedule.
func (s *System) Redeliver(ctx context.Context, id account.ID, delivery int64) error {
	mu := s.redelivering.Of(id.String())
	mu.Lock()
	defer mu.Unlock()
	d, err := s.store.Delivery(id, delivery)
	switch {
	case err != nil:
		return engine.Busy(err)
	case d == nil:
		return NoDelivery(fmt.Sprint(delivery))
	}
	if d.State == webhook.Retrying {
		return fault.New(fault.Refused, fmt.Sprintf("Delivery %d is still being tried", delivery))
	}
	switch hook, err := s.deliveries.wanted(d); {
	case err != nil:
		return engine.Busy(err)
	case hook == nil && d.Last.Error == webhook.InboxGone:
		return fault.New(fault.Refused, "The inbox of this delivery was deleted")
	case hook == nil:
		return fault.New(fault.Refused, "The webhook of this delivery was deleted")
	}
	d.Again(s.now())
	if err := s.store.CommitDeliveries(id, []webhook.Change{d.Put(time.Time{}, false)}); err != nil {
		return err
	}
	s.deliveries.hint([]webhook.Due{d.Due()})
	return nil
}

// NoDelivery is the fault for an id that the account has no delivery under.
func NoDelivery(id string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("Delivery %s not found", id))
}
