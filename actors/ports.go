package actors

import (
	"time"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
	"inboxd/internal/partition"
)

// Store is what the actors need of the disk. A commit is one atomic batch and returns only
// when it is synced; StorageFull means that nothing was written.
type Store interface {
	OutStore

	LoadInbox(address string) (*inbox.State, error)
	CommitInbox(*inbox.Rows) error
	Live(address string) (bool, error)
	Content(address string, id int64) (*inbox.Content, error)
	Raw(address string, id int64) ([]byte, error)

	LoadAccount(account.ID) (*account.State, error)
	CommitAccount(*account.Rows) error
	Credential(partition.ID, account.Hash) (account.ID, bool, error)
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
	// AppendJournal writes events with dense numbers from on. Neither it nor DropOutbox
	// syncs: the log keeps their order, and the outbox row guards the entry.
	AppendJournal(id account.ID, from uint64, events []inbox.Public) error
	// RecentJournal returns the events of the account's newest limit entries.
	RecentJournal(id account.ID, limit int) ([]inbox.Public, error)
	TrimJournal(id account.ID, before time.Time) error

	// Full reports that the free-space gate is closed.
	Full() bool

	DomainStore
}
