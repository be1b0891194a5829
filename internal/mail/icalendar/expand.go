package icalendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar/rule"
	"inboxd/internal/mail/icalendar/zone"
)

// MaxOccurrences is how many times of a rule are examined for one result.
const MaxOccurrences = 10_000

// Occurrence is one time at which an event takes place.
type Occurrence struct {
	ID         time.Time // its RECURRENCE-ID: the original time
	Start, End time.Time
	Override   *Override // the differences; nil: none
}

// Occurrences returns the occurrences that overlap [from, to), by start. One of length zero
// overlaps at its start. DTSTART is the first occurrence, and counts even if the rule does not name
// it. whole is false if some may be missing: the rule is never expanded, so that only DTSTART and
// RDATE are known, or it exceeds MaxOccurrences or rule.MaxDays. The work is limited to 20 ms.
func (e *Event) Occurrences(from, to time.Time) (list []Occurrence, whole bool) {
	x := e.expander(from, to)
	return x.allOccurrences()
}

// allOccurrences are the occurrences, by start.
func (x *expander) allOccurrences() (list []Occurrence, whole bool) {
	if x.Recurrence != nil {
		for _, at := range x.Recurrence.AdditionalDates {
			x.addOccurrence(at, at, x.clock.ToLocal(at))
		}
		x.addOverrides()
	}
	whole = x.expandRule()
	slices.SortFunc(x.list, func(a, b Occurrence) int {
		if c := a.Start.Compare(b.Start); c != 0 {
			return c
		}
		return a.ID.Compare(b.ID)
	})
	return slices.CompactFunc(x.list, func(a, b Occurrence) bool { return a.ID.Equal(b.ID) && a.Start.Equal(b.Start) }), whole
}

// LastOccurrenceEnd is the end of the last occurrence; false for an event whose rule has no end.
// For a rule that is never expanded, only DTSTART and RDATE are known.
func (e *Event) LastOccurrenceEnd() (end time.Time, ends bool) {
	end, ends, _ = e.lastEndWithin(rule.MaxDays)
	return end, ends
}

// lastEndWithin expands at most the given number of days, and returns how many it expanded. A rule with
// COUNT that was not expanded to its end counts as endless.
func (e *Event) lastEndWithin(days int) (end time.Time, ends bool, walked int) {
	if e.Recurrence == nil {
		return e.End, true, 0
	}
	r, err := e.ruleOf()
	if err == nil && r.Count == 0 && r.Until.IsZero() {
		return time.Time{}, false, 0
	}
	x := e.expander(e.Start, LastEnd)
	x.maxDays = min(max(days, 0), rule.MaxDays)
	list, whole := x.allOccurrences()
	end = e.End
	for _, o := range list {
		end = laterTime(end, o.End)
	}
	if err == nil && !whole {
		end = laterTime(end, r.Until.Add(e.End.Sub(e.Start)))
	}
	ends = err != nil || whole || !r.Until.IsZero() || x.maxDays == rule.MaxDays
	return end, ends, x.expandedDays
}

