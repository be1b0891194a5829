package icalendar

import (
	"time"

	"inboxd/internal/mail/icalendar/rule"
)

// MaxSearchDays is how many days of rules are expanded for one result about many events. It is five
// times the maximum of one rule and takes about a tenth of a second.
const MaxSearchDays = 5 * rule.MaxDays

// Search finds the occurrences of many events within [From, To). Together they use at most
// MaxSearchDays, and each at most its share of what the previous ones left. So the rules of a
// stranger do not use up the budget of others. One goroutine owns it.
type Search struct {
	From, To         time.Time
	FirstOnly        bool // the first occurrence of each event is enough; more may be returned
	RemainingEvents  int  // remaining events with a Recurrence
	IncompleteEvents int  // events that were not searched completely

	spentDays int
}

// expansionCost are the days that an event costs before its rule is expanded: for its lists, and
// the rules of its zone.
func expansionCost(e *Event) int {
	r := e.Recurrence
	return 10 + (len(r.AdditionalDates)+len(r.ExceptionDates)+len(r.Overrides))/2 + 100*len(e.TimeZone.Observances)
}

// In returns the occurrences of an event within the window, by start. If no budget is left, only
// the first is known.
func (s *Search) In(e *Event) []Occurrence {
	if e.Recurrence == nil {
		return s.firstOccurrence(e)
	}
	share := (MaxSearchDays-s.spentDays)/max(s.RemainingEvents, 1) - expansionCost(e)
	s.RemainingEvents--
	if share < 0 {
		s.IncompleteEvents++
		return s.firstOccurrence(e)
	}
	x := e.expander(s.From, s.To)
	x.maxDays, x.firstOnly = min(share, rule.MaxDays), s.FirstOnly
	list, whole := x.allOccurrences()
	s.spentDays += expansionCost(e) + x.expandedDays
	if !whole {
		s.IncompleteEvents++
	}
	return list
}

// firstOccurrence is the event itself, if it is within the window.
func (s *Search) firstOccurrence(e *Event) []Occurrence {
	x := expander{from: s.From, to: s.To}
	if !x.overlapsWindow(e.Start, e.End) {
		return nil
	}
	id := e.Start
	if !e.RecurrenceID.IsZero() {
		id = e.RecurrenceID
	}
	return []Occurrence{{ID: id, Start: e.Start, End: e.End}}
}
