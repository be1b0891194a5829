package icalendar

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/mail/icalendar/rule"
	"inboxd/internal/mail/icalendar/zone"
	"inboxd/internal/testutil/budget"
)

// TestSearchIsOccurrences checks that the search of a single event equals Occurrences. With
// FirstOnly, it finds the first of those.
func TestSearchIsOccurrences(t *testing.T) {
	rules := []string{"", "FREQ=DAILY", "FREQ=DAILY;COUNT=5", "FREQ=WEEKLY;BYDAY=MO,TH", "FREQ=MONTHLY;UNTIL=20270101T000000Z", "FREQ=YEARLY", "FREQ=HOURLY", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}
	rapid.Check(t, func(t *rapid.T) {
		days := func(name string, low, high int) time.Time {
			return at("2026-03-01 10:00").AddDate(0, 0, rapid.IntRange(low, high).Draw(t, name))
		}
		e := Event{Start: at("2026-03-01 10:00"), TimeZone: zone.Zone{Name: "Europe/Berlin"}}
		e.End = e.Start.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "hours")) * time.Hour)
		if r := rapid.SampledFrom(rules).Draw(t, "rule"); r != "" {
			e.Recurrence = &Recurrence{Rule: r}
			for range rapid.IntRange(0, 2).Draw(t, "lists") {
				e.Recurrence.ExceptionDates = append(e.Recurrence.ExceptionDates, days("except", 0, 9))
				e.Recurrence.AdditionalDates = append(e.Recurrence.AdditionalDates, days("also", -9, 30))
				at := days("moved", -30, 30)
				e.Recurrence.Overrides = append(e.Recurrence.Overrides, Override{RecurrenceID: days("override", 0, 9), Start: at, End: at.Add(time.Hour)})
			}
		}
		from, to := days("from", -20, 400), days("to", 0, 500)
		want, whole := e.Occurrences(from, to)
		s := Search{From: from, To: to, RemainingEvents: 1}
		got := s.In(&e)
		if len(got) != len(want) || s.IncompleteEvents > 0 == whole && e.Recurrence != nil {
			t.Fatalf("%d occurrences, want %d; stops %d, whole %v", len(got), len(want), s.IncompleteEvents, whole)
		}
		for i := range got {
			if !got[i].Start.Equal(want[i].Start) || !got[i].ID.Equal(want[i].ID) {
				t.Fatalf("number %d: %v, want %v", i, got[i], want[i])
			}
		}
		one := Search{From: from, To: to, RemainingEvents: 1, FirstOnly: true}
		if first := one.In(&e); len(first) > 0 != (len(want) > 0) || len(first) > 0 && !first[0].Start.Equal(want[0].Start) {
			t.Fatalf("the first is %.200v, want %.200v", first, want)
		}
	})
}

