package actors

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

// Deleting an account: close it, remove its inboxes and keys some at a time, give own
// domains back, erase the rest, free the e-mail address. Every step may be repeated. What a crash or an impatient operator
// leaves is marked in the store, and the closer goes on with it.

const (
	closeStep    = 256 // inboxes or keys of one step
	closeWorkers = 16
	closeAgain   = 30 * time.Second
)

// revokeSome ends some keys of a closing account.
type revokeSome struct{}

// DeleteAccount removes the account with this e-mail address and all it has, and then the
// address is free. When ctx ends before, the rest is removed in the background; a repeat
// waits for it.
func (s *System) DeleteAccount(ctx context.Context, email string) error {
	profile, err := s.named(ctx, email)
	if err != nil {
		return err
	}
	if _, err := s.ask(ctx, profile.ID, account.Close{}); err != nil {
		return err
	}
	return s.finishClosing(ctx, profile.ID)
}

// finishClosing takes a closing account to its end.
func (s *System) finishClosing(ctx context.Context, id account.ID) error {
	for {
		done, err := s.closingStep(ctx, id)
		if done || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return engine.Busy(err)
		}
	}
}

// closingStep does the next step, and reports that there is none left. The closer and an
// operator may be at the same account; each step belongs to one of them.
func (s *System) closingStep(ctx context.Context, id account.ID) (done bool, err error) {
	mu := s.closing.Of(id.String())
	mu.Lock()
	defer mu.Unlock()
	picture, err := s.picture(ctx, id)
	profile := picture.profile
	switch {
	case err != nil:
		return false, err
	case profile.CreatedAt.IsZero():
		return true, nil
	case profile.Inboxes > 0:
		return false, s.deleteSome(ctx, id)
	case len(picture.reserved) > 0:
		return false, s.settleReserved(ctx, id, picture)
	case profile.AccountKeys+profile.InboxKeys > 0:
		_, err = s.ask(ctx, id, revokeSome{})
		return false, err
	}
	if err := s.releaseDomains(ctx, id); err != nil {
		return false, err
	}
	return true, s.erase(ctx, profile)
}

// releaseDomains gives the account's own domains back; its inboxes are gone already.
func (s *System) releaseDomains(ctx context.Context, id account.ID) error {
	names, err := s.store.ListedDomains(id)
	if err != nil {
		return engine.Busy(err)
	}
	for _, name := range names {
		if err := s.ReleaseDomain(ctx, id, name); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// deleteSome deletes the newest inboxes of the list, several at a time, so that their
// commits are synced together.
func (s *System) deleteSome(ctx context.Context, id account.ID) error {
	entries, err := s.store.Inboxes(id, account.InboxEntry{}, closeStep)
	if err != nil {
		return engine.Busy(err)
	}
	if len(entries) == 0 {
		return fault.New(fault.Internal, "The list of inboxes is shorter than its count")
	}
	var workers sync.WaitGroup
	errs := make([]error, closeWorkers)
	for w := range closeWorkers {
		workers.Go(func() {
			for i := w; i < len(entries) && errs[w] == nil; i += closeWorkers {
				errs[w] = s.deleteListed(ctx, id, entries[i])
			}
		})
	}
	workers.Wait()
	return cmp.Or(errs...)
}

func (s *System) deleteListed(ctx context.Context, id account.ID, e account.InboxEntry) error {
	view, err := s.View(ctx, e.Address)
	if err == nil && view.Account == id && view.CreatedAt.Equal(e.CreatedAt) {
		_, err = s.Do(ctx, e.Address, inbox.Delete{})
	}
	if err != nil && !fault.Is(err, fault.NoInbox) {
		return err
	}
	if _, err = s.ask(ctx, id, account.ReleaseInbox{Address: e.Address, CreatedAt: e.CreatedAt}); err != nil {
		return err
	}
	return s.leaveDomain(ctx, e.Address)
}

// settleReserved ends creations that a crash cut off. Younger ones may still be at work:
// they end by themselves, and the closer comes again.
func (s *System) settleReserved(ctx context.Context, id account.ID, picture accountPicture) error {
	s.repair(ctx, id, picture)
	for _, r := range picture.reserved {
		if s.now().Sub(r.At) < reservationAge {
			return fault.New(fault.Unavailable, "An inbox of this account is being created. The account is closed, and the rest of it goes within two minutes")
		}
	}
	return nil
}

func (e *accountEntity) revokeSome() error {
	keys, err := e.store.Keys(e.id, 0, closeStep)
	if err != nil || e.rows != nil { // behind other changes of this group: the next round
		return err
	}
	return e.order(account.RevokeKeys{Keys: keys})
}

// erase removes the account and then frees its e-mail address. A crash between leaves a row
// that leads nowhere, which the next sign-up takes over.
func (s *System) erase(ctx context.Context, profile account.Profile) error {
	mu := s.names.Of(profile.Email)
	mu.Lock()
	defer mu.Unlock()
	if _, err := s.ask(ctx, profile.ID, account.Erase{}); err != nil {
		return err
	}
	owner, found, err := s.store.AccountByEmail(profile.Email)
	if err != nil || !found || owner != profile.ID {
		return err
	}
	return s.store.DropEmail(profile.Email)
}

// closeUntilStopped goes on with deletions that were cut off: at the start, and now and then.
func (s *System) closeUntilStopped() {
	for {
		s.closeLeft(s.running)
		select {
		case <-s.stop:
			return
		case <-time.After(closeAgain):
		}
	}
}

func (s *System) closeLeft(ctx context.Context) {
	ids, err := s.store.Closing(closeStep)
	if err != nil {
		s.Logger.Error("accounts to delete could not be read", "err", err)
		return
	}
	for _, id := range ids {
		if err := s.finishClosing(ctx, id); err != nil && ctx.Err() == nil {
			s.Logger.Warn("an account could not be deleted yet", "account", fmt.Sprint(id), "err", err)
		}
	}
}
