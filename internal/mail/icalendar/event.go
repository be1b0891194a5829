package icalendar

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"inboxd/internal/mail/icalendar/rule"
	"inboxd/internal/mail/icalendar/zone"
)

// FirstYear and LastYear are the range of years of event times.
const FirstYear, LastYear = 1970, 2100

// parseEvent parses a VEVENT. It fails if UID is missing or invalid, or if the times are outside the
// limits; any other invalid property is dropped. Without a valid DTSTART the event has no times.
// master is the meeting that the event is an override of, whose times RECURRENCE-ID is one of; nil
// for the described event.
func (r *calendarParser) parseEvent(c *ical.Component, master *Event) (*Event, error) {
	e := &Event{Status: statusOf(c), IsTransparent: isTransparent(c)}
	if err := r.parseIdentity(e, c); err != nil {
		return nil, err
	}
	start, err := r.parseTimes(e, c)
	if err != nil {
		return nil, err
	}
	if p := firstProperty(c, ical.PropRecurrenceID); p != nil {
		var ok bool
		e.RecurrenceID, ok = r.occurrenceOf(p, e, master)
		r.droppedInvalid = r.droppedInvalid || !ok
	}
	e.Title = textProp(c, ical.PropSummary, MaxTitle)
	e.Location = textProp(c, ical.PropLocation, MaxTitle)
	e.Description = textProp(c, ical.PropDescription, MaxDescription)
	e.Comment = textProp(c, ical.PropComment, MaxDescription)
	e.Organizer, e.SentBy = organizerOf(c)
	e.Attendees = attendeesOf(c)
	if master == nil {
		e.Recurrence = r.parseRecurrence(c, e, start)
	}
	return e, nil
}

// occurrenceOf parses RECURRENCE-ID as a time of the meeting; false and no time if it is invalid.
func (r *calendarParser) occurrenceOf(p *ical.Prop, e, master *Event) (at time.Time, ok bool) {
	if master != nil {
		e = master
	}
	m, err := momentOf(p.Value, isDate(p))
	if err != nil {
		return at, false
	}
	if e.Start.IsZero() {
		e.AllDay = m.isDateOnly // the meeting is not described
	}
	where := zoneClock{e.TimeZone, e.TimeZone.Clock()}
	at = r.convertTime(p, m, where, e.AllDay)
	if m.isDateOnly {
		at = e.atClock(at, where.clock)
	}
	if !inYears(at) {
		return time.Time{}, false
	}
	return at, true
}

// parseIdentity parses the properties that identify an event and its revision.
func (r *calendarParser) parseIdentity(e *Event, c *ical.Component) (err error) {
	uid, _ := firstValue(c, ical.PropUID)
	e.UID = lineOf(textOf(uid, 2*maxUID), 2*maxUID)
	if e.UID == "" || len(e.UID) > maxUID {
		return errors.New("icalendar: no UID of 1 to 1,000 octets")
	}
	if s, ok := firstValue(c, ical.PropSequence); ok {
		e.Sequence, err = sequenceOf(s)
		r.droppedInvalid = r.droppedInvalid || err != nil
	}
	if s, ok := firstValue(c, ical.PropDateTimeStamp); ok {
		if m, err := momentOf(s, false); err == nil && inYears(m.at) {
			e.StampedAt = m.at
		} else {
			r.droppedInvalid = true
		}
	}
	return nil
}

func textProp(c *ical.Component, name string, most int) string {
	s, _ := firstValue(c, name)
	return textOf(s, most)
}

func statusOf(c *ical.Component) string {
	s, _ := firstValue(c, ical.PropStatus)
	switch strings.ToUpper(strings.TrimSpace(s)) {
	case "CANCELLED":
		return StatusCancelled
	case "TENTATIVE":
		return StatusTentative
	}
	return StatusConfirmed
}

// parseTimes parses start and end, and returns the zone of the start.
func (r *calendarParser) parseTimes(e *Event, c *ical.Component) (where zoneClock, err error) {
	where.clock = zone.UTC.Clock()
	p := firstProperty(c, ical.PropDateTimeStart)
	if p == nil {
		return where, nil
	}
	start, err := momentOf(p.Value, isDate(p))
	if err != nil {
		r.droppedInvalid = true
		return where, nil
	}
	where = r.zones.at(p, start)
	e.AllDay, e.Start = start.isDateOnly, start.at
	if !start.isDateOnly {
		e.TimeZone = where.zone
		e.Start = where.clock.ToInstant(start.at)
	}
	if e.End = r.endOf(c, e, start, where); e.End.Before(e.Start) {
		e.End, r.droppedInvalid = e.Start, true
	}
	if !inYears(e.Start) || e.End.After(LastEnd) || e.End.After(e.Start.AddDate(1, 0, 0)) {
		return where, errors.New("icalendar: outside 1970 to 2100, or longer than a year")
	}
	return where, nil
}

