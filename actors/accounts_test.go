package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// operatorOf returns the operator's principal for an account.
func operatorOf(id account.ID) *account.Principal { return &account.Principal{Account: id} }

func signUp(t testing.TB, s *System) account.SignedIn {
	t.Helper()
	return must[account.SignedIn](t)(s.SignUp(context.Background(), "me@example.test", "correct horse"))
}

// inventory pages through all keys, two at a time.
func inventory(t testing.TB, s *System, id account.ID) (all []account.APIKey) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := s.AccountKeys(context.Background(), id, cursor, 2)
		if err != nil || len(page) > 2 {
			t.Fatal(page, err)
		}
		all = append(all, page...)
		if cursor = next; cursor == "" {
			return all
		}
	}
}

func TestSignUpAndCredentials(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	ctx := context.Background()
	in := signUp(t, s)
	p := must[*account.Principal](t)(s.Authenticate(ctx, []byte(in.Token)))
	if p.Kind != account.KindSession || p.Account != in.Profile.ID {
		t.Errorf("%+v", p)
	}
	if _, err := s.SignUp(ctx, "ME@example.test", "correct horse"); !fault.Is(err, fault.Refused) {
		t.Errorf("a second sign-up: %v", err)
	}
	if _, err := s.LogIn(ctx, "me@example.test", "wrong horse"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("wrong password: %v", err)
	}
	if _, err := s.LogIn(ctx, "you@example.test", "correct horse"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("unknown address: %v", err)
	}
	second := must[account.SignedIn](t)(s.LogIn(ctx, "me@example.test", "correct horse"))
	if err := s.LogOut(ctx, p); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Authenticate(ctx, []byte(in.Token)); !fault.Is(err, fault.Unauthenticated) || p.IsValid(s.Now()) {
		t.Errorf("after logout: %v", err)
	}
	must[*account.Principal](t)(s.Authenticate(ctx, []byte(second.Token)))
}

// opened lists all accounts.
func opened(t testing.TB, s *System) []account.Profile {
	t.Helper()
	return must[[]account.Profile](t)(s.ListProfiles(account.ID{}, 100))
}

// TestAnAddressOpensOneAccount checks two sign-ups whose steps interleave. The later one creates no
// account, however late it comes, also across crashes.
func TestAnAddressOpensOneAccount(t *testing.T) {
	const email = "me@example.test"
	ctx := t.Context()
	store := persisttest.OpenCrashable(t)
	s := startSystem(t, store, nil)
	slow := account.Open{ID: account.NewID(s.now(), [10]byte{1}), Email: email, PasswordHash: "x"}
	if err := s.AccountService.claimEmail(ctx, email, slow.ID); err != nil {
		t.Fatal(err)
	}
	store = store.CrashCopy(t) // the address refers to no account
	s = startSystem(t, store, nil)
	if _, err := s.LogIn(ctx, email, "correct horse"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a log-in before the sign-up: %v", err)
	}
	in := signUp(t, s)
	for range 2 {
		if _, err := s.accountOwners.sendCommand(ctx, slow.ID, slow); !fault.Is(err, fault.Refused) {
			t.Errorf("the slow one: %v", err)
		}
		store = store.CrashCopy(t)
		s = startSystem(t, store, nil)
	}
	if all, left := opened(t, s), must[[]account.ID](t)(store.ListClosing(9)); len(all) != 1 || all[0].ID != in.Profile.ID || len(left) != 0 {
		t.Errorf("accounts %+v, closing %v", all, left)
	}
	if again := must[account.SignedIn](t)(s.LogIn(ctx, email, "correct horse")); again.Profile.ID != in.Profile.ID {
		t.Errorf("the address leads to %v", again.Profile.ID)
	}

	// An account that was created, though its sign-up is not acknowledged yet, keeps its address.
	if err := s.AccountService.claimEmail(ctx, "you@example.test", slow.ID); err != nil {
		t.Fatal(err)
	}
	open := account.Open{ID: account.NewID(s.now(), [10]byte{2}), Email: "you@example.test", PasswordHash: "x"}
	if err := s.AccountService.claimEmail(ctx, open.Email, open.ID); err != nil {
		t.Fatal(err)
	}
	must[any](t)(s.accountOwners.sendCommand(ctx, open.ID, open))
	if err := s.AccountService.claimEmail(ctx, open.Email, account.ID{9}); !fault.Is(err, fault.Refused) {
		t.Errorf("an address with an account: %v", err)
	}
}

