package calendar

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
	"inboxd/internal/testutil/budget"
)

// meetings makes a calendar from lines "id start end [rule] [words]".
func meetings(t testing.TB, lines string) (b *Book) {
	t.Helper()
	for line := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) < 3 {
			continue
		}
		m := Meeting{Source: SourceInbound, MyStatus: icalendar.StatusAccepted}
		if _, err := fmt.Sscan(f[0], &m.ID); err != nil {
			t.Fatal(err)
		}
		m.Status, m.TimeZone = icalendar.StatusConfirmed, zone.UTC
		m.Start, m.End = at(f[1]), at(f[2])
		m.UpdatedAt = at("2026-03-01")
		for _, word := range f[3:] {
			describe(&m, word)
		}
		b = b.WithMeeting(&m, 1)
	}
	return b
}

func describe(m *Meeting, word string) {
	name, value, _ := strings.Cut(word, " ")
	switch {
	case strings.HasPrefix(word, "FREQ"):
		m.Recurrence = &icalendar.Recurrence{Rule: word}
	case name == "also":
		if m.Recurrence == nil {
			m.Recurrence = &icalendar.Recurrence{}
		}
		m.Recurrence.AdditionalDates = append(m.Recurrence.AdditionalDates, at(value))
	case name == "changed":
		m.UpdatedAt = at(value)
	case word == "own":
		m.Source, m.MyStatus = SourceOutbound, ""
	case word == "cancelled":
		m.Status = word
	case word == "nobody":
		m.MyStatus = ""
	default:
		m.MyStatus = word
	}
}

func idsOf(list []*Meeting) (ids []int64) {
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

const someMeetings = `
	1 | 2026-03-05 10:00 | 2026-03-05 11:00
	2 | 2026-03-01 10:00 | 2026-03-01 11:00 | FREQ=WEEKLY
	3 | 2026-03-02 10:00 | 2026-03-02 11:00 | cancelled
	4 | 2026-03-05 10:00 | 2026-03-05 10:00 | declined
	5 | 2026-03-03 00:00 | 2026-03-05 00:00 | own
	6 | 2026-02-01 10:00 | 2026-02-01 11:00 | FREQ=HOURLY
	7 | 2026-02-02 10:00 | 2026-02-02 11:00 | FREQ=DAILY;COUNT=3 | also 2026-03-20 10:00
	8 | 2026-04-01 10:00 | 2026-04-01 11:00 | nobody
`

func TestList(t *testing.T) {
	b := meetings(t, someMeetings)
	for _, c := range []struct {
		from, to  string
		cancelled bool
		want      string
	}{
		{"", "", false, "[6 7 2 5 1 4 8]"},
		{"", "", true, "[6 7 2 3 5 1 4 8]"},
		{"2026-03-05 10:00", "2026-03-05 11:00", false, "[1 4]"}, // a meeting of length zero is found at its start
		{"2026-03-05 10:30", "2026-03-05 11:00", false, "[1]"},
		{"2026-03-05 11:00", "2026-03-05 12:00", false, "[]"}, // the end is exclusive
		{"2026-03-05 09:00", "2026-03-05 10:00", false, "[]"},
		{"2026-03-04 23:00", "2026-03-06", false, "[5 1 4]"},
		{"2026-03-08", "2026-03-09", false, "[2]"}, // found by an occurrence
		{"2026-02-01", "2026-02-02", false, "[6]"}, // a rule that is not expanded: found by the first occurrence
		{"2026-02-03", "2026-02-04", false, "[7]"},
		{"2026-03-20", "2026-03-21", false, "[7]"},
		{"2026-02-04 10:30", "", false, "[7 2 5 1 4 8]"},
		{"2026-04-01", "", false, "[2 8]"},
		{"", "2026-02-02", false, "[6]"},
	} {
		q := MeetingQuery{IncludeCancelled: c.cancelled, Limit: 100}
		if c.from != "" {
			q.From = at(c.from)
		}
		if c.to != "" {
			q.To = at(c.to)
		}
		p, err := ListMeetings(b, q)
		if got := fmt.Sprint(idsOf(p.Meetings)); got != c.want || err != nil || p.NextCursor != "" {
			t.Errorf("%s to %s: %s %q, %v, want %s", c.from, c.to, got, p.NextCursor, err, c.want)
		}
	}
	if p, err := ListMeetings(nil, MeetingQuery{Limit: 1}); err != nil || p.Meetings != nil {
		t.Errorf("of no calendar: %v, %v", p, err)
	}
}

func TestListRefuses(t *testing.T) {
	for _, c := range []struct {
		q    MeetingQuery
		want string
	}{
		{MeetingQuery{From: at("2026-03-05"), To: at("2026-03-05")}, "invalid: 'to' must be after 'from'"},
		{MeetingQuery{Cursor: "x"}, "invalid: 'cursor' is not a valid cursor of this list. Use 'next_cursor' of the previous page"},
		{MeetingQuery{Cursor: listPosition{1, 1}.encodeCursor() + "A"}, "invalid: 'cursor' is not a valid cursor of this list. Use 'next_cursor' of the previous page"},
		{MeetingQuery{Cursor: listPosition{1, 1}.encodeCursor() + "\n"}, "invalid: 'cursor' is not a valid cursor of this list. Use 'next_cursor' of the previous page"},
		{MeetingQuery{Cursor: "AAAAAAAAAAAAAAAAAAAAAAA"}, "invalid: 'cursor' is not a valid cursor of this list. Use 'next_cursor' of the previous page"},
	} {
		if _, err := ListMeetings(nil, c.q); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c.q, err)
		}
	}
}

