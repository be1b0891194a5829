package icalendar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestRead prints what is parsed from a text. "event" is the lines of a VEVENT that has UID u and
// begins on 2026-03-02 unless it says otherwise, "file" a whole file. With "octets", \x.. and \r
// are octets.
func TestRead(t *testing.T) {
	datadriven.RunTest(t, "testdata/read.txt", func(t *testing.T, d *datadriven.TestData) string {
		text := d.Input
		if d.HasArg("octets") {
			text = octets(t, text)
		}
		if d.Cmd == "event" {
			text = eventFile(text)
		}
		all, dropped, err := Read([]byte(text), nil)
		reported := ""
		if dropped {
			reported = "dropped\n"
		}
		if err != nil {
			return reported + err.Error()
		}
		for _, c := range all {
			reported += describe(c) + tellRevisions(c)
		}
		return reported
	})
}

// readOne parses the first event of a file.
func readOne(text []byte, own func(string) bool) (*Calendar, error) {
	all, _, err := Read(text, own)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// tellRevisions prints the revisions of the overrides, which are not written.
func tellRevisions(c *Calendar) string {
	var b strings.Builder
	if c.ThisAndFuture {
		b.WriteString("following\n")
	}
	if c.LostOccurrence {
		b.WriteString("lost occurrence\n")
	}
	for _, v := range c.Revisions {
		if v != (Revision{}) {
			fmt.Fprintf(&b, "revision: %d %s\n", v.Sequence, times([]time.Time{v.StampedAt}))
		}
	}
	return b.String()
}

func tellPerson(p *Person) string {
	if p.URI == "" {
		return fmt.Sprintf("{%q %q}", p.Email, p.Name)
	}
	return fmt.Sprintf("{%q %q %q}", p.Email, p.Name, p.URI)
}

func octets(t *testing.T, s string) string {
	out, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(s, `"`, `\"`), "\n", `\n`) + `"`)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func eventFile(lines string) string {
	if !strings.Contains(lines, "UID:") {
		lines = "UID:u\n" + lines
	}
	if !strings.Contains(lines, "DTSTART") {
		lines = "DTSTART:20260302T100000Z\n" + lines
	}
	return "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\n" + lines + "\nEND:VEVENT\nEND:VCALENDAR\n"
}

// describe prints what differs from an empty event.
func describe(c *Calendar) string {
	var b strings.Builder
	say := func(name string, v any) {
		if s := fmt.Sprint(v); s != "" && s != "0" {
			fmt.Fprintf(&b, "%s: %s\n", name, s)
		}
	}
	e := &c.Event
	if c.Method != "REQUEST" {
		fmt.Fprintf(&b, "method: %q\n", c.Method)
	}
	fmt.Fprintf(&b, "%s to %s", shown(e.Start, e.AllDay), shown(e.End, e.AllDay))
	switch {
	case e.AllDay:
		b.WriteString(" all day\n")
	case e.TimeZone.Name != "":
		b.WriteString(" " + e.TimeZone.Name + "\n")
	default:
		fmt.Fprintf(&b, " by %d observances\n", len(e.TimeZone.Observances))
	}
	if e.UID != "u" {
		say("uid", fmt.Sprintf("%.80q", e.UID))
	}
	say("sequence", e.Sequence)
	if !e.StampedAt.IsZero() {
		say("stamp", e.StampedAt.Format(time.RFC3339))
	}
	for _, text := range [][2]string{{"title", e.Title}, {"location", e.Location}, {"description", e.Description}, {"comment", e.Comment}} {
		if text[1] != "" {
			say(text[0], fmt.Sprintf("%.80q", text[1]))
		}
	}
	if e.Status != StatusConfirmed {
		say("status", e.Status)
	}
	if e.IsTransparent {
		b.WriteString("transparent\n")
	}
	say("join", e.JoinURL)
	say("links", strings.Join(c.Links[min(1, len(c.Links)):], " "))
	if c.AltHTML != "" {
		say("html", fmt.Sprintf("%.80q", c.AltHTML))
	}
	if e.Organizer != nil {
		say("organizer", tellPerson(e.Organizer))
	}
	say("sent by", e.SentBy)
	for i := range e.Attendees {
		a := &e.Attendees[i]
		say("attendee", strings.TrimSpace(fmt.Sprintf("%s %s %s %s %v", tellPerson(&a.Person), a.Role, a.ParticipationStatus, a.UserType, a.ResponseRequested)))
	}
	if !e.RecurrenceID.IsZero() {
		say("of", shown(e.RecurrenceID, e.AllDay))
	}
	if r := e.Recurrence; r != nil {
		say("recurring", e.IsRecurring())
		say("rule", r.Rule)
		say("also", times(r.AdditionalDates))
		say("except", times(r.ExceptionDates))
		for _, o := range r.Overrides {
			say("override", fmt.Sprintf("%s: %s to %s %q %q %s", shown(o.RecurrenceID, o.AllDay), shown(o.Start, o.AllDay), shown(o.End, o.AllDay), o.Title, o.Location, o.Status))
		}
	}
	return b.String()
}

