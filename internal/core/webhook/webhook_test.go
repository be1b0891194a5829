package webhook

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		subscription, name string
		want               bool
	}{
		{MessageReceived, MessageReceived, true},
		{MessageReceived, MessageDelivered, false},
		{AllEvents, MessageBounced, true},
		{AllEvents, "something.new", true},
		{AllCalendar, CalendarCreated, true},
		{AllCalendar, CalendarResponded, true},
		{AllCalendar, MessageReceived, false},
		{AllCalendar, "calendar", false},
		{"message.*", MessageReceived, false}, // not a subscription
		{"", MessageReceived, false},
	} {
		if got := MatchesEvent(c.subscription, c.name); got != c.want {
			t.Errorf("Matches(%q, %q) = %v", c.subscription, c.name, got)
		}
	}
}

func TestKnown(t *testing.T) {
	for _, s := range []string{MessageReceived, CalendarResponded, AllCalendar, AllEvents} {
		if !IsSubscription(s) {
			t.Errorf("%s is not known", s)
		}
	}
	for _, s := range []string{"", "message.*", "calendar.", "calendar.event.*", "MESSAGE.RECEIVED", "message.received "} {
		if IsSubscription(s) {
			t.Errorf("%q is known", s)
		}
	}
}

// facts returns one event of each shape, with text that must survive encoding.
func facts() map[string]inbox.PublicEvent {
	at := time.Date(2026, 11, 21, 12, 30, 5, 7e6, time.FixedZone("", 3600))
	received := inbox.PublicEvent{
		SequenceNumber: 7, EventName: MessageReceived, Address: "agent@inbox.test", MessageID: 12, At: at,
		From: "no-reply@shop.example", Subject: `Code <482913> & "more" für Sie`, OTP: "482913",
	}
	bare, hostile := received, received
	bare.Subject, bare.OTP, bare.From = "", "", ""
	hostile.Subject = "a\xff\x00\r\n\u2028b"
	sent := inbox.PublicEvent{
		SequenceNumber: 8, EventName: MessageDelivered, Address: "agent@inbox.test", MessageID: 13, At: at,
		To: []string{"a@example.com", "b@example.com"}, SendStatus: "sent",
		Recipients: []delivery.RecipientState{{Email: "a@example.com", Status: delivery.StatusSent}, {Email: "b@example.com", Status: delivery.StatusBounced}},
	}
	failed, bounced := sent, sent
	failed.Recipients = []delivery.RecipientState{{Email: "a@example.com", Status: delivery.StatusFailed}}
	failed.EventName, failed.SendStatus, failed.SendError = MessageFailed, "failed", "a@example.com: 550 5.1.1 no such user"
	bounced.EventName, bounced.To, bounced.SendError = MessageBounced, []string{"b@example.com"}, "5.2.2 mailbox full"
	secret := inbox.PublicEvent{SequenceNumber: 9, EventName: MessageReceived, Address: received.Address, MessageID: 14, At: at, From: received.From, Subject: "Secret", OTP: "999999", Encrypted: true}
	invited := inbox.PublicEvent{
		SequenceNumber: 10, EventName: CalendarCreated, Address: "agent@inbox.test", MessageID: 15, At: at,
		Meeting: &calendar.Meeting{
			Event: icalendar.Event{
				UID: "u1@example.com", Title: `Quarter "Q1" <plan>`, Start: at, End: at.Add(30 * time.Minute), TimeZone: zone.Zone{Name: "Europe/Berlin"},
				Location: "Raum 1", Description: "Bring\nnumbers", Organizer: &icalendar.Person{Email: "boss@example.com"},
				Attendees: []calendar.Attendee{
					{Person: icalendar.Person{Email: "agent@inbox.test", Name: "Agent"}, Role: "req-participant", ParticipationStatus: "needs-action"},
					{Person: icalendar.Person{Email: "b@example.com"}, Role: "opt-participant", ParticipationStatus: "tentative"},
				},
				Status: "confirmed", Sequence: 2, Recurrence: &icalendar.Recurrence{Rule: "FREQ=WEEKLY", ExceptionDates: []time.Time{at.Add(7 * 24 * time.Hour)}, Overrides: []icalendar.Override{
					{RecurrenceID: at.Add(14 * 24 * time.Hour), Start: at.Add(15 * 24 * time.Hour), End: at.Add(15*24*time.Hour + time.Hour), Title: "Later", Location: "Raum 2", Status: "cancelled"},
				}},
			},
			ID: 3, Source: "inbound", MyStatus: "needs-action", CreatedAt: at, UpdatedAt: at.Add(time.Second),
		},
	}
	moved, cancelled, responded := invited, invited, invited
	moved.EventName, cancelled.EventName, responded.EventName = CalendarUpdated, CalendarCancelled, CalendarResponded
	gone := *invited.Meeting
	day := time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)
	gone.Status, gone.AllDay, gone.Start, gone.End, gone.TimeZone, gone.Organizer = "cancelled", true, day, day.AddDate(0, 0, 1), zone.Zone{}, nil
	gone.Recurrence = &icalendar.Recurrence{AdditionalDates: []time.Time{day.AddDate(0, 0, 2)}}
	cancelled.Meeting = &gone
	mine := gone
	mine.Status, mine.Source, mine.MyStatus, mine.Attendees, mine.Recurrence = "confirmed", "outbound", "", invited.Meeting.Attendees[1:], nil
	responded.Meeting, responded.Attendee = &mine, &mine.Attendees[0]
	all := map[string]inbox.PublicEvent{
		"message.received-encrypted": secret, "calendar.event.created": invited, "calendar.event.updated": moved,
		"calendar.event.cancelled": cancelled, "calendar.attendee.responded": responded,
		"message.received": received, "message.received-bare": bare, "message.received-hostile": hostile,
		"message.delivered": sent, "message.failed": failed, "message.bounced": bounced,
		"unknown": {EventName: "something.new", Address: "agent@inbox.test", At: at},
	}
	for _, name := range []string{"message.received", "message.received-encrypted", "message.failed", "message.bounced", "calendar.event.created", "calendar.attendee.responded"} {
		e := all[name]
		e.RedactDeleted()
		all[name+"-gone"] = e
	}
	return all
}

