package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

func requestNamed(t testing.TB, name, body string) idempotency.Request {
	t.Helper()
	return must[idempotency.Request](t)(idempotency.NewRequest(name, "POST /inboxes", []byte(body)))
}

func reported(place inbox.Placement, at time.Time) []byte {
	return fmt.Appendf(nil, "%s %s %d", place.Address, place.Label, at.UnixMilli())
}

// inboxesOf returns what an account has: by its count, and by its list.
func inboxesOf(t testing.TB, s *System, id account.ID) (int64, []*inbox.View) {
	t.Helper()
	page := must[inbox.ListPage](t)(s.ListInboxes(context.Background(), id, "", 1000, every))
	return must[account.QuotaUsage](t)(s.AccountUsage(context.Background(), id)).InboxCount, page.Views
}

// TestARepeatedCreationMakesOneInbox makes each commit of a creation fail in turn, like a crash
// before it, restarts from the disk, and repeats the request.
func TestARepeatedCreationMakesOneInbox(t *testing.T) {
	for failing := 1; ; failing++ {
		store := persisttest.OpenStore(t)
		s, err := Start(Options{Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost"}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		id := signUp(t, s).Profile.ID
		req := requestNamed(t, "k", "{}")
		var commits atomic.Int64
		store.BeforeCommit = func(any) error {
			if int(commits.Add(1)) >= failing {
				return errors.New("the power went away")
			}
			return nil
		}
		first, err := s.CreateInboxOnce(context.Background(), id, inbox.CreationRequest{}, req, reported)
		s.Stop()
		store.BeforeCommit = nil
		again := startSystem(t, store, nil)
		second := must[idempotency.FirstResult](t)(again.CreateInboxOnce(context.Background(), id, inbox.CreationRequest{}, req, reported))
		third := must[idempotency.FirstResult](t)(again.CreateInboxOnce(context.Background(), id, inbox.CreationRequest{}, req, reported))
		if fmt.Sprint(third) != fmt.Sprint(second) || err == nil && fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("commit %d: answered %s, then %s, then %s", failing, first.EncodedResponse, second.EncodedResponse, third.EncodedResponse)
		}
		count, views := inboxesOf(t, again, id)
		if count != 1 || len(views) != 1 || views[0].Address != second.Address {
			t.Errorf("commit %d: %d inboxes, %d listed, answered %s", failing, count, len(views), second.Address)
		}
		if err == nil {
			if failing < 4 {
				t.Errorf("only %d commits: the test misses a step", failing-1)
			}
			return
		}
	}
}

// TestRepeatsThatCrossEachOther checks that all concurrent repeats get the response of the one that
// created the inbox.
func TestRepeatsThatCrossEachOther(t *testing.T) {
	for range 20 {
		store := persisttest.OpenStore(t)
		s := startSystem(t, store, func(o *Options) { o.Namespaces.PlainAddresses = false })
		id := signUp(t, s).Profile.ID
		req := requestNamed(t, "k", "{}")
		var answers sync.Map
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				a, err := s.CreateInboxOnce(context.Background(), id, inbox.CreationRequest{}, req, reported)
				if err != nil {
					t.Error(err)
				}
				answers.Store(string(a.EncodedResponse), a)
			})
		}
		callers.Wait()
		different := 0
		answers.Range(func(any, any) bool { different++; return true })
		if count, views := inboxesOf(t, s, id); different != 1 || count != 1 || len(views) != 1 {
			t.Fatalf("%d different answers, %d inboxes, %d listed", different, count, len(views))
		}
	}
}

