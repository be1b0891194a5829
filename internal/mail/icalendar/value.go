package icalendar

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// textOf decodes the escapes of RFC 5545, section 3.3.11, and cleans the result. A backslash before
// any other character stays.
func textOf(value string, most int) string {
	if strings.IndexByte(value, '\\') >= 0 {
		value = unescaper.Replace(value)
	}
	return cleanText(value, most)
}

var unescaper = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\\`, `\`, `\,`, ",", `\;`, ";")

// NormalizeText returns a text in the form in which it is read back: LF for every kind of line
// break, UTF-8, and no other control character except TAB.
func NormalizeText(s string) string {
	s = lineBreaks.Replace(strings.ToValidUTF8(s, "\uFFFD"))
	return cleanText(s, len(s))
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// SingleLine returns somebody else's text on one line.
func SingleLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return lineOf(s, len(s))
}

// cleanText removes control characters except line feed and tab, and everything beyond most code
// points.
func cleanText(s string, most int) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if isControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	if len(s) <= most {
		return s
	}
	return truncateText(s, most)
}

// truncateText returns a copy of the first code points, so that the rest can be freed.
func truncateText(s string, most int) string {
	for i := range s {
		if most == 0 {
			return strings.Clone(s[:i])
		}
		most--
	}
	return s
}

func isControl(r rune) bool {
	return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029'
}

// lineOf is a clean text on one line, for names and identifiers; most is in octets. A shortened
// result is a copy.
func lineOf(s string, most int) string {
	whole := len(s)
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, s))
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	if len(s) == whole {
		return s
	}
	return strings.Clone(s)
}

// sequenceOf parses SEQUENCE, 0 to 2^31-1.
func sequenceOf(value string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
	if err != nil {
		return 0, errNumber // the error of strconv contains the value
	}
	return int(n), nil
}

var (
	errNumber   = errors.New("not 0 to 2^31-1")
	errTime     = errors.New("not a date or time")
	errDuration = errors.New("icalendar: bad duration")
)

// nominalDuration is a duration: days follow the local clock, the rest is exact.
type nominalDuration struct {
	days      int
	exactPart time.Duration
}

// durationOf parses a DURATION (RFC 5545, section 3.3.6).
func durationOf(value string) (d nominalDuration, err error) {
	s := strings.ToUpper(strings.TrimSpace(value))
	negative := strings.HasPrefix(s, "-")
	s, ok := strings.CutPrefix(strings.TrimLeft(s, "+-"), "P")
	if !ok || s == "" {
		return d, errDuration
	}
	for inTime := false; s != ""; {
		if s[0] == 'T' && !inTime {
			inTime, s = true, s[1:]
		}
		if s == "" {
			break // some programs write "P1DT"
		}
		i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if i <= 0 || i > 8 { // less than a hundred million of any unit
			return d, errDuration
		}
		n, _ := strconv.Atoi(s[:i])
		if !d.addUnit(n, s[i], inTime) {
			return d, errDuration
		}
		s = s[i+1:]
	}
	if negative {
		d.days, d.exactPart = -d.days, -d.exactPart
	}
	return d, nil
}

func (d *nominalDuration) addUnit(n int, unit byte, inTime bool) bool {
	switch {
	case !inTime && unit == 'W':
		d.days += 7 * n
	case !inTime && unit == 'D':
		d.days += n
	case inTime && unit == 'H':
		d.exactPart += time.Duration(n) * time.Hour
	case inTime && unit == 'M':
		d.exactPart += time.Duration(n) * time.Minute
	case inTime && unit == 'S':
		d.exactPart += time.Duration(n) * time.Second
	default:
		return false
	}
	return true
}

// dateOrTime is a date or a local time, represented in UTC, or an instant.
type dateOrTime struct {
	at         time.Time
	isDateOnly bool
	isUTC      bool
}

// momentOf parses a DATE or DATE-TIME; asDate makes both a date. A PERIOD becomes its start, a leap
// second the second before it.
func momentOf(value string, asDate bool) (m dateOrTime, err error) {
	s, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(value)), "/")
	if asDate && len(s) > 8 && s[8] == 'T' {
		s = s[:8]
	}
	if len(s) == 8 {
		m.isDateOnly = true
		m.at, err = parseTime("20060102", s)
		return m, err
	}
	s, m.isUTC = strings.CutSuffix(s, "Z")
	if len(s) == 13 || len(s) == 14 {
		s = s[:13] + "00" // seconds are missing or lost a digit
	}
	if len(s) == 15 && strings.HasSuffix(s, "60") {
		s = s[:13] + "59"
	}
	m.at, err = parseTime("20060102T150405", s)
	return m, err
}

func parseTime(layout, s string) (time.Time, error) {
	t, err := time.Parse(layout, s)
	if err != nil {
		return t, errTime // the error of time contains the value
	}
	return t, nil
}

// offsetOf parses a UTC offset, +HHMM or +HHMMSS, into seconds.
func offsetOf(value string) (int, error) {
	s := strings.TrimSpace(value)
	sign := 1
	if strings.HasPrefix(s, "-") {
		sign = -1
	}
	s = strings.TrimLeft(s, "+-")
	if len(s) == 4 {
		s += "00"
	}
	t, err := time.Parse("150405", s)
	if err != nil {
		return 0, err
	}
	return sign * int(t.Sub(t.Truncate(24*time.Hour)).Seconds()), nil
}
