package actors

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/groups"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// An account is deleted in steps: close it; remove its inboxes and keys in batches; release its own
// domains and subdomains; end what deleted inboxes left in the mail queue; free the e-mail address;
// erase the rest. Every step is idempotent. If a crash or a cancelled request interrupts the
// deletion, the mark in the store stays, and the closer continues.

const (
	closeStep    = 256 // inboxes or keys per step
	closeWorkers = 16
	closeAgain   = 30 * time.Second
)

// ClosingStore is the storage that deleting accounts needs.
type ClosingStore interface {
	// ListClosing returns accounts whose deletion has begun.
	ListClosing(limit int) ([]account.ID, error)
	// LeftQueued returns the deleted inboxes of an account that still have queued messages.
	LeftQueued(account.ID) ([]string, error)
}

// AccountCloser deletes accounts. It is immutable; any goroutine may use it.
type AccountCloser struct {
	accounts      *AccountService
	registry      *InboxRegistry
	domains       *OwnDomains
	store         ClosingStore
	log           *slog.Logger
	groupAcquired groups.WakeSignal
}

// DeleteAccount removes the account with this e-mail address and all its data, and then frees the
// address. If ctx ends first, the rest is removed in the background; a repeated call waits for it.
func (c *AccountCloser) DeleteAccount(ctx context.Context, email string) error {
	profile, err := c.accounts.profileByEmail(ctx, email)
	if err != nil {
		return err
	}
	if _, err := c.accounts.owners.sendCommand(ctx, profile.ID, account.Close{}); err != nil {
		return err
	}
	return c.finishClosing(ctx, profile.ID)
}

// finishClosing deletes a closing account completely.
func (c *AccountCloser) finishClosing(ctx context.Context, id account.ID) error {
	for {
		done, err := c.closeStep(ctx, id)
		if fault.Is(err, fault.NotFound) { // another goroutine was faster, and the account is gone
			done, err = c.closeStep(ctx, id)
		}
		if done || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return engine.BusyError(err)
		}
	}
}

// closeStep does the next step and reports whether none is left. The closer and an operator may work on
// the same account: owners decide each step and treat work that is already done as a success.
func (c *AccountCloser) closeStep(ctx context.Context, id account.ID) (done bool, err error) {
	picture, err := c.accounts.owners.readReservations(ctx, id, distantFuture)
	profile := picture.profile
	switch {
	case err != nil:
		return false, err
	case profile.CreatedAt.IsZero():
		return true, nil
	case profile.LiveInboxes > 0:
		return false, c.deleteSome(ctx, id)
	case len(picture.reserved) > 0:
		return false, c.settleReserved(ctx, id, picture)
	case profile.AccountKeys+profile.InboxKeys > 0:
		_, err = c.accounts.owners.sendCommand(ctx, id, revokeSome{})
		return false, err
	}
	if err := c.releaseDomains(ctx, id); err != nil {
		return false, err
	}
	if err := c.freeSubdomains(ctx, id); err != nil {
		return false, err
	}
	if err := c.dropQueued(ctx, id); err != nil {
		return false, err
	}
	return true, c.accounts.eraseAccount(ctx, profile)
}

