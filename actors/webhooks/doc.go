// Package webhooks delivers events to webhooks. It creates deliveries for the events that enter a
// journal, and retries each until its receiver responds. Waiting deliveries are in the store's due
// index. internal/core/scheduler decides which one is due; this package adds subscriptions, leases,
// attempts, and results in shared commits (ADR 0017). It does not know how a request is sent or
// which actor owns an inbox.
package webhooks