func TestARequestIsKeptForADay(t *testing.T) {
	store := persisttest.OpenStore(t)
	var ahead atomic.Int64
	s := startSystem(t, store, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	ctx := context.Background()
	id, other := signUp(t, s).Profile.ID, must[account.SignedIn](t)(s.SignUp(ctx, "you@example.test", "correct horse")).Profile.ID
	create := func(id account.ID, name, body string) (idempotency.FirstResult, error) {
		return s.CreateInboxOnce(ctx, id, inbox.CreationRequest{}, requestNamed(t, name, body), reported)
	}
	first := must[idempotency.FirstResult](t)(create(id, "k", "{}"))
	if _, err := create(id, "k", `{"prefix":"x"}`); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("another body: %v", err)
	}
	if a := must[idempotency.FirstResult](t)(create(other, "k", `{"prefix":"x"}`)); a.Address == first.Address {
		t.Error("the name of another account's request was recognised")
	}
	// The response stays although the inbox is gone.
	if err := s.DeleteInbox(ctx, id, first.Address); err != nil {
		t.Fatal(err)
	}
	if a := must[idempotency.FirstResult](t)(create(id, "k", "{}")); string(a.EncodedResponse) != string(first.EncodedResponse) {
		t.Errorf("after a delete: %s", a.EncodedResponse)
	}
	for _, passed := range []time.Duration{idempotency.RecordLifetime / 2, idempotency.RecordLifetime} { // a jump would put the clock in doubt
		ahead.Store(int64(passed))
		store.SetAhead(passed)
		store.ClockSeen()
	}
	if a := must[idempotency.FirstResult](t)(create(id, "k", "{}")); a.Address == first.Address {
		t.Error("after a day it is still recognised")
	}
	if count, _ := inboxesOf(t, s, id); count != 1 {
		t.Errorf("%d inboxes", count)
	}
}

// TestARefusalIsNotKept checks that a refused request may succeed later under the same name.
func TestARefusalIsNotKept(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	ctx := context.Background()
	id := signUp(t, s).Profile.ID
	var last *inbox.View
	for range 3 {
		last, _, _ = s.CreateInbox(ctx, id, inbox.CreationRequest{})
	}
	if _, err := s.CreateInboxOnce(ctx, id, inbox.CreationRequest{}, requestNamed(t, "k", "{}"), reported); !fault.Is(err, fault.Refused) {
		t.Fatalf("over the quota: %v", err)
	}
	if err := s.DeleteInbox(ctx, id, last.Address); err != nil {
		t.Fatal(err)
	}
	must[idempotency.FirstResult](t)(s.CreateInboxOnce(ctx, id, inbox.CreationRequest{}, requestNamed(t, "k", "{}"), reported))
	taken := last.Address[:len(last.Address)-len("@inbox.localhost")]
	other := must[account.SignedIn](t)(s.SignUp(ctx, "you@example.test", "correct horse")).Profile.ID
	if _, err := s.CreateInboxOnce(ctx, other, inbox.CreationRequest{Prefix: &taken}, requestNamed(t, "k", "{}"), reported); !fault.Is(err, fault.Refused) {
		t.Errorf("a taken address: %v", err)
	}
	until(func() bool { return store.OnceRecords() == 1 }) // the place is released after the response
}

// TestAnAddressLostMeanwhile covers a run that crashed after its reservation while another account
// took the address. The repeat gets another address.
func TestAnAddressLostMeanwhile(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	ctx := context.Background()
	id := signUp(t, s).Profile.ID
	req := requestNamed(t, "k", "{}")
	place := inbox.Placement{Address: "lost@inbox.localhost", Label: "l", RetentionHours: 1}
	at := s.now()
	if _, err := s.accountOwners.sendCommand(ctx, id, account.ReserveInbox{Address: place.Address, At: at, IdempotencyRecord: &idempotency.Record{Request: req, At: at, FirstResult: idempotency.FirstResult{Address: place.Address, EncodedResponse: reported(place, at)}}}); err != nil {
		t.Fatal(err)
	}
	makeInbox(t, s, place.Address) // owned by someone
	a := must[idempotency.FirstResult](t)(s.CreateInboxOnce(ctx, id, inbox.CreationRequest{}, req, reported))
	count, views := inboxesOf(t, s, id)
	if a.Address == place.Address || count != 1 || len(views) != 1 || views[0].Address != a.Address {
		t.Errorf("answered %s, %d inboxes", a.Address, count)
	}
}

