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
	From, To time.Time
	One      bool // the first occurrence of each event is enough; more may be returned
	Events   int  // remaining events with a Recurrence
	Stops    int  // events that were not searched completely

	spent int
}

// costs are the days that an event costs before its rule is expanded: for its lists, and the rules
// of its zone.
func costs(e *Event) int {
	r := e.Recurrence
	return 10 + (len(r.Also)+len(r.Except)+len(r.Overrides))/2 + 100*len(e.Zone.Observances)
}

// In returns the occurrences of an event within the window, by start. If no budget is left, only
// the first is known.
func (s *Search) In(e *Event) []Occurrence {
	if e.Recurrence == nil {
		return s.first(e)
	}
	share := (MaxSearchDays-s.spent)/max(s.Events, 1) - costs(e)
	s.Events--
	if share < 0 {
		s.Stops++
		return s.first(e)
	}
	x := e.expander(s.From, s.To)
	x.days, x.one = min(share, rule.MaxDays), s.One
	list, whole := x.all()
	s.spent += costs(e) + x.walked
	if !whole {
		s.Stops++
	}
	return list
}

// first is the event itself, if it is within the window.
func (s *Search) first(e *Event) []Occurrence {
	x := expander{from: s.From, to: s.To}
	if !x.within(e.Start, e.End) {
		return nil
	}
	id := e.Start
	if !e.RecurrenceID.IsZero() {
		id = e.RecurrenceID
	}
	return []Occurrence{{ID: id, Start: e.Start, End: e.End}}
}
