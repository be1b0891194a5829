package icalendar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/teambition/rrule-go"

	"inboxd/internal/mail/icalendar/zone"
	"inboxd/internal/testutil/budget"
)

func at(s string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	panic(s)
}

func TestOccurrences(t *testing.T) {
	for _, row := range []struct{ what, event, from, to, want string }{
		{"once, inside", "DTEND:20260302T110000Z", "2026-03-02", "2026-03-03", "03-02 10:00"},
		{"ends as the window begins", "DTEND:20260302T110000Z", "2026-03-02 11:00", "2026-03-03", ""},
		{"begins as the window ends", "DTEND:20260302T110000Z", "2026-03-01", "2026-03-02 10:00", ""},
		{"overlaps the beginning", "DTEND:20260302T110000Z", "2026-03-02 10:59", "2026-03-03", "03-02 10:00"},
		{"no length, at the beginning", "", "2026-03-02 10:00", "2026-03-03", "03-02 10:00"},
		{"no length, at the end", "", "2026-03-01", "2026-03-02 10:00", ""},
		{"daily", "RRULE:FREQ=DAILY;COUNT=3", "2026-01-01", "2027-01-01", "03-02 10:00, 03-03 10:00, 03-04 10:00"},
		{"a window into it", "RRULE:FREQ=DAILY", "2036-03-04", "2036-03-06", "03-04 10:00, 03-05 10:00"},
		{"an hour of the clocks there", "DTSTART;TZID=Europe/Berlin:20260327T100000\nRRULE:FREQ=DAILY;COUNT=4", "2026-01-01", "2027-01-01", "03-27 09:00, 03-28 09:00, 03-29 08:00, 03-30 08:00"},
		{"DTSTART counts where the rule leaves it out", "RRULE:FREQ=WEEKLY;BYDAY=TU;COUNT=3", "2026-01-01", "2027-01-01", "03-02 10:00, 03-03 10:00, 03-10 10:00"},
		{"UNTIL is the last", "RRULE:FREQ=DAILY;UNTIL=20260304T100000Z", "2026-01-01", "2027-01-01", "03-02 10:00, 03-03 10:00, 03-04 10:00"},
		{"UNTIL a date", "RRULE:FREQ=DAILY;UNTIL=20260303", "2026-01-01", "2027-01-01", "03-02 10:00, 03-03 10:00"},
		{"UNTIL by the clocks there", "DTSTART;TZID=America/New_York:20260302T220000\nRRULE:FREQ=DAILY;UNTIL=20260303T220000", "2026-01-01", "2027-01-01", "03-03 03:00, 03-04 03:00"},
		{"EXDATE", "RRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260303T100000Z", "2026-01-01", "2027-01-01", "03-02 10:00, 03-04 10:00"},
		{"EXDATE in another zone", "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Europe/Berlin:20260303T110000", "2026-01-01", "2027-01-01", "03-02 10:00, 03-04 10:00"},
		{"EXDATE a date", "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20260303", "2026-01-01", "2027-01-01", "03-02 10:00, 03-04 10:00"},
		{"RDATE", "RDATE:20260305T100000Z,20260302T100000Z", "2026-01-01", "2027-01-01", "03-02 10:00, 03-05 10:00"},
		{"RDATE that is excepted", "RDATE:20260305T100000Z\nEXDATE:20260305T100000Z", "2026-01-01", "2027-01-01", "03-02 10:00"},
		{"all day", "DTSTART;VALUE=DATE:20260302\nRRULE:FREQ=MONTHLY;COUNT=2\nEXDATE;VALUE=DATE:20260302", "2026-01-01", "2027-01-01", "04-02 00:00"},
		{"never expanded", "RRULE:FREQ=HOURLY", "2026-01-01", "2027-01-01", "03-02 10:00 and more"},
		{"an override alone", "RECURRENCE-ID:20260301T100000Z", "2026-01-01", "2027-01-01", "03-02 10:00*"},
		{"moved, cancelled", "UID:u\nDTSTART:20260302T100000Z\nRRULE:FREQ=DAILY;COUNT=4\nEND:VEVENT\nBEGIN:VEVENT\nUID:u\nRECURRENCE-ID:20260303T100000Z\nDTSTART:20260308T120000Z\n" +
			"END:VEVENT\nBEGIN:VEVENT\nUID:u\nRECURRENCE-ID:20260304T100000Z\nDTSTART:20260304T100000Z\nSTATUS:CANCELLED", "2026-01-01", "2027-01-01", "03-02 10:00, 03-05 10:00, 03-08 12:00*"},
		{"moved into the window", "UID:u\nDTSTART:20260302T100000Z\nRRULE:FREQ=DAILY;COUNT=4\nEND:VEVENT\nBEGIN:VEVENT\nUID:u\nRECURRENCE-ID:20260303T100000Z\nDTSTART:20260308T120000Z", "2026-03-08", "2026-03-09", "03-08 12:00*"},
		{"a day that never comes", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "2026-01-01", "2100-01-01", "03-02 10:00"},
	} {
		c, err := readOne([]byte(eventFile(strings.TrimPrefix(row.event, "\n"))), nil)
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
			continue
		}
		list, whole := c.Event.Occurrences(at(row.from), at(row.to))
		var got []string
		for _, o := range list {
			s := o.Start.Format("01-02 15:04")
			if o.Override != nil {
				s += "*"
			}
			if o.End.Sub(o.Start) != c.Event.End.Sub(c.Event.Start) && o.Override == nil {
				t.Errorf("%s: %v to %v", row.what, o.Start, o.End)
			}
			got = append(got, s)
		}
		text := strings.Join(got, ", ")
		if !whole {
			text += " and more"
		}
		if text != row.want {
			t.Errorf("%s: %s, want %s", row.what, text, row.want)
		}
	}
}

