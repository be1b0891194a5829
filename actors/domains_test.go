package actors

import (
	"context"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/domain/lookup"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/persist/persisttest"
)

// fakeDNS publishes whole domains; anything else does not exist.
type fakeDNS struct {
	lookup.Resolver
	mu      sync.Mutex
	records []domain.DNSRecord
	trouble bool
	asked   int
}

func (f *fakeDNS) publish(records []domain.DNSRecord) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.records = records
}

func (f *fakeDNS) fail(trouble bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = trouble
}

func (f *fakeDNS) questions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *fakeDNS) find(kind, name string) (values []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	for _, r := range f.records {
		if r.Type == kind && r.Name == name {
			values = append(values, r.Value)
		}
	}
	switch {
	case f.trouble:
		return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	case len(values) == 0:
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}
	return values, nil
}

func (f *fakeDNS) LookupTXT(_ context.Context, name string) ([]string, error) {
	return f.find("TXT", name)
}

func (f *fakeDNS) LookupMX(_ context.Context, name string) (hosts []*net.MX, err error) {
	values, err := f.find("MX", name)
	for _, v := range values {
		hosts = append(hosts, &net.MX{Host: strings.TrimPrefix(v, "10 ") + "."})
	}
	return hosts, err
}

// domainWorld is a system with two paid accounts and its own DNS.
type domainWorld struct {
	*System
	t        testing.TB
	dns      *fakeDNS
	store    *persisttest.TestStore
	ada, bob account.ID
	stop     func()
}

func startDomains(t testing.TB, store *persisttest.TestStore) *domainWorld {
	t.Helper()
	w := &domainWorld{t: t, dns: &fakeDNS{}, store: store}
	var err error
	if w.System, err = Start(Options{
		Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Logger: slog.New(slog.DiscardHandler),
		Resolver: w.dns, NewPlan: account.PlanPaid, SweepEvery: 24 * time.Hour,
	}); err != nil {
		t.Fatal(err)
	}
	w.stop = sync.OnceFunc(w.Stop)
	t.Cleanup(w.stop)
	for email, id := range map[string]*account.ID{"ada@example.test": &w.ada, "bob@example.test": &w.bob} {
		known := must[account.Profile](t)(w.byEmail(t.Context(), email))
		if known.CreatedAt.IsZero() {
			known = must[account.Profile](t)(w.OpenAccount(t.Context(), email, "correct horse", account.PlanPaid))
		}
		*id = known.ID
	}
	return w
}

// verified claims a domain for id, publishes its records and verifies it.
func (w *domainWorld) verified(id account.ID, name string) domain.OwnerView {
	w.t.Helper()
	claimed := must[domain.OwnerView](w.t)(w.ClaimDomain(context.Background(), id, name))
	w.dns.publish(claimed.Records)
	v := must[domain.OwnerView](w.t)(w.VerifyDomain(context.Background(), id, name))
	if v.Status != domain.StatusVerified {
		w.t.Fatalf("%s is %v", name, v.Status)
	}
	return v
}

func (w *domainWorld) under(id account.ID, prefix, name string) (string, error) {
	v, _, err := w.CreateInbox(context.Background(), id, inbox.CreationRequest{Prefix: &prefix, Domain: &name})
	if err != nil {
		return "", err
	}
	return v.Address, nil
}

func (w *domainWorld) expect(what string, err error, kind fault.ErrorKind) {
	w.t.Helper()
	if !fault.Is(err, kind) {
		w.t.Errorf("%s: %v, want %v", what, err, kind)
	}
}

