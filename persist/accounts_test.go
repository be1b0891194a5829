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

	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// TestAccountRoundTrip writes random rows of accounts and compares all look-ups.
func TestAccountRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		s, err := Open(folder, options(fs))
		must(t, err)
		defer func() { must(t, s.Close()) }()
		m := &accountModel{s: s, states: map[account.ID]*account.State{}, live: map[account.ID]map[string]time.Time{}, inventory: map[account.ID]map[int64]*account.APIKey{}}
		t.Repeat(map[string]func(*rapid.T){
			"commit": m.commit,
			"reopen": func(t *rapid.T) {
				rarely(t)
				must(t, s.Close())
				s, err = Open(folder, options(fs))
				must(t, err)
				m.s = s
			},
			"": m.check,
		})
	})
}

// rarely skips an action most of the time: opening a store is expensive under the race detector.
func rarely(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "seldom") > 0 {
		t.Skip("this time")
	}
}

type accountModel struct {
	s      *Store
	states map[account.ID]*account.State
	live   map[account.ID]map[string]time.Time

	inventory map[account.ID]map[int64]*account.APIKey
	lastKey   int64
}

func (m *accountModel) commit(t *rapid.T) {
	id := accountID(rapid.ByteRange(0, 3).Draw(t, "account"))
	st := m.states[id]
	if st == nil {
		st, m.live[id], m.inventory[id] = account.NewState(), map[string]time.Time{}, map[int64]*account.APIKey{}
		m.states[id] = st
	}
	r := &account.Rows{ID: id}
	if st.ID != id || rapid.Bool().Draw(t, "profile") {
		st.Profile = account.Profile{ID: id, Email: genText.Draw(t, "email"), PasswordHash: genText.Draw(t, "hash"), Plan: account.PlanPaid,
			CreatedAt: genTime.Draw(t, "created"), LiveInboxes: rapid.Int64().Draw(t, "inboxes"), LastKey: rapid.Int64Min(0).Draw(t, "last"), LastClaim: rapid.Int64().Draw(t, "claim"), Subdomains: rapid.Int64().Draw(t, "subdomains"),
			Encryption:  account.EncryptionState{PublicKey: genText.Draw(t, "recipient"), SetAt: genTime.Draw(t, "set"), EncryptedInboxes: rapid.Int64().Draw(t, "encrypted")},
			AccountKeys: rapid.Int64().Draw(t, "account keys"), InboxKeys: rapid.Int64().Draw(t, "inbox keys"), ClosingAt: genTime.Draw(t, "closing"), EndedKeys: rapid.Int64().Draw(t, "ended"), EmailUnverified: rapid.Bool().Draw(t, "unverified")}
		p := st.Profile
		r.Profile = &p
	}
	m.keys(t, id, r)
	m.resets(t, st, r)
	m.sessions(t, st, r)
	m.inboxes(t, id, st, r)
	must(t, m.s.CommitAccount(r))
}

// keys revokes some keys and issues one, which may replace a revoked inbox key.
func (m *accountModel) keys(t *rapid.T, id account.ID, r *account.Rows) {
	held := map[string]bool{}
	for _, n := range slices.Sorted(maps.Keys(m.inventory[id])) {
		k := m.inventory[id][n]
		if rapid.IntRange(0, 3).Draw(t, "revoke") == 0 {
			delete(m.inventory[id], n)
			r.DropKeys = append(r.DropKeys, k)
		} else if k.Kind == account.KindInboxKey {
			held[k.Inbox] = true
		}
	}
	m.lastKey++ // ids are never reused
	n := m.lastKey
	k := &account.APIKey{ID: n, Hash: account.HashToken([]byte(fmt.Sprint(id, n))), Kind: account.KindAccountKey, Label: genText.Draw(t, "label"),
		Scopes: account.ScopeFull, Prefix: genText.Draw(t, "prefix"), CreatedAt: genTime.Draw(t, "created"),
		ExpiresAt: genTime.Draw(t, "expires"), LastUsedAt: genTime.Draw(t, "used"), ClockSeen: genTime.Draw(t, "clock seen")}
	if inbox := rapid.SampledFrom([]string{"", "a@example.org", "ab@example.org"}).Draw(t, "inbox"); inbox != "" && !held[inbox] {
		k.Kind, k.Inbox = account.KindInboxKey, inbox
	}
	m.inventory[id][n] = k
	r.PutKeys = append(r.PutKeys, k)
}

