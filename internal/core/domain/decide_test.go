package domain_test

import (
	"slices"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
)

var (
	start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ada   = account.NewID(start, [10]byte{1})
	bob   = account.NewID(start, [10]byte{2})
)

const both = domain.Ownership | domain.MX

// story drives one domain.
type story struct {
	t     *testing.T
	state *domain.State
	now   time.Time
	rows  *domain.Rows
}

func newStory(t *testing.T) *story {
	return &story{t: t, state: &domain.State{Name: "example.org"}, now: start}
}

// do expects cmd to succeed (kind Internal) or to fail with kind.
func (s *story) do(cmd domain.Command, kind fault.ErrorKind) {
	s.t.Helper()
	evs, err := domain.Decide(s.state, cmd, domain.Env{Now: s.now})
	if err == nil != (kind == fault.Internal) || err != nil && !fault.Is(err, kind) {
		s.t.Fatalf("%+v: %v, want %v", cmd, err, kind)
	}
	if err == nil {
		s.rows = new(domain.Rows)
		s.rows.Apply(s.state, evs)
	}
}

func (s *story) is(status domain.ClaimStatus, account account.ID) {
	s.t.Helper()
	if s.state.Status != status || s.state.Account != account {
		s.t.Fatalf("%v of %v, want %v of %v", s.state.Status, s.state.Account, status, account)
	}
}

const ok = fault.Internal

func claim(id account.ID, token string) domain.Claim {
	return domain.Claim{Account: id, Token: token, Keys: []domain.DKIMKey{{Selector: token}}}
}

// seen is a check in which DNS answered for every record.
func seen(token string, found domain.RecordSet) domain.ReportCheck {
	return domain.ReportCheck{Token: token, AnsweredRecords: 0xffff, FoundRecords: found}
}

func TestOneAccountPerDomain(t *testing.T) {
	s := newStory(t)
	s.do(claim(ada, "a"), ok)
	s.is(domain.StatusPending, ada)
	s.do(claim(ada, "a"), fault.Refused) // twice
	s.do(claim(bob, "b"), fault.Refused) // pending, and not proven
	s.do(seen("a", both), ok)
	s.is(domain.StatusVerified, ada)
	proven := claim(bob, "b")
	proven.OwnershipProven = true
	s.do(proven, fault.Refused) // while ada's records exist
	s.do(domain.Release{Account: bob}, fault.NotFound)
	s.do(domain.Release{Account: ada}, ok)
	if !s.rows.DropRecord || !s.rows.ClearInboxes || s.state.IsClaimed() || s.state.OwnershipToken != "" {
		t.Errorf("released: %+v, rows %+v", s.state, s.rows)
	}
	s.do(claim(bob, "b"), ok)
	s.is(domain.StatusPending, bob)
}

