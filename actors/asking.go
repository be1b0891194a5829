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

// Elsewhere returns what code of one partition needs from a partition that another node owns. Each
// call asks the node that serves the partition. Any goroutine may use it. Each method is the
// store's method of the same name; the result was true at some moment during the call.
type Elsewhere interface {
	// Live, AccountOf and Message read inboxes: which inbox is on whose list, which account a
	// webhook event belongs to, and what a deleted message contained.
	Live(address string) (bool, error)
	AccountOf(address string) (account.ID, error)
	Message(address string, id int64) (*inbox.Message, error)
	// PlanOf, Suppression and PutSuppression read and write accounts: what their inboxes may hold
	// and send.
	PlanOf(account.ID) (account.PlanName, error)
	// RecipientOf is the public key that messages to the account's encrypted inboxes are encrypted
	// for.
	RecipientOf(account.ID) (string, error)
	Suppression(id account.ID, email string) (account.Suppression, bool, error)
	PutSuppression(account.ID, account.Suppression) error
	// LoadDomain and Attached read domains: whether they serve an address, and their signing keys.
	LoadDomain(name string) (*domain.State, error)
	Attached(name, address string) ([]time.Time, error)
	// LeftQueued searches all partitions that this node does not own.
	LeftQueued(account.ID) ([]string, error)
}

// asking is the routing store for every caller that is neither an entity's owner nor a supervisor
// of this node's groups. Before any row is read, it decides by the partition who owns the row. It
// reads rows of this node directly. For rows of another node it asks Elsewhere, but only for reads
// that cross partitions. All other calls fail as "moved", because the caller must go to the owner
// (ADR 0062). It is immutable; any goroutine may use it.
//
// On a node without others, the check costs one atomic load.
type asking struct {
	Store
	owner *partition.Owner // of the rows
	there Elsewhere
}

// at returns the reader for a partition.
func (a *asking) at(p partition.ID) Elsewhere {
	if a.owner.Owns(p.Group()) {
		return a.Store
	}
	return a.there
}

func (a *asking) Live(address string) (bool, error) {
	return a.at(partition.Of(address)).Live(address)
}

func (a *asking) AccountOf(address string) (account.ID, error) {
	return a.at(partition.Of(address)).AccountOf(address)
}

func (a *asking) Message(address string, id int64) (*inbox.Message, error) {
	return a.at(partition.Of(address)).Message(address, id)
}

func (a *asking) PlanOf(id account.ID) (account.PlanName, error) {
	return a.at(id.Partition()).PlanOf(id)
}

func (a *asking) RecipientOf(id account.ID) (string, error) {
	return a.at(id.Partition()).RecipientOf(id)
}

func (a *asking) Suppression(id account.ID, email string) (account.Suppression, bool, error) {
	return a.at(id.Partition()).Suppression(id, email)
}

func (a *asking) PutSuppression(id account.ID, s account.Suppression) error {
	return a.at(id.Partition()).PutSuppression(id, s)
}

func (a *asking) LoadDomain(name string) (*domain.State, error) {
	return a.at(partition.Of(name)).LoadDomain(name)
}

func (a *asking) Attached(name, address string) ([]time.Time, error) {
	return a.at(partition.Of(name)).Attached(name, address)
}

// LeftQueued searches all nodes: an account must not be erased before all its queued messages are
// known.
func (a *asking) LeftQueued(id account.ID) ([]string, error) {
	here, err := a.Store.LeftQueued(id)
	if err != nil || a.owner.IsAlone() {
		return here, err
	}
	there, err := a.there.LeftQueued(id)
	return append(here, there...), err
}

// own reads on behalf of an entity that this node must own.
func own[T any](a *asking, p partition.ID, read func() (T, error)) (found T, err error) {
	if err = a.owner.Check(p); err == nil {
		found, err = read()
	}
	return found, err
}

func (a *asking) Content(address string, id int64) (*inbox.Content, error) {
	return own(a, partition.Of(address), func() (*inbox.Content, error) { return a.Store.Content(address, id) })
}

func (a *asking) Raw(address string, id int64) ([]byte, error) {
	return own(a, partition.Of(address), func() ([]byte, error) { return a.Store.Raw(address, id) })
}

func (a *asking) OpenRaw(address string, id int64) (*io.SectionReader, error) {
	return own(a, partition.Of(address), func() (*io.SectionReader, error) { return a.Store.OpenRaw(address, id) })
}

func (a *asking) OpenFile(address string, id int64, file int) (*io.SectionReader, error) {
	return own(a, partition.Of(address), func() (*io.SectionReader, error) { return a.Store.OpenFile(address, id, file) })
}

func (a *asking) QueuedCopy(address string, id int64) ([]byte, error) {
	return own(a, partition.Of(address), func() ([]byte, error) { return a.Store.QueuedCopy(address, id) })
}

func (a *asking) Encryption(address string) (id account.ID, encrypted bool, err error) {
	if err = a.owner.Check(partition.Of(address)); err == nil {
		id, encrypted, err = a.Store.Encryption(address)
	}
	return id, encrypted, err
}