// TestTheTrueOwnerTakesOver checks that a proof of ownership replaces a claim that was never
// verified, and one whose records are gone. Inboxes of the previous account get no more messages
// and sign nothing.
func TestTheTrueOwnerTakesOver(t *testing.T) {
	w := startDomains(t, persisttest.OpenStore(t))
	must[domain.OwnerView](t)(w.ClaimDomain(t.Context(), w.bob, "example.org"))
	_, err := w.ClaimDomain(t.Context(), w.ada, "example.org")
	w.expect("a claim without proof", err, fault.Refused)
	var f *fault.Error
	if !errors.As(err, &f) || !strings.Contains(f.Detail, "_inboxd.example.org") {
		t.Fatalf("the refusal does not say what to publish: %v", err)
	}
	_, rest, _ := strings.Cut(f.Detail, "with the value ")
	proof := domain.DNSRecord{Type: "TXT", Name: "_inboxd.example.org", Value: strings.TrimSuffix(rest, " and claim it again")}
	w.dns.publish([]domain.DNSRecord{proof})
	w.verified(w.ada, "example.org")
	if views := must[[]domain.OwnerView](t)(w.AccountDomains(t.Context(), w.bob)); len(views) != 0 {
		t.Errorf("bob still lists %v", views)
	}
	old := must[string](t)(w.under(w.ada, "old", "example.org"))
	if _, keys, err := w.SigningKeys(t.Context(), old); err != nil || len(keys) != 2 {
		t.Errorf("ada signs with %v, %v", keys, err)
	}

	w.dns.publish(nil)
	must[domain.OwnerView](t)(w.VerifyDomain(t.Context(), w.ada, "example.org"))
	_, err = w.under(w.ada, "more", "example.org")
	w.expect("an inbox under a failing domain", err, fault.Refused)
	if err := w.CheckRecipient(t.Context(), old); err != nil {
		t.Errorf("mail under a failing domain: %v", err)
	}
	_, err = w.ClaimDomain(t.Context(), w.bob, "example.org")
	w.expect("bob without proof", err, fault.Refused)
	if errors.As(err, &f) {
		_, rest, _ = strings.Cut(f.Detail, "with the value ")
	}
	proof.Value = strings.TrimSuffix(rest, " and claim it again")
	w.dns.publish([]domain.DNSRecord{proof})
	w.verified(w.bob, "example.org")
	w.expect("mail for an inbox of before", w.CheckRecipient(t.Context(), old), fault.NoInbox)
	if d, keys, err := w.SigningKeys(t.Context(), old); err != nil || len(keys) != 0 {
		t.Errorf("an inbox of before signs for %s with %v, %v", d, keys, err)
	}
	if _, err := w.InboxView(t.Context(), old); err != nil {
		t.Errorf("what was received before is gone: %v", err)
	}
	fresh := must[string](t)(w.under(w.bob, "new", "example.org"))
	if err := w.CheckRecipient(t.Context(), fresh); err != nil {
		t.Errorf("mail for the new owner: %v", err)
	}
	if err := w.DeleteInbox(t.Context(), w.ada, old); err != nil {
		t.Error(err)
	}
	if state := must[*domain.State](t)(w.store.LoadDomain("example.org")); state.InboxCount != 1 {
		t.Errorf("%d inboxes are counted", state.InboxCount)
	}
}

// TestCreationAndReleaseMeet runs creations concurrently with a release: a created inbox is never
// left without its domain.
func TestCreationAndReleaseMeet(t *testing.T) {
	w := startDomains(t, persisttest.OpenStore(t))
	for round := range 6 {
		name := fmt.Sprintf("r%d.example.org", round)
		w.verified(w.ada, name)
		var made, released sync.WaitGroup
		created := make([]bool, 8)
		var freed error
		for i := range created {
			made.Go(func() {
				_, err := w.under(w.ada, fmt.Sprint("u", i%4), name) // each address twice
				created[i] = err == nil
				if err != nil && !fault.Is(err, fault.Refused) {
					t.Error(err)
				}
			})
		}
		released.Go(func() { freed = w.ReleaseDomain(context.Background(), w.ada, name) })
		made.Wait()
		released.Wait()
		n := int64(0)
		for i, ok := range created {
			if !ok {
				continue
			}
			n++
			if err := w.CheckRecipient(t.Context(), fmt.Sprintf("u%d@%s", i%4, name)); err != nil {
				t.Errorf("a made inbox takes no mail: %v", err)
			}
		}
		state := must[*domain.State](t)(w.store.LoadDomain(name))
		if state.InboxCount != n || freed == nil && n > 0 {
			t.Errorf("%d inboxes were made, %d are counted, release said %v", n, state.InboxCount, freed)
		}
	}
}