// TestManySignUpsAtOnce checks that exactly one of many concurrent sign-ups succeeds.
func TestManySignUpsAtOnce(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), nil)
	var won atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := s.SignUp(context.Background(), "me@example.test", "correct horse")
			if err == nil {
				won.Add(1)
			} else if !fault.Is(err, fault.Refused) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(opened(t, s)); n != 1 || won.Load() != 1 {
		t.Errorf("%d won, %d accounts", won.Load(), n)
	}
}

// TestALateErasureLeavesTheAddress checks that a new account keeps its address if two workers
// delete the old account and one of them is late.
func TestALateErasureLeavesTheAddress(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), nil)
	ctx := t.Context()
	old := signUp(t, s).Profile
	if err := s.DeleteAccount(ctx, old.Email); err != nil {
		t.Fatal(err)
	}
	in := signUp(t, s)
	if err := s.eraseAccount(ctx, old); !fault.Is(err, fault.NotFound) {
		t.Errorf("the late one: %v", err)
	}
	if again := must[account.SignedIn](t)(s.LogIn(ctx, old.Email, "correct horse")); again.Profile.ID != in.Profile.ID {
		t.Errorf("the address leads to %v", again.Profile.ID)
	}
}

// TestSignUpTakesOverADanglingEmail checks this in the same run in which the store failed between
// the steps.
func TestSignUpTakesOverADanglingEmail(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	fail := true
	store.BeforeCommit = func(rows any) error {
		if _, opens := rows.(*account.Rows); opens && fail {
			return errors.New("crash between the steps")
		}
		return nil
	}
	if _, err := s.SignUp(context.Background(), "me@example.test", "correct horse"); err == nil {
		t.Fatal("the account row was not written, and yet")
	}
	fail = false
	until(func() bool { // the owner rests for some milliseconds
		_, err := s.SignUp(context.Background(), "me@example.test", "correct horse")
		return err == nil
	})
}

func TestKeysComeAndGo(t *testing.T) {
	store := persisttest.OpenStore(t)
	now := atomic.Pointer[time.Time]{}
	at := func(t0 time.Time) { now.Store(&t0) }
	at(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))
	s := startSystem(t, store, func(o *Options) { o.Now = func() time.Time { return *now.Load() } })
	ctx := context.Background()
	in := signUp(t, s)
	days := 30
	k := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(in.Profile.ID), "ci", account.ScopeRead, &days))
	p := must[*account.Principal](t)(s.Authenticate(ctx, []byte(k.Token)))
	if p.Kind != account.KindAccountKey || p.Scopes != account.ScopeRead {
		t.Errorf("%+v", p)
	}
	at(now.Load().AddDate(0, 0, 30))
	if _, err := s.Authenticate(ctx, []byte(k.Token)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("expired: %v", err)
	}
	forever := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(in.Profile.ID), "", account.ScopeFull, nil))
	p = must[*account.Principal](t)(s.Authenticate(ctx, []byte(forever.Token)))
	if list := inventory(t, s, in.Profile.ID); len(list) != 2 || !list[0].SeenExpired || list[1].LastUsedAt.IsZero() {
		t.Errorf("inventory %+v", list)
	}
	if err := s.RevokeKey(ctx, in.Profile.ID, forever.Key.ID); err != nil || p.IsValid(s.Now()) {
		t.Errorf("revoked: %v, still valid %v", err, p.IsValid(s.Now()))
	}
	if err := s.RevokeKey(ctx, in.Profile.ID, forever.Key.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("twice: %v", err)
	}
}

func TestAnInboxHoldsOneKey(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	ctx := context.Background()
	in := signUp(t, s)
	view, _, err := s.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var issued, refused atomic.Int64
	var callers sync.WaitGroup
	var token atomic.Value
	for range 20 {
		callers.Go(func() {
			switch k, err := s.IssueInboxKey(ctx, operatorOf(in.Profile.ID), view.Address, account.ScopeRead, nil); {
			case err == nil:
				issued.Add(1)
				token.Store(k.Token)
			case fault.Is(err, fault.Refused):
				refused.Add(1)
			}
		})
	}
	callers.Wait()
	if issued.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d issued, %d refused", issued.Load(), refused.Load())
	}
	p := must[*account.Principal](t)(s.Authenticate(ctx, []byte(token.Load().(string))))
	if p.Kind != account.KindInboxKey || p.Inbox != view.Address {
		t.Errorf("%+v", p)
	}
	if err := s.RevokeInboxKey(ctx, in.Profile.ID, view.Address); err != nil || p.IsValid(s.Now()) {
		t.Errorf("revoked: %v, still valid %v", err, p.IsValid(s.Now()))
	}
	k := must[account.IssuedKey](t)(s.IssueInboxKey(ctx, operatorOf(in.Profile.ID), view.Address, account.ScopeRead, nil))
	if err := s.DeleteInbox(ctx, in.Profile.ID, view.Address); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Authenticate(ctx, []byte(k.Token)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the key of a deleted inbox: %v", err)
	}
}

