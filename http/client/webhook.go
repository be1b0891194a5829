package client

import (
	"context"
	"net/url"
	"time"
)

// Webhook is a subscription: the service posts its events to URL.
type Webhook struct {
	ID             int64      `json:"id"`
	URL            string     `json:"url"`
	Event          string     `json:"event"` // a name, "calendar.*" or "*"
	Inbox          *string    `json:"inbox"` // nil: every inbox
	CreatedAt      time.Time  `json:"created_at"`
	LastDeliveryAt *time.Time `json:"last_delivery_at"`
	LastStatusCode *int       `json:"last_status_code"`
}

// WebhookOrder describes a new webhook: its URL and its events.
type WebhookOrder struct {
	URL   string `json:"url"`
	Event string `json:"event"`
	Inbox string `json:"inbox,omitempty"`
}

// WebhookChange changes the fields that are not empty.
type WebhookChange struct {
	URL   string `json:"url,omitempty"`
	Event string `json:"event,omitempty"`
}

// Webhooks groups the calls about the account's webhooks. They need an account key with
// webhooks:manage, or a session.
type Webhooks struct{ apiClient *Client }

// Webhooks returns the calls about webhooks. It makes no request.
func (c *Client) Webhooks() Webhooks { return Webhooks{c} }

type oneWebhook struct{ Webhook Webhook }

func webhookPath(id int64) string { return "/api/v1/webhooks/" + formatID(id) }

// Create creates a webhook and returns its secret, which is shown only once.
func (w Webhooks) Create(ctx context.Context, order WebhookOrder) (made Webhook, secret string, err error) {
	out, err := fetchJSON[struct {
		Webhook Webhook
		Secret  string
	}](ctx, w.apiClient, apiCall{method: "POST", path: "/api/v1/webhooks", in: order})
	return out.Webhook, out.Secret, err
}

// List returns all webhooks.
func (w Webhooks) List(ctx context.Context) ([]Webhook, error) {
	out, err := fetchJSON[struct{ Webhooks []Webhook }](ctx, w.apiClient, apiCall{method: "GET", path: "/api/v1/webhooks"})
	return out.Webhooks, err
}

// Get returns one webhook.
func (w Webhooks) Get(ctx context.Context, id int64) (Webhook, error) {
	out, err := fetchJSON[oneWebhook](ctx, w.apiClient, apiCall{method: "GET", path: webhookPath(id)})
	return out.Webhook, err
}

// Update changes the URL or the events of a webhook. Pending deliveries go to the new URL.
func (w Webhooks) Update(ctx context.Context, id int64, change WebhookChange) (Webhook, error) {
	out, err := fetchJSON[oneWebhook](ctx, w.apiClient, apiCall{method: "PATCH", path: webhookPath(id), in: change, isRepeatable: true})
	return out.Webhook, err
}

// RotateSecret replaces the secret of a webhook. The previous secret also signs for one more day.
func (w Webhooks) RotateSecret(ctx context.Context, id int64) (secret string, err error) {
	out, err := fetchJSON[struct{ Secret string }](ctx, w.apiClient, apiCall{method: "POST", path: webhookPath(id) + "/rotate-secret"})
	return out.Secret, err
}

// DeliveryResult is the receiver's response to a test.
type DeliveryResult struct {
	OK         bool   `json:"ok"`
	StatusCode int    `json:"status_code"`
	DurationMS int64  `json:"duration_ms"`
	Error      string `json:"error"`
}

// Test posts a sample event and returns the receiver's response.
func (w Webhooks) Test(ctx context.Context, id int64) (DeliveryResult, error) {
	return fetchJSON[DeliveryResult](ctx, w.apiClient, apiCall{method: "POST", path: webhookPath(id) + "/test"})
}

// Delete deletes a webhook and its pending deliveries.
func (w Webhooks) Delete(ctx context.Context, id int64) error {
	return do(ctx, w.apiClient, apiCall{method: "DELETE", path: webhookPath(id)}, nil)
}

// Delivery is one attempt to deliver an event to a webhook.
type Delivery struct {
	ID            int64      `json:"id"`
	WebhookID     int64      `json:"webhook_id"`
	EventID       string     `json:"event_id"`
	Event         string     `json:"event"`
	Inbox         string     `json:"inbox"`
	URL           string     `json:"url"`
	Attempt       int        `json:"attempt"` // 0: not made yet
	StatusCode    int        `json:"status_code"`
	Error         string     `json:"error"`
	DurationMS    int64      `json:"duration_ms"`
	At            time.Time  `json:"at"`
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	State         string     `json:"state"`    // succeeded, retrying, failed
	Response      string     `json:"response"` // the first KiB of it
	Gone          bool       `json:"gone"`     // the message was deleted
}

// DeliveryQuery selects deliveries. Zero fields select all.
type DeliveryQuery struct {
	WebhookID int64
	Before    int64 // only deliveries with a lower id
	Limit     int   // at most 1,000; 0: 100
}

// Deliveries returns the deliveries of the last 7 days, newest first.
func (w Webhooks) Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error) {
	query := url.Values{}
	for name, n := range map[string]int64{"webhook_id": q.WebhookID, "before": q.Before, "limit": int64(q.Limit)} {
		if n != 0 {
			query.Set(name, formatID(n))
		}
	}
	out, err := fetchJSON[struct{ Deliveries []Delivery }](ctx, w.apiClient, apiCall{method: "GET", path: "/api/v1/webhooks/deliveries", queryValues: query})
	return out.Deliveries, err
}

// Redeliver attempts a delivery again that has succeeded or failed.
func (w Webhooks) Redeliver(ctx context.Context, delivery int64) error {
	return do(ctx, w.apiClient, apiCall{method: "POST", path: "/api/v1/webhooks/deliveries/" + formatID(delivery) + "/redeliver"}, nil)
}
