package zone

import (
	"slices"
	"sort"
	"time"

	"inboxd/internal/mail/icalendar/rule"
)

// Observance is one STANDARD or DAYLIGHT of a VTIMEZONE.
type Observance struct {
	Start    time.Time // local, by the offset before it
	From, To int       // seconds east of UTC, before and after
	Rule     string    // RRULE, or empty
	Dates    []time.Time
}

// maxYears limits how many times a clock expands a rule for a year. Each time costs up to 30 µs,
// and events take place in 132 years, by two rules.
const maxYears = 300

// maxRules limits how many observances of a zone may recur. Usually two do.
const maxRules = 16

// onset is a change of the offset.
type onset struct {
	at       time.Time // local, by the offset before it
	from, to time.Duration
}

// observed is the clock of a zone that only its file defines. One goroutine owns it.
type observed struct {
	fixed []onset // by DTSTART and RDATE, and the last ones of rules that end
	rules []ruled
	years map[int][]onset // onsets by the rules, by year
	asked int
	first time.Duration // the offset before the first onset
}

// ruled is an observance that recurs.
type ruled struct {
	Observance
	rule rule.Rule
	last int // year of its last onset
}

func newObserved(all []Observance) *observed {
	c := &observed{years: map[int][]onset{}}
	for _, o := range all {
		c.fixed = append(c.fixed, o.onset(o.Start))
		for _, at := range o.Dates {
			c.fixed = append(c.fixed, o.onset(at))
		}
		r, err := rule.Parse(o.Rule)
		if err != nil || r.Freq != rule.Yearly || len(c.rules) == maxRules {
			continue
		}
		again := ruled{Observance: o, rule: r, last: lastYear(o, &r)}
		again.rule.Count = 0
		c.rules = append(c.rules, again)
		if again.last < endless && c.ask() {
			c.fixed = append(c.fixed, again.in(again.last-1)...)
			c.fixed = append(c.fixed, again.in(again.last)...)
		}
	}
	sortOnsets(c.fixed)
	c.first = c.fixed[0].from
	return c
}

func (o Observance) onset(at time.Time) onset {
	return onset{at, time.Duration(o.From) * time.Second, time.Duration(o.To) * time.Second}
}

const endless = 10_000

// lastYear is the year in which the rule ends, if it does.
func lastYear(o Observance, r *rule.Rule) int {
	last := endless
	if r.Count > 0 {
		last = o.Start.Year() + (r.Count-1)*r.Interval
	}
	if !r.Until.IsZero() {
		if r.UntilUTC {
			r.Until = r.Until.Add(time.Duration(o.From) * time.Second)
		}
		last = min(last, r.Until.Year())
	}
	return last
}

// in returns the observance's onsets of one year. Usually there is one; a stranger's rule gives
// four at most.
func (o *ruled) in(year int) (list []onset) {
	if year < o.Start.Year() || year > o.last {
		return nil
	}
	start := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	o.rule.Walk(o.Start, start, start.AddDate(1, 0, -1), func(at time.Time) bool {
		if at.Year() > year || o.ended(at) || len(list) == 4 {
			return false
		}
		if at.Year() == year {
			list = append(list, o.onset(at))
		}
		return true
	})
	return list
}

func (o *ruled) ended(at time.Time) bool {
	return !o.rule.Until.IsZero() && at.After(o.rule.Until)
}

// ask counts the expansions of rules, and reports whether another one is allowed.
func (c *observed) ask() bool {
	c.asked++
	return c.asked <= maxYears
}

// of returns the onsets of a year by rules.
func (c *observed) of(year int) []onset {
	if known, ok := c.years[year]; ok {
		return known
	}
	var list []onset
	for i := range c.rules {
		if !c.ask() {
			break
		}
		list = append(list, c.rules[i].in(year)...)
	}
	sortOnsets(list)
	c.years[year] = list
	return list
}

func sortOnsets(list []onset) {
	slices.SortStableFunc(list, func(a, b onset) int { return a.at.Compare(b.at) })
}

// latest is the last onset of a sorted list whose moment is at or before the time.
func latest(list []onset, t time.Time, moment func(*onset) time.Time) *onset {
	i := sort.Search(len(list), func(i int) bool { return moment(&list[i]).After(t) })
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

func (o *onset) local() time.Time   { return o.at }
func (o *onset) instant() time.Time { return o.at.Add(-o.from) }

// inForce is the last onset at or before a time: of DTSTART and RDATE, and by the rules for its
// year and the year before. It is nil before the first onset.
func (c *observed) inForce(t time.Time, moment func(*onset) time.Time) *onset {
	best := latest(c.fixed, t, moment)
	last := t.Add(24 * time.Hour).Year() // the local time of an instant may be in the next year
	for year := last; year >= last-1; year-- {
		if o := latest(c.of(year), t, moment); o != nil && (best == nil || o.at.After(best.at)) {
			best = o
		}
	}
	return best
}

func (c *observed) Instant(local time.Time) time.Time {
	switch o := c.inForce(local, (*onset).local); {
	case o == nil:
		return local.Add(-c.first)
	case local.Sub(o.at) < o.to-o.from: // skipped by the clocks: use the offset before
		return local.Add(-o.from)
	default:
		return local.Add(-o.to)
	}
}

func (c *observed) Local(instant time.Time) time.Time {
	instant = instant.UTC()
	if o := c.inForce(instant, (*onset).instant); o != nil {
		return instant.Add(o.to)
	}
	return instant.Add(c.first)
}