// TestRevokedKeyNeverComesBack runs look-ups that fill the cache concurrently with the revocation.
func TestRevokedKeyNeverComesBack(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	ctx := context.Background()
	in := signUp(t, s)
	for range 200 {
		k := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(in.Profile.ID), "", account.ScopeRead, nil))
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				_, _ = s.Authenticate(ctx, []byte(k.Token))
			})
		}
		if err := s.RevokeKey(ctx, in.Profile.ID, k.Key.ID); err != nil {
			t.Fatal(err)
		}
		readers.Wait()
		if p, err := s.Authenticate(ctx, []byte(k.Token)); err == nil {
			t.Fatalf("a revoked key opens %v", p)
		}
	}
}

func TestQuotaIsExactUnderParallelCreates(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	in := signUp(t, s)
	var made, refused atomic.Int64
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			switch _, _, err := s.CreateInbox(context.Background(), in.Profile.ID, inbox.CreationRequest{}); {
			case err == nil:
				made.Add(1)
			case fault.Is(err, fault.Refused):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if made.Load() != 3 || refused.Load() != 47 {
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
}

func TestTakenAddressGivesThePlaceBack(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) { o.NewPlan = account.PlanPaid })
	ctx := context.Background()
	in := signUp(t, s)
	other := must[account.SignedIn](t)(s.SignUp(ctx, "you@example.test", "correct horse"))
	prefix := "taken"
	if _, _, err := s.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{Prefix: &prefix}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []account.ID{in.Profile.ID, other.Profile.ID} {
		if _, _, err := s.CreateInbox(ctx, id, inbox.CreationRequest{Prefix: &prefix}); !fault.Is(err, fault.Refused) {
			t.Errorf("taken: %v", err)
		}
	}
	until(func() bool { return must[account.QuotaUsage](t)(s.AccountUsage(ctx, other.Profile.ID)).InboxCount == 0 })
	until(func() bool { return must[account.QuotaUsage](t)(s.AccountUsage(ctx, in.Profile.ID)).InboxCount == 1 })
	if err := s.DeleteInbox(ctx, in.Profile.ID, "taken@inbox.localhost"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.CreateInbox(ctx, other.Profile.ID, inbox.CreationRequest{Prefix: &prefix}); !fault.Is(err, fault.Refused) {
		t.Errorf("a deleted address passes to another account at once: %v", err)
	}
	if _, _, err := s.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{Prefix: &prefix}); err != nil {
		t.Errorf("its own account takes it again: %v", err)
	}
}

func TestSubdomainBelongsToItsFirstUser(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) { o.NewPlan = account.PlanPaid })
	ctx := context.Background()
	in := signUp(t, s)
	other := must[account.SignedIn](t)(s.SignUp(ctx, "you@example.test", "correct horse"))
	label := "fleet"
	for range 2 {
		view, _, err := s.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{Subdomain: &label})
		if err != nil || !strings.HasSuffix(view.Address, "@fleet.inbox.localhost") {
			t.Fatal(view, err)
		}
	}
	if _, _, err := s.CreateInbox(ctx, other.Profile.ID, inbox.CreationRequest{Subdomain: &label}); !fault.Is(err, fault.Refused) {
		t.Errorf("another account: %v", err)
	}
}