func TestLast(t *testing.T) {
	for lines, want := range map[string]string{
		"DTEND:20260302T110000Z":                                            "2026-03-02T11:00:00Z",
		"RRULE:FREQ=DAILY":                                                  "endless",
		"DTEND:20260302T110000Z\nRRULE:FREQ=DAILY;COUNT=3":                  "2026-03-04T11:00:00Z",
		"RRULE:FREQ=DAILY;COUNT=3\nRDATE:20270101T000000Z":                  "2027-01-01T00:00:00Z",
		"DTSTART:19700101T000000Z\nRRULE:FREQ=DAILY;UNTIL=20500101T000000Z": "2050-01-01T00:00:00Z",
		"RRULE:FREQ=HOURLY":                                                 "2026-03-02T10:00:00Z",
	} {
		c, err := readOne([]byte(eventFile(lines)), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := "endless"
		if end, ends := c.Event.LastOccurrenceEnd(); ends {
			got = end.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", lines, got, want)
		}
	}
}

// randomRule makes a rule for which rrule-go and this package agree: see
// TestOccurrencesAgreeWithRRuleGo.
func randomRule(r *rand.Rand) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	list := func(n int, of func() string) string {
		var all []string
		for range 1 + r.IntN(n) {
			all = append(all, of())
		}
		return strings.Join(all, ",")
	}
	numbers := func(n int, signed bool) func() string {
		return func() string {
			k := 1 + r.IntN(n)
			if signed && r.IntN(3) == 0 {
				k = -k
			}
			return fmt.Sprint(k)
		}
	}
	days := func() string { return pick("MO", "TU", "WE", "TH", "FR", "SA", "SU") }
	freq := pick("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
	text := "FREQ=" + freq
	maybe := func(part string, value func() string) bool {
		if r.IntN(3) > 0 {
			return false
		}
		text += ";" + part + "=" + value()
		return true
	}
	maybe("INTERVAL", numbers(7, false))
	maybe("WKST", days)
	maybe("BYMONTH", func() string { return list(3, numbers(12, false)) })
	days1 := days
	if (freq == "MONTHLY" || freq == "YEARLY") && r.IntN(2) == 0 {
		days1 = func() string { return pick("1", "2", "-1", "3", "-2") + days() }
	}
	any := maybe("BYMONTHDAY", func() string { return list(4, numbers(31, true)) })
	if !any || r.IntN(2) == 0 {
		any = maybe("BYDAY", func() string { return list(4, days1) }) || any
	}
	if freq == "YEARLY" && !any {
		any = maybe("BYYEARDAY", func() string { return list(4, numbers(366, true)) })
	}
	if any && freq != "WEEKLY" {
		maybe("BYSETPOS", func() string { return list(2, numbers(4, true)) })
	}
	maybe("BYHOUR", func() string { return fmt.Sprint(r.IntN(24)) })
	maybe("BYMINUTE", func() string { return fmt.Sprint(r.IntN(60)) })
	return text
}

// TestOccurrencesAgreeWithRRuleGo skips rules that rrule-go reads differently. It does not count
// DTSTART if the rule does not name it, and begins the positions of a first week at DTSTART. It
// takes every day of a BYWEEKNO, and of "MO,1TU" only days that are both. It searches up to the
// year 9999 for a day that never comes, so the rules are given an UNTIL.
func TestOccurrencesAgreeWithRRuleGo(t *testing.T) {
	seed := uint64(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).Unix())
	r := rand.New(rand.NewPCG(seed, 1))
	compared := 0
	for range 500 {
		text := randomRule(r)
		start := time.Date(1990+r.IntN(40), time.Month(1+r.IntN(12)), 1+r.IntN(31), r.IntN(24), r.IntN(60), 0, 0, time.UTC)
		until := start.AddDate(12, 0, 0)
		o, err := rrule.StrToROption(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		o.Dtstart, o.Until = start, until
		other, err := rrule.NewRRule(*o)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want := other.All()
		if len(want) == 0 || len(want) > 5000 {
			continue
		}
		compared++
		e := Event{Start: want[0], End: want[0], TimeZone: zone.UTC, Recurrence: &Recurrence{Rule: text + until.Format(";UNTIL=20060102T150405Z")}}
		// The rule's phase is DTSTART's: it must begin where rrule-go's did.
		if !strings.Contains(text, "INTERVAL") || want[0].Equal(start) {
			same(t, text+" from "+start.String(), occurrences(&e), want)
		}
	}
	if compared < 150 {
		t.Errorf("only %d rules were compared", compared)
	}
}

func occurrences(e *Event) (list []time.Time) {
	all, whole := e.Occurrences(e.Start, LastEnd)
	if !whole {
		return nil
	}
	for _, o := range all {
		list = append(list, o.Start)
	}
	return list
}

func same(t *testing.T, what string, got, want []time.Time) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: %v is missing", what, want[i])
		case i >= len(want):
			t.Errorf("%s: %v is too much", what, got[i])
		case !got[i].Equal(want[i]):
			t.Errorf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		default:
			continue
		}
		return
	}
}

