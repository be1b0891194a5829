package account_test

import (
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

func TestLifetime(t *testing.T) {
	days := func(n int) *int { return &n }
	for _, c := range []struct {
		days *int
		want string // empty: refused
	}{
		{nil, "never"}, {days(30), "2026-12-21 08:00"}, {days(90), "2027-02-19 08:00"}, {days(365), "2027-11-21 08:00"},
		{days(0), ""}, {days(-30), ""}, {days(31), ""}, {days(366), ""},
	} {
		at, err := account.ExpiryAfter(c.days, start)
		switch {
		case c.want == "" && !fault.Is(err, fault.InvalidRequest):
			t.Errorf("%d days: %v, %v", *c.days, at, err)
		case c.want != "" && (err != nil || stamp(at) != c.want):
			t.Errorf("want %s, got %s, %v", c.want, stamp(at), err)
		}
	}
}

// TestPrincipal finds credentials by their hash until they end.
func TestPrincipal(t *testing.T) {
	s := account.NewState()
	s.ID = me
	end := start.Add(time.Hour)
	s.Sessions[hash("session")] = &account.Session{Hash: hash("session"), ExpiresAt: end}
	keys := map[string]*account.APIKey{
		"forever": {ID: 1, Hash: hash("forever"), Kind: account.KindAccountKey, Scopes: account.ScopeSend, LastUsedAt: start},
		"ends":    {ID: 2, Hash: hash("ends"), Kind: account.KindInboxKey, Inbox: "a@x.test", Scopes: account.ScopeRead, ExpiresAt: end},
		"unknown": {ID: 3, Hash: hash("another")}, // a lookup row of another key
	}
	for _, c := range []struct {
		token        string
		now          time.Time
		kind         account.TokenKind // 0: no principal
		key          int64
		scopes       account.ScopeSet
		inbox        string
		validAfter   bool
		lastWritten  time.Time
		neverWritten bool
	}{
		{token: "session", now: end.Add(-1), kind: account.KindSession, scopes: account.ScopeFull},
		{token: "session", now: end},
		{token: "forever", now: end, kind: account.KindAccountKey, key: 1, scopes: account.ScopeSend, validAfter: true, lastWritten: start},
		{token: "ends", now: end.Add(-1), kind: account.KindInboxKey, key: 2, scopes: account.ScopeRead, inbox: "a@x.test", neverWritten: true},
		{token: "ends", now: end},
		{token: "unknown", now: start},
	} {
		p := account.PrincipalOf(s, hash(c.token), keys[c.token], account.Env{Now: c.now})
		if c.kind == 0 {
			if p != nil {
				t.Errorf("%s at %v: %+v", c.token, c.now, p)
			}
			continue
		}
		if p == nil || p.Account != me || p.Kind != c.kind || p.KeyID != c.key || p.Scopes != c.scopes || p.Inbox != c.inbox || p.Hash != hash(c.token) {
			t.Errorf("%s at %v: %+v", c.token, c.now, p)
			continue
		}
		if !p.IsValid(c.now) || p.IsValid(end) != c.validAfter {
			t.Errorf("%s: valid %v, later %v", c.token, p.IsValid(c.now), p.IsValid(end))
		}
		if !c.lastWritten.IsZero() && !p.LastRecorded().Equal(c.lastWritten) || c.neverWritten && !p.LastRecorded().IsZero() {
			t.Errorf("%s: noted %v", c.token, p.LastRecorded())
		}
	}
}

// TestNobodySpeaksForAClosingAccount holds whatever rows are left of it.
func TestNobodySpeaksForAClosingAccount(t *testing.T) {
	s := account.NewState()
	s.Sessions[hash("session")] = &account.Session{Hash: hash("session"), ExpiresAt: start.Add(time.Hour)}
	key := &account.APIKey{ID: 1, Hash: hash("key"), Kind: account.KindAccountKey}
	if account.PrincipalOf(s, hash("session"), nil, account.Env{Now: start}) == nil || account.PrincipalOf(s, hash("key"), key, account.Env{Now: start}) == nil {
		t.Fatal("an open account is shut")
	}
	s.ClosingAt = start
	if account.PrincipalOf(s, hash("session"), nil, account.Env{Now: start}) != nil || account.PrincipalOf(s, hash("key"), key, account.Env{Now: start}) != nil {
		t.Error("a closing account is open")
	}
}

func TestRevokeReachesEveryHolder(t *testing.T) {
	p := &account.Principal{}
	if !p.IsValid(start) {
		t.Error("a principal without an end is over")
	}
	p.Revoke()
	if p.IsValid(start) {
		t.Error("a revoked principal is valid")
	}
}

// TestWhoLeftMemoryIsNotCurrent checks that an evicted credential is valid for the request that
// holds it, and for no later one.
func TestWhoLeftMemoryIsNotCurrent(t *testing.T) {
	p := &account.Principal{ExpiresAt: start.Add(time.Hour)}
	if !p.IsCurrent(start) || p.IsCurrent(start.Add(time.Hour)) {
		t.Error("current is not what is valid")
	}
	p.MarkDropped()
	if p.IsCurrent(start) || !p.IsValid(start) {
		t.Error("a dropped principal: current, or no longer valid")
	}
	p.Revoke()
	p.MarkDropped()
	if p.IsValid(start) {
		t.Error("a drop undid a revocation")
	}
}

// TestIDsSortByAge makes ids in different milliseconds and in the same one.
func TestIDsSortByAge(t *testing.T) {
	early := account.NewID(start, [10]byte{0xff, 0xff})
	late := account.NewID(start.Add(time.Millisecond), [10]byte{})
	if early.String() >= late.String() || len(early.String()) != 32 {
		t.Errorf("%s is not before %s", early, late)
	}
	if account.NewID(start, [10]byte{1}) == account.NewID(start, [10]byte{2}) {
		t.Error("two ids of one moment are equal")
	}
}

func TestEndedTellsOfARevocation(t *testing.T) {
	before, after := &account.Principal{}, &account.Principal{}
	waiting := before.EndedSignal()
	for _, p := range []*account.Principal{before, after} {
		p.Revoke()
		p.Revoke()
	}
	for name, ended := range map[string]<-chan struct{}{"asked before": waiting, "asked after": after.EndedSignal()} {
		select {
		case <-ended:
		default:
			t.Errorf("%s: not ended", name)
		}
	}
	select {
	case <-(&account.Principal{}).EndedSignal():
		t.Error("ended without a revocation")
	default:
	}
}
