package actors

import (
	"time"

	"inboxd/internal/account"
	"inboxd/internal/follow"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
	"inboxd/internal/partition"
	"inboxd/internal/webhook"
)

// Store is what the actors need of the disk. A commit is one atomic batch and returns only
// when it is synced; StorageFull means that nothing was written.
type Store interface {
	OutStore

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
	// ForgetOnce looks at up to limit records behind a place and removes those made
	// before; it returns the place to go on from, nil at the end.
	ForgetOnce(before time.Time, after []byte, limit int) (next []byte, err error)

	Inboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error)
	Listed(account.ID, account.InboxEntry) (bool, error)
	AccountByEmail(email string) (account.ID, bool, error)
	PutEmail(email string, id account.ID) error
	SubdomainOwner(label string) (account.ID, bool, error)
	PutSubdomain(label string, id account.ID) error
	Accounts(after account.ID, limit int) ([]account.Profile, error)

	// DueInboxes returns addresses whose retention is due, in time order, and when the
	// one after them is (zero: none).
	DueInboxes(until time.Time, limit int) (addresses []string, next time.Time, err error)
	// LastSeen is when the store was last written before this start.
	LastSeen() time.Time

	Outbox(limit int) ([]inbox.Public, error)
	DropOutbox([]inbox.Public) error
	JournalEnd(account.ID) (uint64, error)
	// AppendJournal writes events with dense numbers from on, and what webhooks are told of
	// them. Neither it nor DropOutbox syncs: the log keeps their order, and the outbox row
	// guards the entry.
	AppendJournal(id account.ID, from uint64, events []inbox.Public, deliveries []webhook.Delivery) error
	// RecentJournal returns the events of the account's newest limit entries.
	RecentJournal(id account.ID, limit int) ([]inbox.Public, error)
	TrimJournal(id account.ID, before time.Time) error
	// JournalPage reads up to limit entries above after, from since on, of one inbox unless
	// address is empty. Whatever it or JournalEnd showed is on disk once SyncJournal
	// returned.
	JournalPage(id account.ID, after uint64, address string, since time.Time, limit int) (follow.Page, error)
	SyncJournal() error

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
	DeliveryAccounts(after account.ID, limit int) ([]account.ID, error)

	// Full reports that the free-space gate is closed.
	Full() bool

	DomainStore
}