// TestACreationGoesOnAsItWasOrdered covers a run that crashed after its reservation. The repeat
// creates the inbox only from the reservation.
func TestACreationGoesOnAsItWasOrdered(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	s := startSystem(t, store, nil)
	ctx := context.Background()
	id := signUp(t, s).Profile.ID
	req := requestNamed(t, "k", "{}")
	store.BeforeCommit = func(rows any) error {
		if _, inboxes := rows.(*inbox.Rows); inboxes {
			return errors.New("the power went away")
		}
		return nil
	}
	if _, err := s.CreateInboxOnce(ctx, id, inbox.CreationRequest{KeepNewest: true}, req, reported); err == nil {
		t.Fatal("made, and yet nothing was stored")
	}
	store = store.CrashCopy(t)
	s = startSystem(t, store, nil)
	made := must[idempotency.FirstResult](t)(s.CreateInboxOnce(ctx, id, inbox.CreationRequest{KeepNewest: true}, req, reported))
	if view := must[*inbox.View](t)(s.InboxView(ctx, made.Address)); !view.KeepNewest {
		t.Errorf("made was %+v", view.Profile)
	}
}

// TestACommandIsDoneOnce repeats a command to an inbox in every way.
func TestACommandIsDoneOnce(t *testing.T) {
	store := persisttest.OpenStore(t)
	s, err := Start(Options{Store: store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const address = "i@inbox.localhost"
	makeInbox(t, s, address)
	req := requestNamed(t, "k", "mail")
	numbered := func(a inbox.CommandOutcome) []byte { return fmt.Append(nil, a.ID) }
	fail := errors.New("the power went away")
	store.BeforeCommit = func(any) error { return fail }
	if a, err := s.DoOnce(context.Background(), address, receive("x"), req, numbered); err == nil {
		t.Fatalf("nothing was stored, and yet: %s", a.EncodedResponse)
	}
	s.Stop()
	store.BeforeCommit = nil
	s = startSystem(t, store, nil)
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if a, err := s.DoOnce(context.Background(), address, receive("x"), req, numbered); err != nil || string(a.EncodedResponse) != "1" {
				t.Errorf("%s, %v", a.EncodedResponse, err)
			}
		})
	}
	callers.Wait()
	if _, err := s.DoOnce(context.Background(), address, receive("x"), requestNamed(t, "k", "other mail"), numbered); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("another request: %v", err)
	}
	if a := must[idempotency.FirstResult](t)(s.DoOnce(context.Background(), address, receive("x"), requestNamed(t, "l", "mail"), numbered)); string(a.EncodedResponse) != "2" {
		t.Errorf("another name: %s", a.EncodedResponse)
	}
	missing := requestNamed(t, "m", "")
	if _, err := s.DoOnce(context.Background(), address, inbox.DeleteMessage{ID: 77}, missing, numbered); !fault.Is(err, fault.NotFound) {
		t.Errorf("refused: %v", err)
	}
	if n := store.OnceRecords(); n != 2 {
		t.Errorf("%d records", n)
	}
}

// TestWhatChangesNothingLeavesNoRecord also checks that requests that change something leave at
// most as many records as an account may have.
func TestWhatChangesNothingLeavesNoRecord(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	id := signUp(t, s).Profile.ID
	const address = "i@inbox.localhost"
	must[inbox.CommandOutcome](t)(s.Do(t.Context(), address, inbox.Create{Address: address, Account: id, RetentionHours: 24, At: time.Now()}))
	done := func(inbox.CommandOutcome) []byte { return []byte("done") }
	change := func(name, label string) error {
		got, err := s.DoOnce(t.Context(), address, inbox.UpdateSettings{Label: &label}, requestNamed(t, name, label), done)
		if err == nil && string(got.EncodedResponse) != "done" {
			t.Errorf("%s: %s", name, got.EncodedResponse)
		}
		return err
	}
	for n, label := range []string{"a", "a", "a", "b", "b"} {
		if err := change(fmt.Sprint("k", n), label); err != nil {
			t.Fatal(err)
		}
	}
	if n := store.OnceRecords(); n != 2 {
		t.Fatalf("%d records of 2 changes", n)
	}
	if err := change("k0", "c"); !fault.Is(err, fault.InvalidRequest) { // a name that was used for a change
		t.Errorf("another request: %v", err)
	}
	// As if the account already had the rest of its records.
	for n := 2; n < idempotency.MaxRecords; n++ {
		s.requestQuota.addRecord(&idempotency.Record{Owner: id})
	}
	if err := change("one-more", "d"); !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "10000") {
		t.Errorf("beyond the limit: %v", err)
	}
	if _, err := s.CreateInboxOnce(t.Context(), id, inbox.CreationRequest{}, requestNamed(t, "new", ""), reported); !fault.Is(err, fault.Refused) {
		t.Errorf("a creation beyond the limit: %v", err)
	}
	if err := change("k0", "a"); err != nil {
		t.Errorf("a repeat at the limit: %v", err)
	}
	// A walk over the existing records finds that there is room.
	s.requestQuota.BeginWalk(time.Now().Add(time.Second))
	if _, err := store.ForgetOnce(time.Time{}, nil, 1000, s.requestQuota.CountRecord); err != nil {
		t.Fatal(err)
	}
	s.requestQuota.EndWalk()
	if held := s.requestQuota.heldRecords[id]; held.Records != 2 || held.Bytes != 2*(256+4) {
		t.Errorf("a walk finds %+v", held)
	}
	if err := change("one-more", "d"); err != nil {
		t.Error(err)
	}
	s.requestQuota.addRecord(&idempotency.Record{Owner: id, FirstResult: idempotency.FirstResult{EncodedResponse: make([]byte, idempotency.MaxRecordBytes)}})
	if err := change("and-more", "e"); !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "16 MB") {
		t.Errorf("beyond the limit of octets: %v", err)
	}
}

