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

// claimWorld is a system with random namespaces, two paid accounts and its own clock.
type claimWorld struct {
	*System
	t        testing.TB
	store    *persisttest.TestStore
	clock    *atomic.Int64
	ada, bob account.ID
	stop     func()
}

func startClaims(t testing.TB, store *persisttest.TestStore, plans account.Plans) *claimWorld {
	t.Helper()
	w := &claimWorld{t: t, store: store, clock: &atomic.Int64{}}
	w.clock.Store(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC).UnixMilli())
	w.start(plans)
	return w
}

// start starts a run over the store, the first or a later one.
func (w *claimWorld) start(plans account.Plans) {
	w.t.Helper()
	w.System = must[*System](w.t)(Start(Options{
		Store: w.store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost"}, Logger: slog.New(slog.DiscardHandler), NewPlan: account.PlanPaid, Plans: plans,
		SweepEvery: 24 * time.Hour, Now: func() time.Time { return time.UnixMilli(w.clock.Load()) },
	}))
	w.stop = sync.OnceFunc(w.System.Stop)
	w.t.Cleanup(w.stop)
	for email, id := range map[string]*account.ID{"ada@example.test": &w.ada, "bob@example.test": &w.bob} {
		known := must[account.Profile](w.t)(w.byEmail(context.Background(), email))
		if known.CreatedAt.IsZero() {
			known = must[account.Profile](w.t)(w.OpenAccount(context.Background(), email, "correct horse", account.PlanPaid))
		}
		*id = known.ID
	}
}

// crash continues with what a power loss leaves.
func (w *claimWorld) crash() {
	w.t.Helper()
	clone := w.store.CrashCopy(w.t)
	w.stop()
	w.store = clone
	w.start(nil)
}

func (w *claimWorld) wait(d time.Duration) { w.clock.Add(d.Milliseconds()) }

// create creates an inbox; empty arguments are left out of the order.
func (w *claimWorld) create(id account.ID, prefix, subdomain string) (string, error) {
	var order inbox.CreationRequest
	if prefix != "" {
		order.Prefix = &prefix
	}
	if subdomain != "" {
		order.Subdomain = &subdomain
	}
	_, place, err := w.CreateInbox(context.Background(), id, order)
	return place.Address, err
}

func (w *claimWorld) expect(what string, err error, kind fault.ErrorKind) {
	w.t.Helper()
	if !fault.Is(err, kind) {
		w.t.Errorf("%s: %v", what, err)
	}
}

// claim returns an account's claim to a subdomain.
func (w *claimWorld) claim(id account.ID, label string) account.SubdomainClaim {
	w.t.Helper()
	return must[account.SubdomainClaim](w.t)(w.store.FindClaim(id, label))
}

// labelOf returns the subdomain of an address.
func (w *claimWorld) labelOf(address string) string { return w.Namespaces.Subdomain(address) }

// TestANamespaceBelongsToItsAccount checks chosen and random subdomains. A stranger cannot create
// inboxes there, the account itself can.
func TestANamespaceBelongsToItsAccount(t *testing.T) {
	w := startClaims(t, persisttest.OpenStore(t), nil)
	drawn := w.labelOf(must[string](t)(w.create(w.ada, "agent", "")))
	must[string](t)(w.create(w.ada, "agent", "fleet"))
	for _, label := range []string{drawn, "fleet"} {
		_, err := w.create(w.bob, "support2", label)
		if err == nil || err.Error() != "refused: The subdomain "+label+" is taken" {
			t.Errorf("a stranger in %s: %v", label, err)
		}
		if c := w.claim(w.bob, label); c.SerialNumber != 0 {
			t.Errorf("a refused creation claimed: %+v", c)
		}
		address := must[string](t)(w.create(w.ada, "second", label))
		if c := w.claim(w.ada, label); c.InboxCount != 2 || c.IsRandom != (label == drawn) || address != "second@"+label+".inbox.localhost" {
			t.Errorf("%s: %+v", address, c)
		}
	}
	profile := must[accountPicture](t)(w.accountOwners.readSnapshot(t.Context(), w.ada)).profile
	if profile.Subdomains != 1 {
		t.Errorf("%d chosen subdomains", profile.Subdomains)
	}
}

