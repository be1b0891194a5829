package actors

import (
	"context"
	"io"
	"runtime"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
)

// InboxStore is the storage that inboxes need. A commit is one atomic batch and returns only after
// the fsync; StorageFull means that nothing was written.
type InboxStore interface {
	LoadInbox(address string) (*inbox.State, error)
	CommitInbox(*inbox.Rows) error
	// WaitForPosition returns once no crash can keep writes made from now on and lose writes before the
	// position.
	WaitForPosition(partition.Position) error
	// InboxOnce finds the newest record of a request, or nil if none exists.
	InboxOnce(address string, key idempotency.RequestKey) (*idempotency.Record, error)
	// ClockSeen reads the clock and returns the latest reading that was ever trusted.
	ClockSeen() time.Time
	InboxExists(address string) (bool, error)
	// AccountOf finds the account whose inbox lives at an address; the zero ID if none exists.
	AccountOf(address string) (account.ID, error)
	// FindMessage reads the metadata of one message; nil if the message does not exist.
	FindMessage(address string, id int64) (*inbox.Message, error)
	ReadContent(address string, id int64) (*inbox.Content, error)
	ReadRaw(address string, id int64) ([]byte, error)
	// UnacknowledgedPeriod returns the period whose received messages may be unacknowledged: a
	// crash kept them, but their senders may not have received the reply. Both times are zero if
	// there are none.
	UnacknowledgedPeriod() (from, to time.Time)
	// OpenRaw is Raw for callers that read in pieces.
	OpenRaw(address string, id int64) (*io.SectionReader, error)
	// OpenFile opens the envelope of an attachment of a sealed message, as OpenRaw does.
	OpenFile(address string, id int64, file int) (*io.SectionReader, error)
	// InboxEncryption finds the account whose inbox lives at an address, the zero ID if none exists,
	// and whether its messages are sealed.
	InboxEncryption(address string) (id account.ID, encrypted bool, err error)
}

// InboxService reads inboxes and sends commands to their owners. It is immutable; any goroutine may use
// it.
type InboxService struct {
	owners *engine.EntityDirectory
	store  InboxStore
}

// InboxView returns the published view of an inbox and activates the inbox if it is not in memory. For
// an address without an inbox, it only reads the store and starts no actor.
func (i *InboxService) InboxView(ctx context.Context, address string) (*inbox.View, error) {
	if e := i.owners.FindResident([]byte(address)); e != nil {
		if v := e.(*inboxEntity).publishedView.Load(); v != nil {
			return v, nil
		}
	} else if live, err := i.store.InboxExists(address); err != nil {
		return nil, engine.BusyError(err)
	} else if !live {
		return nil, inbox.NoInbox(address)
	}
	got, err := i.owners.Do(ctx, address, activateInbox{}, 0)
	if err != nil {
		return nil, err
	}
	if v, _ := got.(*inbox.View); v != nil {
		return v, nil
	}
	return nil, inbox.NoInbox(address)
}

// ViewFor is View for the account that owns the inbox; NoInbox for any other account. A refusal
// always makes one look-up and takes the same time, whether the inbox exists (in memory or not),
// was deleted or never existed. The time must not reveal which, and a stranger must not activate an
// inbox.
func (i *InboxService) ViewFor(ctx context.Context, id account.ID, address string) (*inbox.View, error) {
	if v := i.ResidentView([]byte(address)); v != nil && v.Account == id {
		return v, nil
	}
	began := time.Now()
	who, err := i.store.AccountOf(address)
	switch {
	case err != nil:
		return nil, engine.BusyError(err)
	case who != id:
		for n := 0; n < refusalLooks && time.Since(began) < refusalTime; n++ {
			runtime.Gosched()
		}
		return nil, inbox.NoInbox(address)
	}
	return i.InboxView(ctx, address)
}

// refusalTime is how long the look-up of a refused address takes. Reading an existing row takes 4
// to 9 µs longer than reading a missing one (ADR 0103). A timer is not precise enough. refusalLooks
// bounds the busy loop: it is far more than fit into refusalTime, but ends the loop in tests where
// time stands still.
const (
	refusalTime  = 60 * time.Microsecond
	refusalLooks = 5_000
)

// AccountOf returns the account whose inbox lives at an address; the zero ID if none exists.
func (i *InboxService) AccountOf(address string) (account.ID, error) {
	if v := i.ResidentView([]byte(address)); v != nil {
		return v.Account, nil
	}
	return i.store.AccountOf(address)
}

// ResidentView returns the published view of an inbox in memory, or nil. It takes no lock and does not
// allocate.
func (i *InboxService) ResidentView(address []byte) *inbox.View {
	if e := i.owners.FindResident(address); e != nil {
		return e.(*inboxEntity).publishedView.Load()
	}
	return nil
}