// TestOneAddressMadeAndDeletedAtOnce checks that a live inbox receives messages, whatever the
// order.
func TestOneAddressMadeAndDeletedAtOnce(t *testing.T) {
	w := startDomains(t, persisttest.OpenStore(t))
	w.verified(w.ada, "example.org")
	for round := range 300 {
		var working sync.WaitGroup
		for range 3 {
			working.Go(func() { _, _ = w.under(w.ada, "me", "example.org") })
		}
		working.Go(func() { _ = w.DeleteInbox(context.Background(), w.ada, "me@example.org") })
		working.Wait()
		if _, err := w.InboxView(t.Context(), "me@example.org"); err != nil {
			continue
		}
		if err := w.CheckRecipient(t.Context(), "me@example.org"); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if n := must[*domain.State](t)(w.store.LoadDomain("example.org")).InboxCount; n > 1 {
		t.Errorf("%d inboxes are counted at one address", n)
	}
}

// TestALateDetachLeavesTheNewer deletes an inbox and creates its address again before the domain's
// list receives the deletion, twice.
func TestALateDetachLeavesTheNewer(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	w := startDomains(t, store)
	ctx := t.Context()
	w.verified(w.ada, "example.org")
	address := must[string](t)(w.under(w.ada, "me", "example.org"))
	old := must[*inbox.View](t)(w.InboxView(ctx, address)).CreatedAt
	must[inbox.CommandOutcome](t)(w.Do(ctx, address, inbox.Delete{}))
	until(func() bool { return w.now().After(old) })
	must[string](t)(w.under(w.ada, "me", "example.org"))
	for range 2 {
		if err := w.InboxRegistry.unlist(ctx, w.ada, address, old); err != nil {
			t.Fatal(err)
		}
		if err := w.CheckRecipient(ctx, address); err != nil {
			t.Errorf("the newer inbox: %v", err)
		}
		w.expect("a release", w.ReleaseDomain(ctx, w.ada, "example.org"), fault.Refused)
	}
	w = startDomains(t, store.CrashCopy(t))
	if err := w.DeleteInbox(ctx, w.ada, address); err != nil {
		t.Fatal(err)
	}
	if err := w.ReleaseDomain(ctx, w.ada, "example.org"); err != nil {
		t.Error(err)
	}
}

// TestAnInboxFromBeforeNotesHadTimes checks that the inbox stays on its domain's list while it
// lives, even if somebody tries to create its address. It leaves the list when it is deleted.
func TestAnInboxFromBeforeNotesHadTimes(t *testing.T) {
	store := persisttest.OpenStore(t)
	w := startDomains(t, store)
	ctx := t.Context()
	w.verified(w.ada, "example.org")
	address := must[string](t)(w.under(w.ada, "me", "example.org"))
	if err := store.CommitDomain(&domain.Rows{Name: "example.org", AttachInboxes: []domain.AttachedInbox{{Address: address, CreationTimes: []time.Time{{}}}}}); err != nil {
		t.Fatal(err)
	}
	_, err := w.under(w.ada, "me", "example.org")
	w.expect("a second one", err, fault.Refused)
	if err := w.CheckRecipient(ctx, address); err != nil {
		t.Error(err)
	}
	w.expect("a release", w.ReleaseDomain(ctx, w.ada, "example.org"), fault.Refused)
	if err := w.DeleteInbox(ctx, w.ada, address); err != nil {
		t.Fatal(err)
	}
	if err := w.ReleaseDomain(ctx, w.ada, "example.org"); err != nil {
		t.Error(err)
	}
}

// TestCrashBetweenTheSteps makes any one commit fail: the next attempt, or a release, repairs the
// state.
func TestCrashBetweenTheSteps(t *testing.T) {
	broken := errors.New("pulled the plug")
	const commits = 11 // list, claim, list again, check, reserve, attach, create, confirm, delete, detach, release
	for fail := 1; ; fail++ {
		store := persisttest.OpenStore(t)
		w := startDomains(t, store)
		n := 0
		store.BeforeCommit = func(any) error {
			if n++; n >= fail {
				return broken
			}
			return nil
		}
		_, err := w.ClaimDomain(t.Context(), w.ada, "example.org")
		if err == nil {
			view := must[domain.OwnerView](t)(w.ShowDomain(t.Context(), w.ada, "example.org"))
			w.dns.publish(view.Records)
			if _, err = w.VerifyDomain(t.Context(), w.ada, "example.org"); err == nil {
				if _, err = w.under(w.ada, "me", "example.org"); err == nil {
					err = w.DeleteInbox(t.Context(), w.ada, "me@example.org")
				}
			}
		}
		if err == nil {
			if n != commits {
				t.Errorf("the whole takes %d commits, %d were expected", n, commits)
			}
			return
		}
		store.BeforeCommit = nil

		w.stop()
		w = startDomains(t, store) // the run after the crash
		listed := must[[]domain.OwnerView](t)(w.AccountDomains(t.Context(), w.ada))
		if len(listed) == 0 {
			must[domain.OwnerView](t)(w.ClaimDomain(t.Context(), w.ada, "example.org"))
		}
		view := must[domain.OwnerView](t)(w.ShowDomain(t.Context(), w.ada, "example.org"))
		w.dns.publish(view.Records)
		must[domain.OwnerView](t)(w.VerifyDomain(t.Context(), w.ada, "example.org"))
		if err := w.CheckRecipient(t.Context(), "me@example.org"); err == nil {
			if err := w.DeleteInbox(t.Context(), w.ada, "me@example.org"); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.ReleaseDomain(t.Context(), w.ada, "example.org"); err != nil {
			t.Errorf("failure at commit %d: %v", fail, err)
		}
		must[domain.OwnerView](t)(w.ClaimDomain(t.Context(), w.bob, "example.org"))
	}
}

// held blocks the commit of the next claim. It returns when the claim is blocked, with a function
// that lets it continue and returns its result.
func (w *domainWorld) held(id account.ID, name string) (goOn func() error) {
	there, on, answer := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	w.store.BeforeCommit = func(rows any) error {
		if r, ok := rows.(*domain.Rows); ok && r.PutState != nil && r.PutState.Status == domain.StatusPending {
			close(there)
			<-on
		}
		return nil
	}
	go func() {
		_, err := w.ClaimDomain(context.Background(), id, name)
		answer <- err
	}()
	<-there
	return func() error {
		close(on)
		return <-answer
	}
}

// TestAClaimIsFoundNotMadeYet checks a reader that removes the name from the list: the claim lists
// it again.
func TestAClaimIsFoundNotMadeYet(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	w := startDomains(t, store)
	// The domain's owner is busy with the claim, so a request to it would block. The test reads the
	// list directly.
	goOn := w.held(w.ada, "example.org")
	listed := must[map[string]time.Time](t)(w.accountOwners.listDomains(t.Context(), w.ada))
	must[any](t)(w.accountOwners.sendCommand(t.Context(), w.ada, account.UnlistDomain{Name: "example.org", SeenMark: listed["example.org"]}))
	if err := goOn(); err != nil {
		t.Fatal(err)
	}
	must[any](t)(w.accountOwners.sendCommand(t.Context(), w.ada, account.UnlistDomain{Name: "example.org", SeenMark: listed["example.org"]})) // a second time
	if got := must[[]domain.OwnerView](t)(w.AccountDomains(t.Context(), w.ada)); len(got) != 1 {
		t.Errorf("listed are %v", got)
	}
	w = startDomains(t, store.CrashCopy(t))
	if got := must[[]domain.OwnerView](t)(w.AccountDomains(t.Context(), w.ada)); len(got) != 1 {
		t.Errorf("after a crash listed are %v", got)
	}
}

// TestAClaimOfADeletedAccount checks that a claim ends with its account, however late it is made.
func TestAClaimOfADeletedAccount(t *testing.T) {
	w := startDomains(t, persisttest.OpenStore(t))
	goOn := w.held(w.ada, "example.org")
	deleted := make(chan error, 1)
	go func() { deleted <- w.DeleteAccount(context.Background(), "ada@example.test") }()
	until(func() bool { // the closer waits for the domain's owner, after the claim
		picture, err := w.accountOwners.readSnapshot(t.Context(), w.ada)
		return err != nil || !picture.profile.ClosingAt.IsZero() || picture.profile.CreatedAt.IsZero()
	})
	w.expect("the claim", goOn(), fault.NotFound)
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	if state := must[*domain.State](t)(w.store.LoadDomain("example.org")); state.IsClaimed() {
		t.Errorf("%s still claims it", state.Account)
	}
}

// TestAClaimOnNoList checks that a claim is listed when it is checked, or released if its account
// is gone.
func TestAClaimOnNoList(t *testing.T) {
	store := persisttest.OpenStore(t)
	w := startDomains(t, store)
	for name, id := range map[string]account.ID{"lost.example.org": w.ada, "orphan.example.org": {7}} {
		claim := domain.Claim{Account: id, Token: "token"}
		must[domain.State](t)(w.domainOwners.sendCommand(t.Context(), name, claim))
		_ = w.recheckDomain(t.Context(), name)
	}
	if got := must[[]domain.OwnerView](t)(w.AccountDomains(t.Context(), w.ada)); len(got) != 1 || got[0].Name != "lost.example.org" {
		t.Errorf("listed are %v", got)
	}
	if state := must[*domain.State](t)(store.LoadDomain("orphan.example.org")); state.IsClaimed() {
		t.Error("a domain of nobody stays claimed")
	}
}

// TestDomainsAreCheckedByThemselves checks that new records verify a claim, and that missing
// records make it fail after the grace period. DNS failures do neither. It also covers a restart.
func TestDomainsAreCheckedByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		w := startDomains(t, store)
		is := func(want domain.ClaimStatus) {
			t.Helper()
			synctest.Wait()
			if got := must[*domain.State](t)(store.LoadDomain("example.org")).Status; got != want {
				t.Errorf("at %v: %v, want %v", time.Now(), got, want)
			}
		}
		claimed := must[domain.OwnerView](t)(w.ClaimDomain(t.Context(), w.ada, "example.org"))
		time.Sleep(2 * time.Hour)
		is(domain.StatusPending)
		w.dns.publish(claimed.Records)
		time.Sleep(time.Hour + recheckLook)
		is(domain.StatusVerified)
		w.dns.fail(true)
		time.Sleep(4 * 24 * time.Hour)
		is(domain.StatusVerified)
		w.dns.fail(false)
		w.dns.publish(nil)
		time.Sleep(24*time.Hour + recheckLook)
		is(domain.StatusVerified)
		since := must[*domain.State](t)(store.LoadDomain("example.org")).MissingSince
		time.Sleep(time.Until(since.Add(domain.MissingGrace - time.Minute)))
		is(domain.StatusVerified)
		time.Sleep(time.Hour + 2*recheckLook)
		is(domain.StatusFailing)

		w.stop()
		w = startDomains(t, store)
		w.dns.publish(claimed.Records)
		time.Sleep(24*time.Hour + recheckLook)
		is(domain.StatusVerified)

		before := w.dns.questions()
		if err := w.ReleaseDomain(t.Context(), w.ada, "example.org"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * 24 * time.Hour)
		if after := w.dns.questions(); after != before {
			t.Errorf("a released domain was asked about %d times", after-before)
		}
	})
}

