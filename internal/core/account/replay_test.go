package account_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/persist/persisttest"
)

// machine drives one account on a store as its actor does. Commands are decided one after the
// other, and their rows are committed in groups.
type machine struct {
	store *persisttest.TestStore
	state *account.State
	rows  *account.Rows // of the current group
	now   time.Time

	made    []account.InboxEntry // every reservation ever made
	uses    map[string]int64     // live or reserved inboxes, by label
	keys    map[int64]bool       // every key id ever assigned
	tokens  int
	changed bool
}

// TestReplay checks that an account rebuilt from its rows equals the one in memory, for any
// commands and any grouping into commits. The count of its inboxes must be the length of its list.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{store: persisttest.OpenStore(t), state: account.NewState(), rows: &account.Rows{}, now: start, keys: map[int64]bool{}, uses: map[string]int64{}}
		m.do(t, account.Open{ID: me, Email: "me@example.test", Plan: account.PlanFree})
		m.commit(t)
		for range rapid.IntRange(1, 15).Draw(t, "commits") {
			for range rapid.IntRange(1, 6).Draw(t, "group") {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 30*3600).Draw(t, "s")) * time.Second)
				m.do(t, m.draw(t))
			}
			m.commit(t)
		}
	})
}

func (m *machine) draw(t *rapid.T) account.Command {
	address := rapid.SampledFrom([]string{"a@x.test", "b@x.test", "c@y.test"}).Draw(t, "address")
	session := hash(fmt.Sprint("session ", rapid.IntRange(0, m.tokens).Draw(t, "session")))
	key := rapid.Int64Range(1, m.state.LastKey+1).Draw(t, "key")
	m.tokens++
	fresh := hash(fmt.Sprint("session ", m.tokens))
	name := rapid.SampledFrom([]string{"a.test", "b.test"}).Draw(t, "domain")
	mark := m.state.ListedDomains[name]
	if rapid.Bool().Draw(t, "late") {
		mark = mark.Add(-time.Millisecond)
	}
	return rapid.SampledFrom([]account.Command{
		account.ListDomain{Name: name}, account.ListDomain{Name: name, AlreadyClaimed: true}, account.UnlistDomain{Name: name, SeenMark: mark},
		account.ReserveInbox{Address: address, At: m.now, Claim: m.claim(label(address))},
		account.YieldClaim{Claim: *m.claim("x")}, account.SetRecipient{Recipient: "age1" + address, PasswordHash: m.state.PasswordHash}, account.DropRecipient{PasswordHash: m.state.PasswordHash},
		account.ReserveInbox{Address: address, At: m.now, Label: "x", RetentionHours: 1, KeepNewest: true, Encrypted: true, Claim: m.claim(label(address)), IdempotencyRecord: &idempotency.Record{Request: idempotency.Request{Key: idempotency.RequestKey(fresh)}, At: m.now}}, account.ConfirmInbox{Address: address, At: m.state.ReservedInboxes[address].At}, account.ConfirmInbox{Address: address, At: m.now}, m.release(t, address),
		account.StartSession{Hash: fresh, PasswordHash: m.state.PasswordHash}, account.TouchSession{Hash: session}, account.EndSession{Hash: session},
		account.IssueKey{Key: account.APIKey{Hash: fresh, Kind: account.KindAccountKey, Scopes: account.ScopeRead}},
		account.TouchKey{ID: key, At: m.now, FoundKey: m.key(key)}, account.RevokeKey{ID: key, FoundKey: m.key(key)},
		account.StartReset{Hash: fresh, ByOperator: true}, account.ResetPassword{Hash: session, PasswordHash: "new"}, account.ResetPassword{Hash: m.reset(), PasswordHash: "newer"}, account.CheckReset{Hash: session}, account.ChangePassword{OldHash: m.state.PasswordHash, PasswordHash: "changed", KeepSession: session},
		account.SetPlan{Plan: rapid.SampledFrom([]account.PlanName{account.PlanFree, account.PlanPaid}).Draw(t, "plan")},
	}).Draw(t, "command")
}

// key returns the key as the actor finds it: in the group, else in the store.
func (m *machine) key(id int64) *account.APIKey {
	for _, k := range m.rows.DropKeys {
		if k.ID == id {
			return nil
		}
	}
	for _, k := range slices.Backward(m.rows.PutKeys) {
		if k.ID == id {
			return k
		}
	}
	k, _ := m.store.FindKey(me, id)
	return k
}

// reset returns some unused reset token.
func (m *machine) reset() account.TokenHash {
	for h := range m.state.ResetTokens {
		return h
	}
	return account.TokenHash{}
}

// release releases a reservation of unknown age, or an inbox. It sets Listed as the actor does,
// from the store and the group.
func (m *machine) release(t *rapid.T, address string) account.ReleaseInbox {
	if len(m.made) == 0 || rapid.Bool().Draw(t, "reservation") {
		return account.ReleaseInbox{Address: address, Claim: *m.claim(label(address))}
	}
	e := rapid.SampledFrom(m.made).Draw(t, "made")
	listed, encrypted, _ := m.store.FindListing(me, account.InboxEntry{Address: e.Address, CreatedAt: e.CreatedAt, IsLive: true})
	_, dropped := e.In(m.rows.DropInboxes)
	return account.ReleaseInbox{Address: e.Address, CreatedAt: e.CreatedAt, Claim: *m.claim(label(e.Address)), WasListed: listed && !dropped, Encrypted: encrypted}
}