// LastEnd is the end of the last day of LastYear.
var LastEnd = time.Date(LastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)

func inYears(t time.Time) bool { return t.Year() >= FirstYear && t.Year() <= LastYear }

// endOf parses DTEND, else DURATION.
func (r *calendarParser) endOf(c *ical.Component, e *Event, start dateOrTime, where zoneClock) (end time.Time) {
	end = e.Start
	if e.AllDay {
		end = end.AddDate(0, 0, 1)
	}
	if s, ok := firstValue(c, ical.PropDuration); ok {
		if d, err := durationOf(s); err == nil {
			end = d.addTo(start, where)
		} else {
			r.droppedInvalid = true
		}
	}
	if p := firstProperty(c, ical.PropDateTimeEnd); p != nil {
		if m, err := momentOf(p.Value, isDate(p)); err == nil {
			end = r.convertTime(p, m, where, e.AllDay)
		} else {
			r.droppedInvalid = true
		}
	}
	return end
}

// addTo is the end of a span that begins at start: days by the local clock, then the rest.
func (d nominalDuration) addTo(start dateOrTime, where zoneClock) time.Time {
	switch day := start.at.AddDate(0, 0, d.days); {
	case start.isDateOnly:
		return day.Add(d.exactPart).Truncate(24 * time.Hour)
	case start.isUTC:
		return day.Add(d.exactPart)
	default:
		return where.clock.ToInstant(day).Add(d.exactPart)
	}
}

// convertTime returns a time of an event whose start is in the zone start: a date for an all-day event,
// an instant for any other, whichever of the two was sent.
func (r *calendarParser) convertTime(p *ical.Prop, m dateOrTime, start zoneClock, allDay bool) time.Time {
	switch {
	case allDay:
		return m.at.Truncate(24 * time.Hour)
	case m.isDateOnly:
		return start.clock.ToInstant(m.at)
	}
	return r.zones.at(p, m).clock.ToInstant(m.at)
}

// parseRecurrence parses RRULE, RDATE and EXDATE.
func (r *calendarParser) parseRecurrence(c *ical.Component, e *Event, start zoneClock) *Recurrence {
	text, ruled := firstValue(c, ical.PropRecurrenceRule)
	rec := &Recurrence{
		Rule:            ruleText(text),
		AdditionalDates: r.parseDates(c.Props[ical.PropRecurrenceDates], start, e.AllDay),
		ExceptionDates:  r.parseDates(c.Props[ical.PropExceptionDates], start, e.AllDay),
	}
	r.droppedInvalid = r.droppedInvalid || ruled && rec.Rule == ""
	if rec.Rule == "" && len(rec.AdditionalDates) == 0 {
		return nil
	}
	by := Event{Start: e.Start, AllDay: e.AllDay, Recurrence: rec}
	for i, at := range rec.ExceptionDates {
		if !slices.ContainsFunc(rec.AdditionalDates, at.Equal) {
			rec.ExceptionDates[i] = by.atClock(at, start.clock)
		}
	}
	return rec
}

// atClock returns the occurrence on a day. Some programs send a date, or its midnight, for an
// occurrence of a meeting with another clock time.
func (e *Event) atClock(at time.Time, clock zone.Clock) time.Time {
	local := clock.ToLocal(at)
	if e.AllDay || !local.Equal(local.Truncate(24*time.Hour)) {
		return at
	}
	r, err := e.ruleOf()
	if err != nil {
		r, _ = rule.Parse("FREQ=DAILY")
	}
	return clock.ToInstant(r.On(local, clock.ToLocal(e.Start)))
}

// ruleText returns s if it is a well-formed rule with permitted characters only.
func ruleText(s string) string {
	s = strings.TrimSpace(s)
	bad := strings.ContainsFunc(s, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || strings.ContainsRune("=;,+-", r))
	})
	if bad || len(s) > maxRuleText || !rule.WellFormed(s) {
		return ""
	}
	return strings.Clone(s) // without the surrounding spaces
}

// parseDates are the valid times of a list, within the limits.
func (r *calendarParser) parseDates(props []ical.Prop, start zoneClock, allDay bool) (list []time.Time) {
	for i := range props {
		p := &props[i]
		moments, whole := momentsOf(p, maxDates-len(list))
		r.droppedInvalid = r.droppedInvalid || !whole
		for _, m := range moments {
			if at := r.convertTime(p, m, start, allDay); inYears(at) {
				list = append(list, at)
			}
		}
	}
	return list
}
