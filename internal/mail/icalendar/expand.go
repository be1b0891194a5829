package icalendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar/rule"
	"inboxd/internal/mail/icalendar/zone"
)

// MaxOccurrences is how many times of a rule are looked at for one answer.
const MaxOccurrences = 10_000

// Occurrence is one time at which an event takes place.
type Occurrence struct {
	ID         time.Time // its RECURRENCE-ID: where it would be
	Start, End time.Time
	Override   *Override // what differs; nil: nothing
}

// Occurrences are those that overlap [from, to), by start; one without length overlaps where it
// begins. DTSTART is the first, and counts, whatever the rule says of it. whole is false when they are
// not all: the rule is one that is never expanded, of which only DTSTART and RDATE are known, or
// goes beyond MaxOccurrences or rule.MaxDays. The work is bounded: 20 ms at most.
func (e *Event) Occurrences(from, to time.Time) (list []Occurrence, whole bool) {
	x := e.expander(from, to)
	return x.all()
}

// all are the occurrences, by start.
func (x *expander) all() (list []Occurrence, whole bool) {
	if x.Recurrence != nil {
		for _, at := range x.Recurrence.Also {
			x.add(at, at, x.clock.Local(at))
		}
		x.overrides()
	}
	whole = x.rule()
	slices.SortFunc(x.list, func(a, b Occurrence) int {
		if c := a.Start.Compare(b.Start); c != 0 {
			return c
		}
		return a.ID.Compare(b.ID)
	})
	return slices.CompactFunc(x.list, func(a, b Occurrence) bool { return a.ID.Equal(b.ID) && a.Start.Equal(b.Start) }), whole
}

// Last is the end of the last occurrence; false for an event whose rule has no end. Of a rule that is
// never expanded only DTSTART and RDATE are known.
func (e *Event) Last() (end time.Time, ends bool) {
	end, ends, _ = e.last(rule.MaxDays)
	return end, ends
}

// last walks so many days at most, and says how many there were. A rule with COUNT that was not walked to its
// end has none.
func (e *Event) last(days int) (end time.Time, ends bool, walked int) {
	if e.Recurrence == nil {
		return e.End, true, 0
	}
	r, err := e.ruleOf()
	if err == nil && r.Count == 0 && r.Until.IsZero() {
		return time.Time{}, false, 0
	}
	x := e.expander(e.Start, LastEnd)
	x.days = min(max(days, 0), rule.MaxDays)
	list, whole := x.all()
	end = e.End
	for _, o := range list {
		end = later(end, o.End)
	}
	if err == nil && !whole {
		end = later(end, r.Until.Add(e.End.Sub(e.Start)))
	}
	ends = err != nil || whole || !r.Until.IsZero() || x.days == rule.MaxDays
	return end, ends, x.walked
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (e *Event) ruleOf() (rule.Rule, error) {
	if e.Recurrence == nil || e.Recurrence.Rule == "" {
		return rule.Parse("FREQ=DAILY;COUNT=1")
	}
	return rule.Parse(e.Recurrence.Rule)
}

// expander looks for the occurrences within a window. One call of Occurrences owns it.
type expander struct {
	*Event
	from, to time.Time
	length   time.Duration
	clock    zone.Clock
	except   map[time.Time]bool // EXDATE
	dates    map[time.Time]bool // the local days of those that are at midnight, which a date is read to
	moved    map[time.Time]bool // the RECURRENCE-ID of overrides
	list     []Occurrence
	days     int  // how far the rule may be walked
	walked   int  // how far it was
	one      bool // the rule need not be walked beyond the first that is found
	beside   int  // how many of list are not by the rule
}

func (e *Event) expander(from, to time.Time) *expander {
	x := &expander{Event: e, length: e.End.Sub(e.Start), clock: e.Zone.Clock(), except: map[time.Time]bool{}, dates: map[time.Time]bool{}, moved: map[time.Time]bool{}, days: rule.MaxDays}
	if x.from = from.UTC(); from.Year() < FirstYear {
		x.from = time.Date(FirstYear-1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if x.to = to.UTC(); to.After(LastEnd) {
		x.to = LastEnd
	}
	if e.Recurrence == nil {
		return x
	}
	for _, at := range e.Recurrence.Except {
		x.except[at.UTC()] = true
		if local := x.clock.Local(at); local.Equal(local.Truncate(24 * time.Hour)) {
			x.dates[local] = true
		}
	}
	for _, o := range e.Recurrence.Overrides {
		x.moved[o.RecurrenceID.UTC()] = true
	}
	return x
}

// rule adds what DTSTART and RRULE give, and reports whether that is all.
func (x *expander) rule() (whole bool) {
	id := x.Start
	if !x.RecurrenceID.IsZero() {
		id = x.RecurrenceID // the event is that occurrence
	}
	first := x.clock.Local(x.Start)
	x.beside = len(x.list)
	x.add(id, x.Start, first)
	r, err := x.ruleOf()
	if err != nil {
		return false
	}
	if x.enough() {
		return true
	}
	return x.walk(&r, first)
}

// enough says that the first within the window is found: those of a rule come in order.
func (x *expander) enough() bool { return x.one && len(x.list) > x.beside }

// walk adds what the rule names behind the first, and reports whether that is all.
func (x *expander) walk(r *rule.Rule, first time.Time) (whole bool) {
	near, end := x.clock.Local(x.from.Add(-x.length)).AddDate(0, 0, -2), x.clock.Local(x.to).AddDate(0, 0, 1)
	begin := first
	if r.Count == 0 && near.After(first) {
		begin = near
	}
	last, short := end, false
	if limit := begin.AddDate(0, 0, x.days); limit.Before(end) {
		last, short = limit, true
	}
	seen, at := 1, last
	whole = r.Walk(first, near, last, func(local time.Time) bool {
		if local.Equal(first) {
			return true
		}
		start := x.clock.Instant(local)
		seen++
		over := r.Count > 0 && seen > r.Count || ended(r, local, start)
		if !over && seen <= MaxOccurrences {
			x.add(start, start, local)
		}
		if over || seen > MaxOccurrences || !start.Before(x.to) || x.enough() {
			at, short = local, seen > MaxOccurrences && !over
			return false
		}
		return true
	})
	x.walked = max(int(at.Sub(begin)/(24*time.Hour)), 0)
	return whole && !short
}

// ended reports a time behind the rule's UNTIL.
func ended(r *rule.Rule, local, instant time.Time) bool {
	if r.UntilUTC {
		local = instant
	}
	return !r.Until.IsZero() && local.After(r.Until)
}

// add adds an occurrence that is within the window, and neither excepted nor one that differs.
func (x *expander) add(id, start, local time.Time) {
	end := start.Add(x.length)
	if x.except[start.UTC()] || x.moved[id.UTC()] || x.dates[local.Truncate(24*time.Hour)] {
		return
	}
	if x.within(start, end) {
		x.list = append(x.list, Occurrence{ID: id, Start: start, End: end})
	}
}

func (x *expander) within(start, end time.Time) bool {
	return start.Before(x.to) && (end.After(x.from) || start.Equal(end) && !start.Before(x.from))
}

// overrides adds the occurrences that differ and were not cancelled.
func (x *expander) overrides() {
	for i := range x.Recurrence.Overrides {
		o := &x.Recurrence.Overrides[i]
		if o.Status != Cancelled && x.within(o.Start, o.End) {
			x.list = append(x.list, Occurrence{o.RecurrenceID, o.Start, o.End, o})
		}
	}
}
