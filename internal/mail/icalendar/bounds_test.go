package icalendar

import (
	"inboxd/internal/testutil/budget"
	"strings"
	"testing"
	"time"
)

func full(prefix, unit, suffix string) []byte {
	return []byte(prefix + strings.Repeat(unit, (MaxBytes-len(prefix)-len(suffix))/len(unit)) + suffix)
}

// hostile are files that cause as much work as possible.
func hostile() map[string][]byte {
	head, tail := "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\nUID:u\nDTSTART:20260302T100000Z\n", "END:VEVENT\nEND:VCALENDAR\n"
	zones := "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VTIMEZONE\nTZID:Z\n" +
		strings.Repeat("BEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;BYMONTHDAY=30,31;BYSETPOS=1\nRDATE:19700101T000000"+strings.Repeat(",19710101T000000", 99)+"\nEND:STANDARD\n", 180) +
		"END:VTIMEZONE\nBEGIN:VEVENT\nUID:u\nDTSTART;TZID=Z:20260302T100000\nRRULE:FREQ=DAILY\nRDATE;TZID=Z:" + strings.Repeat("20260302T100000,", 100) + "\n"
	years := zones + "EXDATE;TZID=Z:"
	for y := range 100 {
		years += time.Date(1980+y, 1, 1, 0, 0, 0, 0, time.UTC).Format("20060102T150405,")
	}
	return map[string][]byte{
		"breaks":           full(head, "\n", tail),
		"folds":            full(head+"SUMMARY:", "\n ", "\n"+tail),
		"folded attendees": full(head, "ATTENDEE:\n a\n", tail),
		"attendees":        full(head, "ATTENDEE:a\n", tail),
		"names":            full(head, "ATTENDEE;CN="+strings.Repeat("é", 400)+":mailto:a@b.test\n", tail),
		"one long name":    full(head+"ATTENDEE;CN=", "^", ":mailto:a@b.test\n"+tail),
		"parameters":       full(head+"ATTENDEE", ";CN=a", ":mailto:a@b.test\n"+tail),
		"quotes":           full(head+"ATTENDEE", ";\"", "\n"+tail),
		"unclosed":         full(head, ";A=\":\n", tail),
		"exceptions":       full(head+"RRULE:FREQ=DAILY\nEXDATE:", "20260302T100000Z,", "\n"+tail),
		"text":             full(head+"DESCRIPTION:", `\n`, "\n"+tail),
		"controls":         full(head+"DESCRIPTION:", "\x01", "\n"+tail),
		"not UTF-8":        full(head+"DESCRIPTION:", "\xff\x80", "\n"+tail),
		"ends":             full(head, "END:X\n", tail),
		"unknown":          full(head, "X-A:b\n", tail),
		"zone":             []byte(zones + tail),
		"zone, years":      []byte(years + "\n" + tail),
	}
}

func TestHostileFilesAreCheap(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			took := budget.AtMost(t, budget.Of{CPU: 100 * time.Millisecond, Bytes: 32 << 20}, func() { readOne(text, func(string) bool { return false }) })
			t.Logf("%v, %d KiB", took.CPU, took.Bytes>>10)
		})
	}
}
