package message

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// parseDate parses a Date field (RFC 5322 sections 3.3 and 4.3) into UTC. The order of the words
// does not matter, so asctime and other formats are accepted: a month's name, a time with colons, a
// zone, a day of one or two digits, a year.
func parseDate(v string) (_ time.Time, ok bool) {
	d := dateWords{day: -1, year: -1, hour: -1}
	whole := strings.TrimSpace(withoutComments(v))
	v = joinClock(whole)
	for v = strings.TrimLeft(v, " ,\t"); v != ""; v = strings.TrimLeft(v, " ,\t") {
		end := strings.IndexAny(v, " ,\t")
		if end < 0 {
			end = len(v)
		}
		d.readWord(v[:end])
		v = v[end:]
	}
	if !d.isComplete() {
		t, err := time.Parse(time.RFC3339, whole)
		return inYears(t.UTC(), err == nil)
	}
	t := time.Date(d.year, d.month, d.day, d.hour, d.minute, d.second, 0, time.UTC)
	return inYears(t.Add(-d.offset), true)
}

// withoutComments replaces each comment by a space.
func withoutComments(v string) string {
	if strings.IndexByte(v, '(') < 0 {
		return v
	}
	var b strings.Builder
	for {
		before, _, found := strings.Cut(v, "(")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte(' ')
		_, v = cutComment(v[len(before):])
	}
}

// joinClock removes the spaces around colons.
func joinClock(v string) string {
	if !strings.Contains(v, " :") && !strings.Contains(v, ": ") && strings.IndexByte(v, '\t') < 0 {
		return v
	}
	parts := strings.Split(v, ":")
	for i := range parts {
		parts[i] = strings.Trim(parts[i], " \t")
	}
	return strings.Join(parts, ":")
}

// isComplete reports whether there is a day, a month, a year and a time.
func (d *dateWords) isComplete() bool {
	switch {
	case d.day < 1, d.day > 31, d.month == 0, d.year < 1900, d.year > 9999, d.hour < 0:
		return false
	}
	return true
}

// inYears rejects years that ISO 8601 cannot write with four digits.
func inYears(t time.Time, ok bool) (time.Time, bool) {
	if !ok || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t, true
}

// dateWords are the parsed parts of a date; -1 is missing. One parseDate owns it.
type dateWords struct {
	day, year            int
	month                time.Month
	hour, minute, second int
	offset               time.Duration // east of UTC
	hasOffset            bool          // offset was given in digits
}

func (d *dateWords) readWord(word string) {
	c := word[0]
	switch {
	case strings.IndexByte(word, ':') > 0 && d.hour < 0:
		d.readClock(word)
	case (c == '+' || c == '-') && d.hour >= 0:
		d.readOffset(word)
	case c >= '0' && c <= '9':
		d.readNumber(word)
	case d.month == 0 && monthOf(word) != 0:
		d.month = monthOf(word)
	case d.hour >= 0 && !d.hasOffset:
		d.readZone(word)
	}
}

// readZone parses the name of a zone, GMT+0100, or AM and PM.
func (d *dateWords) readZone(word string) {
	name := strings.ToUpper(strings.TrimRight(word, "."))
	if sign := strings.IndexAny(name, "+-"); sign > 0 {
		d.readOffset(name[sign:])
		return
	}
	switch offset, known := namedZones[name]; {
	case known:
		d.offset = offset
	case name == "PM" && d.hour < 12:
		d.hour += 12
	case name == "AM" && d.hour == 12:
		d.hour = 0
	}
}

// readNumber parses a day or a year, or both with the month between hyphens (02-Jan-2006,
// 2006-01-02).
func (d *dateWords) readNumber(word string) {
	if day, rest, ok := strings.Cut(word, "-"); ok {
		month, year, _ := strings.Cut(rest, "-")
		d.readNumber(day)
		if d.month = monthOf(month); len(day) == 4 {
			d.month = time.Month(max(upTo(12, month), 0))
		}
		word = year
	}
	word = strings.TrimRight(word, ".")
	n, err := strconv.Atoi(word)
	switch {
	case err != nil:
	case d.day < 0 && len(word) <= 2:
		d.day = n
	case d.year < 0:
		d.year = fullYear(n, len(word))
	}
}

