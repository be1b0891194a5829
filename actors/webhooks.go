package actors

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/webhooks"
	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// WebhookStore is the storage that webhooks need.
type WebhookStore interface {
	webhooks.Store
	// LastCalls returns the time and the status of the last attempt for each of an account's
	// webhooks.
	LastCalls(account.ID) (map[int64]webhook.DeliveryAttempt, error)
}

// Webhooks are the subscriptions of accounts. It is immutable; any goroutine may use it.
type Webhooks struct {
	inboxes       *InboxService
	owners        accountOwners
	store         WebhookStore
	poster        webhooks.CallPoster
	serviceDomain string // the service's domain
	now           func() time.Time
	fillRandom    func([]byte)
	testSlots     chan struct{} // one slot for each running test
}

// AddWebhook subscribes a URL to events of an account or of one of its inboxes. The secret is
// returned only here. The caller has checked the form of URL and event.
func (w *Webhooks) AddWebhook(ctx context.Context, by *account.Principal, url, event, inbox string) (account.Webhook, error) {
	if inbox != "" {
		if _, err := w.inboxes.ViewFor(ctx, by.Account, inbox); err != nil {
			return account.Webhook{}, err
		}
	}
	if err := w.poster.CheckURL(ctx, url); err != nil {
		return account.Webhook{}, err
	}
	got, err := w.owners.sendCommand(ctx, by.Account, account.AddWebhook{By: by, Webhook: account.Webhook{URL: url, EventFilter: event, InboxFilter: inbox, Secret: string(w.mintSecret())}})
	if err != nil {
		return account.Webhook{}, err
	}
	return got.(account.Webhook), nil
}

func (w *Webhooks) mintSecret() webhook.SigningSecret {
	var random [32]byte
	w.fillRandom(random[:])
	return webhook.MintSecret(random)
}

// ListWebhooks returns the account's webhooks, oldest first, with their last attempts.
func (w *Webhooks) ListWebhooks(ctx context.Context, id account.ID) ([]webhook.ListedWebhook, error) {
	got, err := w.owners.sendCommand(ctx, id, readWebhooks{})
	if err != nil {
		return nil, err
	}
	last, err := w.store.LastCalls(id)
	if err != nil {
		return nil, engine.BusyError(err)
	}
	hooks := got.([]account.Webhook)
	out := make([]webhook.ListedWebhook, len(hooks))
	for i, hook := range hooks {
		out[i] = webhook.ListedWebhook{Webhook: hook, LastAt: last[hook.ID].At, LastStatus: last[hook.ID].Status}
	}
	return out, nil
}

// Webhook returns one of them: NotFound if none exists.
func (w *Webhooks) Webhook(ctx context.Context, id account.ID, hook int64) (webhook.ListedWebhook, error) {
	all, err := w.ListWebhooks(ctx, id)
	for _, one := range all {
		if one.ID == hook {
			return one, nil
		}
	}
	if err == nil {
		err = account.NoWebhook(fmt.Sprint(hook))
	}
	return webhook.ListedWebhook{}, err
}

// ChangeWebhook changes URL, event, or both. Pending deliveries go to the new URL.
func (w *Webhooks) ChangeWebhook(ctx context.Context, id account.ID, hook int64, url, event *string) error {
	if url != nil {
		if err := w.poster.CheckURL(ctx, *url); err != nil {
			return err
		}
	}
	_, err := w.owners.sendCommand(ctx, id, account.ChangeWebhook{ID: hook, URL: url, EventFilter: event})
	return err
}

// RotateSecret gives a webhook a new secret. For a day both the old and the new secret sign.
func (w *Webhooks) RotateSecret(ctx context.Context, id account.ID, hook int64) (string, error) {
	secret := string(w.mintSecret())
	_, err := w.owners.sendCommand(ctx, id, account.RotateSecret{ID: hook, Secret: secret, OverlapPeriod: webhook.SecretOverlap})
	return secret, err
}

// DropWebhook ends a subscription: pending deliveries to it are not attempted any more.
func (w *Webhooks) DropWebhook(ctx context.Context, id account.ID, hook int64) error {
	_, err := w.owners.sendCommand(ctx, id, account.DropWebhook{ID: hook})
	return err
}

// noPoster is a Poster without a network.
type noPoster struct{}

// PostWebhook implements Poster.
func (noPoster) PostWebhook(context.Context, string, []webhook.HeaderField, []byte) webhook.ReceiverResponse {
	return webhook.ReceiverResponse{Error: "Webhooks are not set up on this service"}
}

// CheckURL implements Poster.
func (noPoster) CheckURL(context.Context, string) error { return nil }

// testsAtOnce bounds the concurrent tests of all accounts.
const testsAtOnce = 64

// TestWebhook posts a sample of the webhook's event and returns the receiver's response. It leaves
// no record.
func (w *Webhooks) TestWebhook(ctx context.Context, id account.ID, hook int64) (webhook.ReceiverResponse, error) {
	to, err := w.Webhook(ctx, id, hook)
	if err != nil {
		return webhook.ReceiverResponse{}, err
	}
	select {
	case w.testSlots <- struct{}{}:
		defer func() { <-w.testSlots }()
	case <-ctx.Done():
		return webhook.ReceiverResponse{}, engine.BusyError(nil)
	}
	address := to.InboxFilter
	if address == "" {
		address = "test@" + w.serviceDomain
	}
	now := w.now()
	e := webhook.SampleEvent(to.EventFilter, address, now)
	body := webhook.Payload(e)
	return w.poster.PostWebhook(ctx, to.URL, webhook.SignedHeaders(e.EventName, w.testID(), now, body, webhooks.SecretsOf(&to.Webhook, now)...), body), nil
}

func (w *Webhooks) testID() string {
	var random [12]byte
	w.fillRandom(random[:])
	return "evt_test_" + hex.EncodeToString(random[:])
}
