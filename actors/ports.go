package actors

import (
	"time"

	"inboxd/actors/journal"
	"inboxd/actors/retention"
	"inboxd/internal/account"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
	"inboxd/internal/partition"
	"inboxd/internal/webhook"
)

// Store is what the actors need of the disk. A commit is one atomic batch and returns only
// when it is synced; StorageFull means that nothing was written.
type Store interface {
	OutStore
	journal.Store
	retention.Store

	LoadInbox(address string) (*inbox.State, error)
	CommitInbox(*inbox.Rows) error
	Live(address string) (bool, error)
	// AccountOf finds whose inbox lives at an address; the zero ID: nobody's.
	AccountOf(address string) (account.ID, error)
	Content(address string, id int64) (*inbox.Content, error)
	Raw(address string, id int64) ([]byte, error)

	LoadAccount(account.ID) (*account.State, error)
	CommitAccount(*account.Rows) error
	// Credential also tells which key has the hash, 0 for a token that is no key.
	Credential(partition.ID, account.Hash) (id account.ID, key int64, found bool, err error)
	Key(id account.ID, key int64) (*account.Key, error)
	KeyOfInbox(id account.ID, address string) (int64, error)
	Keys(id account.ID, after int64, limit int) ([]account.Key, error)
	// Closing names accounts whose deletion has begun.
	Closing(limit int) ([]account.ID, error)
	DropEmail(email string) error
	// AccountOnce and InboxOnce find the newest record of a request, nil when there is none.
	AccountOnce(account.ID, once.Key) (*once.Record, error)
	InboxOnce(address string, key once.Key) (*once.Record, error)

	Inboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error)
	Listed(account.ID, account.InboxEntry) (bool, error)
	AccountByEmail(email string) (account.ID, bool, error)
	PutEmail(email string, id account.ID) error
	SubdomainOwner(label string) (account.ID, bool, error)
	PutSubdomain(label string, id account.ID) error
	Accounts(after account.ID, limit int) ([]account.Profile, error)

	// Webhooks reads an account's webhooks, oldest first; LastAttempts tells when each was
	// last tried, and the status it gave.
	Webhooks(account.ID) ([]account.Webhook, error)
	LastAttempts(account.ID) (map[int64]webhook.Attempt, error)
	Delivery(id account.ID, delivery int64) (*webhook.Delivery, error) // nil: none
	// Deliveries returns deliveries below before (0: all), newest first, to one webhook
	// unless hook is 0.
	Deliveries(id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error)
	LastDelivery(account.ID) (int64, error)
	// CommitDeliveries is synced, as other commits are.
	CommitDeliveries(account.ID, []webhook.Change) error
	// DueDeliveries returns due entries from a time on, in time order, and when the first
	// one behind them is (zero: none).
	DueDeliveries(from time.Time, limit int) (due []webhook.Due, next time.Time, err error)
	// TrimDeliveries removes up to limit deliveries with ids above after that wait for
	// nothing, beyond the newest keep or from before a time. It does not wait for the disk.
	TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, err error)

	// Full reports that the free-space gate is closed.
	Full() bool

	DomainStore
}
