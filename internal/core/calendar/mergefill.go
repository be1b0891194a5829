package calendar

import (
	"cmp"
	"slices"
	"time"

	"inboxd/internal/mail/icalendar/zone"
)

// complete takes what a REPLY or CANCEL may leave out, its times above all (RFC 5546, sections 3.2.3 and
// 3.2.5), from the known meeting. Where none is known it takes place when its occurrence would, or else when the
// message was written: a list sorts by that.
func (x *merger) complete() {
	if !x.inv.NoStart {
		return
	}
	full, k := *x.inv, x.known // that of all recipients stays as it is
	x.inv = &full
	e := &full.Event
	if k == nil {
		if e.Start = e.RecurrenceID; e.Start.IsZero() {
			e.Start = x.revision.Stamp
		}
		if e.End = e.Start; !e.AllDay {
			e.Zone = zone.UTC
		}
		return
	}
	length := k.End.Sub(k.Start)
	// dated is true where RECURRENCE-ID is a date and the meeting has a clock time.
	dated := e.AllDay && !k.AllDay
	occurrence := func(id time.Time) time.Time {
		if dated {
			return k.OccurrenceOn(id)
		}
		return id
	}
	e.Start, e.End, e.AllDay, e.Zone = k.Start, k.End, k.AllDay, k.Zone
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
				continue // it says when it takes place
			}
			o.RecurrenceID = occurrence(o.RecurrenceID)
			o.Start, o.End, o.AllDay = o.RecurrenceID, o.RecurrenceID.Add(length), k.AllDay
			o.Title, o.Location = cmp.Or(o.Title, e.Title), cmp.Or(o.Location, e.Location)
		}
		e.Recurrence = &r
	}
}
