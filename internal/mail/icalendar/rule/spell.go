package rule

import (
	"slices"
	"strings"
	"time"
)

// partValidators check, for each part of a rule, whether its value is valid by RFC 5545, section
// 3.3.10. More is valid than what is expanded.
var partValidators = map[string]func(value string) bool{
	"FREQ":       func(s string) bool { return slices.Contains(freqs, s) },
	"INTERVAL":   func(s string) bool { return isPositiveNumber(s) },
	"COUNT":      func(s string) bool { return isPositiveNumber(s) },
	"UNTIL":      func(s string) bool { return new(Rule).takeUntil(s) == nil },
	"BYSECOND":   func(s string) bool { return parseNumbers(s, 0, 60, ignoreNumber) == nil },
	"BYMINUTE":   func(s string) bool { return parseNumbers(s, 0, 59, ignoreNumber) == nil },
	"BYHOUR":     func(s string) bool { return parseNumbers(s, 0, 23, ignoreNumber) == nil },
	"BYDAY":      func(s string) bool { return new(Rule).takeDays(s) == nil },
	"BYMONTHDAY": func(s string) bool { return parseSignedNumbers(s, 31, ignoreNumber) == nil },
	"BYYEARDAY":  func(s string) bool { return parseSignedNumbers(s, 366, ignoreNumber) == nil },
	"BYWEEKNO":   func(s string) bool { return parseSignedNumbers(s, 53, ignoreNumber) == nil },
	"BYMONTH":    func(s string) bool { return parseNumbers(s, 1, 12, ignoreNumber) == nil },
	"BYSETPOS":   func(s string) bool { return parseSignedNumbers(s, 366, ignoreNumber) == nil },
	"WKST":       func(s string) bool { _, err := weekdayOf(s); return err == nil },
}

var freqs = []string{"SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"}

func isPositiveNumber(s string) bool {
	_, err := parseNumber(s, 1, 1<<31-1)
	return err == nil && s[0] != '+'
}

func ignoreNumber(int) {}

// NormalizeRule normalizes a rule for strict readers that reject a whole calendar because of one
// invalid rule: upper case, with FREQ, no part twice, each within its bounds, not both COUNT and
// UNTIL. It returns false for an invalid rule; rules that Parse rejects may be valid. until formats
// the end of the rule: an instant, or a local time, which for a date is its last second.
func NormalizeRule(text string, until func(end time.Time, instant bool) string) (spelled string, ok bool) {
	seen := map[string]bool{}
	var parts []string
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(text)), ";") {
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		if within := partValidators[key]; within == nil || seen[key] || !within(value) {
			return "", false
		}
		if seen[key] = true; key == "UNTIL" {
			var r Rule
			_ = r.takeUntil(value) // cannot fail: it is within its bounds
			part = "UNTIL=" + until(r.Until, r.UntilUTC)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ";"), seen["FREQ"] && !(seen["COUNT"] && seen["UNTIL"])
}

// WellFormed reports whether text has the form of a rule: parts with values within their bounds,
// including FREQ. Parts that RFC 5545 does not define are not checked.
func WellFormed(text string) bool {
	known := false
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(text)), ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		within := partValidators[key]
		if part != "" && (!ok || within != nil && !within(value)) {
			return false
		}
		known = known || key == "FREQ"
	}
	return known
}

// On is the time at which the rule names a day, if it does. first is its first occurrence.
func (r *Rule) On(day, first time.Time) time.Time {
	w := ruleWalk{Rule: *r, firstOccurrence: first}
	return w.atClockTime(startOfDay(day))
}