// TestPages checks that the pages of any limit make up the whole list. An interrupted list
// continues after the same meeting, whatever was added or removed meanwhile.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b *Book
		for i := range rapid.IntRange(0, 12).Draw(t, "meetings") {
			m := Meeting{ID: int64(i + 1)}
			m.Start = at("2026-03-01").Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "day")) * day)
			m.End = m.Start.Add(time.Hour)
			b = b.WithMeeting(&m, 1)
		}
		whole, err := ListMeetings(b, MeetingQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		var all []*Meeting
		for cursor, first := "", true; first || cursor != ""; first = false {
			p, err := ListMeetings(b, MeetingQuery{Limit: limit, Cursor: cursor})
			if err != nil || len(p.Meetings) > limit || p.NextCursor != "" && len(p.Meetings) < limit {
				t.Fatalf("%v, %v", p, err)
			}
			all, cursor = append(all, p.Meetings...), p.NextCursor
			if cursor != "" && rapid.Bool().Draw(t, "goes") {
				gone := p.Meetings[rapid.IntRange(0, len(p.Meetings)-1).Draw(t, "which")] // already returned
				b = b.WithoutMeetings([]int64{gone.ID})
			}
		}
		if !slices.Equal(idsOf(all), idsOf(whole.Meetings)) {
			t.Fatalf("%v, want %v", idsOf(all), idsOf(whole.Meetings))
		}
	})
}

func TestBusy(t *testing.T) {
	b := meetings(t, someMeetings+`
	9 | 2026-03-06 10:00 | 2026-03-06 13:00 | FREQ=HOURLY | also 2026-03-06 12:00 | also 2026-03-06 14:00 | also 2026-03-06 20:00
	10 | 2026-03-06 09:00 | 2026-03-06 10:00 | needs-action
	11 | 2026-03-06 09:00 | 2026-03-06 10:00 | tentative
	`)
	for _, c := range []struct{ from, to, want string }{
		{"2026-03-01", "2026-03-03", "2 accepted 01 10:00-01 11:00"},
		{"2026-03-04", "2026-03-06", "5 accepted 03 00:00-05 00:00; 1 accepted 05 10:00-05 11:00"},
		{"2026-03-06", "2026-03-07", "10 needs-action 06 09:00-06 10:00; 11 tentative 06 09:00-06 10:00; 9 accepted 06 10:00-06 17:00; 9 accepted 06 20:00-06 23:00"},
		{"2026-04-01", "2026-04-02", ""},
		{"2026-03-01", "2026-06-02", "error: invalid: 'to' must be within 92 days of 'from'"},
		{"2026-03-01", "2026-03-01", "error: invalid: 'to' must be after 'from'"},
	} {
		list, _, err := FindBusySlots(b, at(c.from), at(c.to))
		var got []string
		for _, s := range list {
			got = append(got, fmt.Sprintf("%d %s %s-%s", s.MeetingID, s.Status, s.Start.Format("02 15:04"), s.End.Format("02 15:04")))
		}
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s to %s:\n%s\nwant\n%s", c.from, c.to, got, c.want)
		}
	}
	if _, _, err := FindBusySlots(b, time.Time{}, at("2026-03-01")); err == nil || err.Error() != "invalid: 'from' is required" {
		t.Error(err)
	}
	if _, _, err := FindBusySlots(b, at("2026-03-01"), time.Time{}); err == nil || err.Error() != "invalid: 'to' is required" {
		t.Error(err)
	}
	if list, _, err := FindBusySlots(nil, at("2026-03-01"), at("2026-05-31")); list != nil || err != nil {
		t.Errorf("of no calendar: %v, %v", list, err)
	}
}

