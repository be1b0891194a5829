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

// offsetChange is a change of the offset.
type offsetChange struct {
	at       time.Time // local, by the offset before it
	from, to time.Duration
}

// customClock is the clock of a zone that only its file defines. One goroutine owns it.
type customClock struct {
	fixedChanges   []offsetChange // by DTSTART and RDATE, and the last ones of rules that end
	rules          []recurringObservance
	changesByYear  map[int][]offsetChange // onsets by the rules, by year
	expansionCount int
	initialOffset  time.Duration // the offset before the first onset
}

// recurringObservance is an observance that recurs.
type recurringObservance struct {
	Observance
	rule      rule.Rule
	finalYear int // year of its last onset
}

func newObserved(all []Observance) *customClock {
	c := &customClock{changesByYear: map[int][]offsetChange{}}
	for _, o := range all {
		c.fixedChanges = append(c.fixedChanges, o.changeAt(o.Start))
		for _, at := range o.Dates {
			c.fixedChanges = append(c.fixedChanges, o.changeAt(at))
		}
		r, err := rule.Parse(o.Rule)
		if err != nil || r.Freq != rule.Yearly || len(c.rules) == maxRules {
			continue
		}
		again := recurringObservance{Observance: o, rule: r, finalYear: lastYear(o, &r)}
		again.rule.Count = 0
		c.rules = append(c.rules, again)
		if again.finalYear < endlessYear && c.allowExpansion() {
			c.fixedChanges = append(c.fixedChanges, again.in(again.finalYear-1)...)
			c.fixedChanges = append(c.fixedChanges, again.in(again.finalYear)...)
		}
	}
	sortOnsets(c.fixedChanges)
	c.initialOffset = c.fixedChanges[0].from
	return c
}

func (o Observance) changeAt(at time.Time) offsetChange {
	return offsetChange{at, time.Duration(o.From) * time.Second, time.Duration(o.To) * time.Second}
}

const endlessYear = 10_000

// lastYear is the year in which the rule ends, if it does.
func lastYear(o Observance, r *rule.Rule) int {
	last := endlessYear
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
func (o *recurringObservance) in(year int) (list []offsetChange) {
	if year < o.Start.Year() || year > o.finalYear {
		return nil
	}
	start := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	o.rule.Walk(o.Start, start, start.AddDate(1, 0, -1), func(at time.Time) bool {
		if at.Year() > year || o.hasEnded(at) || len(list) == 4 {
			return false
		}
		if at.Year() == year {
			list = append(list, o.changeAt(at))
		}
		return true
	})
	return list
}

func (o *recurringObservance) hasEnded(at time.Time) bool {
	return !o.rule.Until.IsZero() && at.After(o.rule.Until)
}

// allowExpansion counts the expansions of rules, and reports whether another one is allowed.
func (c *customClock) allowExpansion() bool {
	c.expansionCount++
	return c.expansionCount <= maxYears
}

// of returns the onsets of a year by rules.
func (c *customClock) of(year int) []offsetChange {
	if known, ok := c.changesByYear[year]; ok {
		return known
	}
	var list []offsetChange
	for i := range c.rules {
		if !c.allowExpansion() {
			break
		}
		list = append(list, c.rules[i].in(year)...)
	}
	sortOnsets(list)
	c.changesByYear[year] = list
	return list
}

func sortOnsets(list []offsetChange) {
	slices.SortStableFunc(list, func(a, b offsetChange) int { return a.at.Compare(b.at) })
}

// latestChange is the last onset of a sorted list whose moment is at or before the time.
func latestChange(list []offsetChange, t time.Time, moment func(*offsetChange) time.Time) *offsetChange {
	i := sort.Search(len(list), func(i int) bool { return moment(&list[i]).After(t) })
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

func (o *offsetChange) localTime() time.Time   { return o.at }
func (o *offsetChange) instantTime() time.Time { return o.at.Add(-o.from) }

// inForce is the last onset at or before a time: of DTSTART and RDATE, and by the rules for its
// year and the year before. It is nil before the first onset.
func (c *customClock) inForce(t time.Time, moment func(*offsetChange) time.Time) *offsetChange {
	best := latestChange(c.fixedChanges, t, moment)
	last := t.Add(24 * time.Hour).Year() // the local time of an instant may be in the next year
	for year := last; year >= last-1; year-- {
		if o := latestChange(c.of(year), t, moment); o != nil && (best == nil || o.at.After(best.at)) {
			best = o
		}
	}
	return best
}

func (c *customClock) ToInstant(local time.Time) time.Time {
	switch o := c.inForce(local, (*offsetChange).localTime); {
	case o == nil:
		return local.Add(-c.initialOffset)
	case local.Sub(o.at) < o.to-o.from: // skipped by the clocks: use the offset before
		return local.Add(-o.from)
	default:
		return local.Add(-o.to)
	}
}

func (c *customClock) ToLocal(instant time.Time) time.Time {
	instant = instant.UTC()
	if o := c.inForce(instant, (*offsetChange).instantTime); o != nil {
		return instant.Add(o.to)
	}
	return instant.Add(c.initialOffset)
}
