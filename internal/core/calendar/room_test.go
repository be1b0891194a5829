package calendar

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"inboxd/internal/mail/icalendar"
)

// crowd appends meetings of a sender to a calendar, one minute apart. The first ones are over.
func crowd(b *Book, now time.Time, n, over int, bytes int64, change func(*Meeting)) *Book {
	if b == nil {
		b = &Book{}
	}
	for i := range n {
		b.LastID++
		m := &Meeting{ID: b.LastID, Source: SourceInbound, AuthorizedMailbox: boss, RemoveAt: now.AddDate(1, 0, 0)}
		m.UID, m.Organizer = fmt.Sprint("u", m.ID), &icalendar.Person{Email: boss}
		if i < over {
			m.RemoveAt = now.Add(keptFor - time.Hour + time.Duration(i)*time.Minute)
		}
		change(m)
		b.RestoreMeeting(m, bytes)
	}
	return b
}

func unauthenticated(*Meeting) {}
func signedBy(domain string) func(*Meeting) {
	return func(m *Meeting) { m.AuthorizedMailbox, m.MailboxAuthenticated = "x@"+domain, true }
}
func ours(m *Meeting) { m.Source = SourceOutbound }

// TestShares checks that a sender's meetings displace those of others only if these are over, and
// never what the inbox organizes.
func TestShares(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	with := func(change func(*Meeting)) *Meeting {
		m := &Meeting{Source: SourceInbound, AuthorizedMailbox: boss}
		m.Organizer = &icalendar.Person{Email: boss}
		change(m)
		return m
	}
	known := with(unauthenticated)
	known.ID = 3
	domains := func(n int) (b *Book) {
		for i := range n {
			b = crowd(b, now, 1000, 1, 100, signedBy(fmt.Sprint("d", i, ".test")))
		}
		return b
	}
	for _, row := range []struct {
		name  string
		book  *Book
		m     *Meeting
		bytes int64
		gone  string
		ok    bool
	}{
		{"an empty calendar", nil, with(unauthenticated), 100, "[]", true},
		{"room for one", crowd(nil, now, 499, 2, 100, unauthenticated), with(unauthenticated), 100, "[]", true},
		{"500 of strangers", crowd(nil, now, 500, 2, 100, unauthenticated), with(unauthenticated), 100, "[1]", true},
		{"500 of strangers, all to come", crowd(nil, now, 500, 0, 100, unauthenticated), with(unauthenticated), 100, "[]", false},
		{"500 of strangers, one of them changed", crowd(nil, now, 500, 0, 100, unauthenticated), known, 100, "[]", true},
		{"2 MiB of strangers", crowd(nil, now, 2, 2, 1<<20, unauthenticated), with(unauthenticated), 100, "[1]", true},
		{"larger than a share", nil, with(unauthenticated), maxShareBytes + 1, "[]", true},
		{"larger than a share, beside another", crowd(nil, now, 1, 1, 100, unauthenticated), with(unauthenticated), maxShareBytes + 1, "[]", false},
		{"500 of strangers do not crowd out a domain", crowd(nil, now, 500, 0, 100, unauthenticated), with(signedBy("org.test")), 100, "[]", true},
		{"1,000 of a domain", crowd(nil, now, 1000, 3, 100, signedBy("org.test")), with(signedBy("ORG.test")), 100, "[1]", true},
		{"1,000 of a domain, and another domain", crowd(nil, now, 1000, 3, 100, signedBy("org.test")), with(signedBy("other.test")), 100, "[]", true},
		{"bound to a domain that is aligned alone", crowd(nil, now, 1000, 1, 100, func(m *Meeting) { m.AuthorizedMailbox = "x@cal.test" }), with(func(m *Meeting) { m.AuthorizedMailbox = "y@cal.test" }), 100, "[1]", true},
		{"4,000 received", domains(4), with(signedBy("new.test")), 100, "[1]", true},
		{"4,000 received, and one of ours", domains(4), with(ours), 100, "[]", true},
		{"5,000 in all, one of ours", crowd(domains(4), now, 1000, 0, 100, ours), with(ours), 100, "[1]", true},
		{"5,000 of ours", crowd(nil, now, 5000, 9, 100, ours), with(ours), 100, "[]", false},
		{"5,000 of ours, and a stranger's", crowd(nil, now, 5000, 9, 100, ours), with(unauthenticated), 100, "[]", false},
		{"8 MiB received", crowd(crowd(nil, now, 4, 1, 1<<20, signedBy("a.test")), now, 4, 1, 1<<20, signedBy("b.test")), with(signedBy("c.test")), 100, "[1]", true},
	} {
		gone, ok := row.book.MakeRoom(row.m, row.bytes, now)
		if got := fmt.Sprint(gone); got != row.gone || ok != row.ok {
			t.Errorf("%s: %s goes, room %v; want %s, %v", row.name, got, ok, row.gone, row.ok)
		}
	}
}

// TestRemovals checks that as many removals are stored as a calendar may have meetings, for 30
// days, the newest longest.
func TestRemovals(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b := crowd(nil, now, maxRemovals+1, 0, 100, unauthenticated)
	for i, m := range slices.Clone(b.Meetings) {
		b = b.WithRemoval(m, now.Add(time.Duration(i)*time.Second))
	}
	at := now.AddDate(0, 0, 29)
	if len(b.RemovedMeetings) != maxRemovals || len(b.Meetings) != 0 || b.Bytes != 0 || b.wasRemoved("u1", at) || !b.wasRemoved("u2", at) || b.wasRemoved("U2", at) {
		t.Errorf("%d are remembered, %d are left with %d bytes", len(b.RemovedMeetings), len(b.Meetings), b.Bytes)
	}
	if b.wasRemoved("u2", now.AddDate(0, 0, 31)) {
		t.Error("remembered for more than 30 days")
	}
	later := crowd(b, now, 1, 0, 100, unauthenticated)
	if b := later.WithRemoval(later.Meetings[0], now.AddDate(0, 0, 40)); len(b.RemovedMeetings) != 1 {
		t.Errorf("%d are remembered behind their time", len(b.RemovedMeetings))
	}
}