// resets starts a reset, or ends all outstanding ones.
func (m *accountModel) resets(t *rapid.T, st *account.State, r *account.Rows) {
	if rapid.IntRange(0, 2).Draw(t, "reset used") == 0 {
		for h := range st.ResetTokens {
			r.DropResets = append(r.DropResets, account.ResetToken{Hash: h})
		}
		clear(st.ResetTokens)
		return
	}
	reset := account.ResetToken{Hash: account.HashToken([]byte(fmt.Sprint("reset", rapid.Byte().Draw(t, "reset")))), ExpiresAt: genTime.Draw(t, "until"), ClockSeen: genTime.Draw(t, "seen"), VerifiesEmail: rapid.Bool().Draw(t, "verify")}
	st.ResetTokens[reset.Hash] = reset
	r.PutResets = append(r.PutResets, reset)
}

// checkKeys compares the inventory, two keys at a time, and every look-up.
func (m *accountModel) checkKeys(t *rapid.T, id account.ID) {
	got, held, last := map[int64]*account.APIKey{}, map[string]int64{}, int64(0)
	for {
		page, err := m.s.ListKeys(id, last, 2)
		must(t, err)
		if len(page) == 0 {
			break
		}
		for i := range page {
			if page[i].ID <= last {
				t.Fatalf("key %d is behind key %d", page[i].ID, last)
			}
			last = page[i].ID
			got[last] = &page[i]
		}
	}
	if !reflect.DeepEqual(got, m.inventory[id]) {
		t.Fatalf("inventory is\n%+v\nwant\n%+v", got, m.inventory[id])
	}
	for n, k := range m.inventory[id] {
		if one, err := m.s.FindKey(id, n); err != nil || !reflect.DeepEqual(one, k) {
			t.Fatalf("key %d is %+v, %v", n, one, err)
		}
		checkCredential(t, m.s, id, k.Hash, n, true)
		if k.Kind == account.KindInboxKey {
			held[k.Inbox] = n
		}
	}
	for _, inbox := range []string{"a@example.org", "ab@example.org", "a@example.or"} {
		if n, err := m.s.KeyOfInbox(id, inbox); err != nil || n != held[inbox] {
			t.Fatalf("%s holds key %d, %v; want %d", inbox, n, err, held[inbox])
		}
	}
	if k, err := m.s.FindKey(id, m.lastKey+1); k != nil || err != nil {
		t.Fatalf("a key that was never issued: %v, %v", k, err)
	}
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
	reservation, reserved := st.ReservedInboxes[addr]
	moment := reservation.At
	created, live := m.live[id][addr]
	switch {
	case live:
		delete(m.live[id], addr)
		r.DropInboxes = append(r.DropInboxes, account.InboxEntry{Address: addr, CreatedAt: created, IsLive: true})
	case reserved && rapid.Bool().Draw(t, "confirm"):
		delete(st.ReservedInboxes, addr)
		m.live[id][addr] = moment
		r.PutInboxes = append(r.PutInboxes, account.InboxEntry{Address: addr, CreatedAt: moment, IsLive: true, Encrypted: isEncrypted(addr)})
	case reserved:
		delete(st.ReservedInboxes, addr)
		r.DropInboxes = append(r.DropInboxes, account.InboxEntry{Address: addr, CreatedAt: moment})
	default:
		v := account.InboxReservation{At: at(rapid.IntRange(-3, 3).Draw(t, "moment")), Label: genText.Draw(t, "label"), RetentionHours: rapid.IntRange(0, 9).Draw(t, "hours"), ClaimNumber: rapid.Int64().Draw(t, "number"), KeepNewest: rapid.Bool().Draw(t, "keeps"), Encrypted: rapid.Bool().Draw(t, "encrypted")}
		copy(v.IdempotencyKey[:], rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "request"))
		st.ReservedInboxes[addr] = v
		r.PutInboxes = append(r.PutInboxes, account.InboxEntry{Address: addr, CreatedAt: v.At, Reservation: v})
	}
}

// isEncrypted decides which addresses of the model are encrypted.
func isEncrypted(addr string) bool { return addr[1]%2 == 0 }

func (m *accountModel) check(t *rapid.T) {
	for id, want := range m.states {
		got, err := m.s.LoadAccount(id)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("account loads as\n%+v\nwant\n%+v", got, want)
		}
		m.checkKeys(t, id)
		for n := range 8 {
			h := account.HashToken([]byte(fmt.Sprint("session", id, byte(n))))
			checkCredential(t, m.s, id, h, 0, want.Sessions[h] != nil)
		}
		m.checkList(t, id)
	}
	m.checkClosing(t)
	m.checkAccounts(t)
}

func checkCredential(t *rapid.T, s *Store, id account.ID, h account.TokenHash, key int64, there bool) {
	owner, k, found, err := s.FindCredential(id.HomePartition(), h)
	if err != nil || found != there || found && (owner != id || k != key) {
		t.Fatalf("credential: %v %v %v %v, want %v %v", owner, k, found, err, key, there)
	}
}

