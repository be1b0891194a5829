package calendar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"inboxd/internal/base/fault"
	"inboxd/internal/mail/icalendar"
)

var me = Me{"agent@inbox.test", "Ada's agent"}

// TestArrange runs sequences of orders. Each is JSON, or the calendar file of a received meeting.
// "mails" prints the complete messages of the last order.
func TestArrange(t *testing.T) {
	datadriven.RunTest(t, "testdata/arrange.txt", func(t *testing.T, d *datadriven.TestData) string {
		s := story{now: at("2026-03-01 09:00")}
		out := ""
		for block := range strings.SplitSeq(d.Input, "\n\n") {
			verb, rest, _ := strings.Cut(block, "\n")
			out = s.do(t, verb, rest)
			if d.Cmd == "story" {
				fmt.Fprintf(&s.reported, "%s: %s", verb, out)
			}
		}
		if d.Cmd == "mails" {
			return strings.ReplaceAll(mailsText(s.plan.OutgoingMessages), "\r\n", "\n")
		}
		return s.reported.String()
	})
}

// story is a calendar that orders change.
type story struct {
	book     *Book
	now      time.Time
	plan     PlannedChange
	reported strings.Builder
}

func (s *story) do(t *testing.T, verb, text string) string {
	t.Helper()
	s.now = s.now.Add(time.Minute)
	if verb == "received" {
		return s.receive(t, text)
	}
	o, err := orderOf(verb, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s.plan, err = PlanChange(s.book, o, me, s.now, [16]byte{1, 2, 3})
	if err != nil {
		s.plan = PlannedChange{}
		return err.Error() + "\n"
	}
	for i := range s.plan.OutgoingMessages {
		checkMail(t, &s.plan.OutgoingMessages[i])
	}
	s.keep()
	return planText(&s.plan)
}

func (s *story) receive(t *testing.T, text string) string {
	t.Helper()
	c, err := readOne([]byte("BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\n" + text + "\nEND:VEVENT\nEND:VCALENDAR\n"))
	if err != nil {
		t.Fatal(err)
	}
	s.plan = PlannedChange{Meeting: Meeting{Event: c.Event, Source: SourceInbound, FirstMessageID: "first@org.test", CreatedAt: s.now, UpdatedAt: s.now}, HasChanged: true}
	s.keep()
	return "kept\n"
}

func (s *story) keep() {
	m := s.plan.Meeting
	if m.ID == 0 {
		m.ID = 1
		if s.book != nil {
			m.ID = s.book.LastID + 1
		}
		m.FirstMessageID = "first@inbox.test"
	}
	s.book = s.book.WithMeeting(&m, 1)
}

func orderOf(verb, text string) (MeetingOrder, error) {
	read := json.NewDecoder(strings.NewReader(text))
	read.DisallowUnknownFields()
	switch verb {
	case "schedule":
		var o Schedule
		return o, errors.Join(read.Decode(&o), nil)
	case "reschedule":
		o := Reschedule{ID: 1}
		err := read.Decode(&o)
		return o, err
	case "cancel":
		o := Cancel{ID: 1}
		err := read.Decode(&o)
		return o, err
	case "respond":
		o := Respond{ID: 1}
		err := read.Decode(&o)
		return o, err
	}
	return nil, fmt.Errorf("no order %q", verb)
}

func planText(p *PlannedChange) string {
	if !p.HasChanged {
		return "nothing differs\n"
	}
	var b strings.Builder
	m := &p.Meeting
	fmt.Fprintf(&b, "#%d %s %s to %s", m.Sequence, m.Status, stampText(m.Start, m.AllDay), stampText(m.End, m.AllDay))
	if m.TimeZone.Name != "" {
		fmt.Fprintf(&b, " %s", m.TimeZone.Name)
	}
	fmt.Fprintf(&b, ", asked at %d, %s:", m.AskedSequence, m.Title)
	for i := range m.Attendees {
		fmt.Fprintf(&b, " %s,%s", guestText(&m.Attendees[i]), m.Attendees[i].ParticipationStatus)
	}
	b.WriteString("\n")
	for i := range p.OutgoingMessages {
		mail := &p.OutgoingMessages[i]
		fmt.Fprintf(&b, "  %s %q to %v, %s, thread %q\n", mail.Method, mail.Subject, mail.To, mail.Action, mail.InReplyTo)
	}
	if len(p.RequiredRecipients) > 0 {
		fmt.Fprintf(&b, "  must reach %v\n", p.RequiredRecipients)
	}
	return b.String()
}

func stampText(t time.Time, allDay bool) string {
	if allDay {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02T15:04:05Z07:00")
}

func mailsText(mailCount []MeetingMessage) string {
	var b strings.Builder
	for i := range mailCount {
		m := &mailCount[i]
		fmt.Fprintf(&b, "To: %v\nSubject: %s\nIn-Reply-To: %s\n\n%s\n%s\n", m.To, m.Subject, m.InReplyTo, m.Text, m.Calendar)
	}
	return b.String()
}

// checkMail checks every message: its calendar is read back as Event, its lines are well formed,
// and its subject is one line.
func checkMail(t *testing.T, m *MeetingMessage) {
	t.Helper()
	c, err := readOne(m.Calendar)
	if err != nil {
		t.Fatalf("%v in %s", err, m.Calendar)
	}
	if c.Method != m.Method {
		t.Errorf("METHOD is %q, want %q", c.Method, m.Method)
	}
	if got, want := facts(c.Event), facts(m.Event); !reflect.DeepEqual(got, want) {
		t.Errorf("read again: %+v\nwant %+v\nin %s", got, want, m.Calendar)
	}
	if strings.ContainsAny(m.Subject, "\r\n\x00") || strings.ContainsAny(m.Text, "\r\x00") {
		t.Errorf("subject %q, text %q", m.Subject, m.Text)
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(m.Calendar, []byte("\r\n")), []byte("\r\n")) {
		if len(line) > 75 || bytes.ContainsAny(line, "\r\n") {
			t.Errorf("line %q", line)
		}
	}
}

// facts are the compared parts of an event. A reply has no status of its own, and times that local
// time cannot express are in UTC.
func facts(e icalendar.Event) icalendar.Event {
	if e.Status == "" {
		e.Status = icalendar.StatusConfirmed
	}
	if e.Organizer != nil {
		who := *e.Organizer
		who.Name = icalendar.SingleLine(who.Name)
		e.Organizer = &who
	}
	if clock := e.TimeZone.Clock(); !clock.ToInstant(clock.ToLocal(e.Start)).Equal(e.Start) {
		e.TimeZone.Name = "UTC"
	}
	e.Recurrence = nil
	return e
}

func str(s string) *string { return &s }

// TestSentences checks every error sentence of orders.
func TestSentences(t *testing.T) {
	const base = `"Title":"T","Start":"2026-03-02T10:00:00Z","Attendees":[{"Email":"bob@b.test"}]`
	guests := func(s string) string { return `{"Title":"T","Start":"2026-03-02T10:00:00Z","Attendees":` + s + `}` }
	start := func(s string) string { return `{"Title":"T","Attendees":[{"Email":"bob@b.test"}],"Start":` + s + `}` }
	form := " must be a time such as 2026-03-02T10:00:00+01:00 or, with 'all_day', a date such as 2026-03-02"
	for _, c := range []struct{ verb, text, want string }{
		{"schedule", `{}`, "'title' is required"},
		{"schedule", `{"Title":"T"}`, "'start' is required"},
		{"schedule", `{"Title":"T","Start":"x"}`, "'attendees' is required"},
		{"schedule", `{"Title":" ","Start":"x","Attendees":[]}`, "'title' is empty"},
		{"schedule", `{"Title":"` + strings.Repeat("é", 301) + `","Start":"x","Attendees":[]}`, "'title' is too long (301 characters). The limit is 300 characters"},
		{"schedule", `{"Title":"a\nb","Start":"x","Attendees":[]}`, "'title' contains a line break, which is not allowed in a header field"},
		{"schedule", `{"Title":"a\tb","Start":"x","Attendees":[]}`, "'title' contains a control character, which is not allowed in a header field"},
		{"schedule", `{` + base + `,"Location":"a\rb"}`, "'location' contains a line break, which is not allowed in a header field"},
		{"schedule", `{` + base + `,"Location":"` + strings.Repeat("x", 501) + `"}`, "'location' is too long (501 characters). The limit is 500 characters"},
		{"schedule", `{` + base + `,"Description":"a\u0000b"}`, "'description' contains a NUL character, which cannot be stored"},
		{"schedule", `{` + base + `,"Description":"` + strings.Repeat("x", 20001) + `"}`, "'description' is too long (20001 characters). The limit is 20000 characters"},
		{"schedule", `{` + base + `,"Message":"` + strings.Repeat("x", 10001) + `"}`, "'message' is too long (10001 characters). The limit is 10000 characters"},

		{"schedule", guests(`[]`), "'attendees' must have at least one entry"},
		{"schedule", guests(`[{"Email":"AGENT+x@Inbox.test"}]`), "'attendees' must name at least one guest other than this inbox"},
		{"schedule", guests(`[{"Email":"a@b.test"},{"Email":"b.test"}]`), "'attendees[1].email' contains an e-mail address that is not of the form name@domain"},
		{"schedule", guests(`[{"Email":"a@b..test"}]`), "'attendees[0].email' contains an e-mail address without a valid domain"},
		{"schedule", guests(`[{"Email":"a@b.test","Name":"a\nb"}]`), "'attendees[0].name' contains a line break, which is not allowed in a header field"},
		{"schedule", guests(`[{"Email":"a@b.test","Name":"` + strings.Repeat("x", 201) + `"}]`), "'attendees[0].name' is too long (201 characters). The limit is 200 characters"},

		{"schedule", start(`""`), "'start'" + form},
		{"schedule", start(`"2026-02-29T10:00Z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T24:00Z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00:60Z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00:00.5Z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00:00,5Z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02 10:00Z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T9:00Z"`), "'start'" + form},
		{"schedule", start(`"2026-3-2T09:00Z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10Z"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00+0100"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00+24:00"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00+01:60"`), "'start'" + form},
		{"schedule", start(`"2026-02-30","AllDay":true`), "'start'" + form},
		{"schedule", start(`"2026-02-30T10:00"`), "'start'" + form},
		{"schedule", start(`"20260302T100000Z"`), "'start'" + form},
		{"schedule", start(`"1772445600"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00Z\n"`), "'start'" + form},
		{"schedule", start(`"2026-03-02T10:00"`), "'start' has no UTC offset, so 'timezone' is required"},
		{"schedule", start(`"2026-03-29T02:30","Timezone":"Europe/Berlin"`), "'start' does not exist in Europe/Berlin, where clocks skip it. Give the time with an offset"},
		{"schedule", start(`"2026-10-25T02:30","Timezone":"europe/berlin"`), "'start' occurs twice in Europe/Berlin, where clocks are set back. Give the time with an offset"},
		{"schedule", start(`"2026-10-04T02:15","Timezone":"Australia/Lord_Howe"`), "'start' does not exist in Australia/Lord_Howe, where clocks skip it. Give the time with an offset"},
		{"schedule", start(`"2026-04-05T01:45","Timezone":"Australia/Lord_Howe"`), "'start' occurs twice in Australia/Lord_Howe, where clocks are set back. Give the time with an offset"},
		{"schedule", start(`"2011-12-30T12:00","Timezone":"Pacific/Apia"`), "'start' does not exist in Pacific/Apia, where clocks skip it. Give the time with an offset"},
		{"schedule", start(`"2026-10-25T01:30","End":"2026-10-25T02:30","Timezone":"Europe/Berlin"`), "'end' occurs twice in Europe/Berlin, where clocks are set back. Give the time with an offset"},
		{"schedule", start(`"2026-03-02T10:00Z","Timezone":"Mars/Base"`), "'timezone' is not a time zone of the IANA list, such as Europe/Berlin"},
		{"schedule", start(`"2026-03-02","AllDay":true,"Timezone":""`), "'timezone' is not a time zone of the IANA list, such as Europe/Berlin"},
		{"schedule", start(`"2026-03-02T10:00Z","Timezone":"W. Europe Standard Time"`), "'timezone' is not a time zone of the IANA list, such as Europe/Berlin"},
		{"schedule", start(`"2026-03-02T10:00Z","Timezone":"../../etc/passwd"`), "'timezone' is not a time zone of the IANA list, such as Europe/Berlin"},

		{"schedule", start(`"2026-03-02"`), "'start' is a date, which is valid only with 'all_day'"},
		{"schedule", start(`"2026-03-02T10:00Z","End":"2026-03-03"`), "'end' is a date, which is valid only with 'all_day'"},
		{"schedule", start(`"2026-03-02T10:00Z","AllDay":true`), "'start' must be a date such as 2026-03-02, because the event is all-day"},
		{"schedule", start(`"2026-03-02","End":"2026-03-03T00:00Z","AllDay":true`), "'end' must be a date such as 2026-03-02, because the event is all-day"},
		{"schedule", start(`"2026-03-02","Minutes":60,"AllDay":true`), "'duration_minutes' can't be given for an all-day event, which has an 'end'"},
		{"schedule", start(`"2026-03-02","End":"2026-03-02","AllDay":true`), "'end' must be after 'start'"},
		{"schedule", start(`"2026-03-02T10:00Z","End":"2026-03-02T10:30Z","Minutes":30`), "'end' and 'duration_minutes' cannot be given together"},
		{"schedule", start(`"2026-03-02T10:00Z","End":"2026-03-02T11:00+01:00"`), "'end' must be after 'start'"},
		{"schedule", start(`"2026-03-02T10:00Z","End":"2027-03-02T10:00:01Z"`), "'end' must make the event last at most a year"},
		{"schedule", start(`"2026-03-02","End":"2027-03-03","AllDay":true`), "'end' must make the event last at most a year"},
		{"schedule", start(`"2026-03-02T10:00Z","Minutes":0`), "'duration_minutes' is 0; it must be 1 to 525600"},
		{"schedule", start(`"2026-03-02T10:00Z","Minutes":525601`), "'duration_minutes' is 525601; it must be 1 to 525600"},
		{"schedule", start(`"1969-12-31T23:59Z"`), "'start' must be in the years 1970 to 2100"},
		{"schedule", start(`"1970-01-01T00:30","Timezone":"Europe/Berlin"`), "'start' must be in the years 1970 to 2100"},
		{"schedule", start(`"2101-01-01T00:00Z"`), "'start' must be in the years 1970 to 2100"},
		{"schedule", start(`"2100-12-31T23:45Z"`), "'start' must make the event end in the years 1970 to 2100"},
		{"schedule", start(`"2100-12-31T23:45Z","Minutes":16`), "'duration_minutes' must make the event end in the years 1970 to 2100"},
		{"schedule", start(`"2100-12-31","End":"2101-01-02","AllDay":true`), "'end' must make the event end in the years 1970 to 2100"},

		{"reschedule", `{"ID":1,"AllDay":true}`, "'all_day' can't change without 'start'"},
		{"reschedule", `{"ID":1,"Start":"2026-03-05T10:00"}`, "'start' has no UTC offset, so 'timezone' is required"},
		{"reschedule", `{"ID":1,"End":"2026-03-02T09:00Z"}`, "'end' must be after 'start'"},
		{"reschedule", `{"ID":1,"Attendees":[]}`, "'attendees' must have at least one entry"},
		{"reschedule", `{"ID":1,"Title":""}`, "'title' is empty"},
		{"reschedule", `{"ID":9,"Title":""}`, "'title' is empty"}, // the request is checked before the meeting is looked up
		{"reschedule", `{"ID":9,"Title":"x"}`, "not found: Meeting 9 not found in inbox agent@inbox.test"},
		{"reschedule", `{"ID":2,"Title":"x"}`, "forbidden: Meeting 2 was organized by boss@org.test, and only the organizer can change or cancel it. Answer it with rsvp"},
		{"reschedule", `{"ID":3,"Title":"x"}`, "refused: Meeting 3 is cancelled and can no longer be changed or answered"},
		{"reschedule", `{"ID":6,"Title":"x"}`, "forbidden: Meeting 6 was organized by somebody else, and only the organizer can change or cancel it. Answer it with rsvp"},
		{"cancel", `{"ID":9}`, "not found: Meeting 9 not found in inbox agent@inbox.test"},
		{"cancel", `{"ID":2}`, "forbidden: Meeting 2 was organized by boss@org.test, and only the organizer can change or cancel it. Answer it with rsvp"},
		{"cancel", `{"ID":3}`, "refused: Meeting 3 is cancelled and can no longer be changed or answered"},
		{"cancel", `{"ID":1,"Message":"a\u0000"}`, "'message' contains a NUL character, which cannot be stored"},
		{"respond", `{"ID":2,"Response":"maybe"}`, "'response' must be accepted, declined or tentative"},
		{"respond", `{"ID":2,"Response":"needs-action"}`, "'response' must be accepted, declined or tentative"},
		{"respond", `{"ID":2,"Response":"accepted","Comment":"a\u0000"}`, "'comment' contains a NUL character, which cannot be stored"},
		{"respond", `{"ID":9,"Response":"accepted"}`, "not found: Meeting 9 not found in inbox agent@inbox.test"},
		{"respond", `{"ID":1,"Response":"accepted"}`, "refused: Meeting 1 is organized by this inbox: change or cancel it instead of answering it"},
		{"respond", `{"ID":4,"Response":"accepted"}`, "refused: Meeting 4 is cancelled and can no longer be changed or answered"},
		{"respond", `{"ID":5,"Response":"accepted"}`, "refused: agent@inbox.test is not among the attendees of meeting 5, so there is nothing to answer"},
		{"respond", `{"ID":6,"Response":"accepted"}`, "refused: agent@inbox.test is not among the attendees of meeting 6, so there is nothing to answer"},
		{"respond", `{"ID":7,"Response":"accepted"}`, "refused: Meeting 7 was organized by urn:room:1, to whom no mail can be sent"},
		{"respond", `{"ID":8,"Response":"accepted"}`, "refused: agent@inbox.test is not among the attendees of meeting 8, so there is nothing to answer"},
	} {
		o, err := orderOf(c.verb, c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		plan, err := PlanChange(someBook(), o, me, at("2026-03-01"), [16]byte{})
		want := c.want
		if strings.HasPrefix(want, "'") {
			want = "invalid: " + want
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s %.200s\nis  %v, %+v\nwant %s", c.verb, c.text, err, plan.Meeting, want)
		}
		if fault.KindOf(err) == fault.InvalidRequest == (err.(*fault.Error).FieldName == "") {
			t.Errorf("%v names no field", err)
		}
	}
}

// someBook has an own meeting (1), a received one (2), both cancelled (3, 4), one that was only
// forwarded (5), one without an organizer (6), one by a room (7) and a published one (8).
func someBook() (b *Book) {
	us := []Attendee{{Person: icalendar.Person{Email: "agent+cal@inbox.test"}}}
	boss := &icalendar.Person{Email: "boss@org.test"}
	event := icalendar.Event{Start: at("2026-03-02 10:00"), End: at("2026-03-02 11:00"), Status: icalendar.StatusConfirmed, Organizer: boss, Attendees: us}
	for i, change := range []func(*Meeting){
		func(m *Meeting) { m.Source, m.Organizer = SourceOutbound, &icalendar.Person{Email: me.Address} },
		func(m *Meeting) {},
		func(m *Meeting) { m.Source, m.Status = SourceOutbound, icalendar.StatusCancelled },
		func(m *Meeting) { m.Status = icalendar.StatusCancelled },
		func(m *Meeting) { m.Attendees = nil },
		func(m *Meeting) { m.Organizer = nil },
		func(m *Meeting) { m.Organizer = &icalendar.Person{Email: "urn:room:1"} },
		func(m *Meeting) { m.IsPublished = true },
	} {
		m := Meeting{Event: event, ID: int64(i + 1), Source: SourceInbound}
		change(&m)
		b = b.WithMeeting(&m, 1)
	}
	return b
}

// TestArrangeLeavesTheBook checks that an order does not modify the book.
func TestArrangeLeavesTheBook(t *testing.T) {
	s := story{now: at("2026-03-01")}
	s.do(t, "schedule", `{"Title":"T","Start":"2026-03-02T10:00Z","Attendees":[{"Email":"bob@b.test"},{"Email":"cy@c.test"}]}`)
	s.do(t, "received", "UID:u\nDTSTART:20260302T100000Z\nORGANIZER:mailto:boss@org.test\nATTENDEE:mailto:agent@inbox.test")
	s.book.Meeting(1).Attendees[0].ParticipationStatus = icalendar.StatusAccepted
	for _, o := range []MeetingOrder{
		Reschedule{ID: 1, MeetingFields: MeetingFields{Start: str("2026-03-05T10:00Z")}},
		Reschedule{ID: 1, MeetingFields: MeetingFields{Attendees: &[]Guest{{Email: "BOB@b.test", Name: "Bob"}}}},
		Cancel{ID: 1},
		Respond{ID: 2, Response: icalendar.StatusDeclined},
	} {
		shown := s.book.Meeting(o.meetingID())
		before := *shown
		before.Attendees = slices.Clone(before.Attendees)
		if plan, err := PlanChange(s.book, o, me, at("2026-03-01"), [16]byte{}); err != nil || !plan.HasChanged {
			t.Fatalf("%v, %+v", err, plan)
		}
		if !reflect.DeepEqual(&before, shown) {
			t.Fatalf("%T changed the meeting that is shown", o)
		}
	}
}

// TestTimesOfAnswers checks that the times in API responses are accepted in requests.
func TestTimesOfAnswers(t *testing.T) {
	for _, start := range []string{"2026-03-02T10:00:00.000Z", "2026-03-02T11:00:00.000+01:00", "2026-03-02T10:00:00Z", "2026-03-02T10:00Z"} {
		m, err := momentOf("start", start, nil)
		if err != nil || !m.at.Equal(at("2026-03-02 10:00")) {
			t.Errorf("%s is %v, %v", start, m.at, err)
		}
	}
	for _, start := range []string{"2026-03-02T10:00.000Z", "2026-03-02T10:00:00.001Z", "2026-03-02T10:00:00.Z", "2026-03-02T10:00:00.0000000000Z"} {
		if m, err := momentOf("start", start, nil); err == nil {
			t.Errorf("%s is %v", start, m.at)
		}
	}
}

// TestCopiesAreDue checks that the owner's copy is due after each change, while copies are enabled.
func TestCopiesAreDue(t *testing.T) {
	s := story{now: at("2026-03-01"), book: &Book{}}
	for i, order := range []string{
		"schedule\n" + `{"Title":"T","Start":"2026-03-02T10:00Z","Attendees":[{"Email":"bob@b.test"}]}`,
		"reschedule\n" + `{"Title":"U"}`, "reschedule\n" + `{"Title":"U"}`, "reschedule\n" + `{"Title":"V"}`, "cancel\n{}",
	} {
		verb, text, _ := strings.Cut(order, "\n")
		s.do(t, verb, text)
		if want := [...]int{0, 0, 0, 1, 2}[i]; s.book.Meeting(1).OwnerCopy.ChangeCount != want {
			t.Errorf("after %s: %d, want %d", order, s.book.Meeting(1).OwnerCopy.ChangeCount, want)
		}
		s.book.CopySetting.Enabled = i >= 2
	}
}

// TestAnswersInOneSecond checks that each answer is newer than the last, because otherwise the
// organizer would not count it.
func TestAnswersInOneSecond(t *testing.T) {
	b := someBook()
	var last time.Time
	for i := range 5 {
		plan, err := PlanChange(b, Respond{ID: 2, Response: [...]string{"accepted", "declined"}[i%2]}, me, at("2026-03-01 09:00"), [16]byte{})
		if err != nil {
			t.Fatal(err)
		}
		if at := plan.OutgoingMessages[0].Event.StampedAt; !at.After(last) {
			t.Errorf("answer %d is as old as the one before: %v", i, at)
		}
		last = plan.OutgoingMessages[0].Event.StampedAt
		b = b.WithMeeting(&plan.Meeting, 1)
	}
}

// FuzzArrange checks that the calendar of a message is read back as the meeting, whatever the
// fields contain. No line of the text may be forged by a person's text.
func FuzzArrange(f *testing.F) {
	f.Add("Lunch; a,b\\c", "2026-03-02T10:00", "", "Europe/Berlin", 45, false, "Room \"1\"", "Line\nWhere: x\r\n\x07y", "bob+x@b.test", "Bob, \"B\" ^n", "hi\nGuest: z")
	f.Add("T", "2026-03-02", "2026-03-05", "", 0, true, "", "", "u@b.test", "", "")
	f.Add("\ufeffT", "2026-10-25T02:30+01:00", "2026-10-25T02:30+00:00", "Europe/Berlin", 0, false, "a", "b", "b@b.test", "n", "m")
	f.Fuzz(func(t *testing.T, title, start, end, where string, minutes int, allDay bool, place, description, email, name, message string) {
		o := Schedule{Message: message}
		o.Title, o.Start, o.Location, o.Description, o.AllDay = &title, &start, &place, &description, &allDay
		o.Attendees = &[]Guest{{email, name, allDay}, {Email: "other@b.test"}}
		if end != "" {
			o.End = &end
		}
		if where != "" {
			o.Timezone = &where
		}
		if minutes != 0 {
			o.Minutes = &minutes
		}
		plan, err := PlanChange(nil, o, me, at("2026-03-01"), [16]byte{})
		if err != nil {
			if k := fault.KindOf(err); k != fault.InvalidRequest {
				t.Fatal(err)
			}
			return
		}
		checkFuzzed(t, &plan)
		b := (*Book)(nil).WithMeeting(&Meeting{Event: plan.Meeting.Event, ID: 1, Source: SourceOutbound}, 1)
		if again, err := PlanChange(b, Reschedule{ID: 1, MeetingFields: o.MeetingFields}, me, at("2026-03-01"), [16]byte{}); err != nil || again.HasChanged {
			t.Fatalf("the same once more: %v, %+v", err, again)
		}
		if plan, err = PlanChange(b, Cancel{ID: 1, Message: message}, me, at("2026-03-01"), [16]byte{}); err != nil {
			t.Fatal(err)
		}
		checkFuzzed(t, &plan)
	})
}

func checkFuzzed(t *testing.T, plan *PlannedChange) {
	t.Helper()
	for i := range plan.OutgoingMessages {
		m := &plan.OutgoingMessages[i]
		checkMail(t, m)
		names := []string{}
		for _, line := range strings.Split(m.Text, "\n")[1:] {
			if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
				names = append(names, name)
			}
		}
		got := strings.Join(slices.Compact(names), " ")
		if !strings.HasPrefix(got, "Title When") || strings.Count(got, "Where") > 1 || strings.Count(got, "Guest") != 1 {
			t.Errorf("fields %q of %q", got, m.Text)
		}
	}
}
