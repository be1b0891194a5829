package icalendar

import (
	"strconv"
	"strings"
	"time"

	"inboxd/internal/mail/icalendar/rule"
	"inboxd/internal/mail/icalendar/zone"
)

// OutgoingCalendar is a calendar that we write.
type OutgoingCalendar struct {
	Method   string
	FeedName string // of a feed, which also asks clients to refresh each hour; empty: not a feed
	Events   []Event
}

const productID = "-//inboxd//inboxd//EN"

// AppendDocument appends the document to dst: CRLF, folded, escaped, with one VTIMEZONE for each zone.
// Other people's text is escaped or, where that is impossible, dropped, so that it cannot inject a
// line.
func AppendDocument(dst []byte, d *OutgoingCalendar) []byte {
	w := calendarWriter{b: dst, writtenZones: map[string]zoneClock{}, customZoneIDs: map[*zone.Observance]string{}, requestsReplies: d.Method == "REQUEST"}
	w.writeLine("BEGIN", "VCALENDAR")
	w.writeLine("PRODID", productID)
	w.writeLine("VERSION", "2.0")
	w.writeLine("CALSCALE", "GREGORIAN")
	w.writeText("METHOD", d.Method)
	if d.FeedName != "" {
		w.writeText("NAME", d.FeedName)
		w.writeText("X-WR-CALNAME", d.FeedName)
		w.writeLine("REFRESH-INTERVAL;VALUE=DURATION", "PT1H")
		w.writeLine("X-PUBLISHED-TTL", "PT1H")
	}
	w.writeZones(d.Events)
	for i := range d.Events {
		w.writeMeeting(&d.Events[i])
	}
	w.writeLine("END", "VCALENDAR")
	return w.b
}

// writeMeeting writes an event and its overrides. A single occurrence is its own override.
func (w *calendarWriter) writeMeeting(e *Event) {
	w.writeEvent(e, e)
	if e.Recurrence == nil {
		return
	}
	all := e.Recurrence.Overrides
	full := len(all)*(len(e.Description)+len(e.JoinURL)+100*len(e.Attendees)) <= maxRepeated
	for _, o := range all {
		if o.RecurrenceID.Equal(e.RecurrenceID) {
			continue
		}
		one := Event{
			UID: e.UID, Sequence: e.Sequence, StampedAt: e.StampedAt, RecurrenceID: o.RecurrenceID, Title: o.Title, Location: o.Location, Status: o.Status,
			Start: o.Start, End: o.End, AllDay: o.AllDay, IsTransparent: o.IsTransparent, TimeZone: e.TimeZone,
		}
		if full {
			one.Description, one.JoinURL = e.Description, e.JoinURL
			one.Organizer, one.SentBy, one.Attendees = e.Organizer, e.SentBy, e.Attendees
		}
		w.writeEvent(&one, e)
	}
}

// maxRepeated is how many octets of a meeting its overrides may repeat. Otherwise a stranger's file
// of 1 MiB could become a hundred.
const maxRepeated = 64 << 10

// writeEvent writes a VEVENT of a meeting.
func (w *calendarWriter) writeEvent(e, meeting *Event) {
	w.writeLine("BEGIN", "VEVENT")
	w.writeText("UID", e.UID)
	if !e.StampedAt.IsZero() {
		w.writeLine("DTSTAMP", formatUTC(e.StampedAt))
	}
	w.writeLine("SEQUENCE", strconv.Itoa(e.Sequence))
	if !e.RecurrenceID.IsZero() {
		w.writeTime("RECURRENCE-ID", e.RecurrenceID, meeting)
	}
	if !e.Start.IsZero() {
		w.writeTime("DTSTART", e.Start, e)
		w.writeTime("DTEND", e.End, e)
	}
	if r := e.Recurrence; r != nil {
		w.writeRecurrence(r, e)
	}
	w.writeText("SUMMARY", e.Title)
	w.writeText("LOCATION", e.Location)
	w.writeText("DESCRIPTION", e.Description)
	w.writeText("STATUS", strings.ToUpper(e.Status))
	if e.IsTransparent {
		w.writeLine("TRANSP", "TRANSPARENT")
	}
	if e.JoinURL != "" {
		w.writeLine("URL", e.JoinURL)
	}
	if o := e.Organizer; o != nil {
		name, value := calendarAddress(o)
		if e.SentBy != "" {
			name += param("SENT-BY", uri(e.SentBy))
		}
		w.writeLine("ORGANIZER"+param("CN", o.Name)+name, value)
	}
	for i := range e.Attendees {
		w.attendee(&e.Attendees[i])
	}
	w.writeText("COMMENT", e.Comment)
	w.writeLine("END", "VEVENT")
}

func (w *calendarWriter) writeRecurrence(r *Recurrence, e *Event) {
	if text := e.formatRule(r.Rule); text != "" {
		w.writeLine("RRULE", text)
	}
	for _, at := range r.AdditionalDates {
		w.writeTime("RDATE", at, e)
	}
	for _, at := range r.ExceptionDates {
		w.writeTime("EXDATE", at, e)
	}
}

// formatRule is a rule as it is written. An invalid one is left out, because it makes some clients
// reject the whole feed. UNTIL is a date if the start is one, else an instant (RFC 5545, section
// 3.3.10).
func (e *Event) formatRule(text string) string {
	spelled, ok := rule.NormalizeRule(text, func(end time.Time, instant bool) string {
		if e.AllDay {
			return end.Format("20060102")
		}
		if !instant {
			end = e.TimeZone.Clock().ToInstant(end)
		}
		return formatUTC(end)
	})
	if !ok {
		return ""
	}
	return spelled
}

func (w *calendarWriter) attendee(a *Attendee) {
	asked := ""
	switch {
	case a.ResponseRequested:
		asked = "TRUE"
	case w.requestsReplies:
		asked = "FALSE" // some clients treat a missing RSVP as a request for an answer
	}
	name, value := calendarAddress(&a.Person)
	w.writeLine("ATTENDEE"+param("CUTYPE", a.UserType)+param("ROLE", strings.ToUpper(a.Role))+param("PARTSTAT", strings.ToUpper(a.ParticipationStatus))+
		param("RSVP", asked)+param("CN", a.Name)+name, value)
}

// calendarAddress is the address that identifies a person in calendars, as it was sent, and its
// EMAIL parameter.
func calendarAddress(p *Person) (parameter, value string) {
	if p.URI == "" {
		return "", uri(p.Email)
	}
	return param(paramEmail, p.Email), p.URI
}

// writeTime writes a time in the form of e's times: a date, or a local time of its zone. It writes UTC
// without a zone, or if the local time would be read as another instant.
func (w *calendarWriter) writeTime(name string, at time.Time, e *Event) {
	if e.AllDay {
		w.writeLine(name+";VALUE=DATE", at.UTC().Format("20060102"))
		return
	}
	id := w.tzid(e.TimeZone)
	if id == "" {
		w.writeLine(name, formatUTC(at))
		return
	}
	clock := w.writtenZones[id].clock
	local := clock.ToLocal(at)
	if !clock.ToInstant(local).Equal(at) {
		w.writeLine(name, formatUTC(at))
		return
	}
	w.writeLine(name+param("TZID", id), local.Format("20060102T150405"))
}

func formatUTC(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// tzid is the name under which a zone is written; empty for UTC.
func (w *calendarWriter) tzid(z zone.Zone) string {
	if len(z.Observances) > 0 {
		return w.customZoneIDs[&z.Observances[0]]
	}
	if z.Name == zone.UTC.Name {
		return ""
	}
	return z.Name
}
