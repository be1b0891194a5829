// Package webhooks tells webhooks what happens: it makes deliveries of the events that enter a
// journal and calls receivers until they answer. What waits is in the store's due index;
// internal/core/scheduler decides who is called when, and this package is the shell around it:
// subscriptions, leases and results in shared commits, calls (ADR 0017). It refuses to know
// how a call is made and who owns an inbox.
package webhooks
