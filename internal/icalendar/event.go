package icalendar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"inboxd/internal/icalendar/rule"
	"inboxd/internal/icalendar/zone"
)

// The years that events take place in.
const FirstYear, LastYear = 1970, 2100

// event reads a VEVENT. It fails where UID, DTSTART, DTEND, DURATION, SEQUENCE or RECURRENCE-ID is
// bad, or UID or DTSTART is missing. master is the meeting that the event is an override of, whose times
// RECURRENCE-ID is one of; nil for the described event.
func (r *reader) event(c *ical.Component, master *Event) (*Event, error) {
	e := &Event{Status: statusOf(c)}
	if err := e.identify(c); err != nil {
		return nil, err
	}
	start, err := r.times(e, c)
	if err != nil {
		return nil, err
	}
	if p := first(c, ical.PropRecurrenceID); p != nil {
		if e.RecurrenceID, err = r.occurrenceOf(p, e, master); err != nil {
			return nil, fmt.Errorf("icalendar: RECURRENCE-ID: %w", err)
		}
	}
	e.Title = textProp(c, ical.PropSummary, MaxTitle)
	e.Location = textProp(c, ical.PropLocation, MaxTitle)
	e.Description = textProp(c, ical.PropDescription, MaxDescription)
	e.Comment = textProp(c, ical.PropComment, MaxDescription)
	e.Organizer, e.Attendees = organizerOf(c), attendeesOf(c)
	if master == nil {
		e.Recurrence = r.recurrence(c, e, start)
	}
	return e, nil
}

// occurrenceOf reads RECURRENCE-ID as a time of the meeting.
func (r *reader) occurrenceOf(p *ical.Prop, e, master *Event) (time.Time, error) {
	if master != nil {
		e = master
	}
	m, err := momentOf(p.Value, isDate(p))
	where := place{e.Zone, e.Zone.Clock()}
	at := r.convert(p, m, where, e.AllDay)
	if m.date {
		at = e.atClock(at, where.clock)
	}
	if err == nil && !inYears(at) {
		err = errTime
	}
	return at, err
}

// identify reads what tells one event, and one state of it, from another.
func (e *Event) identify(c *ical.Component) (err error) {
	uid, _ := value(c, ical.PropUID)
	e.UID = lineOf(textOf(uid, 2*maxUID), 2*maxUID)
	if e.UID == "" || len(e.UID) > maxUID {
		return errors.New("icalendar: no UID of 1 to 1,000 octets")
	}
	if s, ok := value(c, ical.PropSequence); ok {
		if e.Sequence, err = sequenceOf(s); err != nil {
			return fmt.Errorf("icalendar: SEQUENCE: %w", err)
		}
	}
	if s, ok := value(c, ical.PropDateTimeStamp); ok {
		if m, err := momentOf(s, false); err == nil && inYears(m.at) {
			e.Stamp = m.at
		}
	}
	return nil
}

func textProp(c *ical.Component, name string, most int) string {
	s, _ := value(c, name)
	return textOf(s, most)
}

func statusOf(c *ical.Component) string {
	s, _ := value(c, ical.PropStatus)
	switch strings.ToUpper(strings.TrimSpace(s)) {
	case "CANCELLED":
		return Cancelled
	case "TENTATIVE":
		return Tentative
	}
	return Confirmed
}

// times reads start and end, and returns where the start is local.
func (r *reader) times(e *Event, c *ical.Component) (where place, err error) {
	p := first(c, ical.PropDateTimeStart)
	if p == nil {
		return where, errors.New("icalendar: no DTSTART")
	}
	start, err := momentOf(p.Value, isDate(p))
	if err != nil {
		return where, fmt.Errorf("icalendar: DTSTART: %w", err)
	}
	where = r.zones.at(p, start)
	e.AllDay, e.Start = start.date, start.at
	if !start.date {
		e.Zone = where.zone
		e.Start = where.clock.Instant(start.at)
	}
	if e.End, err = r.endOf(c, e, start, where); err != nil {
		return where, err
	}
	if e.End.Before(e.Start) {
		e.End = e.Start
	}
	if !inYears(e.Start) || e.End.After(LastEnd) || e.End.After(e.Start.AddDate(1, 0, 0)) {
		return where, errors.New("icalendar: outside 1970 to 2100, or longer than a year")
	}
	return where, nil
}

