package persist

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"inboxd/internal/account"
)

// TestAccountRoundTrip drives accounts with random rows and compares all look-ups.
func TestAccountRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		s, err := Open(folder, options(fs))
		must(t, err)
		defer func() { must(t, s.Close()) }()
		m := &accountModel{s: s, states: map[account.ID]*account.State{}, live: map[account.ID]map[string]time.Time{}}
		t.Repeat(map[string]func(*rapid.T){
			"commit": m.commit,
			"reopen": func(t *rapid.T) {
				must(t, s.Close())
				s, err = Open(folder, options(fs))
				must(t, err)
				m.s = s
			},
			"": m.check,
		})
	})
}

type accountModel struct {
	s      *Store
	states map[account.ID]*account.State
	live   map[account.ID]map[string]time.Time

	lastKey int64
}

func (m *accountModel) commit(t *rapid.T) {
	id := accountID(rapid.ByteRange(0, 3).Draw(t, "account"))
	st := m.states[id]
	if st == nil {
		st, m.live[id] = account.NewState(), map[string]time.Time{}
		m.states[id] = st
	}
	r := &account.Rows{ID: id}
	if st.ID != id || rapid.Bool().Draw(t, "profile") {
		st.Profile = account.Profile{ID: id, Email: genText.Draw(t, "email"), PasswordHash: genText.Draw(t, "hash"), Plan: account.Paid,
			CreatedAt: genTime.Draw(t, "created"), Inboxes: rapid.Int64().Draw(t, "inboxes"), LastKey: rapid.Int64().Draw(t, "last")}
		p := st.Profile
		r.Profile = &p
	}
	m.keys(t, st, r)
	m.sessions(t, st, r)
	m.inboxes(t, id, st, r)
	must(t, m.s.CommitAccount(r))
}

func (m *accountModel) keys(t *rapid.T, st *account.State, r *account.Rows) {
	for _, k := range st.Keys {
		if rapid.IntRange(0, 3).Draw(t, "revoke") == 0 {
			delete(st.Keys, k.ID)
			r.DropKeys = append(r.DropKeys, &account.Key{ID: k.ID, Hash: k.Hash})
		}
	}
	m.lastKey++ // ids are never reused
	n := m.lastKey
	k := &account.Key{ID: n, Hash: account.HashToken([]byte(fmt.Sprint(st.ID, n))), Kind: account.KindAccountKey, Label: genText.Draw(t, "label"),
		Scopes: account.ScopeFull, Prefix: genText.Draw(t, "prefix"), Inbox: genText.Draw(t, "inbox"), CreatedAt: genTime.Draw(t, "created"),
		ExpiresAt: genTime.Draw(t, "expires"), LastUsedAt: genTime.Draw(t, "used")}
	st.Keys[n] = k
	r.PutKeys = append(r.PutKeys, k)
}

func (m *accountModel) sessions(t *rapid.T, st *account.State, r *account.Rows) {
	h := account.HashToken([]byte(fmt.Sprint("session", st.ID, rapid.ByteRange(0, 7).Draw(t, "session"))))
	if st.Sessions[h] != nil {
		delete(st.Sessions, h)
		r.DropSessions = append(r.DropSessions, &account.Session{Hash: h})
		return
	}
	ses := &account.Session{Hash: h, CreatedAt: genTime.Draw(t, "created"), ExpiresAt: genTime.Draw(t, "expires")}
	st.Sessions[h] = ses
	r.PutSessions = append(r.PutSessions, ses)
}

// inboxes reserves, confirms and releases as the rules do.
func (m *accountModel) inboxes(t *rapid.T, id account.ID, st *account.State, r *account.Rows) {
	addr := fmt.Sprintf("i%d@example.org", rapid.IntRange(0, 9).Draw(t, "inbox"))
	moment, reserved := st.Reserved[addr]
	created, live := m.live[id][addr]
	switch {
	case live:
		delete(m.live[id], addr)
		r.DropInboxes = append(r.DropInboxes, account.InboxEntry{Address: addr, CreatedAt: created, Live: true})
	case reserved && rapid.Bool().Draw(t, "confirm"):
		delete(st.Reserved, addr)
		m.live[id][addr] = moment
		r.PutInboxes = append(r.PutInboxes, account.InboxEntry{Address: addr, CreatedAt: moment, Live: true})
	case reserved:
		delete(st.Reserved, addr)
		r.DropInboxes = append(r.DropInboxes, account.InboxEntry{Address: addr, CreatedAt: moment})
	default:
		st.Reserved[addr] = at(rapid.IntRange(-3, 3).Draw(t, "moment"))
		r.PutInboxes = append(r.PutInboxes, account.InboxEntry{Address: addr, CreatedAt: st.Reserved[addr]})
	}
}

