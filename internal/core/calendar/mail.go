package calendar

import (
	"fmt"
	"strings"
	"time"

	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
)

// answerTexts are the texts of each answer.
var answerTexts = map[string]struct{ subject, says string }{
	icalendar.StatusAccepted:  {"Accepted: ", "accepted the invitation."},
	icalendar.StatusTentative: {"Tentative: ", "accepted the invitation tentatively."},
	icalendar.StatusDeclined:  {"Declined: ", "declined the invitation."},
}

// messageBuilder is a message about a meeting. Other people's text is on lines of its own, after a
// name or indented, so that it cannot be mistaken for ours.
type messageBuilder struct {
	meeting       *Meeting
	subjectPrefix string // prefix of the title
	openingLine   string // the first line
	clientNote    string // the client's own text; empty: none
	threadID      string // Mail.InReplyTo
}

func (l *messageBuilder) buildRequest(to []Attendee, action MeetingAction) MeetingMessage {
	return l.buildMessage("REQUEST", personsOf(to), l.meeting.Event, action, "Please answer from your calendar, or write to "+l.meeting.Organizer.Email+".")
}

// buildCancel notifies those guests that the meeting does not take place.
func (l *messageBuilder) buildCancel(to []Attendee) MeetingMessage {
	l.subjectPrefix = "Cancelled: "
	e := l.meeting.Event
	e.Status, e.Attendees = icalendar.StatusCancelled, withoutRequests(to)
	return l.buildMessage("CANCEL", personsOf(to), e, ActionCancelled, "")
}

// buildReply is the answer of one attendee (RFC 5546, section 3.2.3) to the last received version. It
// contains only that attendee's line, as invited.
func (l *messageBuilder) buildReply(us int, organizer string, stamp time.Time) MeetingMessage {
	m := l.meeting
	me := m.Attendees[us]
	me.ResponseRequested = false
	e := icalendar.Event{
		UID: m.UID, Sequence: m.Sequence, StampedAt: stamp, RecurrenceID: m.RecurrenceID, Title: m.Title, Location: m.Location,
		Start: m.Start, End: m.End, AllDay: m.AllDay, TimeZone: m.TimeZone, Organizer: m.Organizer, Attendees: []Attendee{me},
	}
	return l.buildMessage("REPLY", []icalendar.Person{{Email: organizer, Name: m.Organizer.Name}}, e, ActionReplied, "")
}

func (l *messageBuilder) buildMessage(method string, to []icalendar.Person, e icalendar.Event, action MeetingAction, closing string) MeetingMessage {
	e.Comment = icalendar.NormalizeText(l.clientNote)
	return MeetingMessage{
		To: to, Subject: l.subjectPrefix + icalendar.SingleLine(e.Title), Text: l.renderText(&e, closing),
		Method: method, Calendar: icalendar.AppendDocument(nil, &icalendar.OutgoingCalendar{Method: method, Events: []icalendar.Event{e}}),
		Event: e, InReplyTo: l.threadID, Action: action,
	}
}

func personsOf(list []Attendee) (to []icalendar.Person) {
	for i := range list {
		to = append(to, list[i].Person)
	}
	return to
}

// renderText is the part for people.
func (l *messageBuilder) renderText(e *icalendar.Event, closing string) string {
	var b strings.Builder
	b.WriteString(l.openingLine + "\n\n")
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
	writeBlock(&b, "Message", l.clientNote)
	if closing != "" {
		b.WriteString("\n" + closing + "\n")
	}
	return b.String()
}

// writeField writes a line, unless it would be empty.
func writeField(b *strings.Builder, name, value string) {
	if value = icalendar.SingleLine(value); value != "" {
		fmt.Fprintf(b, "%-10s %s\n", name+":", value)
	}
}

// writeBlock writes a text of several lines, each indented, unless it would be empty.
func writeBlock(b *strings.Builder, name, text string) {
	if text = strings.TrimSpace(icalendar.NormalizeText(text)); text != "" {
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
	if a.Role == icalendar.RoleOptional {
		s += ", optional"
	}
	if a.ParticipationStatus != icalendar.NeedsAction {
		s += ", " + a.ParticipationStatus
	}
	return s
}

// whenOf formats the time of a meeting: local time at its place, and UTC. The dates of an all-day
// meeting are the same everywhere.
func whenOf(e *icalendar.Event) (lines []string) {
	if e.AllDay {
		lines = []string{datesText(e.Start, e.End) + " (all day)"}
	} else {
		if e.TimeZone.Name != "" && e.TimeZone.Name != zone.UTC.Name {
			clock := e.TimeZone.Clock()
			lines = append(lines, spanText(clock.ToLocal(e.Start), clock.ToLocal(e.End))+" ("+e.TimeZone.Name+")")
		}
		lines = append(lines, spanText(e.Start, e.End)+" (UTC)")
	}
	if e.IsRecurring() {
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