func laterTime(a, b time.Time) time.Time {
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

// expander searches for the occurrences within a window. One call of Occurrences owns it.
type expander struct {
	*Event
	from, to        time.Time
	eventLength     time.Duration
	clock           zone.Clock
	exceptionTimes  map[time.Time]bool // EXDATE
	exceptionDays   map[time.Time]bool // the local days of EXDATEs at midnight, which are treated as dates
	overriddenTimes map[time.Time]bool // the RECURRENCE-ID of overrides
	list            []Occurrence
	maxDays         int  // maximum number of days to expand
	expandedDays    int  // days expanded
	firstOnly       bool // the rule need not be expanded beyond the first match
	nonRuleCount    int  // how many of list are not from the rule
}

func (e *Event) expander(from, to time.Time) *expander {
	x := &expander{Event: e, eventLength: e.End.Sub(e.Start), clock: e.TimeZone.Clock(), exceptionTimes: map[time.Time]bool{}, exceptionDays: map[time.Time]bool{}, overriddenTimes: map[time.Time]bool{}, maxDays: rule.MaxDays}
	if x.from = from.UTC(); from.Year() < FirstYear {
		x.from = time.Date(FirstYear-1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if x.to = to.UTC(); to.After(LastEnd) {
		x.to = LastEnd
	}
	if e.Recurrence == nil {
		return x
	}
	for _, at := range e.Recurrence.ExceptionDates {
		x.exceptionTimes[at.UTC()] = true
		if local := x.clock.ToLocal(at); local.Equal(local.Truncate(24 * time.Hour)) {
			x.exceptionDays[local] = true
		}
	}
	for _, o := range e.Recurrence.Overrides {
		x.overriddenTimes[o.RecurrenceID.UTC()] = true
	}
	return x
}

// expandRule adds the occurrences of DTSTART and RRULE, and reports whether they are complete.
func (x *expander) expandRule() (whole bool) {
	id := x.Start
	if !x.RecurrenceID.IsZero() {
		id = x.RecurrenceID // the event is that occurrence
	}
	first := x.clock.ToLocal(x.Start)
	x.nonRuleCount = len(x.list)
	x.addOccurrence(id, x.Start, first)
	r, err := x.ruleOf()
	if err != nil {
		return false
	}
	if x.isFirstFound() {
		return true
	}
	return x.walkRule(&r, first)
}

// isFirstFound reports whether the first match is found. Those of a rule come in order.
func (x *expander) isFirstFound() bool { return x.firstOnly && len(x.list) > x.nonRuleCount }

// walkRule adds the occurrences of the rule after the first, and reports whether they are complete.
func (x *expander) walkRule(r *rule.Rule, first time.Time) (whole bool) {
	near, end := x.clock.ToLocal(x.from.Add(-x.eventLength)).AddDate(0, 0, -2), x.clock.ToLocal(x.to).AddDate(0, 0, 1)
	begin := first
	if r.Count == 0 && near.After(first) {
		begin = near
	}
	last, short := end, false
	if limit := begin.AddDate(0, 0, x.maxDays); limit.Before(end) {
		last, short = limit, true
	}
	seen, at := 1, last
	whole = r.Walk(first, near, last, func(local time.Time) bool {
		if local.Equal(first) {
			return true
		}
		start := x.clock.ToInstant(local)
		seen++
		over := r.Count > 0 && seen > r.Count || isAfterUntil(r, local, start)
		if !over && seen <= MaxOccurrences {
			x.addOccurrence(start, start, local)
		}
		if over || seen > MaxOccurrences || !start.Before(x.to) || x.isFirstFound() {
			at, short = local, seen > MaxOccurrences && !over
			return false
		}
		return true
	})
	x.expandedDays = max(int(at.Sub(begin)/(24*time.Hour)), 0)
	return whole && !short
}

// isAfterUntil reports whether a time is after the rule's UNTIL.
func isAfterUntil(r *rule.Rule, local, instant time.Time) bool {
	if r.UntilUTC {
		local = instant
	}
	return !r.Until.IsZero() && local.After(r.Until)
}

// addOccurrence adds an occurrence that is within the window, and neither excepted nor overridden.
func (x *expander) addOccurrence(id, start, local time.Time) {
	end := start.Add(x.eventLength)
	if x.exceptionTimes[start.UTC()] || x.overriddenTimes[id.UTC()] || x.exceptionDays[local.Truncate(24*time.Hour)] {
		return
	}
	if x.overlapsWindow(start, end) {
		x.list = append(x.list, Occurrence{ID: id, Start: start, End: end})
	}
}

func (x *expander) overlapsWindow(start, end time.Time) bool {
	return start.Before(x.to) && (end.After(x.from) || start.Equal(end) && !start.Before(x.from))
}

// addOverrides adds the overrides that are not cancelled.
func (x *expander) addOverrides() {
	for i := range x.Recurrence.Overrides {
		o := &x.Recurrence.Overrides[i]
		if o.Status != StatusCancelled && x.overlapsWindow(o.Start, o.End) {
			x.list = append(x.list, Occurrence{o.RecurrenceID, o.Start, o.End, o})
		}
	}
}