// QueuedMessage returns a message that waits in the mail queue, even if readers no longer see it or its
// inbox was deleted. It returns nil if the message does not wait.
func (i *InboxService) QueuedMessage(ctx context.Context, address string, id int64) (*inbox.Message, error) {
	if v := i.ResidentView([]byte(address)); v != nil {
		return v.QueuedMessage(id), nil
	}
	got, err := i.owners.Do(ctx, address, findQueued{id}, 0)
	m, _ := got.(*inbox.Message)
	return m, err
}

// isMessageGone reports whether a message can no longer be read: a look at the view of a resident
// inbox, else one look-up. A message that cannot be read for another reason counts as gone. For an
// inbox of another node, gone also returns an error.
func (i *InboxService) isMessageGone(address string, id int64, now time.Time) (bool, error) {
	if v := i.ResidentView([]byte(address)); v != nil {
		return v.Message(id, now) == nil, nil
	}
	m, err := i.store.FindMessage(address, id)
	if fault.Is(err, fault.MovedAway) {
		return true, err
	}
	return err != nil || m == nil || m.IsExpired(now), nil
}

// Do sends cmd to the inbox at address and returns after its commit.
func (i *InboxService) Do(ctx context.Context, address string, cmd inbox.Command) (inbox.CommandOutcome, error) {
	got, err := i.owners.Do(ctx, address, cmd, sizeOf(cmd))
	outcome, _ := got.(inbox.CommandOutcome)
	return outcome, err
}

// isCreationDone reports whether the account's creation at that time succeeded and the inbox lives.
// If not, it never will succeed.
func (i *InboxService) isCreationDone(ctx context.Context, id account.ID, address string, at time.Time) (bool, error) {
	if at.IsZero() { // of an earlier release: it cannot be in progress
		live, err := i.store.InboxExists(address)
		return live, err
	}
	found, err := i.Do(ctx, address, inbox.BarCreation{Address: address, Account: id, At: at})
	return found.Count > 0, err
}

// DoOnce is Do for an idempotent request. encode makes the response for the client from its argument
// alone; it runs in the inbox's owner and must be quick. Refused requests leave no record.
func (i *InboxService) DoOnce(ctx context.Context, address string, cmd inbox.Command, req idempotency.Request, encode func(inbox.CommandOutcome) []byte) (idempotency.FirstResult, error) {
	got, err := i.owners.Do(ctx, address, onceCommand{cmd, req, encode}, sizeOf(cmd))
	result, _ := got.(idempotency.FirstResult)
	return result, err
}

// RecallResult finds the result of an earlier request with the same key.
func (i *InboxService) RecallResult(ctx context.Context, address string, req idempotency.Request) (result idempotency.FirstResult, known bool, err error) {
	got, err := i.owners.Do(ctx, address, recallOnce{req}, 0)
	result, known = got.(idempotency.FirstResult)
	return result, known, err
}

// sizeOf returns how many bytes cmd adds to a batch.
func sizeOf(cmd inbox.Command) int64 {
	switch cmd := cmd.(type) {
	case inbox.Receive:
		return int64(len(cmd.Raw)) + cmd.EncryptedParts.ExtraBytes()
	case inbox.Submit:
		return int64(len(cmd.Raw)) + cmd.EncryptedParts.ExtraBytes()
	case inbox.ApplyMeetingPlan:
		return cmd.Size()
	case inbox.TellOwner:
		if cmd.CopyMessage != nil {
			return int64(len(cmd.CopyMessage.Raw))
		}
	}
	return 0
}

// MessageContent reads the document of a message, or parses a small message again; nil if the
// message is gone.
func (i *InboxService) MessageContent(_ context.Context, address string, id int64) (*inbox.Content, error) {
	c, err := i.store.ReadContent(address, id)
	if err != nil || c == nil || !c.DocumentOmitted {
		return c, wrapReadError(err)
	}
	raw, err := i.store.ReadRaw(address, id)
	if err != nil || raw == nil {
		return nil, wrapReadError(err)
	}
	return ingest.RereadContent(c, raw), nil
}

// RawMessage opens a message as received; nil if it is gone. A read fails with fs.ErrNotExist if the
// message was deleted meanwhile.
func (i *InboxService) RawMessage(_ context.Context, address string, id int64) (*io.SectionReader, error) {
	raw, err := i.store.OpenRaw(address, id)
	return raw, wrapReadError(err)
}

// AttachmentFile opens the envelope of an attachment of a sealed message, as Raw does.
func (i *InboxService) AttachmentFile(_ context.Context, address string, id int64, file int) (*io.SectionReader, error) {
	envelope, err := i.store.OpenFile(address, id, file)
	return envelope, wrapReadError(err)
}

// InboxEncryption finds the account whose inbox lives at an address and whether its messages are
// sealed; the zero ID if none exists.
func (i *InboxService) InboxEncryption(address string) (id account.ID, encrypted bool, err error) {
	if v := i.ResidentView([]byte(address)); v != nil {
		return v.Account, v.Encrypted, nil
	}
	return i.store.InboxEncryption(address)
}

func wrapReadError(err error) error {
	if err == nil || fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.Internal, "The message could not be read", err)
}