// label is the subdomain of an address: x is random, y chosen.
func label(address string) string { return address[2:3] }

// claim returns a claim as the actor finds it: in the group, else in the store.
func (m *machine) claim(label string) *account.SubdomainClaim {
	c, known := m.rows.ClaimOf(label)
	if !known {
		c, _ = m.store.FindClaim(me, label)
	}
	if c.SerialNumber == 0 {
		c = account.SubdomainClaim{Label: label, IsRandom: label == "x"}
	}
	return &c
}

func (m *machine) do(t *rapid.T, cmd account.Command) {
	evs, err := account.Decide(m.state, cmd, account.Env{Now: m.now, Plans: account.DefaultPlans()})
	if err != nil || len(evs) == 0 {
		return
	}
	before := *m.state
	before.ReservedInboxes = maps.Clone(before.ReservedInboxes)
	m.rows.Apply(m.state, evs)
	m.changed = true
	switch cmd := cmd.(type) {
	case account.ReleaseInbox:
		if r, reserved := before.ReservedInboxes[cmd.Address]; len(before.ReservedInboxes) == len(m.state.ReservedInboxes) || reserved && r.ClaimNumber != 0 {
			m.uses[label(cmd.Address)]--
		}
	case account.ReserveInbox:
		m.uses[cmd.Claim.Label]++
		m.made = append(m.made, account.InboxEntry{Address: cmd.Address, CreatedAt: cmd.At, IsLive: true})
	case account.IssueKey:
		if m.keys[m.state.LastKey] {
			t.Fatalf("key id %d was given again", m.state.LastKey)
		}
		m.keys[m.state.LastKey] = true
	}
}

func (m *machine) commit(t *rapid.T) {
	if m.changed {
		if err := m.store.CommitAccount(m.rows); err != nil {
			t.Fatal(err)
		}
	}
	m.rows, m.changed = &account.Rows{}, false
	rebuilt, err := m.store.LoadAccount(me)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m.state, rebuilt) {
		t.Fatalf("in memory %+v\nfrom rows %+v", m.state, rebuilt)
	}
	list, err := m.store.ListInboxes(me, account.InboxEntry{}, 1000)
	if err != nil || int64(len(list)) != m.state.LiveInboxes {
		t.Fatalf("%d inboxes are counted, the list shows %v (%v)", m.state.LiveInboxes, list, err)
	}
	keys, err := m.store.ListKeys(me, 0, 1000)
	if err != nil || int64(len(keys)) != m.state.AccountKeys+m.state.InboxKeys {
		t.Fatalf("%d keys are counted, the inventory shows %v (%v)", m.state.AccountKeys, keys, err)
	}
	claims, err := m.store.ListClaims(me, account.SubdomainClaim{}, 1000)
	chosen, counted := int64(0), map[string]int64{"x": 0, "y": 0}
	for _, c := range claims {
		counted[c.Label] = c.InboxCount
		if !c.IsRandom {
			chosen++
		}
	}
	if err != nil || chosen != m.state.Subdomains || counted["x"] != m.uses["x"] || counted["y"] != m.uses["y"] {
		t.Fatalf("%d chosen subdomains are counted, the claims are %+v, of inboxes %v (%v)", m.state.Subdomains, claims, m.uses, err)
	}
	named := 0
	for _, r := range m.state.ReservedInboxes {
		if r.IdempotencyKey != (idempotency.RequestKey{}) {
			named++
		}
	}
	if named > m.store.OnceRecords() {
		t.Fatalf("%d reservations wait with a request, %d records", named, m.store.OnceRecords())
	}
}

// TestReleasedAndReservedAtOnce releases a place and reserves it again within one commit.
func TestReleasedAndReservedAtOnce(t *testing.T) {
	s := account.NewState()
	store := persisttest.OpenStore(t)
	env := account.Env{Now: start, Plans: account.DefaultPlans()}
	for _, group := range [][]account.Command{
		{account.Open{ID: me}, account.ReserveInbox{Address: "a@x.test", At: start}},
		{account.ReleaseInbox{Address: "a@x.test"}, account.ReserveInbox{Address: "a@x.test", At: start.Add(time.Hour)}},
	} {
		var rows account.Rows
		for _, cmd := range group {
			evs, err := account.Decide(s, cmd, env)
			if err != nil {
				t.Fatal(err)
			}
			rows.Apply(s, evs)
		}
		if err := store.CommitAccount(&rows); err != nil {
			t.Fatal(err)
		}
	}
	rebuilt, err := store.LoadAccount(me)
	if err != nil || !reflect.DeepEqual(s, rebuilt) {
		t.Errorf("in memory %+v\nfrom rows %+v (%v)", s, rebuilt, err)
	}
}