// TestProofWinsOverAClaimWithout checks that a claim that was never verified, or whose records are
// missing, is replaced.
func TestProofWinsOverAClaimWithout(t *testing.T) {
	proven := claim(bob, "b")
	proven.OwnershipProven = true
	s := newStory(t)
	s.do(claim(ada, "a"), ok)
	s.do(proven, ok)
	s.is(domain.StatusPending, bob)
	s.do(seen("a", both), ok) // a late report about ada's claim
	s.is(domain.StatusPending, bob)

	s = newStory(t)
	s.do(claim(ada, "a"), ok)
	s.do(seen("a", both), ok)
	s.do(domain.AttachInbox{Account: ada, Address: "x@example.org"}, ok)
	s.do(domain.ReportCheck{Token: "a", AnsweredRecords: both, OwnerAsked: true}, ok)
	s.is(domain.StatusFailing, ada)
	s.do(claim(bob, "b"), fault.Refused)
	s.do(proven, ok)
	s.is(domain.StatusPending, bob)
	if s.state.InboxCount != 0 || !s.rows.ClearInboxes || s.state.Keys[0].Selector != "b" || s.state.FoundRecords != 0 || !s.state.VerifiedAt.IsZero() {
		t.Errorf("the new owner has something of the old one: %+v", s.state)
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		checks []domain.ReportCheck
		every  time.Duration
		want   domain.ClaimStatus
	}{
		{"both found", []domain.ReportCheck{seen("a", both)}, 0, domain.StatusVerified},
		{"ownership alone", []domain.ReportCheck{seen("a", domain.Ownership)}, 0, domain.StatusPending},
		{"mx alone", []domain.ReportCheck{seen("a", domain.MX|domain.SPF)}, 0, domain.StatusPending},
		{"one after the other", []domain.ReportCheck{seen("a", domain.MX), seen("a", domain.Ownership)}, 0, domain.StatusPending},
		{"trouble verifies nothing", []domain.ReportCheck{{Token: "a", AnsweredRecords: domain.MX, FoundRecords: both}}, 0, domain.StatusPending},
		{"a flap", []domain.ReportCheck{seen("a", both), seen("a", 0), seen("a", both)}, 24 * time.Hour, domain.StatusVerified},
		{"gone within the grace", []domain.ReportCheck{seen("a", both), seen("a", 0), seen("a", 0)}, 47 * time.Hour, domain.StatusVerified},
		{"gone for good", []domain.ReportCheck{seen("a", both), seen("a", 0), seen("a", 0)}, 48 * time.Hour, domain.StatusFailing},
		{"half gone for good", []domain.ReportCheck{seen("a", both), seen("a", domain.MX), seen("a", domain.MX)}, 48 * time.Hour, domain.StatusFailing},
		{"gone, asked", []domain.ReportCheck{seen("a", both), {Token: "a", AnsweredRecords: both, OwnerAsked: true}}, 0, domain.StatusFailing},
		{"trouble, asked", []domain.ReportCheck{seen("a", both), {Token: "a", OwnerAsked: true}}, 0, domain.StatusVerified},
		{"trouble for ever", []domain.ReportCheck{seen("a", both), {Token: "a"}, {Token: "a"}, {Token: "a"}}, 1000 * time.Hour, domain.StatusVerified},
		{"back", []domain.ReportCheck{seen("a", both), seen("a", 0), seen("a", 0), seen("a", both)}, 48 * time.Hour, domain.StatusVerified},
		{"back is a new grace", []domain.ReportCheck{seen("a", both), seen("a", 0), seen("a", both), seen("a", 0)}, 48 * time.Hour, domain.StatusVerified},
	} {
		s := newStory(t)
		s.do(claim(ada, "a"), ok)
		for _, check := range c.checks {
			s.now = s.now.Add(c.every)
			s.do(check, ok)
		}
		if s.state.Status != c.want {
			t.Errorf("%s: %v, want %v", c.name, s.state.Status, c.want)
		}
	}
}

// TestTroubleKeepsWhatWasFound checks that a failed lookup is not treated as "no record".
func TestTroubleKeepsWhatWasFound(t *testing.T) {
	s := newStory(t)
	s.do(claim(ada, "a"), ok)
	s.do(seen("a", both|domain.SPF|domain.DKIMRSA), ok)
	s.do(domain.ReportCheck{Token: "a", AnsweredRecords: domain.SPF | domain.DMARC, FoundRecords: domain.DMARC | domain.DKIMEd25519}, ok)
	if want := both | domain.DKIMRSA | domain.DMARC; s.state.FoundRecords != want {
		t.Errorf("found %b, want %b", s.state.FoundRecords, want)
	}
}

