package icalendar

import (
	"strconv"
	"strings"
	"time"

	"inboxd/internal/mail/icalendar/rule"
	"inboxd/internal/mail/icalendar/zone"
)

// Document is a calendar that we write.
type Document struct {
	Method string
	Name   string // of a feed, which also asks clients to refresh each hour; empty: not a feed
	Events []Event
}

const product = "-//inboxd//inboxd//EN"

// Append appends the document to dst: CRLF, folded, escaped, with one VTIMEZONE for each zone.
// Other people's text is escaped or, where that is impossible, dropped, so that it cannot inject a
// line.
func Append(dst []byte, d *Document) []byte {
	w := writer{b: dst, places: map[string]place{}, customs: map[*zone.Observance]string{}, asks: d.Method == "REQUEST"}
	w.line("BEGIN", "VCALENDAR")
	w.line("PRODID", product)
	w.line("VERSION", "2.0")
	w.line("CALSCALE", "GREGORIAN")
	w.text("METHOD", d.Method)
	if d.Name != "" {
		w.text("NAME", d.Name)
		w.text("X-WR-CALNAME", d.Name)
		w.line("REFRESH-INTERVAL;VALUE=DURATION", "PT1H")
		w.line("X-PUBLISHED-TTL", "PT1H")
	}
	w.zones(d.Events)
	for i := range d.Events {
		w.meeting(&d.Events[i])
	}
	w.line("END", "VCALENDAR")
	return w.b
}

// meeting writes an event and its overrides. A single occurrence is its own override.
func (w *writer) meeting(e *Event) {
	w.event(e, e)
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
			UID: e.UID, Sequence: e.Sequence, Stamp: e.Stamp, RecurrenceID: o.RecurrenceID, Title: o.Title, Location: o.Location, Status: o.Status,
			Start: o.Start, End: o.End, AllDay: o.AllDay, Transparent: o.Transparent, Zone: e.Zone,
		}
		if full {
			one.Description, one.JoinURL = e.Description, e.JoinURL
			one.Organizer, one.SentBy, one.Attendees = e.Organizer, e.SentBy, e.Attendees
		}
		w.event(&one, e)
	}
}

// maxRepeated is how many octets of a meeting its overrides may repeat. Otherwise a stranger's file
// of 1 MiB could become a hundred.
const maxRepeated = 64 << 10

// event writes a VEVENT of a meeting.
func (w *writer) event(e, meeting *Event) {
	w.line("BEGIN", "VEVENT")
	w.text("UID", e.UID)
	if !e.Stamp.IsZero() {
		w.line("DTSTAMP", utc(e.Stamp))
	}
	w.line("SEQUENCE", strconv.Itoa(e.Sequence))
	if !e.RecurrenceID.IsZero() {
		w.time("RECURRENCE-ID", e.RecurrenceID, meeting)
	}
	if !e.Start.IsZero() {
		w.time("DTSTART", e.Start, e)
		w.time("DTEND", e.End, e)
	}
	if r := e.Recurrence; r != nil {
		w.recurrence(r, e)
	}
	w.text("SUMMARY", e.Title)
	w.text("LOCATION", e.Location)
	w.text("DESCRIPTION", e.Description)
	w.text("STATUS", strings.ToUpper(e.Status))
	if e.Transparent {
		w.line("TRANSP", "TRANSPARENT")
	}
	if e.JoinURL != "" {
		w.line("URL", e.JoinURL)
	}
	if o := e.Organizer; o != nil {
		name, value := calendarAddress(o)
		if e.SentBy != "" {
			name += param("SENT-BY", uri(e.SentBy))
		}
		w.line("ORGANIZER"+param("CN", o.Name)+name, value)
	}
	for i := range e.Attendees {
		w.attendee(&e.Attendees[i])
	}
	w.text("COMMENT", e.Comment)
	w.line("END", "VEVENT")
}

func (w *writer) recurrence(r *Recurrence, e *Event) {
	if text := e.spelled(r.Rule); text != "" {
		w.line("RRULE", text)
	}
	for _, at := range r.Also {
		w.time("RDATE", at, e)
	}
	for _, at := range r.Except {
		w.time("EXDATE", at, e)
	}
}

// spelled is a rule as it is written. An invalid one is left out, because it makes some clients
// reject the whole feed. UNTIL is a date if the start is one, else an instant (RFC 5545, section
// 3.3.10).
func (e *Event) spelled(text string) string {
	spelled, ok := rule.Spell(text, func(end time.Time, instant bool) string {
		if e.AllDay {
			return end.Format("20060102")
		}
		if !instant {
			end = e.Zone.Clock().Instant(end)
		}
		return utc(end)
	})
	if !ok {
		return ""
	}
	return spelled
}

func (w *writer) attendee(a *Attendee) {
	asked := ""
	switch {
	case a.Asked:
		asked = "TRUE"
	case w.asks:
		asked = "FALSE" // some clients treat a missing RSVP as a request for an answer
	}
	name, value := calendarAddress(&a.Person)
	w.line("ATTENDEE"+param("CUTYPE", a.Kind)+param("ROLE", strings.ToUpper(a.Role))+param("PARTSTAT", strings.ToUpper(a.Status))+
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

// time writes a time in the form of e's times: a date, or a local time of its zone. It writes UTC
// without a zone, or if the local time would be read as another instant.
func (w *writer) time(name string, at time.Time, e *Event) {
	if e.AllDay {
		w.line(name+";VALUE=DATE", at.UTC().Format("20060102"))
		return
	}
	id := w.tzid(e.Zone)
	if id == "" {
		w.line(name, utc(at))
		return
	}
	clock := w.places[id].clock
	local := clock.Local(at)
	if !clock.Instant(local).Equal(at) {
		w.line(name, utc(at))
		return
	}
	w.line(name+param("TZID", id), local.Format("20060102T150405"))
}

func utc(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// tzid is the name under which a zone is written; empty for UTC.
func (w *writer) tzid(z zone.Zone) string {
	if len(z.Observances) > 0 {
		return w.customs[&z.Observances[0]]
	}
	if z.Name == zone.UTC.Name {
		return ""
	}
	return z.Name
}