// TestARefusedCreationTakesNothing covers all reasons of refusal, even after the label was claimed.
func TestARefusedCreationTakesNothing(t *testing.T) {
	plans := account.DefaultPlans()
	few := plans[account.PlanPaid]
	few.MaxInboxes = 1
	plans[account.PlanPaid] = few
	w := startClaims(t, persisttest.OpenStore(t), plans)
	for name, c := range map[string]struct {
		prefix, label string
		kind          fault.ErrorKind
	}{
		"prefix": {"A b", "one", fault.InvalidRequest}, "reserved": {"abuse", "two", fault.Refused}, "label": {"me", "a.b", fault.InvalidRequest}, "operator's": {"me", "www", fault.Refused},
	} {
		_, err := w.create(w.ada, c.prefix, c.label)
		w.expect(name, err, c.kind)
	}
	var roomy atomic.Bool
	w.store.BeforeCommit = func(what any) error {
		if rows, is := what.(*inbox.Rows); is && strings.HasSuffix(rows.Address, "@four.inbox.localhost") && !roomy.Load() {
			return fault.New(fault.StorageFull, "full")
		}
		return nil
	}
	_, err := w.create(w.ada, "me", "four")
	w.expect("a full disk", err, fault.StorageFull)
	roomy.Store(true)
	if holder := must[account.NameHolder](t)(w.store.SubdomainHolder("four")); holder.Account != w.ada {
		t.Errorf("the label is %v's; this test wants one that was claimed", holder)
	}
	until(func() bool { return w.claim(w.ada, "four").SerialNumber == 0 }) // the release is in progress
	must[string](t)(w.create(w.ada, "me", "five"))
	_, err = w.create(w.ada, "me", "three")
	w.expect("over the quota", err, fault.Refused)

	claims := must[[]account.SubdomainClaim](t)(w.store.ListClaims(w.ada, account.SubdomainClaim{}, 99))
	if len(claims) != 1 || claims[0].Label != "five" {
		t.Errorf("claims %+v", claims)
	}
	must[string](t)(w.create(w.bob, "me", "four"))
	if c := w.claim(w.bob, "four"); c.InboxCount != 1 {
		t.Errorf("%+v", c)
	}
}

// TestAClaimPassesOn checks that a claim ends thirty days after its last inbox, at the next
// creation there. Until then its own account may use it again.
func TestAClaimPassesOn(t *testing.T) {
	w := startClaims(t, persisttest.OpenStore(t), nil)
	drawn := must[string](t)(w.create(w.ada, "a", ""))
	for _, label := range []string{"fleet", w.labelOf(drawn)} {
		a := drawn
		if label == "fleet" {
			a = must[string](t)(w.create(w.ada, "a", label))
		}
		b := must[string](t)(w.create(w.ada, "b", label))
		for _, address := range []string{a, b} {
			w.wait(20 * 24 * time.Hour)
			if err := w.DeleteInbox(t.Context(), w.ada, address); err != nil {
				t.Fatal(err)
			}
		}
		w.wait(account.ClaimKept - time.Millisecond)
		_, err := w.create(w.bob, "c", label)
		w.expect("a day before the end", err, fault.Refused)
		again := must[string](t)(w.create(w.ada, "c", label))
		w.wait(time.Hour)
		_, err = w.create(w.bob, "d", label)
		w.expect("in use again", err, fault.Refused)
		if err := w.DeleteInbox(t.Context(), w.ada, again); err != nil {
			t.Fatal(err)
		}
		w.wait(account.ClaimKept)
		must[string](t)(w.create(w.bob, "d", label))
		_, err = w.create(w.ada, "e", label)
		w.expect("it is another account's now", err, fault.Refused)
		if c := w.claim(w.ada, label); c.SerialNumber != 0 {
			t.Errorf("she has %+v", c)
		}
	}
}