func TestInboxesUnderADomain(t *testing.T) {
	s := newStory(t)
	t1, t2, t3 := start.Add(1), start.Add(2), start.Add(3)
	attach := domain.AttachInbox{Account: ada, Address: "x@example.org", At: t1}
	s.do(attach, fault.Refused)
	s.do(claim(ada, "a"), ok)
	s.do(attach, fault.Refused) // pending
	s.do(seen("a", both), ok)
	s.do(domain.AttachInbox{Account: bob, Address: "x@example.org"}, fault.Refused)
	s.do(attach, ok)
	attach.CreationTimes = []time.Time{t1}
	s.do(attach, ok) // again: changes nothing
	s.do(domain.AttachInbox{Account: ada, Address: "y@example.org", At: t1}, ok)
	_, err := domain.Decide(s.state, domain.Release{Account: ada}, domain.Env{})
	if err == nil || err.Error() != "refused: 2 inboxes use the domain example.org. Delete them first" {
		t.Errorf("release: %v", err)
	}
	s.do(domain.ReportCheck{Token: "a", AnsweredRecords: both, OwnerAsked: true}, ok)
	s.do(domain.AttachInbox{Account: ada, Address: "z@example.org"}, fault.Refused) // failing
	y := []time.Time{t1}
	detach := func(address string, noted []time.Time, at time.Time, dead bool, want ...time.Time) {
		t.Helper()
		s.do(domain.DetachInbox{Address: address, At: at, InboxGone: dead, CreationTimes: noted}, ok)
		left, said := s.rows.NotedCreations(address)
		if !said {
			left = noted
		}
		if !slices.EqualFunc(left, want, time.Time.Equal) {
			t.Errorf("without %v, dead %v: %v became %v", at, dead, noted, left)
		}
	}
	detach("x@example.org", []time.Time{t1}, t1, true)
	detach("x@example.org", nil, t1, true)                                   // again
	detach("y@example.org", y, t2, true, t1)                                 // of another creation
	detach("y@example.org", []time.Time{t1, t2}, t1, false, t2)              // a newer inbox exists there
	detach("y@example.org", []time.Time{{}, t3}, t2, false, time.Time{}, t3) // the first has no time: its inbox may exist
	detach("y@example.org", []time.Time{{}, t3}, t3, false, time.Time{})
	if s.state.InboxCount != 1 {
		t.Errorf("%d inboxes are counted", s.state.InboxCount)
	}
	s.do(domain.Release{Account: ada}, fault.Refused)
	detach("y@example.org", []time.Time{{}}, t2, true)
	s.do(domain.Release{Account: ada}, ok)
}

// TestDueAt checks that claims are examined soon while their owner is likely active, daily later,
// and never when abandoned.
func TestDueAt(t *testing.T) {
	s := newStory(t)
	if due := s.state.DueAt(); !due.IsZero() {
		t.Errorf("nobody's domain is due at %v", due)
	}
	s.do(claim(ada, "a"), ok)
	for _, c := range []struct {
		age  time.Duration
		wait time.Duration // -1: never
	}{{0, time.Hour}, {71 * time.Hour, time.Hour}, {72 * time.Hour, 24 * time.Hour}, {30 * 24 * time.Hour, 24 * time.Hour}, {31 * 24 * time.Hour, -1}} {
		s.now = start.Add(c.age)
		s.do(seen("a", 0), ok)
		if due := s.state.DueAt(); c.wait < 0 != due.IsZero() || c.wait >= 0 && !due.Equal(s.now.Add(c.wait)) {
			t.Errorf("at the age of %v due %v", c.age, due)
		}
	}
	s.do(seen("a", both), ok)
	if due := s.state.DueAt(); !due.Equal(s.now.Add(24 * time.Hour)) {
		t.Errorf("verified: due %v", due)
	}
	s.do(seen("a", 0), ok)
	if due := s.state.DueAt(); !due.Equal(s.now.Add(time.Hour)) {
		t.Errorf("missing: due %v", due)
	}
}

// TestRowsOfAGroup checks that several commands in one batch write each address once, in its last
// state.
func TestRowsOfAGroup(t *testing.T) {
	s := newStory(t)
	s.do(claim(ada, "a"), ok)
	s.do(seen("a", both), ok)
	var rows domain.Rows
	one := []time.Time{start}
	for _, cmd := range []domain.Command{
		domain.AttachInbox{Account: ada, Address: "x@example.org", At: start}, domain.DetachInbox{Address: "x@example.org", At: start, CreationTimes: one},
		domain.AttachInbox{Account: ada, Address: "y@example.org", At: start}, domain.DetachInbox{Address: "y@example.org", At: start, CreationTimes: one},
		domain.AttachInbox{Account: ada, Address: "y@example.org", At: start},
	} {
		evs, err := domain.Decide(s.state, cmd, domain.Env{Now: s.now})
		if err != nil {
			t.Fatal(err)
		}
		rows.Apply(s.state, evs)
	}
	for address, want := range map[string]bool{"x@example.org": false, "y@example.org": true} {
		if got, known := rows.NotedCreations(address); len(got) > 0 != want || !known {
			t.Errorf("%s: attached %v, known %v", address, got, known)
		}
	}
	if rows.PutState.InboxCount != 1 || len(rows.AttachInboxes) != 1 || len(rows.DetachInboxes) != 1 {
		t.Errorf("rows %+v", rows)
	}
}