func TestConflicts(t *testing.T) {
	b := meetings(t, `
	1 | 2026-03-05 10:00 | 2026-03-05 11:00
	2 | 2026-03-05 10:30 | 2026-03-05 12:00 | own
	3 | 2026-03-05 10:30 | 2026-03-05 12:00 | declined
	4 | 2026-03-05 10:30 | 2026-03-05 12:00 | cancelled
	5 | 2026-03-05 11:00 | 2026-03-05 12:00 | needs-action
	6 | 2026-02-05 10:59 | 2026-02-05 11:30 | FREQ=DAILY
	7 | 2026-03-05 10:30 | 2026-03-05 10:30
	8 | 2026-03-05 10:30 | 2026-03-05 10:45 | nobody
	`)
	for _, c := range []struct {
		id   int64
		now  string
		want string
	}{
		{1, "2026-03-01", "[2 6]"},
		{1, "2026-03-05 10:59", "[2 6]"},
		{1, "2026-03-05 11:00", "<nil>"}, // it is over
		{2, "2026-03-01", "[1 5 6]"},
		{3, "2026-03-01", "[1 2 5 6]"}, // although it was declined
		{4, "2026-03-01", "<nil>"},
		{6, "2026-03-01", "[]"}, // its next occurrence is before all others
		{6, "2026-03-05 10:00", "[1 2 5]"},
		{7, "2026-03-01", "[1]"},
		{8, "2026-03-01", "[1 2]"},
	} {
		got := ConflictingMeetings(b, b.Meeting(c.id), at(c.now))
		text := fmt.Sprint(got)
		if got == nil {
			text = "<nil>"
		}
		if text != c.want {
			t.Errorf("of %d at %s: %s, want %s", c.id, c.now, text, c.want)
		}
	}
	for id := range int64(20) {
		m := *b.Meeting(1)
		m.ID = 20 + id
		b = b.WithMeeting(&m, 1)
	}
	if got := ConflictingMeetings(b, b.Meeting(1), at("2026-03-01")); len(got) != 10 {
		t.Errorf("%d conflicts", len(got))
	}
}

func TestGoes(t *testing.T) {
	b := meetings(t, `
	1 | 2026-03-05 10:00 | 2026-03-05 11:00
	2 | 2026-03-05 10:00 | 2026-03-05 11:00 | changed 2026-05-01
	3 | 2026-03-05 10:00 | 2026-03-05 11:00 | FREQ=DAILY
	4 | 2026-03-05 10:00 | 2026-03-05 11:00 | FREQ=DAILY | cancelled | changed 2026-04-01
	5 | 2026-03-05 10:00 | 2026-03-05 11:00 | FREQ=DAILY;COUNT=3
	6 | 2026-03-05 10:00 | 2026-03-05 11:00 | FREQ=DAILY;UNTIL=20260310T110000Z
	7 | 2026-03-05 10:00 | 2026-03-05 11:00 | FREQ=DAILY;COUNT=3 | also 2026-04-05 10:00
	8 | 2026-03-05 10:00 | 2026-03-05 11:00 | FREQ=HOURLY
	9 | 2026-03-05 10:00 | 2026-03-05 11:00 | cancelled | changed 2026-03-01
	`)
	for i, want := range []string{"2026-04-04 11:00", "2026-05-31 00:00", "never", "2026-05-01 00:00", "2026-04-06 11:00", "2026-04-09 11:00", "2026-05-05 11:00", "2026-04-04 11:00", "2026-04-04 11:00"} {
		at, ever := RemovalTime(b.Meeting(int64(i + 1)))
		got := at.Format("2006-01-02 15:04")
		if !ever {
			got = "never"
		}
		if got != want {
			t.Errorf("%d goes %s, want %s", i+1, got, want)
		}
	}
}

