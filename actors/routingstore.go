package actors

import (
	"io"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// RemoteReader returns what code of one partition needs from a partition that another node owns. Each
// call asks the node that serves the partition. Any goroutine may use it. Each method is the
// store's method of the same name; the result was true at some moment during the call.
type RemoteReader interface {
	// InboxExists, AccountOf and Message read inboxes: which inbox is on whose list, which account a
	// webhook event belongs to, and what a deleted message contained.
	InboxExists(address string) (bool, error)
	AccountOf(address string) (account.ID, error)
	FindMessage(address string, id int64) (*inbox.Message, error)
	// PlanOf, Suppression and PutSuppression read and write accounts: what their inboxes may hold
	// and send.
	PlanOf(account.ID) (account.PlanName, error)
	// RecipientOf is the public key that messages to the account's encrypted inboxes are encrypted
	// for.
	RecipientOf(account.ID) (string, error)
	FindSuppression(id account.ID, email string) (account.Suppression, bool, error)
	PutSuppression(account.ID, account.Suppression) error
	// LoadDomain and AttachedAt read domains: whether they serve an address, and their signing keys.
	LoadDomain(name string) (*domain.State, error)
	AttachedAt(name, address string) ([]time.Time, error)
	// LeftQueued searches all partitions that this node does not own.
	LeftQueued(account.ID) ([]string, error)
}

// routingStore is the routing store for every caller that is neither an entity's owner nor a supervisor
// of this node's groups. Before any row is read, it decides by the partition who owns the row. It
// reads rows of this node directly. For rows of another node it asks RemoteReader, but only for reads
// that cross partitions. All other calls fail as "moved", because the caller must go to the owner
// (ADR 0062). It is immutable; any goroutine may use it.
//
// On a node without others, the check costs one atomic load.
type routingStore struct {
	Store
	rowOwner     *partition.OwnershipState // of the rows
	remoteReader RemoteReader
}

// at returns the reader for a partition.
func (a *routingStore) at(p partition.ID) RemoteReader {
	if a.rowOwner.OwnsGroup(p.Group()) {
		return a.Store
	}
	return a.remoteReader
}

func (a *routingStore) InboxExists(address string) (bool, error) {
	return a.at(partition.Of(address)).InboxExists(address)
}

func (a *routingStore) AccountOf(address string) (account.ID, error) {
	return a.at(partition.Of(address)).AccountOf(address)
}

func (a *routingStore) FindMessage(address string, id int64) (*inbox.Message, error) {
	return a.at(partition.Of(address)).FindMessage(address, id)
}

func (a *routingStore) PlanOf(id account.ID) (account.PlanName, error) {
	return a.at(id.HomePartition()).PlanOf(id)
}

func (a *routingStore) RecipientOf(id account.ID) (string, error) {
	return a.at(id.HomePartition()).RecipientOf(id)
}

func (a *routingStore) FindSuppression(id account.ID, email string) (account.Suppression, bool, error) {
	return a.at(id.HomePartition()).FindSuppression(id, email)
}

func (a *routingStore) PutSuppression(id account.ID, s account.Suppression) error {
	return a.at(id.HomePartition()).PutSuppression(id, s)
}

func (a *routingStore) LoadDomain(name string) (*domain.State, error) {
	return a.at(partition.Of(name)).LoadDomain(name)
}

func (a *routingStore) AttachedAt(name, address string) ([]time.Time, error) {
	return a.at(partition.Of(name)).AttachedAt(name, address)
}

// LeftQueued searches all nodes: an account must not be erased before all its queued messages are
// known.
func (a *routingStore) LeftQueued(id account.ID) ([]string, error) {
	here, err := a.Store.LeftQueued(id)
	if err != nil || a.rowOwner.IsAlone() {
		return here, err
	}
	there, err := a.remoteReader.LeftQueued(id)
	return append(here, there...), err
}

// readOwned reads on behalf of an entity that this node must own.
func readOwned[T any](a *routingStore, p partition.ID, read func() (T, error)) (found T, err error) {
	if err = a.rowOwner.CheckPartition(p); err == nil {
		found, err = read()
	}
	return found, err
}

func (a *routingStore) ReadContent(address string, id int64) (*inbox.Content, error) {
	return readOwned(a, partition.Of(address), func() (*inbox.Content, error) { return a.Store.ReadContent(address, id) })
}

func (a *routingStore) ReadRaw(address string, id int64) ([]byte, error) {
	return readOwned(a, partition.Of(address), func() ([]byte, error) { return a.Store.ReadRaw(address, id) })
}

func (a *routingStore) OpenRaw(address string, id int64) (*io.SectionReader, error) {
	return readOwned(a, partition.Of(address), func() (*io.SectionReader, error) { return a.Store.OpenRaw(address, id) })
}

func (a *routingStore) OpenFile(address string, id int64, file int) (*io.SectionReader, error) {
	return readOwned(a, partition.Of(address), func() (*io.SectionReader, error) { return a.Store.OpenFile(address, id, file) })
}

func (a *routingStore) QueuedCopy(address string, id int64) ([]byte, error) {
	return readOwned(a, partition.Of(address), func() ([]byte, error) { return a.Store.QueuedCopy(address, id) })
}

func (a *routingStore) InboxEncryption(address string) (id account.ID, encrypted bool, err error) {
	if err = a.rowOwner.CheckPartition(partition.Of(address)); err == nil {
		id, encrypted, err = a.Store.InboxEncryption(address)
	}
	return id, encrypted, err
}

func (a *routingStore) OutboxOf(address string, after, below uint64, limit int) ([]inbox.PublicEvent, error) {
	return readOwned(a, partition.Of(address), func() ([]inbox.PublicEvent, error) { return a.Store.OutboxOf(address, after, below, limit) })
}

func (a *routingStore) SubdomainHolder(label string) (account.NameHolder, error) {
	return readOwned(a, partition.Of(label), func() (account.NameHolder, error) { return a.Store.SubdomainHolder(label) })
}

func (a *routingStore) AccountByEmail(email string) (account.NameHolder, error) {
	return readOwned(a, partition.Of(email), func() (account.NameHolder, error) { return a.Store.AccountByEmail(email) })
}

func (a *routingStore) AttachedInboxes(name, after string, limit int) ([]domain.AttachedInbox, error) {
	return readOwned(a, partition.Of(name), func() ([]domain.AttachedInbox, error) { return a.Store.AttachedInboxes(name, after, limit) })
}

func (a *routingStore) CalendarShared(address string) (bool, error) {
	return readOwned(a, partition.Of(address), func() (bool, error) { return a.Store.CalendarShared(address) })
}

func (a *routingStore) FindLinked(home partition.ID, token account.TokenHash) (string, error) {
	return readOwned(a, home, func() (string, error) { return a.Store.FindLinked(home, token) })
}

func (a *routingStore) FindCredential(home partition.ID, h account.TokenHash) (id account.ID, key int64, found bool, err error) {
	if err = a.rowOwner.CheckPartition(home); err == nil {
		id, key, found, err = a.Store.FindCredential(home, h)
	}
	return id, key, found, err
}

func (a *routingStore) KeyOfInbox(id account.ID, address string) (int64, error) {
	return readOwned(a, id.HomePartition(), func() (int64, error) { return a.Store.KeyOfInbox(id, address) })
}

func (a *routingStore) ListKeys(id account.ID, after int64, limit int) ([]account.APIKey, error) {
	return readOwned(a, id.HomePartition(), func() ([]account.APIKey, error) { return a.Store.ListKeys(id, after, limit) })
}

func (a *routingStore) ListClaims(id account.ID, after account.SubdomainClaim, limit int) ([]account.SubdomainClaim, error) {
	return readOwned(a, id.HomePartition(), func() ([]account.SubdomainClaim, error) { return a.Store.ListClaims(id, after, limit) })
}

func (a *routingStore) ListInboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error) {
	return readOwned(a, id.HomePartition(), func() ([]account.InboxEntry, error) { return a.Store.ListInboxes(id, after, limit) })
}

