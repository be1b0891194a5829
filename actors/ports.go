package actors

import (
	"time"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

// CallStore is what the webhook supervisor needs of the disk, beside WebhookStore.
type CallStore interface {
	// Webhooks reads an account's webhooks, oldest first.
	Webhooks(account.ID) ([]account.Webhook, error)
	LastDelivery(account.ID) (int64, error)
	// DueDeliveries returns due entries from a time on, in time order, and when the first
	// one behind them is (zero: none).
	DueDeliveries(from time.Time, limit int) (due []webhook.Due, next time.Time, err error)
	// TrimDeliveries removes up to limit deliveries with ids above after that wait for
	// nothing, beyond the newest keep or from before a time. It does not wait for the disk.
	TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, err error)
}
