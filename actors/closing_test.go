package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// furnish gives an account inboxes with messages, and keys.
func furnish(t *testing.T, s *System, id account.ID, inboxes int) (tokens []string) {
	ctx := context.Background()
	for range inboxes {
		view, _, err := s.CreateInbox(ctx, id, inbox.CreationRequest{})
		if err != nil {
			t.Fatal(err)
		}
		must[inbox.CommandOutcome](t)(s.Do(ctx, view.Address, receive("x")))
		tokens = append(tokens, must[account.IssuedKey](t)(s.IssueInboxKey(ctx, operatorOf(id), view.Address, account.ScopeRead, nil)).Token)
	}
	return append(tokens, must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(id), "", account.ScopeFull, nil)).Token)
}

// TestDeletingAnAccountEndsAllOfIt makes each commit of the deletion fail in turn, like a crash
// before it. A new start completes the deletion by itself.
func TestDeletingAnAccountEndsAllOfIt(t *testing.T) {
	const email = "me@example.test"
	for failing := 1; ; failing++ {
		store := persisttest.OpenStore(t)
		s, err := Start(Options{Store: store, NewPlan: account.PlanPaid, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		in := signUp(t, s)
		tokens := append(furnish(t, s, in.Profile.ID, 3), in.Token)
		for _, token := range tokens {
			must[*account.Principal](t)(s.Authenticate(ctx, []byte(token)))
		}
		_, views := inboxesOf(t, s, in.Profile.ID)
		var commits atomic.Int64
		store.BeforeCommit = func(any) error {
			if int(commits.Add(1)) >= failing {
				return errors.New("the power went away")
			}
			return nil
		}
		err = s.DeleteAccount(ctx, email)
		closed := commits.Load() > 1 || err == nil
		s.Stop()
		store.BeforeCommit = nil
		again := startSystem(t, store, nil)
		if !closed {
			if err := again.DeleteAccount(ctx, email); err != nil {
				t.Fatal(err)
			}
		}
		until(func() bool {
			left, _ := store.ListClosing(1)
			return len(left) == 0
		})
		for _, token := range tokens {
			if p, err := again.Authenticate(ctx, []byte(token)); !fault.Is(err, fault.Unauthenticated) {
				t.Fatalf("commit %d: a token opens %v, %v", failing, p, err)
			}
		}
		for _, v := range views {
			if live, _ := store.InboxExists(v.Address); live {
				t.Errorf("commit %d: %s lives", failing, v.Address)
			}
		}
		until(func() bool { // the closer frees the address last
			_, err := again.SignUp(ctx, email, "correct horse")
			return err == nil
		})
		if err == nil {
			if failing < 8 {
				t.Errorf("only %d commits", failing-1)
			}
			return
		}
	}
}

// TestAClosedAccountIsShutAtOnce checks this while most of the account's data still exists.
func TestAClosedAccountIsShutAtOnce(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) { o.NewPlan = account.PlanPaid })
	ctx := context.Background()
	in := signUp(t, s)
	tokens := append(furnish(t, s, in.Profile.ID, 1), in.Token)
	var held []*account.Principal
	for _, token := range tokens {
		held = append(held, must[*account.Principal](t)(s.Authenticate(ctx, []byte(token))))
	}
	if _, err := s.accountOwners.sendCommand(ctx, in.Profile.ID, account.Close{}); err != nil {
		t.Fatal(err)
	}
	for i, token := range tokens {
		if _, err := s.Authenticate(ctx, []byte(token)); !fault.Is(err, fault.Unauthenticated) || held[i].IsValid(s.now()) {
			t.Errorf("token %d: %v, still valid for who holds it: %v", i, err, held[i].IsValid(s.now()))
		}
	}
	if _, err := s.LogIn(ctx, "me@example.test", "correct horse"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("login: %v", err)
	}
	if _, _, err := s.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{}); err == nil {
		t.Error("an inbox was made")
	}
}

// TestAnAccountWithManyInboxesGoesInSteps also checks that an interrupted deletion continues.
func TestAnAccountWithManyInboxesGoesInSteps(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) { o.NewPlan = account.PlanPaid })
	ctx := context.Background()
	in := signUp(t, s)
	other := must[account.SignedIn](t)(s.SignUp(ctx, "you@example.test", "correct horse"))
	furnish(t, s, other.Profile.ID, 2)
	furnish(t, s, in.Profile.ID, 2*closeStep+10)
	if err := s.DeleteAccount(ctx, "ME@example.test"); err != nil {
		t.Fatal(err)
	}
	if count, views := inboxesOf(t, s, other.Profile.ID); count != 2 || len(views) != 2 || len(inventory(t, s, other.Profile.ID)) != 3 {
		t.Errorf("the other account: %d inboxes", count)
	}
	if err := s.DeleteAccount(ctx, "me@example.test"); !fault.Is(err, fault.NotFound) {
		t.Errorf("twice: %v", err)
	}
	if page, _, _ := s.AccountKeys(ctx, in.Profile.ID, "", 10); len(page) != 0 {
		t.Errorf("keys are left: %v", page)
	}
}

// TestManyDeleteOneAccount runs operators and the closer concurrently; each of them reports that
// the account is gone.
func TestManyDeleteOneAccount(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) { o.NewPlan = account.PlanPaid })
	ctx := t.Context()
	in := signUp(t, s)
	furnish(t, s, in.Profile.ID, closeStep+10)
	if _, err := s.accountOwners.sendCommand(ctx, in.Profile.ID, account.Close{}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := s.AccountCloser.finishClosing(ctx, in.Profile.ID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left := must[[]account.ID](t)(store.ListClosing(9)); len(left) != 0 || len(opened(t, s)) != 0 {
		t.Errorf("left: %v, %v", left, opened(t, s))
	}
	signUp(t, s)
}

// TestADeletionWaitsForCreationsUnderWay also checks that it does not wait for creations that a
// crash interrupted.
func TestADeletionWaitsForCreationsUnderWay(t *testing.T) {
	store := persisttest.OpenStore(t)
	var ahead atomic.Int64
	s := startSystem(t, store, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	ctx := context.Background()
	id := signUp(t, s).Profile.ID
	for _, name := range []string{"made", "notmade"} {
		address, at := fmt.Sprint(name, "@inbox.localhost"), s.now()
		if _, err := s.accountOwners.sendCommand(ctx, id, account.ReserveInbox{Address: address, At: at}); err != nil {
			t.Fatal(err)
		}
		if name == "made" {
			must[inbox.CommandOutcome](t)(s.Do(ctx, address, inbox.Create{Address: address, Account: id, RetentionHours: 1, At: at}))
		}
	}
	if err := s.DeleteAccount(ctx, "me@example.test"); !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Errorf("while creations are under way: %v", err)
	}
	ahead.Store(int64(2 * reservationAge))
	if err := s.DeleteAccount(ctx, "me@example.test"); err != nil {
		t.Fatal(err)
	}
	if live, _ := store.InboxExists("made@inbox.localhost"); live {
		t.Error("an inbox outlived its account")
	}
}