func (a *routingStore) Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error) {
	return readOwned(a, id.HomePartition(), func() ([]account.Suppression, error) { return a.Store.Suppressions(id, after, limit) })
}

func (a *routingStore) DropSuppression(id account.ID, email string) (found bool, err error) {
	return readOwned(a, id.HomePartition(), func() (bool, error) { return a.Store.DropSuppression(id, email) })
}

func (a *routingStore) JournalPage(id account.ID, after uint64, address string, since time.Time, limit changefeed.ReadLimit) (changefeed.JournalPage, error) {
	return readOwned(a, id.HomePartition(), func() (changefeed.JournalPage, error) { return a.Store.JournalPage(id, after, address, since, limit) })
}

func (a *routingStore) JournalEnd(id account.ID) (uint64, error) {
	return readOwned(a, id.HomePartition(), func() (uint64, error) { return a.Store.JournalEnd(id) })
}

func (a *routingStore) LastTaken(id account.ID, address string) (uint64, error) {
	return readOwned(a, id.HomePartition(), func() (uint64, error) { return a.Store.LastTaken(id, address) })
}

func (a *routingStore) Webhooks(id account.ID) ([]account.Webhook, error) {
	return readOwned(a, id.HomePartition(), func() ([]account.Webhook, error) { return a.Store.Webhooks(id) })
}

func (a *routingStore) LastCalls(id account.ID) (map[int64]webhook.DeliveryAttempt, error) {
	return readOwned(a, id.HomePartition(), func() (map[int64]webhook.DeliveryAttempt, error) { return a.Store.LastCalls(id) })
}

func (a *routingStore) FindDelivery(id account.ID, delivery int64) (*webhook.Delivery, error) {
	return readOwned(a, id.HomePartition(), func() (*webhook.Delivery, error) { return a.Store.FindDelivery(id, delivery) })
}

func (a *routingStore) ListDeliveries(id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error) {
	return readOwned(a, id.HomePartition(), func() ([]webhook.Delivery, error) { return a.Store.ListDeliveries(id, hook, before, limit) })
}

// noRemoteReader is the RemoteReader of a node that knows no other nodes.
type noRemoteReader struct{}

func (noRemoteReader) InboxExists(string) (bool, error)     { return false, partition.ErrMoved }
func (noRemoteReader) AccountOf(string) (account.ID, error) { return account.ID{}, partition.ErrMoved }
func (noRemoteReader) FindMessage(string, int64) (*inbox.Message, error) {
	return nil, partition.ErrMoved
}
func (noRemoteReader) PlanOf(account.ID) (account.PlanName, error) { return "", partition.ErrMoved }
func (noRemoteReader) RecipientOf(account.ID) (string, error)      { return "", partition.ErrMoved }
func (noRemoteReader) FindSuppression(account.ID, string) (account.Suppression, bool, error) {
	return account.Suppression{}, false, partition.ErrMoved
}
func (noRemoteReader) PutSuppression(account.ID, account.Suppression) error {
	return partition.ErrMoved
}
func (noRemoteReader) LoadDomain(string) (*domain.State, error)       { return nil, partition.ErrMoved }
func (noRemoteReader) AttachedAt(string, string) ([]time.Time, error) { return nil, partition.ErrMoved }
func (noRemoteReader) LeftQueued(account.ID) ([]string, error)        { return nil, partition.ErrMoved }
