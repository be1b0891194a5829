package rule

import (
	"slices"
	"strings"
	"time"
)

// bounds tell, for each part of a rule, whether its value is within RFC 5545, section 3.3.10: wider than what is walked.
var bounds = map[string]func(value string) bool{
	"FREQ":       func(s string) bool { return slices.Contains(freqs, s) },
	"INTERVAL":   func(s string) bool { return counts(s) },
	"COUNT":      func(s string) bool { return counts(s) },
	"UNTIL":      func(s string) bool { return new(Rule).takeUntil(s) == nil },
	"BYSECOND":   func(s string) bool { return numbers(s, 0, 60, ignore) == nil },
	"BYMINUTE":   func(s string) bool { return numbers(s, 0, 59, ignore) == nil },
	"BYHOUR":     func(s string) bool { return numbers(s, 0, 23, ignore) == nil },
	"BYDAY":      func(s string) bool { return new(Rule).takeDays(s) == nil },
	"BYMONTHDAY": func(s string) bool { return signed(s, 31, ignore) == nil },
	"BYYEARDAY":  func(s string) bool { return signed(s, 366, ignore) == nil },
	"BYWEEKNO":   func(s string) bool { return signed(s, 53, ignore) == nil },
	"BYMONTH":    func(s string) bool { return numbers(s, 1, 12, ignore) == nil },
	"BYSETPOS":   func(s string) bool { return signed(s, 366, ignore) == nil },
	"WKST":       func(s string) bool { _, err := weekdayOf(s); return err == nil },
}

var freqs = []string{"SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"}

func counts(s string) bool {
	_, err := number(s, 1, 1<<31-1)
	return err == nil && s[0] != '+'
}

func ignore(int) {}

// Spell writes a rule as RFC 5545 spells it, for readers that know no more than that and give up a whole calendar
// at less: upper case, FREQ in it, no part twice, each within its bounds, COUNT or UNTIL. false: it is no such rule; what
// Parse does not walk may well be one. until writes the end that the rule has: an instant, or a local time, which for a
// date is the day's last second.
func Spell(text string, until func(end time.Time, instant bool) string) (spelled string, ok bool) {
	seen := map[string]bool{}
	var parts []string
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(text)), ";") {
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		if within := bounds[key]; within == nil || seen[key] || !within(value) {
			return "", false
		}
		if seen[key] = true; key == "UNTIL" {
			var r Rule
			_ = r.takeUntil(value) // is within its bounds
			part = "UNTIL=" + until(r.Until, r.UntilUTC)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ";"), seen["FREQ"] && !(seen["COUNT"] && seen["UNTIL"])
}

// WellFormed reports text that is a rule by its form: parts with values within their bounds, a FREQ among
// them. Parts that RFC 5545 does not name are not looked into.
func WellFormed(text string) bool {
	known := false
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(text)), ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		within := bounds[key]
		if part != "" && (!ok || within != nil && !within(value)) {
			return false
		}
		known = known || key == "FREQ"
	}
	return known
}

// On is the time at which the rule names a day, if it does. first is its first occurrence.
func (r *Rule) On(day, first time.Time) time.Time {
	w := walk{Rule: *r, first: first}
	return w.clock(midnight(day))
}
