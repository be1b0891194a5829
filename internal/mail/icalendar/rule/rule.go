// Package rule parses recurrence rules (RFC 5545, section 3.3.10) and expands the days that they
// name. It works with local days and clock times, represented as times in UTC. It does not know
// zones, instants and events.
package rule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Freq is the length of a rule's period.
type Freq uint8

// The frequencies that are expanded. Rules of shorter periods are kept as text.
const (
	Daily Freq = iota + 1
	Weekly
	Monthly
	Yearly
)

// Limits of rules that are expanded. Rules beyond them are only stored as text.
const (
	maxText     = 2000
	maxInterval = 1000
	maxCount    = 10_000
)

var errNotWalked = errors.New("rule: outside what is walked")

// Rule is a parsed rule. Its zero value names no day.
type Rule struct {
	Freq     Freq
	Interval int       // 1 or more
	Count    int       // 0: no COUNT
	Until    time.Time // zero: no UNTIL
	UntilUTC bool      // Until is an instant; else a local time, for a date its last second

	months       uint16 // bit n is month n
	monthDays    positionSet
	yearDays     positionSet
	weekNumbers  positionSet
	weekdays     [7]positionSet // place 0 is every such day
	byWeekday    bool
	setPositions positionSet // BYSETPOS
	weekStart    time.Weekday
	hour         int // -1: that of the first occurrence
	min, sec     int
	everyClock   bool // no BYHOUR, BYMINUTE or BYSECOND
}

// positionSet are positions counted from the front and from the back, 1 to 366.
type positionSet struct {
	front, back [6]uint64
	hasAny      bool
}

func (p *positionSet) addPosition(n int) {
	p.hasAny = true
	if n < 0 {
		p.back[-n/64] |= 1 << (-n % 64)
		return
	}
	p.front[n/64] |= 1 << (n % 64)
}

func (p *positionSet) hasPosition(front, back int) bool {
	return p.front[front/64]&(1<<(front%64)) != 0 || p.back[back/64]&(1<<(back%64)) != 0
}

// Parse parses the value of an RRULE. It fails for invalid rules and for rules outside the limits:
// more often than daily, several clock times a day, INTERVAL over 1,000, COUNT over 10,000, other
// calendars, both COUNT and UNTIL.
func Parse(text string) (Rule, error) {
	if len(text) > maxText {
		return Rule{}, errNotWalked
	}
	r := Rule{Interval: 1, weekStart: time.Monday, hour: -1, min: -1, sec: -1}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(text)), ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if part == "" {
			continue
		}
		if !ok || seen[key] {
			return Rule{}, fmt.Errorf("rule: bad part %.40q", part)
		}
		seen[key] = true
		if err := r.parsePart(key, value); err != nil {
			return Rule{}, err
		}
	}
	if r.Freq == 0 {
		return Rule{}, errors.New("rule: no FREQ")
	}
	if r.Count > 0 && !r.Until.IsZero() {
		return Rule{}, errNotWalked // it is undefined which of the two ends it
	}
	r.everyClock = r.hour < 0 && r.min < 0 && r.sec < 0
	return r, r.ordinalsFit()
}

func (r *Rule) parsePart(key, value string) (err error) {
	switch key {
	case "FREQ":
		r.Freq, err = freqOf(value)
	case "INTERVAL":
		r.Interval, err = parseNumber(value, 1, maxInterval)
	case "COUNT":
		r.Count, err = parseNumber(value, 1, maxCount)
	case "UNTIL":
		err = r.takeUntil(value)
	case "BYMONTH":
		err = parseNumbers(value, 1, 12, func(n int) { r.months |= 1 << n })
	case "BYMONTHDAY":
		err = parseSignedNumbers(value, 31, r.monthDays.addPosition)
	case "BYYEARDAY":
		err = parseSignedNumbers(value, 366, r.yearDays.addPosition)
	case "BYWEEKNO":
		err = parseSignedNumbers(value, 53, r.weekNumbers.addPosition)
	case "BYSETPOS":
		err = parseSignedNumbers(value, 366, r.setPositions.addPosition)
	case "BYDAY":
		err = r.takeDays(value)
	case "BYHOUR":
		r.hour, err = parseNumber(value, 0, 23)
	case "BYMINUTE":
		r.min, err = parseNumber(value, 0, 59)
	case "BYSECOND":
		r.sec, err = parseNumber(value, 0, 59)
	case "WKST":
		r.weekStart, err = weekdayOf(value)
	default:
		err = errNotWalked
	}
	return err
}

// ordinalsFit rejects ordinals, such as the third Monday, in periods other than a month or a year.
func (r *Rule) ordinalsFit() error {
	if r.Freq == Monthly || r.Freq == Yearly && !r.weekNumbers.hasAny {
		return nil
	}
	for _, p := range r.weekdays {
		p.front[0] &^= 1
		if p.front != [6]uint64{} || p.back != [6]uint64{} {
			return errNotWalked
		}
	}
	return nil
}

func freqOf(s string) (Freq, error) {
	switch s {
	case "DAILY":
		return Daily, nil
	case "WEEKLY":
		return Weekly, nil
	case "MONTHLY":
		return Monthly, nil
	case "YEARLY":
		return Yearly, nil
	}
	return 0, errNotWalked
}

func (r *Rule) takeUntil(s string) (err error) {
	switch len(s) {
	case len("20060102"):
		r.Until, err = time.Parse("20060102", s)
		r.Until = r.Until.Add(24*time.Hour - time.Second)
	case len("20060102T150405Z"):
		r.UntilUTC = true
		r.Until, err = time.Parse("20060102T150405Z", s)
	default:
		r.Until, err = time.Parse("20060102T150405", s)
	}
	return err
}

// takeDays parses BYDAY: weekdays, each with or without an ordinal.
func (r *Rule) takeDays(list string) error {
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if len(item) < 2 {
			return fmt.Errorf("rule: bad day %q", item)
		}
		day, err := weekdayOf(item[len(item)-2:])
		if err != nil {
			return err
		}
		n := 0
		if ordinal := item[:len(item)-2]; ordinal != "" {
			if n, err = signedNumber(ordinal, 53); err != nil {
				return err
			}
		}
		r.byWeekday = true
		r.weekdays[day].addPosition(n)
	}
	return nil
}

func weekdayOf(s string) (time.Weekday, error) {
	i := strings.Index("SUMOTUWETHFRSA", s)
	if len(s) != 2 || i < 0 || i%2 != 0 {
		return 0, fmt.Errorf("rule: bad weekday %.10q", s)
	}
	return time.Weekday(i / 2), nil
}

func parseNumber(s string, low, high int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("rule: %.40q is not one number from %d to %d", s, low, high)
	}
	return n, nil
}

func signedNumber(s string, high int) (int, error) {
	n, err := parseNumber(s, -high, high)
	if err == nil && n == 0 {
		err = errors.New("rule: place 0")
	}
	return n, err
}

func parseNumbers(list string, low, high int, add func(int)) error {
	for item := range strings.SplitSeq(list, ",") {
		n, err := parseNumber(strings.TrimSpace(item), low, high)
		if err != nil {
			return err
		}
		add(n)
	}
	return nil
}

func parseSignedNumbers(list string, high int, add func(int)) error {
	for item := range strings.SplitSeq(list, ",") {
		n, err := signedNumber(strings.TrimSpace(item), high)
		if err != nil {
			return err
		}
		add(n)
	}
	return nil
}
