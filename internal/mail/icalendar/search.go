package icalendar

import (
	"time"

	"inboxd/internal/mail/icalendar/rule"
)

// MaxSearchDays is how many days of rules are walked for one answer about many events: five times what the
// longest rule takes, a tenth of a second.
const MaxSearchDays = 5 * rule.MaxDays

// Search looks for the occurrences of many events within [From, To). All of them together take
// MaxSearchDays at most, and none more than its share of what the ones before it left, so that
// the rules of a stranger leave the others theirs. One goroutine owns it.
type Search struct {
	From, To time.Time
	One      bool // the first occurrence of each event is enough; others may come with it
	Events   int  // that have a Recurrence and are still to be searched
	Stops    int  // events of which not all was looked at

	spent int
}

// costs are days that an event costs before its rule is walked: its lists, and the rules of its zone.
func costs(e *Event) int {
	r := e.Recurrence
	return 10 + (len(r.Also)+len(r.Except)+len(r.Overrides))/2 + 100*len(e.Zone.Observances)
}

// In are the occurrences of an event within the window, by start; of one for which no work is left only
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
