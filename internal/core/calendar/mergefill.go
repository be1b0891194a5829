package calendar

import (
	"cmp"
	"slices"
	"time"

	"inboxd/internal/mail/icalendar/zone"
)

// fillOmitted fills in what a REPLY or CANCEL may omit, mainly its times (RFC 5546, sections 3.2.3 and
// 3.2.5), from the stored meeting. Without one, it uses the time of the occurrence, or else of
// the message, because a list sorts by it.
func (x *messageMerger) fillOmitted() {
	if !x.inv.NoStart {
		return
	}
	full, k := *x.inv, x.knownMeeting // the original is shared with all recipients
	x.inv = &full
	e := &full.Event
	if k == nil {
		if e.Start = e.RecurrenceID; e.Start.IsZero() {
			e.Start = x.messageRevision.StampedAt
		}
		if e.End = e.Start; !e.AllDay {
			e.TimeZone = zone.UTC
		}
		return
	}
	length := k.End.Sub(k.Start)
	// dated is true if RECURRENCE-ID is a date and the meeting has a clock time.
	dated := e.AllDay && !k.AllDay
	occurrence := func(id time.Time) time.Time {
		if dated {
			return k.OccurrenceOn(id)
		}
		return id
	}
	e.Start, e.End, e.AllDay, e.TimeZone = k.Start, k.End, k.AllDay, k.TimeZone
	e.Title, e.Location = cmp.Or(e.Title, k.Title), cmp.Or(e.Location, k.Location)
	if !e.RecurrenceID.IsZero() {
		e.RecurrenceID = occurrence(e.RecurrenceID)
		e.Start, e.End = e.RecurrenceID, e.RecurrenceID.Add(length)
	}
	if e.Recurrence != nil {
		r := *e.Recurrence
		r.Overrides = slices.Clone(r.Overrides)
		for i := range r.Overrides {
			o := &r.Overrides[i]
			if !o.Start.Equal(o.RecurrenceID) || !o.End.Equal(o.Start) {
				continue // it has a time of its own
			}
			o.RecurrenceID = occurrence(o.RecurrenceID)
			o.Start, o.End, o.AllDay = o.RecurrenceID, o.RecurrenceID.Add(length), k.AllDay
			o.Title, o.Location = cmp.Or(o.Title, e.Title), cmp.Or(o.Location, e.Location)
		}
		e.Recurrence = &r
	}
}
