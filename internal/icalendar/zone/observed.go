package zone

import (
	"slices"
	"time"

	"inboxd/internal/icalendar/rule"
)

// Observance is one STANDARD or DAYLIGHT of a VTIMEZONE.
type Observance struct {
	Start    time.Time // local, by the offset before it
	From, To int       // seconds east of UTC, before and after
	Rule     string    // RRULE, or empty
	Dates    []time.Time
}

// maxYears is how many times a clock asks a rule for a year: each costs up to 30 µs, and events
// take place in 132 years, by two rules.
const maxYears = 300

// maxRules is how many observances of a zone may come back: two do.
const maxRules = 16

// onset is a change of the offset.
type onset struct {
	at       time.Time // local, by the offset before it
	from, to time.Duration
}

// observed is the clock of a zone that only its file explains. One goroutine owns it.
type observed struct {
	fixed []onset // by DTSTART and RDATE, and the last ones of rules that end
	rules []ruled
	years map[int][]onset // what the rules say of a year
	asked int
	first time.Duration // the offset before everything
	shown time.Duration // the offset of the last local time that was shown
}

// ruled is an observance that comes back.
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

// in are the observance's onsets of one year, of which it has one; a stranger's rule gives four
// at most.
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

// ask counts what was asked of rules, and says whether more may be.
func (c *observed) ask() bool {
	c.asked++
	return c.asked <= maxYears
}

// of are the onsets of a year by rules.
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

// latest is the last onset of a sorted list at or before the time.
func latest(list []onset, local time.Time) (onset, bool) {
	i, _ := slices.BinarySearchFunc(list, local, func(o onset, t time.Time) int {
		if o.at.After(t) {
			return 1
		}
		return -1
	})
	if i == 0 {
		return onset{}, false
	}
	return list[i-1], true
}

func (c *observed) Instant(local time.Time) time.Time {
	t, _ := c.instant(local)
	return t
}

// instant takes the offset of the last onset before the local time, and reports whether
// clocks skip it.
func (c *observed) instant(local time.Time) (t time.Time, skipped bool) {
	best, ok := latest(c.fixed, local)
	for year := local.Year(); year >= local.Year()-1; year-- {
		if o, found := latest(c.of(year), local); found && (!ok || o.at.After(best.at)) {
			best, ok = o, true
		}
	}
	switch {
	case !ok:
		return local.Add(-c.first), false
	case local.Sub(best.at) < best.to-best.from: // by the offset before
		return local.Add(-best.from), true
	}
	return local.Add(-best.to), false
}

// Local tries the offsets that the zone ever had, first that of the time before.
func (c *observed) Local(instant time.Time) time.Time {
	instant = instant.UTC()
	if c.shows(c.shown, instant) {
		return instant.Add(c.shown)
	}
	for _, o := range c.fixed {
		for _, offset := range [2]time.Duration{o.to, o.from} {
			if c.shows(offset, instant) {
				c.shown = offset
				return instant.Add(offset)
			}
		}
	}
	return instant.Add(c.first)
}

func (c *observed) shows(offset time.Duration, instant time.Time) bool {
	t, skipped := c.instant(instant.Add(offset))
	return !skipped && t.Equal(instant)
}