// checkList pages through the list, two at a time.
func (m *accountModel) checkList(t *rapid.T, id account.ID) {
	var want []account.InboxEntry
	for addr, created := range m.live[id] {
		want = append(want, account.InboxEntry{Address: addr, CreatedAt: created, IsLive: true, Encrypted: isEncrypted(addr)})
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
		page, err := m.s.ListInboxes(id, last, 2)
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
		listed, encrypted, err := m.s.FindListing(id, account.InboxEntry{Address: addr, CreatedAt: created, IsLive: true})
		if err != nil || listed != live || encrypted != (live && isEncrypted(addr)) {
			t.Fatalf("%s listed %v, encrypted %v, %v, want %v", addr, listed, encrypted, err, live)
		}
	}
}

// checkClosing compares the closing marks. The model never erases, so a mark stays. A profile
// without a creation time does not count as an account, see account.BarOpening.
func (m *accountModel) checkClosing(t *rapid.T) {
	marked, err := m.s.ListClosing(10)
	must(t, err)
	for id, st := range m.states {
		if !st.CreatedAt.IsZero() && !st.ClosingAt.IsZero() && !slices.Contains(marked, id) {
			t.Fatalf("%s is closing and has no mark: %v", id, marked)
		}
	}
}

func (m *accountModel) checkAccounts(t *rapid.T) {
	got := map[account.ID]account.Profile{}
	var last account.ID
	for {
		page, err := m.s.ListAccounts(last, 2)
		must(t, err)
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			got[p.ID] = p
		}
		last = page[len(page)-1].ID
	}
	for id, st := range m.states {
		if p, shown := got[id]; shown == st.CreatedAt.IsZero() || shown && p != st.Profile {
			t.Fatalf("account %s is %+v, shown %v as %+v", id, st.Profile, shown, p)
		}
	}
	if len(got) > len(m.states) {
		t.Fatalf("%d accounts of %d", len(got), len(m.states))
	}
}

func TestEmail(t *testing.T) {
	s := open(t, vfs.NewMem())
	must(t, s.SetEmail("a@example.org", account.NameHolder{Account: accountID(1)}))
	must(t, s.SetEmail("ab@example.org", account.NameHolder{Account: accountID(2)}))
	got, err := s.AccountByEmail("a@example.org")
	if got.Account != accountID(1) || err != nil {
		t.Errorf("got %v %v", got, err)
	}
	if got, _ := s.AccountByEmail("a@example.or"); got != (account.NameHolder{}) {
		t.Error("a prefix was found")
	}
}

// TestGroupedRows commits combinations that grouped commands may leave in one set of rows.
func TestGroupedRows(t *testing.T) {
	s := open(t, vfs.NewMem())
	id, entry := accountID(1), func(moment int, live bool) account.InboxEntry {
		return account.InboxEntry{Address: "i@example.org", CreatedAt: at(moment), IsLive: live}
	}
	reserved := func() map[string]account.InboxReservation {
		st, err := s.LoadAccount(id)
		must(t, err)
		return st.ReservedInboxes
	}
	// Reserved and released in the same rows.
	must(t, s.CommitAccount(&account.Rows{ID: id, PutInboxes: []account.InboxEntry{entry(1, false)}, DropInboxes: []account.InboxEntry{entry(1, false)}}))
	if r := reserved(); len(r) != 0 {
		t.Errorf("a released reservation stays: %v", r)
	}
	// Confirmed; then released and reserved again in the same rows.
	must(t, s.CommitAccount(&account.Rows{ID: id, PutInboxes: []account.InboxEntry{entry(2, false), entry(2, true)}}))
	must(t, s.CommitAccount(&account.Rows{ID: id, PutInboxes: []account.InboxEntry{entry(3, false)}, DropInboxes: []account.InboxEntry{entry(2, true)}}))
	listed, _, err := s.FindListing(id, entry(2, true))
	if r := reserved(); err != nil || listed || !r["i@example.org"].At.Equal(at(3)) {
		t.Errorf("reserved anew: %v, the old one listed: %v %v", r, listed, err)
	}
	// An inbox key revoked and another issued in the same rows: the new one stays.
	key := func(n int64) *account.APIKey {
		return &account.APIKey{ID: n, Hash: account.HashToken([]byte{byte(n)}), Kind: account.KindInboxKey, Inbox: "i@example.org"}
	}
	must(t, s.CommitAccount(&account.Rows{ID: id, PutKeys: []*account.APIKey{key(1)}}))
	must(t, s.CommitAccount(&account.Rows{ID: id, PutKeys: []*account.APIKey{key(2)}, DropKeys: []*account.APIKey{key(1)}}))
	if n, err := s.KeyOfInbox(id, "i@example.org"); n != 2 || err != nil {
		t.Errorf("the inbox holds key %d, %v", n, err)
	}
	if _, _, found, err := s.FindCredential(id.HomePartition(), key(1).Hash); found || err != nil {
		t.Errorf("a revoked key opens the account: %v", err)
	}
}