// TestAClaimEndsWithItsAccount checks that the claim ends and leaves no row.
func TestAClaimEndsWithItsAccount(t *testing.T) {
	w := startClaims(t, persisttest.OpenStore(t), nil)
	drawn, gone := must[string](t)(w.create(w.ada, "a", "")), must[string](t)(w.create(w.ada, "a", ""))
	must[string](t)(w.create(w.ada, "a", "fleet"))
	if err := w.DeleteInbox(t.Context(), w.ada, gone); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteAccount(t.Context(), "ada@example.test"); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{w.labelOf(drawn), w.labelOf(gone), "fleet"} {
		if holder := must[account.NameHolder](t)(w.store.SubdomainHolder(label)); holder != (account.NameHolder{}) {
			t.Errorf("%s is still %v's", label, holder)
		}
		if c := w.claim(w.ada, label); c.SerialNumber != 0 {
			t.Errorf("it still has %+v", c)
		}
	}
	must[string](t)(w.create(w.bob, "b", "fleet"))

	// A creation of ada's account that arrives after its deletion gets nothing.
	if _, err := w.subdomains.SendCommand(t.Context(), "late", account.ClaimName{By: account.NameHolder{Account: w.ada, ClaimNumber: 99}}); err != nil {
		t.Fatal(err)
	}
	must[string](t)(w.create(w.bob, "b", "late"))
}

// TestALateClaimTakesNothingBack covers the claim of a creation that hung and was given up.
func TestALateClaimTakesNothingBack(t *testing.T) {
	w := startClaims(t, persisttest.OpenStore(t), nil)
	hung := must[any](t)(w.accountOwners.sendCommand(t.Context(), w.ada, account.ReserveInbox{Address: "a@fleet.inbox.localhost", At: w.now(), Claim: &account.SubdomainClaim{Label: "fleet"}})).(account.InboxReservation)
	w.wait(reservationAge)
	must[string](t)(w.create(w.ada, "other", "")) // repairs
	if c := w.claim(w.ada, "fleet"); c.SerialNumber != 0 {
		t.Fatalf("left of what was given up: %+v", c)
	}
	// It continues before any other account claims the label: the label leads to ada, who does not
	// need it.
	w.expect("the hung one", w.InboxRegistry.finishCreation(t.Context(), w.ada, "a@fleet.inbox.localhost", hung, false), fault.Refused)
	must[string](t)(w.create(w.bob, "b", "fleet"))
	w.expect("once more", w.InboxRegistry.finishCreation(t.Context(), w.ada, "a@fleet.inbox.localhost", hung, false), fault.Refused)
	if holder := must[account.NameHolder](t)(w.store.SubdomainHolder("fleet")); holder.Account != w.bob {
		t.Errorf("it is %v's", holder)
	}
}

// TestWhoAskedBeforeTheHolderCameBack checks that an account does not get a subdomain if the holder
// claims it again between its release and the claim.
func TestWhoAskedBeforeTheHolderCameBack(t *testing.T) {
	w := startClaims(t, persisttest.OpenStore(t), nil)
	first := must[string](t)(w.create(w.ada, "a", "fleet"))
	if err := w.DeleteInbox(t.Context(), w.ada, first); err != nil {
		t.Fatal(err)
	}
	w.wait(account.ClaimKept)
	asked := must[account.NameHolder](t)(w.store.SubdomainHolder("fleet"))
	if err := w.yieldLabel(t.Context(), "fleet", asked); err != nil {
		t.Fatal(err)
	}
	must[string](t)(w.create(w.ada, "b", "fleet"))
	holder, err := w.subdomains.SendCommand(t.Context(), "fleet", account.ClaimName{By: account.NameHolder{Account: w.bob, ClaimNumber: 1}, ReplacedHolder: asked})
	if err != nil || holder.Account != w.ada || holder.ClaimNumber <= asked.ClaimNumber {
		t.Errorf("asked of %v, now it is %v's (%v)", asked, holder, err)
	}
}