// fullYear expands years of two and three digits by RFC 5322 section 4.3.
func fullYear(n, digits int) int {
	switch {
	case digits == 2 && n < 50:
		return n + 2000
	case digits <= 3:
		return n + 1900
	}
	return n
}

// readClock parses hh:mm, hh:mm:ss or hh:mm:ss.fff; an invalid time makes the date invalid.
func (d *dateWords) readClock(word string) {
	h, rest, _ := strings.Cut(word, ":")
	m, s, _ := strings.Cut(rest, ":")
	s, _, _ = strings.Cut(s, ".")
	hour, minute, second := upTo(23, h), upTo(59, m), upTo(60, cmp.Or(s, "0"))
	if min(hour, minute, second) >= 0 {
		d.hour, d.minute, d.second = hour, minute, second
	}
}

// upTo parses a number from 0 to max, -1 for any other.
func upTo(max int, word string) int {
	n, err := strconv.Atoi(word)
	if err != nil || n > max {
		return -1
	}
	return n
}

// readOffset parses +hhmm.
func (d *dateWords) readOffset(word string) {
	digits := strings.Replace(word[1:], ":", "", 1)
	n, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 4 || !inRange(n/100, 23) || !inRange(n%100, 59) {
		return
	}
	d.hasOffset = true
	d.offset = time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if word[0] == '-' {
		d.offset = -d.offset
	}
}

func inRange(n, max int) bool { return n >= 0 && n <= max }

// monthOf parses the first three letters of a month's name, 0 if invalid.
func monthOf(word string) time.Month {
	if len(word) < 3 {
		return 0
	}
	for i, name := range monthNames {
		if strings.EqualFold(word[:3], name) {
			return time.Month(i + 1)
		}
	}
	return 0
}

var monthNames = [...]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// namedZones are the named zones of RFC 5322 section 4.3, and others whose names mean one zone in
// messages. Every other name counts as UTC: BST and IST are ambiguous, and single letters were used
// wrongly.
var namedZones = map[string]time.Duration{
	"EST": -5 * time.Hour, "EDT": -4 * time.Hour,
	"CST": -6 * time.Hour, "CDT": -5 * time.Hour,
	"MST": -7 * time.Hour, "MDT": -6 * time.Hour,
	"PST": -8 * time.Hour, "PDT": -7 * time.Hour,

	"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0,
	"WEST": 1 * time.Hour, "CET": 1 * time.Hour, "MET": 1 * time.Hour, "MEZ": 1 * time.Hour,
	"CEST": 2 * time.Hour, "MEST": 2 * time.Hour, "MESZ": 2 * time.Hour, "EET": 2 * time.Hour, "SAST": 2 * time.Hour, "CAT": 2 * time.Hour,
	"EEST": 3 * time.Hour, "MSK": 3 * time.Hour, "TRT": 3 * time.Hour, "EAT": 3 * time.Hour,
	"MSD": 4 * time.Hour, "PKT": 5 * time.Hour, "NPT": 5*time.Hour + 45*time.Minute,
	"ICT": 7 * time.Hour, "WIB": 7 * time.Hour, "HKT": 8 * time.Hour, "SGT": 8 * time.Hour, "PHT": 8 * time.Hour, "AWST": 8 * time.Hour,
	"JST": 9 * time.Hour, "KST": 9 * time.Hour, "ACST": 9*time.Hour + 30*time.Minute, "ACDT": 10*time.Hour + 30*time.Minute,
	"AEST": 10 * time.Hour, "AEDT": 11 * time.Hour, "NZST": 12 * time.Hour, "NZDT": 13 * time.Hour,
	"HST": -10 * time.Hour, "AKST": -9 * time.Hour, "AKDT": -8 * time.Hour, "BRT": -3 * time.Hour, "ART": -3 * time.Hour,
	"NST": -(3*time.Hour + 30*time.Minute), "NDT": -(2*time.Hour + 30*time.Minute),
}