// TestSearchShares checks that rules without results do not use up the budget of others, and that
// all together stay within MaxSearchDays.
func TestSearchShares(t *testing.T) {
	never := Event{Start: at("2026-03-01 10:00"), End: at("2026-03-01 11:00"), TimeZone: zone.UTC, Recurrence: &Recurrence{Rule: "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}}
	daily := never
	daily.Recurrence = &Recurrence{Rule: "FREQ=DAILY"}
	s := Search{From: at("2027-03-01"), To: LastEnd, FirstOnly: true, RemainingEvents: 101}
	for range 100 {
		s.In(&never)
	}
	if s.IncompleteEvents != 100 || len(s.In(&daily)) != 1 {
		t.Errorf("%d stops, and the last found nothing", s.IncompleteEvents)
	}
	if s.spentDays > MaxSearchDays {
		t.Errorf("%d days", s.spentDays)
	}
	many := Search{From: at("2027-03-01"), To: at("2027-03-02"), RemainingEvents: MaxSearchDays}
	if list := many.In(&daily); len(list) != 0 || many.IncompleteEvents != 1 {
		t.Errorf("without any work left: %v", list)
	}
}

// TestSearchIsBoundedByZones checks that zones of strangers cost budget even if no rule is
// expanded.
func TestSearchIsBoundedByZones(t *testing.T) {
	var wild []zone.Observance
	for range 190 {
		wild = append(wild, zone.Observance{Start: at("1601-01-01"), From: 3600, To: 7200, Rule: "FREQ=YEARLY;BYMONTHDAY=1,2,3,4;BYSETPOS=366"})
	}
	e := Event{Start: at("2026-03-01 10:00"), End: at("2026-03-01 11:00"), TimeZone: zone.Zone{Observances: wild}, Recurrence: &Recurrence{Rule: "FREQ=DAILY"}}
	took := budget.AtMost(t, budget.Of{CPU: 200 * time.Millisecond, Bytes: 1 << 30}, func() {
		s := Search{From: at("2026-03-01"), To: at("2026-03-09"), RemainingEvents: 5000}
		for range 5000 {
			if len(s.In(&e)) == 0 {
				t.Fatal("the first is lost")
			}
		}
	})
	t.Log(took.CPU)
}

// TestLastWithinDays checks that the end of a rule that is not fully expanded is unknown: its zone
// is written as for an endless one.
func TestLastWithinDays(t *testing.T) {
	e := Event{Start: at("2026-03-01 10:00"), End: at("2026-03-01 11:00"), TimeZone: zone.UTC}
	for _, c := range []struct {
		rule string
		days int
		want string
	}{
		{"FREQ=DAILY", rule.MaxDays, "none"},
		{"FREQ=DAILY;COUNT=10", rule.MaxDays, "2026-03-10 11:00"},
		{"FREQ=DAILY;COUNT=10", 100, "2026-03-10 11:00"},
		{"FREQ=DAILY;COUNT=10", 5, "none"},
		{"FREQ=DAILY;COUNT=10", -5, "none"},
		{"FREQ=DAILY;UNTIL=20260310T100000Z", 0, "2026-03-10 11:00"},
		{"FREQ=HOURLY", 0, "2026-03-01 11:00"},
	} {
		e.Recurrence = &Recurrence{Rule: c.rule}
		end, ends, walked := e.lastEndWithin(c.days)
		got := end.Format("2006-01-02 15:04")
		if !ends {
			got = "none"
		}
		if got != c.want || walked > max(c.days, 0) {
			t.Errorf("%s, %d days: %s, want %s; %d walked", c.rule, c.days, got, c.want, walked)
		}
	}
}

// TestFeedsOfManyZones checks that writing a feed with many strangers' zones and rules takes time
// proportional to its size.
func TestFeedsOfManyZones(t *testing.T) {
	var events []Event
	for i := range 600 {
		var wild []zone.Observance
		for j := range 150 {
			wild = append(wild, zone.Observance{Start: at("1601-01-01"), From: 3600, To: 7200 + i*j/149, Rule: "FREQ=YEARLY;BYMONTH=3"})
		}
		e := Event{UID: "u", Start: at("2026-03-02 10:00"), End: at("2026-03-02 11:00"), TimeZone: zone.Zone{Observances: wild}, Recurrence: &Recurrence{Rule: "FREQ=DAILY;COUNT=10000;BYMONTH=2"}}
		if i%2 > 0 {
			e.TimeZone = zone.Zone{Name: "Europe/Berlin"}
		}
		events = append(events, e)
	}
	w := calendarWriter{writtenZones: map[string]zoneClock{}, customZoneIDs: map[*zone.Observance]string{}}
	if w.writeZones(events); w.expandedDays > MaxSearchDays || w.expandedDays < MaxSearchDays/2 {
		t.Errorf("%d days of rules were walked", w.expandedDays)
	}
	took := budget.AtMost(t, budget.Of{CPU: 3 * time.Second, Bytes: 1 << 30}, func() { AppendDocument(nil, &OutgoingCalendar{Method: "PUBLISH", Events: events}) })
	t.Log(took.CPU)
}