// TestManyClaimOneLabelAtOnce checks that one account gets the label and the refused ones keep
// nothing.
func TestManyClaimOneLabelAtOnce(t *testing.T) {
	w := startClaims(t, persisttest.OpenStore(t), nil)
	ids := []account.ID{w.ada, w.bob}
	for i := range 4 {
		ids = append(ids, must[account.Profile](t)(w.OpenAccount(t.Context(), fmt.Sprintf("u%d@example.test", i), "correct horse", account.PlanPaid)).ID)
	}
	for round := range 20 {
		label := fmt.Sprintf("fleet-%d", round)
		made := make([]int, len(ids))
		var all sync.WaitGroup
		for i, id := range ids {
			all.Go(func() {
				for n := range 3 {
					switch _, err := w.create(id, fmt.Sprintf("i%d-%d", i, n), label); {
					case err == nil:
						made[i]++
					case !fault.Is(err, fault.Refused):
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		winners := 0
		for i, id := range ids {
			if made[i] > 0 {
				winners++
			}
			until(func() bool { return w.claim(id, label).InboxCount == int64(made[i]) }) // releases may be in progress
			if c := w.claim(id, label); made[i] == 0 && c.SerialNumber != 0 {
				t.Errorf("a loser has %+v", c)
			}
		}
		if winners != 1 {
			t.Fatalf("%s: made %v", label, made)
		}
	}
}

// TestSubdomainsOfAnAccountAreBounded also covers concurrent claims. Random subdomains do not
// count, and ended ones make room.
func TestSubdomainsOfAnAccountAreBounded(t *testing.T) {
	plans := account.DefaultPlans()
	paid := plans[account.PlanPaid]
	paid.MaxSubdomains = 5
	plans[account.PlanPaid] = paid
	w := startClaims(t, persisttest.OpenStore(t), plans)
	var made atomic.Int64
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if _, err := w.create(w.ada, "a", fmt.Sprintf("fleet-%d", i)); err == nil {
				made.Add(1)
			} else if !strings.Contains(err.Error(), "at most 5 subdomains") {
				t.Error(err)
			}
			must[string](t)(w.create(w.ada, "", ""))
		})
	}
	all.Wait()
	chosen := must[[]account.SubdomainClaim](t)(w.store.ListClaims(w.ada, account.SubdomainClaim{}, 5))
	if made.Load() != 5 || chosen[4].IsRandom {
		t.Errorf("%d were made, claims %+v", made.Load(), chosen)
	}
	must[string](t)(w.create(w.ada, "b", chosen[0].Label))
	for _, prefix := range []string{"a", "b"} {
		if err := w.DeleteInbox(t.Context(), w.ada, prefix+"@"+chosen[0].Label+".inbox.localhost"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.create(w.ada, "a", "sixth")
	w.expect("before the thirty days", err, fault.Refused)
	w.wait(account.ClaimKept)
	must[string](t)(w.create(w.ada, "a", "sixth"))
	_, err = w.create(w.ada, "a", "seventh")
	w.expect("beyond it", err, fault.Refused)
	if c := w.claim(w.ada, chosen[0].Label); c.SerialNumber != 0 {
		t.Errorf("what made room: %+v", c)
	}
}

// TestACrashBetweenTheStepsOfAClaim checks that after a power loss before any one commit the next
// run repairs the state. The subdomain belongs to ada if the inbox exists, else it is free.
func TestACrashBetweenTheStepsOfAClaim(t *testing.T) {
	broken := errors.New("pulled the plug")
	const commits = 6 // reserve, claim, create, confirm, delete, release
	for _, subdomain := range []string{"fleet", ""} {
		for fail := 1; ; fail++ {
			w := startClaims(t, persisttest.OpenCrashable(t), nil)
			n, label := 0, "fleet"
			w.store.BeforeCommit = func(what any) error {
				if rows, is := what.(*inbox.Rows); is {
					label = w.labelOf(rows.Address)
				} else if text, is := what.(string); is {
					label = text
				}
				if n++; n >= fail {
					return broken
				}
				return nil
			}
			address, err := w.create(w.ada, "me", subdomain)
			if err == nil {
				err = w.DeleteInbox(t.Context(), w.ada, address)
			}
			if err == nil {
				if n != commits {
					t.Errorf("the whole takes %d commits, %d were expected", n, commits)
				}
				break
			}
			w.crash()
			w.wait(reservationAge)
			must[string](t)(w.create(w.ada, "repairs", ""))
			inboxesOf(t, w.System, w.ada) // removes deleted inboxes from the list
			live := w.CheckRecipient(t.Context(), "me@"+label+".inbox.localhost") == nil
			c := w.claim(w.ada, label)
			if live != (c.InboxCount == 1) || c.InboxCount > 1 || (fail <= 3) != (c.SerialNumber == 0) {
				t.Errorf("failure at commit %d: the inbox lives %v, %+v", fail, live, c)
			}
			if _, err = w.create(w.bob, "b", label); (err == nil) != (c.SerialNumber == 0) {
				t.Errorf("failure at commit %d: a stranger: %v", fail, err)
			}
			w.stop()
		}
	}
}

// TestARepeatGoesOnWithItsClaim covers a first request that was interrupted after its reservation.
func TestARepeatGoesOnWithItsClaim(t *testing.T) {
	w := startClaims(t, persisttest.OpenCrashable(t), nil)
	label, req := "fleet", idempotency.Request{Key: idempotency.RequestKey{1}, Digest: idempotency.BodyDigest{1}}
	make := func() error {
		_, err := w.CreateInboxOnce(t.Context(), w.ada, inbox.CreationRequest{Subdomain: &label}, req, func(inbox.Placement, time.Time) []byte { return []byte("{}") })
		return err
	}
	w.store.BeforeCommit = func(what any) error {
		if what == any("fleet") {
			return errors.New("pulled the plug")
		}
		return nil
	}
	if err := make(); err == nil {
		t.Fatal("it was made")
	}
	w.crash()
	_, err := w.create(w.bob, "b", "fleet") // only ada's reservation refers to the label
	if err != nil {
		t.Fatal(err)
	}
	w.expect("the repeat", make(), fault.Refused)
	label = "other"
	req.Key[0]++
	for range 2 {
		if err := make(); err != nil {
			t.Fatal(err)
		}
	}
	if c := w.claim(w.ada, "other"); c.InboxCount != 1 {
		t.Errorf("%+v", c)
	}
}

// TestAFleetOfClaims runs a thousand concurrent creations in one subdomain, which is claimed once,
// and in random ones, each of which belongs to the account.
func TestAFleetOfClaims(t *testing.T) {
	w := startClaims(t, persisttest.OpenStore(t), nil)
	var labels atomic.Int64
	w.store.BeforeCommit = func(what any) error {
		if _, is := what.(string); is {
			labels.Add(1)
		}
		return nil
	}
	const many = 1000
	for _, subdomain := range []string{"fleet", ""} {
		var all sync.WaitGroup
		work, addresses := make(chan int), make([]string, many)
		for range 256 {
			all.Go(func() {
				for i := range work {
					addresses[i] = must[string](t)(w.create(w.ada, fmt.Sprintf("i%d", i), subdomain))
				}
			})
		}
		for i := range many {
			work <- i
		}
		close(work)
		all.Wait()
		if subdomain != "" {
			if c := w.claim(w.ada, subdomain); c.InboxCount != many || labels.Load() != 1 {
				t.Errorf("%+v, %d commits of the label", c, labels.Load())
			}
			continue
		}
		for _, address := range addresses {
			if c := w.claim(w.ada, w.labelOf(address)); c.InboxCount != 1 || !c.IsRandom {
				t.Fatalf("%s: %+v", address, c)
			}
		}
	}
}