func times(list []time.Time) string {
	var all []string
	for _, t := range list {
		all = append(all, t.Format(time.RFC3339))
	}
	return strings.Join(all, " ")
}

func TestReadCaps(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	own := func(a string) bool { return a == "me@inbox.test" }
	count := func(what string, lines string, got func(*Event) int, want int) {
		t.Helper()
		c, err := readOne([]byte(eventFile(lines)), own)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if n := got(&c.Event); n != want {
			t.Errorf("%s: %d, want %d", what, n, want)
		}
	}
	attendees := func(e *Event) int { return len(e.Attendees) }
	count("attendees", repeat(500, "ATTENDEE:mailto:a%d@b.test"), attendees, 500)
	count("attendees beyond", repeat(600, "ATTENDEE:mailto:a%d@b.test"), attendees, 500)
	late := repeat(600, "ATTENDEE:mailto:a%d@b.test") + "ATTENDEE:mailto:me@inbox.test\nATTENDEE:mailto:me@inbox.test"
	count("own attendees beyond", late, attendees, 502)
	count("too many of them", repeat(600, "ATTENDEE:mailto:a%d@b.test")+strings.Repeat("ATTENDEE:mailto:me@inbox.test\n", 150), attendees, 600)
	count("own attendee is the last", late, func(e *Event) int {
		if e.Attendees[500].Email == "me@inbox.test" {
			return 1
		}
		return 0
	}, 1)
	rule := "RRULE:FREQ=DAILY\n"
	count("EXDATE", rule+repeat(120, "EXDATE:20260302T10%04[1]d,20260402T10%04[1]d"), func(e *Event) int { return len(e.Recurrence.ExceptionDates) }, 100)
	count("RDATE", rule+"RDATE:20270101T000000Z"+strings.Repeat(",20270101T000000Z", 120), func(e *Event) int { return len(e.Recurrence.AdditionalDates) }, 100)
	points := func(s *string) int { return len([]rune(*s)) }
	count("title", "SUMMARY:"+strings.Repeat("é", 1001), func(e *Event) int { return points(&e.Title) }, 1000)
	count("location", "LOCATION:"+strings.Repeat("é", 1001), func(e *Event) int { return points(&e.Location) }, 1000)
	count("description", "DESCRIPTION:"+strings.Repeat("é", 20_001), func(e *Event) int { return points(&e.Description) }, 20_000)
	count("name", "ATTENDEE;CN="+strings.Repeat("é", 201)+":mailto:a@b.test", func(e *Event) int { return points(&e.Attendees[0].Name) }, 200)
	count("UID", "UID:"+strings.Repeat("u", 1000), func(e *Event) int { return len(e.UID) }, 1000)

	inner := func(n int) string { return strings.Repeat("BEGIN:X\n", n) + strings.Repeat("END:X\n", n) }
	for _, row := range []struct {
		name, text string
		want       error
	}{
		{"1 MiB", eventFile("X-A:") + strings.Repeat(" ", MaxBytes-len(eventFile("X-A:"))), nil},
		{"over 1 MiB", strings.Repeat(" ", MaxBytes+1), ErrOverCaps},
		{"4 deep", eventFile(inner(2)), nil},
		{"5 deep", eventFile(inner(3)), ErrOverCaps},
		{"200 components", eventFile(strings.Repeat("BEGIN:X\nEND:X\n", 198)), nil},
		{"201 components", eventFile(strings.Repeat("BEGIN:X\nEND:X\n", 199)), ErrOverCaps},
	} {
		if _, err := readOne([]byte(row.text), nil); !errors.Is(err, row.want) || row.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
	if _, err := readOne([]byte(eventFile("UID:"+strings.Repeat("u", 1001))), nil); err == nil {
		t.Error("a UID of 1,001 octets was read")
	}
}