func (m *accountModel) check(t *rapid.T) {
	for id, want := range m.states {
		got, err := m.s.LoadAccount(id)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("account loads as\n%+v\nwant\n%+v", got, want)
		}
		for _, k := range want.Keys {
			checkCredential(t, m.s, id, k.Hash, true)
		}
		for n := range 8 {
			h := account.HashToken([]byte(fmt.Sprint("session", id, byte(n))))
			checkCredential(t, m.s, id, h, want.Sessions[h] != nil)
		}
		m.checkList(t, id)
	}
	m.checkAccounts(t)
}

func checkCredential(t *rapid.T, s *Store, id account.ID, h account.Hash, there bool) {
	owner, found, err := s.Credential(id.Partition(), h)
	if err != nil || found != there || found && owner != id {
		t.Fatalf("credential: %v %v %v, want %v", owner, found, err, there)
	}
}

// checkList pages through the list, two at a time.
func (m *accountModel) checkList(t *rapid.T, id account.ID) {
	var want []account.InboxEntry
	for addr, created := range m.live[id] {
		want = append(want, account.InboxEntry{Address: addr, CreatedAt: created, Live: true})
	}
	slices.SortFunc(want, func(a, b account.InboxEntry) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		if a.Address < b.Address {
			return -1
		}
		return 1
	})
	var got []account.InboxEntry
	var last account.InboxEntry
	for {
		page, err := m.s.Inboxes(id, last, 2)
		must(t, err)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		last = page[len(page)-1]
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("list is %v, want %v", got, want)
	}
	for n := range 10 {
		addr := fmt.Sprintf("i%d@example.org", n)
		created, live := m.live[id][addr]
		listed, err := m.s.Listed(id, account.InboxEntry{Address: addr, CreatedAt: created, Live: true})
		if err != nil || listed != live {
			t.Fatalf("%s listed %v %v, want %v", addr, listed, err, live)
		}
	}
}

func (m *accountModel) checkAccounts(t *rapid.T) {
	got := map[account.ID]account.Profile{}
	var last account.ID
	for {
		page, err := m.s.Accounts(last, 2)
		must(t, err)
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			got[p.ID] = p
		}
		last = page[len(page)-1].ID
	}
	if len(got) != len(m.states) {
		t.Fatalf("%d accounts of %d", len(got), len(m.states))
	}
	for id := range maps.Keys(m.states) {
		if got[id] != m.states[id].Profile {
			t.Fatalf("account %s is %+v", id, got[id])
		}
	}
}

func TestEmail(t *testing.T) {
	s := open(t, vfs.NewMem())
	must(t, s.PutEmail("a@example.org", accountID(1)))
	must(t, s.PutEmail("ab@example.org", accountID(2)))
	id, found, err := s.AccountByEmail("a@example.org")
	if id != accountID(1) || !found || err != nil {
		t.Errorf("got %v %v %v", id, found, err)
	}
	if _, found, _ := s.AccountByEmail("a@example.or"); found {
		t.Error("a prefix was found")
	}
}

// TestGroupedRows commits what grouped commands may leave in one set of rows.
func TestGroupedRows(t *testing.T) {
	s := open(t, vfs.NewMem())
	id, entry := accountID(1), func(moment int, live bool) account.InboxEntry {
		return account.InboxEntry{Address: "i@example.org", CreatedAt: at(moment), Live: live}
	}
	reserved := func() map[string]time.Time {
		st, err := s.LoadAccount(id)
		must(t, err)
		return st.Reserved
	}
	// Reserved and released at once.
	must(t, s.CommitAccount(&account.Rows{ID: id, PutInboxes: []account.InboxEntry{entry(1, false)}, DropInboxes: []account.InboxEntry{entry(1, false)}}))
	if r := reserved(); len(r) != 0 {
		t.Errorf("a released reservation stays: %v", r)
	}
	// Confirmed; then released and reserved anew at once.
	must(t, s.CommitAccount(&account.Rows{ID: id, PutInboxes: []account.InboxEntry{entry(2, false), entry(2, true)}}))
	must(t, s.CommitAccount(&account.Rows{ID: id, PutInboxes: []account.InboxEntry{entry(3, false)}, DropInboxes: []account.InboxEntry{entry(2, true)}}))
	listed, err := s.Listed(id, entry(2, true))
	if r := reserved(); err != nil || listed || !r["i@example.org"].Equal(at(3)) {
		t.Errorf("reserved anew: %v, the old one listed: %v %v", r, listed, err)
	}
	// A key used and revoked at once is revoked.
	k := &account.Key{ID: 1, Hash: account.HashToken([]byte("k")), Kind: account.KindAccountKey}
	must(t, s.CommitAccount(&account.Rows{ID: id, PutKeys: []*account.Key{k}, DropKeys: []*account.Key{k}}))
	if _, found, err := s.Credential(id.Partition(), k.Hash); found || err != nil {
		t.Errorf("a revoked key opens the account: %v", err)
	}
}