// TestRulesOfMany checks that a calendar full of rules makes lists, busy times and conflicts no
// slower than a few rules do. Meetings whose rule is not expanded are found by their first
// occurrence.
func TestRulesOfMany(t *testing.T) {
	var b Book
	for i := range MaxMeetings {
		m := &Meeting{ID: int64(i + 1), Source: SourceInbound, MyStatus: icalendar.StatusAccepted}
		m.Start, m.End, m.TimeZone = at("1990-01-01 10:00"), at("1990-01-01 11:00"), zone.Zone{Name: "Europe/Berlin"}
		m.Recurrence = &icalendar.Recurrence{Rule: [...]string{"FREQ=DAILY;COUNT=10000;BYMONTH=2", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;BYDAY=MO;BYMONTHDAY=31;BYMONTH=2"}[i%3]}
		b.Meetings = append(b.Meetings, m)
	}
	for name, f := range map[string]func() int{
		"list": func() int {
			p, _ := ListMeetings(&b, MeetingQuery{From: at("2026-03-01"), Limit: 1000})
			return p.UnexpandedRules
		},
		"busy":      func() int { _, stops, _ := FindBusySlots(&b, at("2026-03-01"), at("2026-05-31")); return stops },
		"conflicts": func() int { return len(ConflictingMeetings(&b, b.Meetings[0], at("2016-03-01"))) },
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			took := budget.AtMost(t, budget.Of{CPU: 2 * time.Second, Bytes: 1 << 30}, func() { n = f() })
			t.Logf("%v, %d", took.CPU, n)
		})
	}
}

func BenchmarkList(b *testing.B) {
	var book Book
	for i := range 1000 {
		m := &Meeting{ID: int64(i + 1)}
		m.Start = at("2026-03-01").Add(time.Duration(i*7919%1000) * time.Hour)
		m.End = m.Start.Add(time.Hour)
		book.Meetings = append(book.Meetings, m)
	}
	for _, limit := range []int{100, 1000} {
		b.Run(fmt.Sprint(limit), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p, err := ListMeetings(&book, MeetingQuery{Limit: limit}); err != nil || len(p.Meetings) != limit {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAheadIsNotSeen checks an occurrence that was cancelled ahead of its REQUEST. It makes nobody
// busy, is listed only together with cancelled meetings, and is omitted once the others are known.
func TestAheadIsNotSeen(t *testing.T) {
	at := firstDay.AddDate(0, 0, 7)
	cancel := said("CANCEL", icalendar.Event{UID: "u", Sequence: 1, StampedAt: firstDay, Organizer: person(boss), RecurrenceID: at, Start: at, End: at.Add(time.Hour)})
	whole := said("REQUEST", icalendar.Event{
		UID: "u", StampedAt: firstDay, Organizer: person(boss), Start: firstDay, End: firstDay.Add(time.Hour), Status: icalendar.StatusConfirmed,
		Recurrence: &icalendar.Recurrence{Rule: "FREQ=WEEKLY;COUNT=3"}, Attendees: []Attendee{line(us, icalendar.NeedsAction)},
	})
	cancel.From, whole.From = boss, boss
	for n, mailCount := range [][]*Invitation{{cancel}, {cancel, whole}} {
		book := merged(mailCount)
		shown, err := ListMeetings(book, MeetingQuery{Limit: 9})
		if err != nil || len(shown.Meetings) != n {
			t.Errorf("after %d mails the list has %d meetings, %v", n+1, len(shown.Meetings), err)
		}
		if all, err := ListMeetings(book, MeetingQuery{Limit: 9, IncludeCancelled: true}); err != nil || len(all.Meetings) != 1 {
			t.Errorf("after %d mails the list of all has %d meetings, %v", n+1, len(all.Meetings), err)
		}
		busy, _, err := FindBusySlots(book, firstDay, firstDay.AddDate(0, 0, 30))
		if err != nil || len(busy) != 2*n || slices.ContainsFunc(busy, func(s BusySlot) bool { return s.Start.Equal(at) }) {
			t.Errorf("after %d mails busy at %v, %v", n+1, busy, err)
		}
		text := string(AppendFeed(nil, "me", book))
		if strings.Count(text, "BEGIN:VEVENT") != n+1 || strings.Count(text, "STATUS:CANCELLED") != 1 || strings.Count(text, "RECURRENCE-ID") != 1 {
			t.Errorf("after %d mails the feed is\n%s", n+1, text)
		}
	}
}
