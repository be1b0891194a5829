package persist

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
)

// TestDomainRoundTrip writes random rows of domains and compares all look-ups, reopening the store
// in between.
func TestDomainRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		s, err := Open(folder, options(fs))
		must(t, err)
		defer func() { must(t, s.Close()) }()
		m := &domainModel{s: s, states: map[string]*domain.State{}, attached: map[string][]domain.AttachedInbox{}, listed: map[account.ID]map[string]time.Time{}}
		t.Repeat(map[string]func(*rapid.T){
			"commit": m.commit,
			"list":   m.list,
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

type domainModel struct {
	s        *Store
	states   map[string]*domain.State
	attached map[string][]domain.AttachedInbox
	listed   map[account.ID]map[string]time.Time
}

// Names with common prefixes and suffixes, to detect overlapping keys.
var genDomain = rapid.SampledFrom([]string{"example.org", "example.org.test", "b.example.org", "ample.org"})

func (m *domainModel) commit(t *rapid.T) {
	name := genDomain.Draw(t, "domain")
	r := &domain.Rows{Name: name}
	if m.states[name] != nil && rapid.IntRange(0, 4).Draw(t, "drop") == 0 {
		r.DropRecord, r.ClearInboxes = true, true
		delete(m.states, name)
		delete(m.attached, name)
		must(t, m.s.CommitDomain(r))
		return
	}
	genBytes := rapid.SliceOfN(rapid.Byte(), 1, 300)
	r.PutState = &domain.State{
		Name: name, Account: accountID(rapid.ByteRange(0, 3).Draw(t, "account")), OwnershipToken: genText.Draw(t, "token"), InboxCount: rapid.Int64().Draw(t, "inboxes"),
		Status: domain.ClaimStatus(rapid.Byte().Draw(t, "status")), FoundRecords: domain.RecordSet(rapid.Uint16().Draw(t, "found")),
		ClaimedAt: genTime.Draw(t, "claimed"), VerifiedAt: genTime.Draw(t, "verified"), CheckedAt: genTime.Draw(t, "checked"), MissingSince: genTime.Draw(t, "missing"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "keys") {
		r.PutState.Keys = append(r.PutState.Keys, domain.DKIMKey{Selector: genText.Draw(t, "selector"), Algorithm: domain.Ed25519, Public: genBytes.Draw(t, "public"), Encrypted: genBytes.Draw(t, "encrypted")})
	}
	if r.ClearInboxes = rapid.IntRange(0, 4).Draw(t, "clear") == 0; r.ClearInboxes {
		m.attached[name] = nil
	}
	address := fmt.Sprintf("u%d@%s", rapid.IntRange(0, 3).Draw(t, "user"), name)
	m.attached[name] = slices.DeleteFunc(m.attached[name], func(a domain.AttachedInbox) bool { return a.Address == address })
	if rapid.Bool().Draw(t, "attach") {
		a := domain.AttachedInbox{Address: address, CreationTimes: rapid.SliceOfN(genTime, 1, 3).Draw(t, "times")}
		r.AttachInboxes = []domain.AttachedInbox{a}
		m.attached[name] = append(m.attached[name], a)
		slices.SortFunc(m.attached[name], func(a, b domain.AttachedInbox) int { return strings.Compare(a.Address, b.Address) })
	} else {
		r.DetachInboxes = []string{address}
	}
	m.states[name] = r.PutState
	must(t, m.s.CommitDomain(r))
}

func (m *domainModel) list(t *rapid.T) {
	id, name := accountID(rapid.ByteRange(0, 3).Draw(t, "account")), genDomain.Draw(t, "domain")
	if m.listed[id] == nil {
		m.listed[id] = map[string]time.Time{}
	}
	rows := &account.Rows{ID: id}
	if rapid.Bool().Draw(t, "put") {
		l := account.ListedDomain{Name: name, WrittenAt: genTime.Draw(t, "mark")}
		m.listed[id][name] = l.WrittenAt
		rows.PutDomains = []account.ListedDomain{l}
	} else {
		delete(m.listed[id], name)
		rows.DropDomains = []string{name}
	}
	must(t, m.s.CommitAccount(rows))
}

func (m *domainModel) check(t *rapid.T) {
	for _, name := range []string{"example.org", "example.org.test", "b.example.org", "ample.org", "never.test"} {
		want := m.states[name]
		if want == nil {
			want = &domain.State{Name: name}
		}
		got, err := m.s.LoadDomain(name)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is %+v, want %+v", name, got, want)
		}
		attached, err := m.s.AttachedInboxes(name, "", 100)
		must(t, err)
		if len(attached)+len(m.attached[name]) > 0 && !reflect.DeepEqual(attached, m.attached[name]) {
			t.Fatalf("%s has the inboxes %v, want %v", name, attached, m.attached[name])
		}
		there, err := m.s.AttachedAt(name, "u1@"+name)
		must(t, err)
		if i := slices.IndexFunc(attached, func(a domain.AttachedInbox) bool { return a.Address == "u1@"+name }); i < 0 != (len(there) == 0) || i >= 0 && !reflect.DeepEqual(there, attached[i].CreationTimes) {
			t.Fatalf("u1@%s is attached: %v", name, there)
		}
		if len(attached) > 1 {
			rest, err := m.s.AttachedInboxes(name, attached[0].Address, 1)
			must(t, err)
			if !reflect.DeepEqual(rest, attached[1:2]) {
				t.Fatalf("behind %v: %v of %v", attached[0], rest, attached)
			}
		}
	}
	seen := map[string]bool{}
	for after := ""; ; {
		page, err := m.s.ListDomains(after, 1)
		must(t, err)
		if len(page) == 0 {
			break
		}
		after = page[0].Name
		if seen[after] || !reflect.DeepEqual(page[0], m.states[after]) {
			t.Fatalf("paging shows %+v, want %+v", page[0], m.states[after])
		}
		seen[after] = true
	}
	if len(seen) != len(m.states) {
		t.Fatalf("paging shows %v of %d domains", seen, len(m.states))
	}
	for b := range byte(4) {
		st, err := m.s.LoadAccount(accountID(b))
		must(t, err)
		if !maps.EqualFunc(st.ListedDomains, m.listed[accountID(b)], time.Time.Equal) {
			t.Fatalf("account %d lists %v, want %v", b, st.ListedDomains, m.listed[accountID(b)])
		}
	}
}

// TestDomainSurvivesPowerLoss checks that what CommitDomain acknowledged survives a crash.
func TestDomainSurvivesPowerLoss(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, err := Open(folder, options(fs))
	must(t, err)
	d := goldenDomain()
	must(t, s.CommitAccount(&account.Rows{ID: goldenID, PutDomains: []account.ListedDomain{{Name: d.Name, WrittenAt: goldenTime}}}))
	d.Keys[0].Encrypted, err = s.EncryptSecret("dkim", []byte("private"))
	must(t, err)
	must(t, s.CommitDomain(&domain.Rows{Name: d.Name, PutState: d, AttachInboxes: []domain.AttachedInbox{{Address: goldenAddress, CreationTimes: []time.Time{goldenTime}}}}))
	crashed, err := Open(folder, options(fs.CrashClone(vfs.CrashCloneCfg{})))
	must(t, err)
	defer func() { must(t, crashed.Close()) }()
	must(t, s.Close())
	got, err := crashed.LoadDomain(d.Name)
	must(t, err)
	if !reflect.DeepEqual(got, d) {
		t.Errorf("after the crash %+v, want %+v", got, d)
	}
	st, err := crashed.LoadAccount(goldenID)
	must(t, err)
	private, err := crashed.Decrypt("dkim", got.Keys[0].Encrypted)
	must(t, err)
	if mark := st.ListedDomains[d.Name]; !mark.Equal(goldenTime) || string(private) != "private" {
		t.Errorf("listed %v, decrypted %q", st.ListedDomains, private)
	}
}

// TestAnErasedAccountListsNoDomains checks that an account's list of domains is erased with it.
func TestAnErasedAccountListsNoDomains(t *testing.T) {
	s := open(t, vfs.NewMem())
	must(t, s.CommitAccount(&account.Rows{ID: goldenID, PutDomains: []account.ListedDomain{{Name: "example.org", WrittenAt: goldenTime}}}))
	must(t, s.CommitAccount(&account.Rows{ID: goldenID, EraseAll: true}))
	st, err := s.LoadAccount(goldenID)
	must(t, err)
	if len(st.ListedDomains) != 0 {
		t.Errorf("listed are %v", st.ListedDomains)
	}
}