// TestSigningKeys checks that the service domain always signs, also for the names below it. An own
// domain signs only with keys whose public records were correct at the last look-up.
func TestSigningKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		w := startDomains(t, store)
		signs := func(from, want string) {
			t.Helper()
			d, keys, err := w.SigningKeys(t.Context(), from)
			got := d + ":"
			for _, k := range keys {
				switch public := k.PrivateKey.Public().(type) {
				case *rsa.PublicKey:
					got += fmt.Sprintf(" rsa%d", public.N.BitLen())
				case ed25519.PublicKey:
					got += " ed25519"
				}
			}
			if err != nil || got != want {
				t.Errorf("%s signs as %q, %v; want %q", from, got, err, want)
			}
		}
		signs("x@inbox.localhost", "inbox.localhost: rsa2048 ed25519")
		signs("x@fleet.inbox.localhost", "inbox.localhost: rsa2048 ed25519")
		signs("x@elsewhere.example", ":")
		v := w.verified(w.ada, "example.org")
		x := must[string](t)(w.under(w.ada, "x", "example.org"))
		signs(x, "example.org: rsa2048 ed25519")
		w.dns.publish(append(v.Records[:3:3], v.Records[3])) // only the RSA key
		signs(x, "example.org: rsa2048 ed25519")             // cached for a while
		time.Sleep(usableFor)
		signs(x, "example.org: rsa2048")
		w.dns.fail(true)
		time.Sleep(usableFor)
		signs(x, "example.org: rsa2048")
		w.dns.fail(false)
		w.dns.publish(v.Records[:3])
		time.Sleep(usableFor)
		signs(x, "example.org:")
		w.dns.publish(v.Records)
		signs(x, "example.org:")
		must[domain.OwnerView](t)(w.VerifyDomain(t.Context(), w.ada, "example.org")) // the caller does not wait
		signs(x, "example.org: rsa2048 ed25519")

		selector, _, _ := strings.Cut(v.Records[4].Name, ".")
		if public, ok := w.PublicKey("example.org", selector); !ok || public.(ed25519.PublicKey) == nil {
			t.Errorf("the key of %s is %v, %v", selector, public, ok)
		}
		pending := must[domain.OwnerView](t)(w.ClaimDomain(t.Context(), w.bob, "pending.example"))
		selector, _, _ = strings.Cut(pending.Records[4].Name, ".")
		if _, ok := w.PublicKey("pending.example", selector); ok {
			t.Error("the key of a claim that nobody verified is believed")
		}

		first := must[[]domain.DNSRecord](t)(w.ServiceRecords(t.Context()))
		w.stop()
		w = startDomains(t, store)
		if second := must[[]domain.DNSRecord](t)(w.ServiceRecords(t.Context())); fmt.Sprint(second) != fmt.Sprint(first) {
			t.Errorf("the next run has other keys: %v, had %v", second, first)
		}
	})
}

