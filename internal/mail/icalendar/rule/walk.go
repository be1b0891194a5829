package rule

import "time"

// MaxDays is the maximum number of days of a walk.
const MaxDays = 50_000

// walk is a rule completed by its first occurrence. One call of Walk owns it.
type walk struct {
	Rule
	first time.Time
	named [367]time.Time // days of the current period
}

// Walk calls yield with the local times that the rule names, in order. first is the first
// occurrence. No earlier time is named, and first only if the rule names it. Without COUNT the walk
// may begin at near's period. It ends after end, or when yield returns false, by which the caller
// applies COUNT or UNTIL; then it returns true. It returns false if it ended because of MaxDays.
func (r *Rule) Walk(first, near, end time.Time, yield func(time.Time) bool) bool {
	w := walk{Rule: *r, first: first}
	w.complete()
	start := w.period(midnight(first))
	if r.Count == 0 && near.After(first) {
		start = w.jump(start, w.period(midnight(near)))
	}
	for last := start.AddDate(0, 0, MaxDays); !start.After(end); start = w.next(start, w.Interval) {
		if start.After(last) {
			return false
		}
		for _, day := range w.days(start) {
			at := w.clock(day)
			if !at.Before(first) && !yield(at) {
				return true
			}
		}
	}
	return true
}

// complete fills in what a rule takes from its first occurrence.
func (w *walk) complete() {
	alone := w.weeks.any
	switch {
	case w.byWeekday || w.monthDays.any || w.yearDays.any:
		return
	case w.Freq == Weekly || w.Freq == Yearly && alone:
		w.byWeekday = true
		w.weekdays[w.first.Weekday()].add(0)
	case w.Freq == Monthly && !alone:
		w.monthDays.add(w.first.Day())
	case w.Freq == Yearly:
		w.monthDays.add(w.first.Day())
		if w.months == 0 {
			w.months = 1 << w.first.Month()
		}
	}
}

func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// period is the first day of the period that contains a day.
func (w *walk) period(day time.Time) time.Time {
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
func (w *walk) inWeek(d time.Weekday) int { return int(d-w.weekStart+7) % 7 }

func (w *walk) next(period time.Time, n int) time.Time {
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

// jump is the last period, a whole number of intervals after start, that is not after target.
func (w *walk) jump(start, target time.Time) time.Time {
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
	return w.next(start, n-n%w.Interval)
}

// days are the days of the period that the rule names.
func (w *walk) days(period time.Time) []time.Time {
	n := 0
	for day, end := period, w.next(period, 1); day.Before(end); {
		if w.Freq == Yearly && w.months != 0 && w.months&(1<<day.Month()) == 0 {
			day = day.AddDate(0, 1, 0) // day is the first of its month
			continue
		}
		if w.names(day) {
			w.named[n] = day
			n++
		}
		day = day.Add(24 * time.Hour)
	}
	if w.set.any {
		return w.positions(w.named[:n])
	}
	return w.named[:n]
}

// positions filters days by BYSETPOS.
func (w *walk) positions(days []time.Time) []time.Time {
	n := 0
	for i, day := range days {
		if w.set.has(i+1, len(days)-i) {
			days[n] = day
			n++
		}
	}
	return days[:n]
}

func (w *walk) names(day time.Time) bool {
	if w.months != 0 && w.months&(1<<day.Month()) == 0 {
		return false
	}
	if w.monthDays.any && !w.monthDays.has(day.Day(), monthLength(day)-day.Day()+1) {
		return false
	}
	if w.yearDays.any && !w.yearDays.has(day.YearDay(), yearLength(day.Year())-day.YearDay()+1) {
		return false
	}
	if w.byWeekday && !w.namesWeekday(day) {
		return false
	}
	return !w.weeks.any || w.namesWeek(day)
}

func (w *walk) namesWeekday(day time.Time) bool {
	p := &w.weekdays[day.Weekday()]
	if !p.any || p.front[0]&1 != 0 {
		return p.any
	}
	n, length := day.Day(), monthLength(day)
	if w.Freq == Yearly && w.months == 0 {
		n, length = day.YearDay(), yearLength(day.Year())
	}
	return p.has((n-1)/7+1, (length-n)/7+1)
}

// namesWeek reports whether the day is in a week of BYWEEKNO. A week belongs to the year that
// contains four of its days (RFC 5545, section 3.3.10).
func (w *walk) namesWeek(day time.Time) bool {
	year := day.Year()
	n := (day.YearDay() - w.inWeek(day.Weekday()) + 9) / 7
	if n == 0 {
		year--
		n = w.weeksOf(year)
	} else if n > w.weeksOf(year) {
		year++
		n = 1
	}
	return w.weeks.has(n, w.weeksOf(year)-n+1)
}

func (w *walk) weeksOf(year int) int {
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

// clock is the time of an occurrence on that day.
func (w *walk) clock(day time.Time) time.Time {
	h, m, s := w.first.Clock()
	if w.everyClock {
		return day.Add(w.first.Sub(midnight(w.first)))
	}
	return time.Date(day.Year(), day.Month(), day.Day(), or(w.hour, h), or(w.min, m), or(w.sec, s), 0, time.UTC)
}

func or(n, other int) int {
	if n < 0 {
		return other
	}
	return n
}