// TestErase removes one account and nothing of another.
func TestErase(t *testing.T) {
	s := open(t, vfs.NewMem())
	request := idempotency.Record{Request: idempotency.Request{Key: idempotency.RequestKey{1}}, At: at(1), FirstResult: idempotency.FirstResult{EncodedResponse: []byte("x")}}
	for n := range byte(2) {
		id := accountID(n)
		must(t, s.CommitAccount(&account.Rows{
			ID: id, Profile: &account.Profile{ID: id, CreatedAt: at(1), ClosingAt: at(2)},
			PutSessions:        []*account.Session{{Hash: account.TokenHash{n}}},
			PutInboxes:         []account.InboxEntry{{Address: "i@example.org", CreatedAt: at(1), IsLive: true}},
			IdempotencyRecords: idempotency.BatchRecords{PutRecords: []idempotency.Record{request}},
		}))
		must(t, s.AppendJournal(id, 1, []inbox.PublicEvent{{SequenceNumber: 1, Account: id, Address: "i@example.org", At: at(1)}}, nil))
	}
	must(t, s.CommitAccount(&account.Rows{ID: accountID(0), EraseAll: true}))
	left := func(id account.ID) (n int) {
		st, err := s.LoadAccount(id)
		must(t, err)
		list, err := s.ListInboxes(id, account.InboxEntry{}, 9)
		must(t, err)
		end, err := s.JournalEnd(id)
		must(t, err)
		record, err := s.AccountOnce(id, request.Key)
		must(t, err)
		if !st.CreatedAt.IsZero() {
			n++
		}
		if record != nil {
			n++
		}
		return n + len(st.Sessions) + len(list) + int(end)
	}
	closing, err := s.ListClosing(9)
	if left(accountID(0)) != 0 || left(accountID(1)) != 5 || err != nil || len(closing) != 1 || closing[0] != accountID(1) {
		t.Errorf("left of the erased: %d, of the other: %d; closing %v %v", left(accountID(0)), left(accountID(1)), closing, err)
	}
	must(t, s.SetEmail("a@example.org", account.NameHolder{Account: accountID(0)}))
	must(t, s.SetEmail("a@example.org", account.NameHolder{}))
	if got, err := s.AccountByEmail("a@example.org"); got != (account.NameHolder{}) || err != nil {
		t.Errorf("the address is still taken: %v", err)
	}
}

// TestClaims checks that claims are found by their label and paged, chosen ones first. Claims of
// another account, or of a longer label, are not returned.
func TestClaims(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	drawn := account.SubdomainClaim{Label: "abc", IsRandom: true, SerialNumber: 1, InboxCount: 1}
	fleet, fleets := account.SubdomainClaim{Label: "fleet", SerialNumber: 2, EndedAt: at(5)}, account.SubdomainClaim{Label: "fleets", SerialNumber: 3, InboxCount: 7}
	must(t, s.CommitAccount(&account.Rows{ID: id, Claims: []account.SubdomainClaim{drawn, fleets, {Label: "gone", SerialNumber: 9}, fleet, {Label: "gone"}}}))
	must(t, s.CommitAccount(&account.Rows{ID: accountID(2), Claims: []account.SubdomainClaim{{Label: "other", SerialNumber: 1}}}))
	for label, want := range map[string]account.SubdomainClaim{"abc": drawn, "fleet": fleet, "fleets": fleets, "gone": {Label: "gone"}, "other": {Label: "other"}, "flee": {Label: "flee"}} {
		if got, err := s.FindClaim(id, label); got != want || err != nil {
			t.Errorf("%s: %+v %v", label, got, err)
		}
	}
	var all []account.SubdomainClaim
	for after := (account.SubdomainClaim{}); ; {
		page, err := s.ListClaims(id, after, 2)
		must(t, err)
		if len(page) == 0 {
			break
		}
		all, after = append(all, page...), page[len(page)-1]
	}
	if want := []account.SubdomainClaim{fleet, fleets, drawn}; !reflect.DeepEqual(all, want) {
		t.Errorf("%+v", all)
	}
	must(t, s.CommitAccount(&account.Rows{ID: id, EraseAll: true}))
	if left, err := s.ListClaims(id, account.SubdomainClaim{}, 9); len(left) != 0 || err != nil {
		t.Errorf("left of an erased account: %+v %v", left, err)
	}
	if others, _ := s.ListClaims(accountID(2), account.SubdomainClaim{}, 9); len(others) != 1 {
		t.Errorf("of another account: %+v", others)
	}
}
