package ingest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/icalendar"
)

// corpusMails are the messages with calendar files from other programs, and a series of ours, in
// file order. Without them the test is skipped.
func corpusMails(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("INBOX_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpora")
	}
	names, _ := filepath.Glob(filepath.Join(dir, "cal", "d-*.eml"))
	if len(names) == 0 {
		t.Skipf("no corpora: set INBOX_CORPORA, or put them at %s", dir)
	}
	return names
}

// agent is the recipient of the series of messages, and bea its guest.
const agent, bea = "agent.inbox7@example.net", "bea@guest.example"

// series is the expected result of each message of the series, in file order.
var series = []string{
	"REQUEST created 2 calendar.event.created",
	"REQUEST unchanged 2 ",
	"REQUEST updated 2 calendar.event.updated",
	"REQUEST unchanged 2 ",
	"CANCEL cancelled 2 calendar.event.cancelled",
	"REPLY replied 1 calendar.attendee.responded",
	"REPLY unchanged 1 ", // of the same second
	"COUNTER unchanged 1 ",
	"REQUEST created 3 calendar.event.created",
	"CANCEL updated 3 calendar.event.updated",
	"REQUEST created 4 calendar.event.created",
	"REQUEST created 5 calendar.event.created",
	"REQUEST created 6 calendar.event.created",
	"REQUEST created 7 calendar.event.created",
	"PUBLISH created 8 calendar.event.created",
}

// TestCorpusMails receives every message into one calendar. The series must have its expected
// results, and the others must not crash or change it wrongly.
func TestCorpusMails(t *testing.T) {
	names := corpusMails(t)
	if len(names) < len(series) {
		t.Fatalf("%d mails", len(names))
	}
	others, reported := names[:len(names)-len(series)], names[len(names)-len(series):]
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var invited int
	book := calendarOf(now)
	for _, name := range others {
		var m *ingest.IncomingMessage
		if book, m = merge(t, book, name, now, nil); first(m) != nil {
			invited++
		}
	}
	if invited < len(others)*3/4 {
		t.Errorf("%d of %d mails are invitations", invited, len(others))
	}
	book = calendarOf(now)
	for i, name := range reported {
		var got string
		book, _ = merge(t, book, name, now, func(inv *calendar.Invitation, m calendar.MergeResult) {
			got = inv.Method + " " + string(m.MessageEvent.Action) + " " + string(rune('0'+m.MessageEvent.Meeting.ID)) + " " + m.PublicEvent
		})
		if got != series[i] {
			t.Errorf("%s: %q, want %q", filepath.Base(name), got, series[i])
		}
	}
	checkSeries(t, book)
}

// calendarOf is the calendar of the agent, with the meeting that the answers of the series belong
// to.
func calendarOf(now time.Time) (b *calendar.Book) {
	return b.WithMeeting(&calendar.Meeting{ID: 1, Source: calendar.SourceOutbound, Event: icalendar.Event{
		UID: "out-1@inbox.example", Title: "Our own meeting", Status: icalendar.StatusConfirmed, Start: now, End: now.Add(time.Hour),
		Organizer: &icalendar.Person{Email: agent}, Attendees: []calendar.Attendee{{Person: icalendar.Person{Email: bea}, ParticipationStatus: icalendar.NeedsAction}},
	}}, 1)
}

// merge receives one message, signed by its sender's domain.
func merge(t *testing.T, b *calendar.Book, name string, now time.Time, describe func(*calendar.Invitation, calendar.MergeResult)) (*calendar.Book, *ingest.IncomingMessage) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	all := ingest.AuthVerdict{SignsFor: func(string, ...string) bool { return true }}
	m := ingest.ParseMessage(ingest.Envelope{RcptTo: []string{agent}, Verdict: all}, raw)
	if ingest.RereadContent(&inbox.Content{}, raw).Doc.IsDegraded != m.Content.Doc.IsDegraded {
		t.Errorf("%s: read again it is degraded, or no longer", name)
	}
	if first(&m) == nil {
		return b, &m
	}
	merged := calendar.MergeMessage(b, first(&m), agent, now)
	if next := merged.Meeting; next != nil {
		if next.ID == 0 {
			next.ID = b.Meetings[len(b.Meetings)-1].ID + 1
			merged.MessageEvent.Meeting.ID = next.ID
		}
		next.Occurrences(now, now.AddDate(1, 0, 0))
		b = b.WithMeeting(next, 1)
	}
	if describe != nil {
		describe(first(&m), merged)
	}
	return b, &m
}

func checkSeries(t *testing.T, b *calendar.Book) {
	t.Helper()
	if got := b.Meeting(1).Attendees[0].ParticipationStatus; got != icalendar.StatusAccepted {
		t.Errorf("the guest's answer: %s", got)
	}
	review := b.Meeting(2)
	if review.Status != icalendar.StatusCancelled || review.Sequence != 2 || !review.MailboxAuthenticated || review.FirstMessageID != "imip45@corp.example" {
		t.Errorf("the review: %+v", review)
	}
	standup := b.Meeting(3)
	overrides := standup.Recurrence.Overrides
	if len(overrides) != 2 || overrides[0].Title != "Standup (late)" || overrides[1].Status != icalendar.StatusCancelled || standup.MyStatus != icalendar.NeedsAction {
		t.Errorf("the standup: %+v", standup)
	}
	for id, want := range map[int64]string{
		2: "2026-04-11T12:30:00Z Europe/Berlin", 3: "2026-04-07T07:00:00Z Europe/Berlin", 8: "2026-07-01T17:00:00Z UTC",
	} {
		m := b.Meeting(id)
		if got := m.Start.UTC().Format(time.RFC3339) + " " + strings.TrimSpace(m.TimeZone.Name); got != want {
			t.Errorf("%s: %s, want %s", m.Title, got, want)
		}
	}
	if !b.Meeting(4).AllDay || b.Meeting(4).End.Sub(b.Meeting(4).Start) != 72*time.Hour {
		t.Errorf("three days: %v to %v", b.Meeting(4).Start, b.Meeting(4).End)
	}
	if !b.Meeting(8).IsPublished || b.Meeting(8).MyStatus != "" {
		t.Errorf("the talk: %+v", b.Meeting(8))
	}
}