// TestExpandingIsBounded checks the limit of 20 ms for any rule, window and zone.
func TestExpandingIsBounded(t *testing.T) {
	start := at("1970-01-01 10:00")
	var wild []zone.Observance
	for range 190 {
		wild = append(wild, zone.Observance{Start: at("1601-01-01"), From: 3600, To: 7200, Rule: "FREQ=YEARLY;BYMONTHDAY=1,2,3,4;BYSETPOS=366", Dates: []time.Time{start, start}})
	}
	europe := []zone.Observance{
		{Start: at("1601-01-01 03:00"), From: 7200, To: 3600, Rule: "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10"},
		{Start: at("1601-01-01 02:00"), From: 3600, To: 7200, Rule: "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3"},
	}
	for _, text := range []string{"FREQ=DAILY", "FREQ=DAILY;COUNT=10000", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "FREQ=YEARLY;BYWEEKNO=53;BYYEARDAY=366;BYDAY=MO;BYMONTHDAY=1", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=-1,1,2,3"} {
		for name, z := range map[string]zone.Zone{"UTC": zone.UTC, "Berlin": {Name: "Europe/Berlin"}, "observed": {Observances: europe}, "wild": {Observances: wild}} {
			e := Event{Start: start, End: start.AddDate(1, 0, 0), TimeZone: z, Recurrence: &Recurrence{Rule: text}}
			for range 100 {
				e.Recurrence.ExceptionDates = append(e.Recurrence.ExceptionDates, start)
			}
			var list []Occurrence
			took := budget.AtMost(t, budget.Of{CPU: 20 * time.Millisecond, Bytes: 32 << 20}, func() { list, _ = e.Occurrences(start, LastEnd) })
			t.Logf("%s, %s: %d in %v, %d KiB", text, name, len(list), took.CPU, took.Bytes>>10)
			if len(list) > MaxOccurrences {
				t.Errorf("%s, %s: %d", text, name, len(list))
			}
		}
	}
}