func (a *asking) OutboxOf(address string, after, below uint64, limit int) ([]inbox.Public, error) {
	return own(a, partition.Of(address), func() ([]inbox.Public, error) { return a.Store.OutboxOf(address, after, below, limit) })
}

func (a *asking) SubdomainHolder(label string) (account.Holding, error) {
	return own(a, partition.Of(label), func() (account.Holding, error) { return a.Store.SubdomainHolder(label) })
}

func (a *asking) AccountByEmail(email string) (account.Holding, error) {
	return own(a, partition.Of(email), func() (account.Holding, error) { return a.Store.AccountByEmail(email) })
}

func (a *asking) AttachedInboxes(name, after string, limit int) ([]domain.Attached, error) {
	return own(a, partition.Of(name), func() ([]domain.Attached, error) { return a.Store.AttachedInboxes(name, after, limit) })
}

func (a *asking) CalendarShared(address string) (bool, error) {
	return own(a, partition.Of(address), func() (bool, error) { return a.Store.CalendarShared(address) })
}

func (a *asking) Linked(home partition.ID, token account.Hash) (string, error) {
	return own(a, home, func() (string, error) { return a.Store.Linked(home, token) })
}

func (a *asking) Credential(home partition.ID, h account.Hash) (id account.ID, key int64, found bool, err error) {
	if err = a.owner.Check(home); err == nil {
		id, key, found, err = a.Store.Credential(home, h)
	}
	return id, key, found, err
}

func (a *asking) KeyOfInbox(id account.ID, address string) (int64, error) {
	return own(a, id.Partition(), func() (int64, error) { return a.Store.KeyOfInbox(id, address) })
}

func (a *asking) Keys(id account.ID, after int64, limit int) ([]account.Key, error) {
	return own(a, id.Partition(), func() ([]account.Key, error) { return a.Store.Keys(id, after, limit) })
}

func (a *asking) Claims(id account.ID, after account.Claim, limit int) ([]account.Claim, error) {
	return own(a, id.Partition(), func() ([]account.Claim, error) { return a.Store.Claims(id, after, limit) })
}

func (a *asking) Inboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error) {
	return own(a, id.Partition(), func() ([]account.InboxEntry, error) { return a.Store.Inboxes(id, after, limit) })
}

func (a *asking) Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error) {
	return own(a, id.Partition(), func() ([]account.Suppression, error) { return a.Store.Suppressions(id, after, limit) })
}

func (a *asking) DropSuppression(id account.ID, email string) (found bool, err error) {
	return own(a, id.Partition(), func() (bool, error) { return a.Store.DropSuppression(id, email) })
}

func (a *asking) JournalPage(id account.ID, after uint64, address string, since time.Time, limit changefeed.Limit) (changefeed.Page, error) {
	return own(a, id.Partition(), func() (changefeed.Page, error) { return a.Store.JournalPage(id, after, address, since, limit) })
}

func (a *asking) JournalEnd(id account.ID) (uint64, error) {
	return own(a, id.Partition(), func() (uint64, error) { return a.Store.JournalEnd(id) })
}

func (a *asking) Taken(id account.ID, address string) (uint64, error) {
	return own(a, id.Partition(), func() (uint64, error) { return a.Store.Taken(id, address) })
}

func (a *asking) Webhooks(id account.ID) ([]account.Webhook, error) {
	return own(a, id.Partition(), func() ([]account.Webhook, error) { return a.Store.Webhooks(id) })
}

func (a *asking) LastCalls(id account.ID) (map[int64]webhook.Call, error) {
	return own(a, id.Partition(), func() (map[int64]webhook.Call, error) { return a.Store.LastCalls(id) })
}

func (a *asking) Delivery(id account.ID, delivery int64) (*webhook.Delivery, error) {
	return own(a, id.Partition(), func() (*webhook.Delivery, error) { return a.Store.Delivery(id, delivery) })
}

func (a *asking) Deliveries(id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error) {
	return own(a, id.Partition(), func() ([]webhook.Delivery, error) { return a.Store.Deliveries(id, hook, before, limit) })
}

// nobody is the Elsewhere of a node that knows no other nodes.
type nobody struct{}

func (nobody) Live(string) (bool, error)                     { return false, partition.ErrMoved }
func (nobody) AccountOf(string) (account.ID, error)          { return account.ID{}, partition.ErrMoved }
func (nobody) Message(string, int64) (*inbox.Message, error) { return nil, partition.ErrMoved }
func (nobody) PlanOf(account.ID) (account.PlanName, error)   { return "", partition.ErrMoved }
func (nobody) RecipientOf(account.ID) (string, error)        { return "", partition.ErrMoved }
func (nobody) Suppression(account.ID, string) (account.Suppression, bool, error) {
	return account.Suppression{}, false, partition.ErrMoved
}
func (nobody) PutSuppression(account.ID, account.Suppression) error { return partition.ErrMoved }
func (nobody) LoadDomain(string) (*domain.State, error)             { return nil, partition.ErrMoved }
func (nobody) Attached(string, string) ([]time.Time, error)         { return nil, partition.ErrMoved }
func (nobody) LeftQueued(account.ID) ([]string, error)              { return nil, partition.ErrMoved }
