package icalendar

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// raced is whether the race detector is on.
var raced bool

// cost runs f and returns the processor time of this process and the octets allocated meanwhile.
func cost(f func()) (cpu time.Duration, octets uint64) {
	var before, after syscall.Rusage
	var m, n runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	f()
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	runtime.ReadMemStats(&n)
	of := func(u syscall.Rusage) time.Duration { return time.Duration(u.Utime.Nano() + u.Stime.Nano()) }
	return of(after) - of(before), n.TotalAlloc - m.TotalAlloc
}

func full(prefix, unit, suffix string) []byte {
	return []byte(prefix + strings.Repeat(unit, (MaxBytes-len(prefix)-len(suffix))/len(unit)) + suffix)
}

// hostile are files that ask for as much work as they can.
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

// The bound is 100 ms of the processor and 32 MB; under the race detector only that it ends.
func TestHostileFilesAreCheap(t *testing.T) {
	for name, text := range hostile() {
		cpu, octets := cost(func() { Read(text, func(string) bool { return false }) })
		t.Logf("%s: %v, %d KiB", name, cpu, octets>>10)
		if raced {
			continue
		}
		if cpu > 100*time.Millisecond {
			cpu, octets = cost(func() { Read(text, nil) }) // the machine may have been at other work
		}
		if cpu > 100*time.Millisecond || octets > 32<<20 {
			t.Errorf("%s took %v and %d KiB", name, cpu, octets>>10)
		}
	}
}