// LastEnd is the end of the last day.
var LastEnd = time.Date(LastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)

func inYears(t time.Time) bool { return t.Year() >= FirstYear && t.Year() <= LastYear }

// endOf reads DTEND, else DURATION; both have to be good.
func (r *reader) endOf(c *ical.Component, e *Event, start moment, where place) (end time.Time, err error) {
	end = e.Start
	if e.AllDay {
		end = end.AddDate(0, 0, 1)
	}
	if s, ok := value(c, ical.PropDuration); ok {
		d, err := durationOf(s)
		if err != nil {
			return end, err
		}
		end = d.from(start, where)
	}
	if p := first(c, ical.PropDateTimeEnd); p != nil {
		if end, err = r.instantOf(p, p.Value, where, e.AllDay); err != nil {
			return end, fmt.Errorf("icalendar: DTEND: %w", err)
		}
	}
	return end, nil
}

// from is the end of a span that begins at start: days by the clocks there, then the rest.
func (d span) from(start moment, where place) time.Time {
	switch day := start.at.AddDate(0, 0, d.days); {
	case start.date:
		return day.Add(d.rest).Truncate(24 * time.Hour)
	case start.utc:
		return day.Add(d.rest)
	default:
		return where.clock.Instant(day).Add(d.rest)
	}
}

// instantOf reads a time of an event that begins where start is local: a date for an all-day
// event, an instant for any other, whichever of the two was sent.
func (r *reader) instantOf(p *ical.Prop, text string, start place, allDay bool) (time.Time, error) {
	m, err := momentOf(text, isDate(p))
	if err != nil {
		return m.at, err
	}
	return r.convert(p, m, start, allDay), nil
}

func (r *reader) convert(p *ical.Prop, m moment, start place, allDay bool) time.Time {
	switch {
	case allDay:
		return m.at.Truncate(24 * time.Hour)
	case m.date:
		return start.clock.Instant(m.at)
	}
	return r.zones.at(p, m).clock.Instant(m.at)
}

// recurrence reads RRULE, RDATE and EXDATE.
func (r *reader) recurrence(c *ical.Component, e *Event, start place) *Recurrence {
	text, _ := value(c, ical.PropRecurrenceRule)
	rec := &Recurrence{
		Rule:   ruleText(text),
		Also:   r.dates(c.Props[ical.PropRecurrenceDates], start, e.AllDay),
		Except: r.dates(c.Props[ical.PropExceptionDates], start, e.AllDay),
	}
	if rec.Rule == "" && len(rec.Also) == 0 {
		return nil
	}
	by := Event{Start: e.Start, AllDay: e.AllDay, Recurrence: rec}
	for i, at := range rec.Except {
		if !slices.ContainsFunc(rec.Also, at.Equal) {
			rec.Except[i] = by.atClock(at, start.clock)
		}
	}
	return rec
}

// atClock is the occurrence that a day is meant for, where a time is sent as a date, or as its midnight, for
// a meeting that has another clock time.
func (e *Event) atClock(at time.Time, clock zone.Clock) time.Time {
	local := clock.Local(at)
	if e.AllDay || !local.Equal(local.Truncate(24*time.Hour)) {
		return at
	}
	r, err := e.ruleOf()
	if err != nil {
		r, _ = rule.Parse("FREQ=DAILY")
	}
	return clock.Instant(r.On(local, clock.Local(e.Start)))
}

// ruleText is a rule as text, if it is one: it has the characters that rules are made of.
func ruleText(s string) string {
	s = strings.TrimSpace(s)
	bad := strings.ContainsFunc(s, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || strings.ContainsRune("=;,+-", r))
	})
	if bad || len(s) > maxRuleText {
		return ""
	}
	return strings.Clone(s) // not the blanks beside it
}

// dates are the readable times of a list, those within the caps.
func (r *reader) dates(props []ical.Prop, start place, allDay bool) (list []time.Time) {
	for i := range props {
		p := &props[i]
		for _, m := range momentsOf(p, maxDates-len(list)) {
			if at := r.convert(p, m, start, allDay); inYears(at) {
				list = append(list, at)
			}
		}
	}
	return list
}
