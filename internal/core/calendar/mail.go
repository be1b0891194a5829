package calendar

import (
	"fmt"
	"strings"
	"time"

	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
)

// answers are the texts of each answer.
var answers = map[string]struct{ subject, says string }{
	icalendar.Accepted:  {"Accepted: ", "accepted the invitation."},
	icalendar.Tentative: {"Tentative: ", "accepted the invitation tentatively."},
	icalendar.Declined:  {"Declined: ", "declined the invitation."},
}

// letter is a message about a meeting. Other people's text is on lines of its own, after a name or
// indented, so that it cannot be mistaken for ours.
type letter struct {
	meeting *Meeting
	subject string // prefix of the title
	opening string // the first line
	note    string // the client's own text; empty: none
	thread  string // Mail.InReplyTo
}

func (l *letter) request(to []Attendee, action Action) Mail {
	return l.mail("REQUEST", people(to), l.meeting.Event, action, "Please answer from your calendar, or write to "+l.meeting.Organizer.Email+".")
}

// cancel notifies those guests that the meeting does not take place.
func (l *letter) cancel(to []Attendee) Mail {
	l.subject = "Cancelled: "
	e := l.meeting.Event
	e.Status, e.Attendees = icalendar.Cancelled, unasked(to)
	return l.mail("CANCEL", people(to), e, Cancelled, "")
}

// reply is the answer of one attendee (RFC 5546, section 3.2.3) to the last received version. It
// contains only that attendee's line, as invited.
func (l *letter) reply(us int, organizer string, stamp time.Time) Mail {
	m := l.meeting
	me := m.Attendees[us]
	me.Asked = false
	e := icalendar.Event{
		UID: m.UID, Sequence: m.Sequence, Stamp: stamp, RecurrenceID: m.RecurrenceID, Title: m.Title, Location: m.Location,
		Start: m.Start, End: m.End, AllDay: m.AllDay, Zone: m.Zone, Organizer: m.Organizer, Attendees: []Attendee{me},
	}
	return l.mail("REPLY", []icalendar.Person{{Email: organizer, Name: m.Organizer.Name}}, e, Replied, "")
}

func (l *letter) mail(method string, to []icalendar.Person, e icalendar.Event, action Action, closing string) Mail {
	e.Comment = icalendar.Text(l.note)
	return Mail{
		To: to, Subject: l.subject + icalendar.Line(e.Title), Text: l.text(&e, closing),
		Method: method, Calendar: icalendar.Append(nil, &icalendar.Document{Method: method, Events: []icalendar.Event{e}}),
		Event: e, InReplyTo: l.thread, Action: action,
	}
}

func people(list []Attendee) (to []icalendar.Person) {
	for i := range list {
		to = append(to, list[i].Person)
	}
	return to
}

// text is the part for people.
func (l *letter) text(e *icalendar.Event, closing string) string {
	var b strings.Builder
	b.WriteString(l.opening + "\n\n")
	writeField(&b, "Title", e.Title)
	for _, when := range whenOf(&l.meeting.Event) {
		writeField(&b, "When", when)
	}
	writeField(&b, "Where", e.Location)
	if e.Organizer != nil {
		writeField(&b, "Organizer", personText(*e.Organizer))
	}
	for i := range e.Attendees {
		writeField(&b, "Guest", guestText(&e.Attendees[i]))
	}
	writeBlock(&b, "Description", e.Description)
	writeBlock(&b, "Message", l.note)
	if closing != "" {
		b.WriteString("\n" + closing + "\n")
	}
	return b.String()
}

// writeField writes a line, unless it would be empty.
func writeField(b *strings.Builder, name, value string) {
	if value = icalendar.Line(value); value != "" {
		fmt.Fprintf(b, "%-10s %s\n", name+":", value)
	}
}

// writeBlock writes a text of several lines, each indented, unless it would be empty.
func writeBlock(b *strings.Builder, name, text string) {
	if text = strings.TrimSpace(icalendar.Text(text)); text != "" {
		fmt.Fprintf(b, "\n%s:\n  %s\n", name, strings.ReplaceAll(text, "\n", "\n  "))
	}
}

// personText is a name with an address.
func personText(p icalendar.Person) string {
	if p.Name == "" {
		return p.Email
	}
	return p.Name + " <" + p.Email + ">"
}

// guestText is a guest with role and answer.
func guestText(a *Attendee) string {
	s := personText(a.Person)
	if a.Role == icalendar.Optional {
		s += ", optional"
	}
	if a.Status != icalendar.NeedsAction {
		s += ", " + a.Status
	}
	return s
}

// whenOf formats the time of a meeting: local time at its place, and UTC. The dates of an all-day
// meeting are the same everywhere.
func whenOf(e *icalendar.Event) (lines []string) {
	if e.AllDay {
		lines = []string{datesText(e.Start, e.End) + " (all day)"}
	} else {
		if e.Zone.Name != "" && e.Zone.Name != zone.UTC.Name {
			clock := e.Zone.Clock()
			lines = append(lines, spanText(clock.Local(e.Start), clock.Local(e.End))+" ("+e.Zone.Name+")")
		}
		lines = append(lines, spanText(e.Start, e.End)+" (UTC)")
	}
	if e.Recurring() {
		lines = append(lines, "and again after that")
	}
	return lines
}

const dateText = "Mon, 2 January 2006"

// datesText formats the days from start to the one before end.
func datesText(start, end time.Time) string {
	first, last := start.Format(dateText), end.Add(-day).Format(dateText)
	if !end.After(start.Add(day)) {
		return first
	}
	return first + " to " + last
}

func spanText(start, end time.Time) string {
	s := start.Format(dateText) + ", " + clockText(start)
	switch {
	case end.Equal(start):
		return s
	case end.Format(time.DateOnly) == start.Format(time.DateOnly):
		return s + " to " + clockText(end)
	}
	return s + " to " + end.Format(dateText) + ", " + clockText(end)
}

func clockText(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}
