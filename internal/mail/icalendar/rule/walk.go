package rule

import "time"

// MaxDays is the maximum number of days of a walk.
const MaxDays = 50_000

// ruleWalk is a rule completed by its first occurrence. One call of Walk owns it.
type ruleWalk struct {
	Rule
	firstOccurrence time.Time
	matchedDays     [367]time.Time // days of the current period
}

// Walk calls yield with the local times that the rule names, in order. first is the first
// occurrence. No earlier time is named, and first only if the rule names it. Without COUNT the walk
// may begin at near's period. It ends after end, or when yield returns false, by which the caller
// applies COUNT or UNTIL; then it returns true. It returns false if it ended because of MaxDays.
func (r *Rule) Walk(first, near, end time.Time, yield func(time.Time) bool) bool {
	w := ruleWalk{Rule: *r, firstOccurrence: first}
	w.applyDefaults()
	start := w.periodStart(startOfDay(first))
	if r.Count == 0 && near.After(first) {
		start = w.jumpToPeriod(start, w.periodStart(startOfDay(near)))
	}
	for last := start.AddDate(0, 0, MaxDays); !start.After(end); start = w.nextPeriod(start, w.Interval) {
		if start.After(last) {
			return false
		}
		for _, day := range w.matchingDays(start) {
			at := w.atClockTime(day)
			if !at.Before(first) && !yield(at) {
				return true
			}
		}
	}
	return true
}

// applyDefaults fills in what a rule takes from its first occurrence.
func (w *ruleWalk) applyDefaults() {
	alone := w.weekNumbers.hasAny
	switch {
	case w.byWeekday || w.monthDays.hasAny || w.yearDays.hasAny:
		return
	case w.Freq == Weekly || w.Freq == Yearly && alone:
		w.byWeekday = true
		w.weekdays[w.firstOccurrence.Weekday()].addPosition(0)
	case w.Freq == Monthly && !alone:
		w.monthDays.addPosition(w.firstOccurrence.Day())
	case w.Freq == Yearly:
		w.monthDays.addPosition(w.firstOccurrence.Day())
		if w.months == 0 {
			w.months = 1 << w.firstOccurrence.Month()
		}
	}
}

func startOfDay(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// periodStart is the first day of the period that contains a day.
func (w *ruleWalk) periodStart(day time.Time) time.Time {
	switch y, m, _ := day.Date(); w.Freq {
	case Weekly:
		return day.AddDate(0, 0, -w.inWeek(day.Weekday()))
	case Monthly:
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	case Yearly:
		return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return day
}

// inWeek is the position of a weekday in the week, from 0.
func (w *ruleWalk) inWeek(d time.Weekday) int { return int(d-w.weekStart+7) % 7 }

func (w *ruleWalk) nextPeriod(period time.Time, n int) time.Time {
	switch w.Freq {
	case Weekly:
		return period.AddDate(0, 0, 7*n)
	case Monthly:
		return period.AddDate(0, n, 0)
	case Yearly:
		return period.AddDate(n, 0, 0)
	}
	return period.AddDate(0, 0, n)
}

// jumpToPeriod is the last period, a whole number of intervals after start, that is not after target.
func (w *ruleWalk) jumpToPeriod(start, target time.Time) time.Time {
	n := 0
	switch days := int(target.Sub(start).Hours() / 24); w.Freq {
	case Daily:
		n = days
	case Weekly:
		n = days / 7
	case Monthly:
		n = 12*(target.Year()-start.Year()) + int(target.Month()-start.Month())
	case Yearly:
		n = target.Year() - start.Year()
	}
	return w.nextPeriod(start, n-n%w.Interval)
}

// matchingDays are the days of the period that the rule names.
func (w *ruleWalk) matchingDays(period time.Time) []time.Time {
	n := 0
	for day, end := period, w.nextPeriod(period, 1); day.Before(end); {
		if w.Freq == Yearly && w.months != 0 && w.months&(1<<day.Month()) == 0 {
			day = day.AddDate(0, 1, 0) // day is the first of its month
			continue
		}
		if w.matchesDay(day) {
			w.matchedDays[n] = day
			n++
		}
		day = day.Add(24 * time.Hour)
	}
	if w.setPositions.hasAny {
		return w.filterPositions(w.matchedDays[:n])
	}
	return w.matchedDays[:n]
}

// filterPositions filters days by BYSETPOS.
func (w *ruleWalk) filterPositions(days []time.Time) []time.Time {
	n := 0
	for i, day := range days {
		if w.setPositions.hasPosition(i+1, len(days)-i) {
			days[n] = day
			n++
		}
	}
	return days[:n]
}

func (w *ruleWalk) matchesDay(day time.Time) bool {
	if w.months != 0 && w.months&(1<<day.Month()) == 0 {
		return false
	}
	if w.monthDays.hasAny && !w.monthDays.hasPosition(day.Day(), monthLength(day)-day.Day()+1) {
		return false
	}
	if w.yearDays.hasAny && !w.yearDays.hasPosition(day.YearDay(), yearLength(day.Year())-day.YearDay()+1) {
		return false
	}
	if w.byWeekday && !w.namesWeekday(day) {
		return false
	}
	return !w.weekNumbers.hasAny || w.namesWeek(day)
}

func (w *ruleWalk) namesWeekday(day time.Time) bool {
	p := &w.weekdays[day.Weekday()]
	if !p.hasAny || p.front[0]&1 != 0 {
		return p.hasAny
	}
	n, length := day.Day(), monthLength(day)
	if w.Freq == Yearly && w.months == 0 {
		n, length = day.YearDay(), yearLength(day.Year())
	}
	return p.hasPosition((n-1)/7+1, (length-n)/7+1)
}

// namesWeek reports whether the day is in a week of BYWEEKNO. A week belongs to the year that
// contains four of its days (RFC 5545, section 3.3.10).
func (w *ruleWalk) namesWeek(day time.Time) bool {
	year := day.Year()
	n := (day.YearDay() - w.inWeek(day.Weekday()) + 9) / 7
	if n == 0 {
		year--
		n = w.weeksOf(year)
	} else if n > w.weeksOf(year) {
		year++
		n = 1
	}
	return w.weekNumbers.hasPosition(n, w.weeksOf(year)-n+1)
}

func (w *ruleWalk) weeksOf(year int) int {
	first := w.inWeek(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Weekday())
	if first == 3 || first == 2 && yearLength(year) == 366 {
		return 53
	}
	return 52
}

func monthLength(day time.Time) int {
	switch day.Month() {
	case time.April, time.June, time.September, time.November:
		return 30
	case time.February:
		return yearLength(day.Year()) - 337
	}
	return 31
}

func yearLength(year int) int {
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 366
	}
	return 365
}

// atClockTime is the time of an occurrence on that day.
func (w *ruleWalk) atClockTime(day time.Time) time.Time {
	h, m, s := w.firstOccurrence.Clock()
	if w.everyClock {
		return day.Add(w.firstOccurrence.Sub(startOfDay(w.firstOccurrence)))
	}
	return time.Date(day.Year(), day.Month(), day.Day(), or(w.hour, h), or(w.min, m), or(w.sec, s), 0, time.UTC)
}

func or(n, other int) int {
	if n < 0 {
		return other
	}
	return n
}