// TestARepeatInDoubtIsNotDoneAgain checks that no record expires while the clock is in doubt, for
// inboxes and accounts.
func TestARepeatInDoubtIsNotDoneAgain(t *testing.T) {
	store := persisttest.OpenStore(t)
	const month = 35 * 24 * time.Hour
	var ahead atomic.Int64
	s := startSystem(t, store, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	id := signUp(t, s).Profile.ID
	const address = "i@inbox.localhost"
	makeInbox(t, s, address)
	req := requestNamed(t, "k", "mail")
	numbered := func(a inbox.CommandOutcome) []byte { return fmt.Append(nil, a.ID) }
	must[idempotency.FirstResult](t)(s.DoOnce(t.Context(), address, receive("x"), req, numbered))
	made := must[idempotency.FirstResult](t)(s.CreateInboxOnce(t.Context(), id, inbox.CreationRequest{}, req, reported))
	ahead.Store(int64(month))
	store.SetAhead(month)
	if a := must[idempotency.FirstResult](t)(s.DoOnce(t.Context(), address, receive("x"), req, numbered)); string(a.EncodedResponse) != "1" {
		t.Errorf("done again: %s", a.EncodedResponse)
	}
	if a, known, err := s.RecallResult(t.Context(), address, req); !known || err != nil || string(a.EncodedResponse) != "1" {
		t.Errorf("not recalled: %s %v", a.EncodedResponse, err)
	}
	if a := must[idempotency.FirstResult](t)(s.CreateInboxOnce(t.Context(), id, inbox.CreationRequest{}, req, reported)); a.Address != made.Address {
		t.Errorf("created again: %s", a.Address)
	}
}

// TestASendIsDoneOnce checks that concurrent repeats queue one message and take one place of the
// day's quota, even the last one.
func TestASendIsDoneOnce(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) {
		o.Plans = account.DefaultPlans()
		for name, plan := range o.Plans {
			plan.SendsPerDay = 1
			o.Plans[name] = plan
		}
	})
	id := signUp(t, s).Profile.ID
	view, _, err := s.CreateInbox(t.Context(), id, inbox.CreationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	numbered := func(a inbox.CommandOutcome) []byte { return fmt.Append(nil, a.ID) }
	letter, req := inbox.SendRequest{To: "bob@far.test", Text: "hi"}, requestNamed(t, "k", "letter")
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if a, err := s.SendOnce(context.Background(), view.Address, letter, req, numbered); err != nil || string(a.EncodedResponse) != "1" {
				t.Errorf("%s, %v", a.EncodedResponse, err)
			}
		})
	}
	callers.Wait()
	if _, err := s.SendOnce(t.Context(), view.Address, letter, requestNamed(t, "k", "another letter"), numbered); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("another request: %v", err)
	}
	now := must[*inbox.View](t)(s.InboxView(t.Context(), view.Address))
	usage := must[account.QuotaUsage](t)(s.AccountUsage(t.Context(), id)) // after earlier notifications
	if len(now.Messages) != 1 || usage.SendsToday != 1 {
		t.Errorf("%d messages, %d sends counted", len(now.Messages), usage.SendsToday)
	}
}