// releaseDomains releases the account's own domains; its inboxes are gone already. A claim that is
// in progress releases its domain itself.
func (c *AccountCloser) releaseDomains(ctx context.Context, id account.ID) error {
	listed, err := c.accounts.owners.listDomains(ctx, id)
	if err != nil {
		return err
	}
	for name := range listed {
		if err := c.domains.ReleaseDomain(ctx, id, name); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// freeSubdomains releases the subdomains of the account's inboxes; the rows that name them go with
// the account. A claim that an abandoned creation adds later belongs to no account.
func (c *AccountCloser) freeSubdomains(ctx context.Context, id account.ID) error {
	for after := (account.SubdomainClaim{}); ; {
		claims, err := c.accounts.store.ListClaims(id, after, closeStep)
		if err != nil {
			return engine.BusyError(err)
		}
		if len(claims) == 0 {
			return nil
		}
		if err := runConcurrently(len(claims), func(i int) error {
			_, err := c.registry.subdomains.SendCommand(ctx, claims[i].Label, account.FreeName{Of: id})
			return err
		}); err != nil {
			return err
		}
		after = claims[len(claims)-1]
	}
}

// dropQueued ends the queued messages of the account's deleted inboxes.
func (c *AccountCloser) dropQueued(ctx context.Context, id account.ID) error {
	addresses, err := c.store.LeftQueued(id)
	if err != nil {
		return engine.BusyError(err)
	}
	for _, address := range addresses {
		if _, err := c.registry.inboxes.Do(ctx, address, inbox.Erase{Account: id}); err != nil {
			return err
		}
	}
	return nil
}

// deleteSome deletes the newest inboxes of the list.
func (c *AccountCloser) deleteSome(ctx context.Context, id account.ID) error {
	entries, err := c.registry.store.ListInboxes(id, account.InboxEntry{}, closeStep)
	if err != nil {
		return engine.BusyError(err)
	}
	if len(entries) == 0 {
		picture, err := c.accounts.owners.readSnapshot(ctx, id)
		if err == nil && picture.profile.LiveInboxes > 0 { // otherwise another goroutine was faster
			err = fault.New(fault.Internal, "The account counts more inboxes than its list has")
		}
		return err
	}
	return runConcurrently(len(entries), func(i int) error { return c.deleteListed(ctx, id, entries[i]) })
}

// runConcurrently calls do n times, several at once, so that their commits share an fsync.
func runConcurrently(n int, do func(i int) error) error {
	var workers sync.WaitGroup
	errs := make([]error, closeWorkers)
	for w := range closeWorkers {
		workers.Go(func() {
			for i := w; i < n && errs[w] == nil; i += closeWorkers {
				errs[w] = do(i)
			}
		})
	}
	workers.Wait()
	return cmp.Or(errs...)
}

func (c *AccountCloser) deleteListed(ctx context.Context, id account.ID, e account.InboxEntry) error {
	view, err := c.registry.inboxes.InboxView(ctx, e.Address)
	if err == nil && view.Account == id && view.CreatedAt.Equal(e.CreatedAt) {
		_, err = c.registry.inboxes.Do(ctx, e.Address, inbox.Erase{Account: id})
	}
	if err != nil && !fault.Is(err, fault.NoInbox) {
		return err
	}
	return c.registry.unlist(ctx, id, e.Address, e.CreatedAt)
}

// settleReserved ends creations that a crash interrupted. Younger ones may still be running: they
// end by themselves, and the closer runs again.
func (c *AccountCloser) settleReserved(ctx context.Context, id account.ID, picture accountPicture) error {
	c.registry.repairReservations(ctx, id, picture)
	for _, r := range picture.reserved {
		if c.accounts.now().Sub(r.At) < reservationAge {
			return fault.New(fault.TemporarilyUnavailable, "The account is closed, but one of its inboxes is still being created. The remaining data is deleted within two minutes")
		}
	}
	return nil
}

// runSupervisor continues interrupted deletions: at the start, when a group is acquired, and every
// closeAgain.
func (c *AccountCloser) runSupervisor(ctx context.Context) {
	for {
		c.goOn(ctx)
		select {
		case <-ctx.Done():
			return
		case <-c.groupAcquired:
		case <-time.After(closeAgain):
		}
	}
}

func (c *AccountCloser) goOn(ctx context.Context) {
	ids, err := c.store.ListClosing(closeStep)
	if err != nil {
		c.log.Error("accounts pending deletion could not be read", "err", err)
		return
	}
	for _, id := range ids {
		if err := c.finishClosing(ctx, id); err != nil && ctx.Err() == nil && !fault.Is(err, fault.MovedAway) {
			c.log.Warn("account deletion failed, will be retried", "account", fmt.Sprint(id), "err", err)
		}
	}
}