// TestGolden pins the bytes of bodies. They are signed, and part of the contract.
func TestGolden(t *testing.T) {
	for name, e := range facts() {
		path := filepath.Join("testdata", "golden", name+".json")
		got := Payload(e)
		if *update {
			if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(append(got, '\n'), want) {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
	}
}

// TestSamples checks that a test delivery has the shape of the event that it imitates.
func TestSamples(t *testing.T) {
	members := func(body []byte) (names []string) {
		var read map[string]any
		if err := json.Unmarshal(body, &read); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		for name := range read {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	real := facts()
	for _, s := range Subscriptions() {
		e := SampleEvent(s, "agent@inbox.test", time.Unix(1, 0))
		if !MatchesEvent(s, e.EventName) {
			t.Errorf("the sample of %s is %s", s, e.EventName)
		}
		if got, want := members(Payload(e)), members(Payload(real[e.EventName])); !slices.Equal(got, want) {
			t.Errorf("%s has the members %v, want %v", e.EventName, got, want)
		}
	}
}

// TestEncryptedTellsNothing checks that the body contains nothing of an encrypted message.
func TestEncryptedTellsNothing(t *testing.T) {
	e := facts()["message.received-encrypted"]
	if body := string(Payload(e)); strings.Contains(body, e.Subject) || strings.Contains(body, e.OTP) {
		t.Errorf("%s", body)
	}
}

// FuzzPayload checks that the body is one line of JSON with the given text, whatever a sender
// writes.
func FuzzPayload(f *testing.F) {
	for _, e := range facts() {
		f.Add(e.EventName, e.From, e.Subject, e.OTP, e.SendError)
	}
	f.Fuzz(func(t *testing.T, name, from, subject, otp, sendError string) {
		e := inbox.PublicEvent{EventName: name, From: from, Subject: subject, OTP: otp, SendError: sendError, To: []string{from}}
		e.Attendee = &calendar.Attendee{Person: icalendar.Person{Email: from, Name: subject}, ParticipationStatus: otp}
		e.Meeting = &calendar.Meeting{Event: icalendar.Event{Title: subject, Location: from, Description: sendError, Attendees: []calendar.Attendee{*e.Attendee, *e.Attendee}, Recurrence: &icalendar.Recurrence{Rule: otp, Overrides: []icalendar.Override{{Title: subject}}}}}
		body := Payload(e)
		if bytes.ContainsAny(body, "\r\n") || !utf8.Valid(body) {
			t.Fatalf("not one line of UTF-8: %q", body)
		}
		if !bytes.Equal(body, Payload(e)) {
			t.Fatal("other bytes for the same facts")
		}
		var read map[string]any
		if err := json.Unmarshal(body, &read); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if name == MessageReceived && utf8.ValidString(subject) && read["subject"] != subject {
			t.Fatalf("subject %q became %q", subject, read["subject"])
		}
	})
}

// TestSaid checks that a meeting that is not stored has null instead of the id and times of a
// stored one.
func TestSaid(t *testing.T) {
	at := time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC)
	m := calendar.Meeting{Event: icalendar.Event{UID: "u", Title: "Review", Start: at, End: at}, Source: calendar.SourceInbound}
	if got := string(AppendSaid(nil, nil)); got != "null" {
		t.Errorf("nothing: %s", got)
	}
	for want, said := range map[string]calendar.MessageEvent{
		`{"id":null,"uid":"u","title":"Review",| "created_at":null,"updated_at":null,"recurrence":null,"action":"unchanged","event_id":null,"method":"REQUEST","reason":"stale"}`:                             {Meeting: m, Action: calendar.ActionUnchanged, Method: "REQUEST", RefusalReason: calendar.RefusedStale},
		`{"id":7,"uid":"u","title":"Review",| "created_at":"2026-12-01T14:00:00.000Z","updated_at":"2026-12-01T14:00:00.000Z","recurrence":null,"action":"created","event_id":7,"method":null,"reason":null}`: {Meeting: func(m calendar.Meeting) calendar.Meeting { m.ID, m.CreatedAt, m.UpdatedAt = 7, at, at; return m }(m), Action: calendar.ActionCreated},
	} {
		got := string(AppendSaid(nil, &said))
		head, tail, _ := strings.Cut(want, "| ")
		if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	said := calendar.MessageEvent{Meeting: m}
	if one, two := string(AppendAllSaid(nil, &said, nil)), string(AppendAllSaid(nil, &said, []*calendar.MessageEvent{&said})); one != "" || strings.Count(two, `"uid":"u"`) != 2 {
		t.Errorf("one is told as %q, two as %s", one, two)
	}
}

// TestTextIsQuotedAsTheLibraryDoes tries every octet at every position, and special characters next
// to each other.
func TestTextIsQuotedAsTheLibraryDoes(t *testing.T) {
	quoted := func(s string) {
		o := jsonObject{}
		o.appendQuoted(s)
		if want, _ := jsontext.AppendQuote(nil, s); string(o.b) != string(want) {
			t.Fatalf("%q became %s, want %s", s, o.b, want)
		}
	}
	for c := range 256 {
		for length := range 19 {
			quoted(strings.Repeat("a", length))
			for at := range length {
				s := []byte(strings.Repeat("~", length))
				s[at] = byte(c)
				quoted(string(s))
				if at > 0 {
					s[at-1] = ' '
					quoted(string(s))
				}
			}
		}
	}
	quoted("Grüße\nvon \"uns\"")
}

func TestTimesAreOfMilliseconds(t *testing.T) {
	zone := time.FixedZone("", -5*3600)
	for _, at := range []time.Time{{}, time.UnixMilli(1), time.UnixMilli(-1), time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, zone), time.Date(12026, 1, 2, 3, 4, 5, 0, zone)} {
		if got, want := string(appendTime(nil, at)), at.UTC().Format(`"2006-01-02T15:04:05.000Z"`); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
