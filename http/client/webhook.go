package client

import (
	"context"
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

// CreateWebhook creates a webhook and returns its secret, which is shown only once. It needs a
// session.
func (c *Client) CreateWebhook(ctx context.Context, order WebhookOrder) (w Webhook, secret string, err error) {
	out, err := fetchJSON[struct {
		Webhook Webhook
		Secret  string
	}](ctx, c, apiCall{method: "POST", path: "/api/webhooks", in: order})
	return out.Webhook, out.Secret, err
}

// Webhooks returns the account's webhooks. It needs a session.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	out, err := fetchJSON[struct{ Webhooks []Webhook }](ctx, c, apiCall{method: "GET", path: "/api/webhooks"})
	return out.Webhooks, err
}

// RotateSecret replaces the secret of a webhook. The previous secret also signs for one more day.
func (c *Client) RotateSecret(ctx context.Context, id int64) (secret string, err error) {
	out, err := fetchJSON[struct{ Secret string }](ctx, c, apiCall{method: "POST", path: webhookPath(id) + "/rotate-secret"})
	return out.Secret, err
}

// DeliveryResult is the receiver's response to a test.
type DeliveryResult struct {
	OK         bool   `json:"ok"`
	StatusCode int    `json:"status_code"`
	DurationMS int64  `json:"duration_ms"`
	Error      string `json:"error"`
}

// TestWebhook posts a sample event and returns the receiver's response.
func (c *Client) TestWebhook(ctx context.Context, id int64) (DeliveryResult, error) {
	return fetchJSON[DeliveryResult](ctx, c, apiCall{method: "POST", path: webhookPath(id) + "/test"})
}

// DeleteWebhook deletes a webhook and its pending deliveries.
func (c *Client) DeleteWebhook(ctx context.Context, id int64) error {
	return do(ctx, c, apiCall{method: "DELETE", path: webhookPath(id)}, nil)
}

func webhookPath(id int64) string { return "/api/webhooks/" + formatID(id) }
