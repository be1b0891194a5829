package rule

import (
	"slices"
	"strings"
	"time"
)

// bounds check, for each part of a rule, whether its value is valid by RFC 5545, section 3.3.10.
// More is valid than what is expanded.
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

// Spell normalizes a rule for strict readers that reject a whole calendar because of one invalid
// rule: upper case, with FREQ, no part twice, each within its bounds, not both COUNT and UNTIL. It
// returns false for an invalid rule; rules that Parse rejects may be valid. until formats the end
// of the rule: an instant, or a local time, which for a date is its last second.
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
