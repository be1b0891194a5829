package calendar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/rule"
	"inboxd/internal/testutil/testtools"
)

// document is a text that we send, with its expected content.
type document struct {
	name, method, title string
	text                string
	events              []icalendar.Event
}

// opinion is what a reader finds in a text. Times are formatted by told.
type opinion struct {
	Method string  `json:"method"`
	Name   string  `json:"name"`
	Events []found `json:"events"`
}

type found struct {
	UID         string   `json:"uid"`
	Sequence    int      `json:"sequence"`
	Stamp       string   `json:"stamp"`
	ID          string   `json:"id"`
	Start       string   `json:"start"`
	End         string   `json:"end"`
	Title       string   `json:"title"`
	Location    string   `json:"location"`
	Description string   `json:"description"`
	Status      string   `json:"status"`
	Comment     string   `json:"comment"`
	Organizer   string   `json:"organizer"`
	Attendees   []string `json:"attendees"`
	Except      []string `json:"except"`
	Also        []string `json:"also"`
	Occurs      []string `json:"occurs"` // the first eight occurrences of a recurring event; nil: the reader does not expand
}

// wanted is what the readers must find: the meeting, followed by its overrides.
func (d *document) wanted() opinion {
	o := opinion{Method: d.method, Name: d.title}
	for i := range d.events {
		e := &d.events[i]
		master := foundOf(e, e.AllDay)
		o.Events = append(o.Events, master)
		if e.Recurrence == nil {
			continue
		}
		for _, over := range e.Recurrence.Overrides {
			if over.RecurrenceID.Equal(e.RecurrenceID) {
				continue
			}
			one := master
			one.ID, one.Start, one.End = reported(over.RecurrenceID, e.AllDay), reported(over.Start, over.AllDay), reported(over.End, over.AllDay)
			one.Title, one.Location, one.Status = over.Title, over.Location, over.Status
			one.Except, one.Also, one.Comment, one.Occurs = nil, nil, "", nil
			o.Events = append(o.Events, one)
		}
	}
	return o
}

func foundOf(e *icalendar.Event, allDay bool) found {
	f := found{
		UID: e.UID, Sequence: e.Sequence, Stamp: reported(e.StampedAt, false), ID: reported(e.RecurrenceID, allDay), Start: reported(e.Start, allDay), End: reported(e.End, allDay),
		Title: e.Title, Location: e.Location, Description: e.Description, Status: e.Status, Comment: e.Comment,
	}
	if e.Organizer != nil {
		f.Organizer = e.Organizer.Email + "|" + icalendar.SingleLine(e.Organizer.Name)
	}
	for i := range e.Attendees {
		a := &e.Attendees[i]
		asked := ""
		if a.ResponseRequested {
			asked = "TRUE"
		}
		f.Attendees = append(f.Attendees, strings.Join([]string{a.Email, icalendar.SingleLine(a.Name), a.Role, a.ParticipationStatus, a.UserType, asked}, "|"))
	}
	if r := e.Recurrence; r != nil {
		for _, at := range r.ExceptionDates {
			f.Except = append(f.Except, reported(at, allDay))
		}
		for _, at := range r.AdditionalDates {
			f.Also = append(f.Also, reported(at, allDay))
		}
	}
	slices.Sort(f.Except)
	slices.Sort(f.Also)
	if e.IsRecurring() && comesBack(e.Recurrence) {
		f.Occurs = occursOf(e)
	}
	return f
}

// comesBack reports whether an event recurs for its readers: an invalid rule is not written.
func comesBack(r *icalendar.Recurrence) bool {
	_, err := rule.Parse(r.Rule)
	return err == nil || len(r.AdditionalDates) > 0
}

// occursOf returns the first eight occurrences by their original times, as ical.js expands them.
func occursOf(e *icalendar.Event) (list []string) {
	all, _ := e.Occurrences(e.Start.AddDate(-1, 0, 0), e.Start.AddDate(60, 0, 0))
	slices.SortStableFunc(all, func(a, b icalendar.Occurrence) int { return a.ID.Compare(b.ID) })
	for _, o := range all[:min(8, len(all))] {
		list = append(list, reported(o.Start, e.AllDay)+"/"+reported(o.End, e.AllDay))
	}
	return list
}