func TestListPagesNewestFirst(t *testing.T) {
	store := persisttest.OpenStore(t)
	clock := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	s := startSystem(t, store, func(o *Options) {
		o.NewPlan = account.PlanPaid
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			clock = clock.Add(time.Millisecond)
			return clock
		}
	})
	ctx := context.Background()
	in := signUp(t, s)
	for i := range 300 { // more than are read at once
		prefix := fmt.Sprintf("box%d", i)
		if _, _, err := s.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{Prefix: &prefix}); err != nil {
			t.Fatal(err)
		}
	}
	pages := func(limit int, take func(*inbox.View) bool) (pages []string) {
		for cursor, more := "", true; more; more = cursor != "" {
			found := must[inbox.ListPage](t)(s.ListInboxes(ctx, in.Profile.ID, cursor, limit, take))
			cursor = found.NextCursor
			page := ""
			for _, v := range found.Views {
				page += v.Address[3:strings.IndexByte(v.Address, '@')] + " "
			}
			pages = append(pages, page)
		}
		return pages
	}
	if got := pages(150, every); len(got) != 2 || !strings.HasPrefix(got[0], "299 298 ") || !strings.HasSuffix(got[1], " 1 0 ") {
		t.Errorf("all: %q", got)
	}
	hundreds := func(v *inbox.View) bool {
		return strings.Contains(v.Address, "00@") || strings.HasPrefix(v.Address, "box0@")
	}
	for limit, want := range map[int]string{1: `["200 " "100 " "0 "]`, 2: `["200 100 " "0 "]`, 3: `["200 100 0 "]`} {
		if got := fmt.Sprintf("%q", pages(limit, hundreds)); got != want {
			t.Errorf("hundreds, %d a page: %s", limit, got)
		}
	}
}

// TestACreationCopiesNoOthers checks memory: when an account creates thousands of inboxes
// concurrently, each creation takes no more memory than a single one.
func TestACreationCopiesNoOthers(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), func(o *Options) { o.NewPlan = account.PlanPaid })
	ctx, id := t.Context(), signUp(t, s).Profile.ID
	var makers sync.WaitGroup
	for part := range 20 {
		makers.Go(func() {
			for n := range 150 {
				if _, err := s.accountOwners.sendCommand(ctx, id, account.ReserveInbox{Address: fmt.Sprintf("b%d-%d@inbox.localhost", part, n), At: s.now()}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const made = 20
	for range made {
		if _, _, err := s.CreateInbox(ctx, id, inbox.CreationRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / made; each > 128<<10 {
		t.Errorf("a creation takes %d bytes", each)
	}
	if n := len(must[account.QuotaUsage](t)(s.AccountUsage(ctx, id)).ReservedInboxes); n != 3000 {
		t.Errorf("%d are reserved", n)
	}
}

// TestReservationIsRepaired creates the state that a crash between the steps would leave.
func TestReservationIsRepaired(t *testing.T) {
	store := persisttest.OpenStore(t)
	var ahead atomic.Int64
	s := startSystem(t, store, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	ctx := context.Background()
	in := signUp(t, s)
	at := s.now()
	for _, address := range []string{"made@inbox.localhost", "notmade@inbox.localhost"} {
		if _, err := s.accountOwners.sendCommand(ctx, in.Profile.ID, account.ReserveInbox{Address: address, At: at}); err != nil {
			t.Fatal(err)
		}
	}
	must[inbox.CommandOutcome](t)(s.Do(ctx, "made@inbox.localhost", inbox.Create{Address: "made@inbox.localhost", Account: in.Profile.ID, RetentionHours: 1, At: at}))
	ahead.Store(int64(2 * reservationAge))
	if _, _, err := s.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{}); err != nil {
		t.Fatal(err)
	}
	// A creation that was still in progress is refused from now on.
	late := inbox.Create{Address: "notmade@inbox.localhost", Account: in.Profile.ID, RetentionHours: 1, At: at}
	for range 2 {
		if _, err := s.Do(ctx, late.Address, late); !fault.Is(err, fault.Refused) {
			t.Errorf("a creation whose place was given back: %v", err)
		}
		late.AlreadyAttempted = true
	}
	picture := must[accountPicture](t)(s.accountOwners.readReservations(ctx, in.Profile.ID, distantFuture))
	if len(picture.reserved) != 0 || picture.profile.LiveInboxes != 2 {
		t.Errorf("reserved %v, %d inboxes", picture.reserved, picture.profile.LiveInboxes)
	}
	late.At, late.AlreadyAttempted = s.now(), false
	must[inbox.CommandOutcome](t)(s.Do(ctx, late.Address, late)) // a newer one of the same account
}

// every is a list filter that accepts all inboxes.
func every(*inbox.View) bool { return true }
