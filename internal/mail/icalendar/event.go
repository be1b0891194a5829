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

// event parses a VEVENT. It fails if UID is missing or invalid, or if the times are outside the
// limits; any other invalid property is dropped. Without a valid DTSTART the event has no times.
// master is the meeting that the event is an override of, whose times RECURRENCE-ID is one of; nil
// for the described event.
func (r *reader) event(c *ical.Component, master *Event) (*Event, error) {
	e := &Event{Status: statusOf(c), Transparent: isTransparent(c)}
	if err := r.identify(e, c); err != nil {
		return nil, err
	}
	start, err := r.times(e, c)
	if err != nil {
		return nil, err
	}
	if p := first(c, ical.PropRecurrenceID); p != nil {
		var ok bool
		e.RecurrenceID, ok = r.occurrenceOf(p, e, master)
		r.dropped = r.dropped || !ok
	}
	e.Title = textProp(c, ical.PropSummary, MaxTitle)
	e.Location = textProp(c, ical.PropLocation, MaxTitle)
	e.Description = textProp(c, ical.PropDescription, MaxDescription)
	e.Comment = textProp(c, ical.PropComment, MaxDescription)
	e.Organizer, e.SentBy = organizerOf(c)
	e.Attendees = attendeesOf(c)
	if master == nil {
		e.Recurrence = r.recurrence(c, e, start)
	}
	return e, nil
}

// occurrenceOf parses RECURRENCE-ID as a time of the meeting; false and no time if it is invalid.
func (r *reader) occurrenceOf(p *ical.Prop, e, master *Event) (at time.Time, ok bool) {
	if master != nil {
		e = master
	}
	m, err := momentOf(p.Value, isDate(p))
	if err != nil {
		return at, false
	}
	if e.Start.IsZero() {
		e.AllDay = m.date // the meeting is not described
	}
	where := place{e.Zone, e.Zone.Clock()}
	at = r.convert(p, m, where, e.AllDay)
	if m.date {
		at = e.atClock(at, where.clock)
	}
	if !inYears(at) {
		return time.Time{}, false
	}
	return at, true
}

// identify parses the properties that identify an event and its revision.
func (r *reader) identify(e *Event, c *ical.Component) (err error) {
	uid, _ := value(c, ical.PropUID)
	e.UID = lineOf(textOf(uid, 2*maxUID), 2*maxUID)
	if e.UID == "" || len(e.UID) > maxUID {
		return errors.New("icalendar: no UID of 1 to 1,000 octets")
	}
	if s, ok := value(c, ical.PropSequence); ok {
		e.Sequence, err = sequenceOf(s)
		r.dropped = r.dropped || err != nil
	}
	if s, ok := value(c, ical.PropDateTimeStamp); ok {
		if m, err := momentOf(s, false); err == nil && inYears(m.at) {
			e.Stamp = m.at
		} else {
			r.dropped = true
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

// times parses start and end, and returns the zone of the start.
func (r *reader) times(e *Event, c *ical.Component) (where place, err error) {
	where.clock = zone.UTC.Clock()
	p := first(c, ical.PropDateTimeStart)
	if p == nil {
		return where, nil
	}
	start, err := momentOf(p.Value, isDate(p))
	if err != nil {
		r.dropped = true
		return where, nil
	}
	where = r.zones.at(p, start)
	e.AllDay, e.Start = start.date, start.at
	if !start.date {
		e.Zone = where.zone
		e.Start = where.clock.Instant(start.at)
	}
	if e.End = r.endOf(c, e, start, where); e.End.Before(e.Start) {
		e.End, r.dropped = e.Start, true
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
func (r *reader) endOf(c *ical.Component, e *Event, start moment, where place) (end time.Time) {
	end = e.Start
	if e.AllDay {
		end = end.AddDate(0, 0, 1)
	}
	if s, ok := value(c, ical.PropDuration); ok {
		if d, err := durationOf(s); err == nil {
			end = d.from(start, where)
		} else {
			r.dropped = true
		}
	}
	if p := first(c, ical.PropDateTimeEnd); p != nil {
		if m, err := momentOf(p.Value, isDate(p)); err == nil {
			end = r.convert(p, m, where, e.AllDay)
		} else {
			r.dropped = true
		}
	}
	return end
}

// from is the end of a span that begins at start: days by the local clock, then the rest.
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

// convert returns a time of an event whose start is in the zone start: a date for an all-day event,
// an instant for any other, whichever of the two was sent.
func (r *reader) convert(p *ical.Prop, m moment, start place, allDay bool) time.Time {
	switch {
	case allDay:
		return m.at.Truncate(24 * time.Hour)
	case m.date:
		return start.clock.Instant(m.at)
	}
	return r.zones.at(p, m).clock.Instant(m.at)
}

// recurrence parses RRULE, RDATE and EXDATE.
func (r *reader) recurrence(c *ical.Component, e *Event, start place) *Recurrence {
	text, ruled := value(c, ical.PropRecurrenceRule)
	rec := &Recurrence{
		Rule:   ruleText(text),
		Also:   r.dates(c.Props[ical.PropRecurrenceDates], start, e.AllDay),
		Except: r.dates(c.Props[ical.PropExceptionDates], start, e.AllDay),
	}
	r.dropped = r.dropped || ruled && rec.Rule == ""
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

// atClock returns the occurrence on a day. Some programs send a date, or its midnight, for an
// occurrence of a meeting with another clock time.
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

// dates are the valid times of a list, within the limits.
func (r *reader) dates(props []ical.Prop, start place, allDay bool) (list []time.Time) {
	for i := range props {
		p := &props[i]
		moments, whole := momentsOf(p, maxDates-len(list))
		r.dropped = r.dropped || !whole
		for _, m := range moments {
			if at := r.convert(p, m, start, allDay); inYears(at) {
				list = append(list, at)
			}
		}
	}
	return list
}