func reported(at time.Time, date bool) string {
	switch {
	case at.IsZero():
		return ""
	case date:
		return at.UTC().Format(time.DateOnly)
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}

// TestOthersReadWhatWeSend has ical.js and python3-icalendar read every text of the test stories.
func TestOthersReadWhatWeSend(t *testing.T) {
	all := storyDocuments(t)
	hard := hardDocuments()
	all = append(append(all, hard...), feedOf(hard), copyOf(&hard[0].events[0]))
	var texts []string
	for i := range all {
		texts = append(texts, all[i].text)
	}
	if _, err := os.Stat(filepath.Join("testdata", "npm", "node_modules")); err != nil {
		testtools.FailMissing(t, "ical.js")
	}
	script := filepath.Join("testdata", "npm", "read.mjs")
	compare(t, "ical.js", all, ask(t, texts, testtools.ProgramPath(t, "node"), script))
	compare(t, "python3-icalendar", all, ask(t, texts, testtools.ProgramPath(t, "python3"), filepath.Join("testdata", "read.py")))
}

func ask(t *testing.T, texts []string, program ...string) (all []opinion) {
	t.Helper()
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil || len(all) != len(texts) {
		t.Fatalf("%s: %v: %s (make deps)", program, err, said.Bytes())
	}
	return all
}

func compare(t *testing.T, reader string, all []document, read []opinion) {
	t.Helper()
	for i := range all {
		want, got := all[i].wanted(), read[i]
		if got.Method != want.Method || got.Name != want.Name || len(got.Events) != len(want.Events) {
			t.Errorf("%s: %s finds METHOD %s, name %q, %d events in %s", all[i].name, reader, got.Method, got.Name, len(got.Events), all[i].text)
			continue
		}
		for j := range want.Events {
			differ(t, reader+": "+all[i].name, &got.Events[j], &want.Events[j])
		}
	}
}

func differ(t *testing.T, what string, got, want *found) {
	t.Helper()
	g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range g.NumField() {
		if name := g.Type().Field(i).Name; name == "Occurs" && got.Occurs == nil {
			continue
		} else if a, b := g.Field(i), w.Field(i); !(a.Kind() == reflect.Slice && a.Len()+b.Len() == 0) && !reflect.DeepEqual(a.Interface(), b.Interface()) {
			t.Errorf("%s finds %s %q, want %q", what, name, a.Interface(), b.Interface())
		}
	}
}

// storyDocuments are the calendars of all messages of the test stories.
func storyDocuments(t *testing.T) (all []document) {
	t.Helper()
	datadriven.RunTest(t, "testdata/arrange.txt", func(t *testing.T, d *datadriven.TestData) string {
		s := story{now: at("2026-03-01 09:00")}
		for block := range strings.SplitSeq(d.Input, "\n\n") {
			verb, rest, _ := strings.Cut(block, "\n")
			s.do(t, verb, rest)
			for i := range s.plan.OutgoingMessages {
				m := &s.plan.OutgoingMessages[i]
				all = append(all, document{name: d.Pos + " " + m.Subject, method: m.Method, text: string(m.Calendar), events: []icalendar.Event{m.Event}})
			}
		}
		return d.Expected
	})
	return all
}

// hardDocuments contain texts that are hard to encode and to parse. A backslash before an n is left
// out: ical.js takes it for a line break in a name, python3-icalendar in a text.
func hardDocuments() (all []document) {
	hard := []string{`a;b,c:d\e"f^g`, "two\nlines\n\nand \\ more", `^n ^' ^^`, strings.Repeat("Zürich 家族 👩‍👩‍👧 ", 20), " blanks at the ends ", "=?utf-8?q?x?=", "100%"}
	for i, s := range hard {
		e := icalendar.Event{
			UID: "u@x.test", Sequence: i, StampedAt: at("2026-03-01 09:00"), Title: icalendar.SingleLine(s), Location: icalendar.SingleLine(s), Description: s, Comment: s, Status: icalendar.StatusConfirmed,
			Start: at("2026-03-02 10:00"), End: at("2026-03-02 11:00"), Organizer: &icalendar.Person{Email: "boss@org.test", Name: icalendar.SingleLine(s)},
			Attendees: []icalendar.Attendee{{Person: icalendar.Person{Email: "a@b.test", Name: icalendar.SingleLine(s)}, Role: icalendar.RoleOptional, ParticipationStatus: icalendar.StatusTentative, UserType: "ROOM", ResponseRequested: true}},
		}
		e.TimeZone.Name = "UTC"
		all = append(all, sentAs("hard text "+s, e))
	}
	return append(all, recurring()...)
}

// feedOf is the feed of a calendar with all those meetings.
func feedOf(all []document) document {
	feed := document{name: "feed", method: "PUBLISH", title: "agent@inbox.test"}
	var b *Book
	for i := range all {
		m := Meeting{ID: int64(i + 1), Event: all[i].events[0]}
		m.UID = fmt.Sprint(i, "@x.test")
		b = b.WithMeeting(&m, 1)
		e := m.Event
		e.Attendees, e.Comment = withoutRequests(e.Attendees), ""
		feed.events = append(feed.events, e)
	}
	feed.text = string(AppendFeed(nil, feed.title, b))
	return feed
}

// copyOf is the owner's copy of a meeting.
func copyOf(e *icalendar.Event) document {
	m := OwnersCopy(&Meeting{ID: 1, Event: *e, OwnerCopy: OwnerCopy{ChangeCount: 3}}, me, "owner@home.test", at("2026-03-01 10:00"))
	return document{name: "owner's copy", method: m.Method, text: string(m.Calendar), events: []icalendar.Event{m.Event}}
}

// recurring are recurring meetings, in zones of all kinds. Each begins where its rule does, because
// the readers do not count others.
func recurring() (all []document) {
	for _, lines := range []string{
		"DTSTART;TZID=Europe/Berlin:20260320T100000\nDTEND;TZID=Europe/Berlin:20260320T110000\nRRULE:FREQ=WEEKLY;COUNT=20",
		"DTSTART;TZID=America/New_York:20251020T183000\nDURATION:PT90M\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;UNTIL=20260501T000000Z\nEXDATE;TZID=America/New_York:20251031T183000",
		"DTSTART;TZID=Australia/Lord_Howe:20260222T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1SU;COUNT=12",
		"DTSTART;TZID=Asia/Kathmandu:20260301T090000\nRRULE:FREQ=DAILY;COUNT=5\nRDATE;TZID=Asia/Kathmandu:20260401T090000",
		"DTSTART;TZID=Africa/Casablanca:20260210T090000\nRRULE:FREQ=WEEKLY;COUNT=12",
		"DTSTART;TZID=Pacific Standard Time:20260131T090000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=9",
		"DTSTART;VALUE=DATE:20260227\nDTEND;VALUE=DATE:20260301\nRRULE:FREQ=MONTHLY;COUNT=4\nEXDATE;VALUE=DATE:20260327",
		"DTSTART:20260310T100000Z\nRRULE:FREQ=YEARLY;BYMONTH=3,9;BYDAY=2TU;COUNT=8",
		// Invalid rules of strangers must not be passed on, because some readers ignore everything
		// after one.
		"DTSTART;TZID=Europe/Berlin:20260320T100000\nRRULE:freq=weekly;count=4\nEXDATE;VALUE=DATE:20260327",
		"DTSTART;TZID=Europe/Berlin:20260320T100000\nRRULE:FREQ=DAILY;UNTIL=20260324\nEXDATE;TZID=Europe/Berlin:20260322T000000",
		"DTSTART;VALUE=DATE:20260320\nDTEND;VALUE=DATE:20260321\nRRULE:FREQ=DAILY;UNTIL=20260324T100000Z",
		"DTSTART:20260320T100000Z\nRRULE:FREQ=NOPE;X",
		"DTSTART:20260320T100000Z\nRRULE:FREQ=DAILY;COUNT=abc",
		"DTSTART:20260320T100000Z\nRRULE:FREQ=DAILY;BYDAY=XX",
		"DTSTART:20260320T100000Z\nRRULE:FREQ=DAILY;UNTIL=garbage",
		"DTSTART:20260320T100000Z\nRRULE:FREQ=DAILY;UNTIL=20260324T100000Z;COUNT=3",
		"DTSTART;TZID=My Zone:20260320T100000\nRRULE:FREQ=WEEKLY;COUNT=3\nEND:VEVENT\nBEGIN:VTIMEZONE\nTZID:My Zone\nBEGIN:STANDARD\nDTSTART:20250101T000000\nTZOFFSETFROM:+0200\n" +
			"TZOFFSETTO:+0100\nRRULE:FREQ=NOPE\nEND:STANDARD\nBEGIN:DAYLIGHT\nDTSTART:20250330T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:freq=yearly;bymonth=3;byday=-1su\nEND:DAYLIGHT\n" +
			"END:VTIMEZONE\nBEGIN:VEVENT\nUID:u@x.test\nDTSTAMP:20260301T090000Z\nSUMMARY:Later\nRECURRENCE-ID;VALUE=DATE:20260327\nDTSTART;TZID=My Zone:20260327T150000",
		"DTSTART;TZID=Europe/London:20260327T100000\nDTEND;TZID=Europe/London:20260327T103000\nRRULE:FREQ=DAILY;COUNT=6\nEND:VEVENT\nBEGIN:VEVENT\nUID:u@x.test\nDTSTAMP:20260301T090000Z\n" +
			"SUMMARY:Late\nLOCATION:There\nRECURRENCE-ID;TZID=Europe/London:20260329T100000\nDTSTART;TZID=Europe/London:20260329T150000\nDTEND;TZID=Europe/London:20260329T160000\nSTATUS:TENTATIVE",
	} {
		text := "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\nUID:u@x.test\nDTSTAMP:20260301T090000Z\nSUMMARY:Again\n" + lines + "\nEND:VEVENT\nEND:VCALENDAR\n"
		c, err := readOne([]byte(text))
		if err != nil {
			panic(err)
		}
		all = append(all, sentAs(lines, c.Event))
	}
	return all
}

func sentAs(name string, e icalendar.Event) document {
	text := icalendar.AppendDocument(nil, &icalendar.OutgoingCalendar{Method: "REQUEST", Events: []icalendar.Event{e}})
	return document{name: name, method: "REQUEST", text: string(text), events: []icalendar.Event{e}}
}