// TestDomainLimits checks the limit of domains per account, also for concurrent claims.
func TestDomainLimits(t *testing.T) {
	w := startDomains(t, persisttest.OpenStore(t))
	for i := range account.MaxDomains - 2 {
		must[any](t)(w.accountOwners.sendCommand(t.Context(), w.ada, account.ListDomain{Name: fmt.Sprintf("d%d.test", i)}))
	}
	var claims sync.WaitGroup
	results := make([]error, 6)
	for i := range results {
		claims.Go(func() {
			_, results[i] = w.ClaimDomain(context.Background(), w.ada, fmt.Sprintf("new%d.example.org", i))
		})
	}
	claims.Wait()
	made := 0
	for _, err := range results {
		if err == nil {
			made++
		} else {
			w.expect("one too many", err, fault.Refused)
		}
	}
	if made != 2 {
		t.Errorf("%d claims beside %d", made, account.MaxDomains-2)
	}
}

// TestOrderUnderNoDomain checks that an invalid domain name is a bad request, and that any other
// domain that is not verified for the account is refused.
func TestOrderUnderNoDomain(t *testing.T) {
	w := startDomains(t, persisttest.OpenStore(t))
	must[domain.OwnerView](t)(w.ClaimDomain(t.Context(), w.ada, "pending.org"))
	w.verified(w.bob, "example.org")
	for name, kind := range map[string]fault.ErrorKind{
		"": fault.InvalidRequest, "a b.org": fault.InvalidRequest, "127.0.0.1": fault.InvalidRequest, "one-label": fault.InvalidRequest,
		"unknown.org": fault.Refused, "pending.org": fault.Refused, "example.org": fault.Refused,
	} {
		_, err := w.under(w.ada, "me", name)
		w.expect(strconv.Quote(name), err, kind)
	}
}

// TestDeliveryUnderADomain delivers a message to an inbox under a domain.
func TestDeliveryUnderADomain(t *testing.T) {
	w := startDomains(t, persisttest.OpenStore(t))
	w.verified(w.ada, "example.org")
	address := must[string](t)(w.under(w.ada, "me", "EXAMPLE.org."))
	for rcpt, kind := range map[string]fault.ErrorKind{address: fault.Internal, "me+tag@example.org": fault.Internal, "you@example.org": fault.NoInbox} {
		if err := w.CheckRecipient(t.Context(), rcpt); err != nil && !fault.Is(err, kind) || err == nil && kind != fault.Internal {
			t.Errorf("%s: %v", rcpt, err)
		}
	}
	if err := w.ReceiveMessage(t.Context(), ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{address}}, []byte("Subject: x\r\n\r\nx\r\n")); err != nil {
		t.Error(err)
	}
	if m := must[*inbox.View](t)(w.InboxView(t.Context(), address)).LatestMatching(w.now(), nil); m == nil || m.Subject != "x" {
		t.Errorf("latest is %v", m)
	}
}
