package icalendar

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"inboxd/internal/mail/icalendar/zone"
)

// TestWrite prints what is written of what was parsed.
func TestWrite(t *testing.T) {
	datadriven.RunTest(t, "testdata/write.txt", func(t *testing.T, d *datadriven.TestData) string {
		text := d.Input
		if d.Cmd == "event" {
			text = eventFile(text)
		}
		c, err := readOne([]byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		doc := OutgoingCalendar{Method: c.Method, Events: []Event{c.Event}}
		d.MaybeScanArgs(t, "name", &doc.FeedName)
		out := AppendDocument(nil, &doc)
		checkLines(t, out)
		again(t, c, out)
		return strings.ReplaceAll(string(out), "\r\n", "\n")
	})
}

// checkLines checks invariants of every text that we write.
func checkLines(t *testing.T, text []byte) {
	t.Helper()
	rest, whole := bytes.CutSuffix(text, []byte("\r\n"))
	if !whole || !utf8.Valid(text) {
		t.Errorf("no line break at the end, or no UTF-8: %q", text)
	}
	for line := range bytes.SplitSeq(rest, []byte("\r\n")) {
		if len(line) == 0 || len(line) > 75 || bytes.ContainsAny(line, "\r\n\x00") || !utf8.Valid(line) {
			t.Errorf("%d octets: %q", len(line), line)
		}
	}
}

// again checks that a written text is parsed to the same meeting.
func again(t *testing.T, c *Calendar, text []byte) {
	t.Helper()
	if len(text) > MaxBytes {
		return
	}
	d, err := readOne(text, func(string) bool { return true })
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if clock := c.Event.TimeZone.Clock(); !clock.ToInstant(clock.ToLocal(c.Event.Start)).Equal(c.Event.Start) {
		d.Event.TimeZone = c.Event.TimeZone // it was written in UTC
	}
	takesPlaceAlike(t, c, d, text)
	c = spelt(c)
	if !reflect.DeepEqual(c.Event.TimeZone.Observances, d.Event.TimeZone.Observances) {
		t.Errorf("observances: %v, want %v", d.Event.TimeZone, c.Event.TimeZone)
	}
	if d.Event.JoinURL != c.Event.JoinURL {
		t.Errorf("joined at %q, want %q", d.Event.JoinURL, c.Event.JoinURL)
	}
	d.Links, d.AltHTML = c.Links, ""
	if c.NoStart {
		d.Event.AllDay = c.Event.AllDay // a RECURRENCE-ID that is a date sets it, and is not always written
	}
	if got, want := describe(d), describe(c); got != want {
		t.Errorf("read again:\n%s\nwas:\n%s\nwritten:\n%s", got, want, text)
	}
	if d.Event.Title != c.Event.Title || d.Event.Description != c.Event.Description {
		t.Errorf("texts: %q, %q", d.Event.Title, d.Event.Description)
	}
}

// takesPlaceAlike checks that the written meeting occurs at the same times.
func takesPlaceAlike(t *testing.T, c, d *Calendar, text []byte) {
	t.Helper()
	times := func(e *Event) (all []string) {
		list, _ := e.Occurrences(e.Start.AddDate(-1, 0, 0), e.Start.AddDate(3, 0, 0))
		for _, o := range list {
			all = append(all, fmt.Sprint(o.Start, o.End))
		}
		return all
	}
	if got, want := times(&d.Event), times(&c.Event); !slices.Equal(got, want) {
		t.Errorf("takes place at %v, want %v\n%s", got, want, text)
	}
}

// spelt is a calendar with its rules as they are written.
func spelt(c *Calendar) *Calendar {
	d := *c
	d.AltHTML = "" // is not written
	d.Links = d.Links[:min(len(d.Links), 1)]
	if e := &d.Event; e.ZoneUnknown() && len(e.TimeZone.Observances) == 0 && !e.Start.IsZero() {
		e.TimeZone = zone.UTC // its times are written in UTC
	}
	if r := c.Event.Recurrence; r != nil {
		rec := *r
		rec.Rule = d.Event.formatRule(r.Rule)
		if d.Event.Recurrence = &rec; rec.Rule == "" && len(rec.AdditionalDates)+len(rec.Overrides) == 0 {
			d.Event.Recurrence = nil
		}
	}
	d.Event.TimeZone.Observances = slices.Clone(c.Event.TimeZone.Observances)
	for i, o := range d.Event.TimeZone.Observances {
		d.Event.TimeZone.Observances[i].Rule, _ = zoneRule(o)
	}
	return &d
}

// TestNothingBreaksOut checks that other people's text cannot inject a line, a parameter or a
// second value.
func TestNothingBreaksOut(t *testing.T) {
	for _, s := range []string{
		"a\r\nATTENDEE:mailto:evil@x.test", "a\nEND:VEVENT", "a\rEND:VEVENT", "a\u2028END:VEVENT", "a\u0085END:VEVENT", "a\x00b", "a\x0bb\x0cc",
		`a";ROLE=CHAIR:mailto:evil@x.test`, `a^"b`, "a^nb", "a^'b", `a\`, `a\nb`, `a;b,c:d`, "a\xffb", strings.Repeat("é", 100), strings.Repeat("\"", 80), "",
	} {
		e := Event{
			UID: "u" + s, Title: s, Location: s, Description: s, Comment: s, Status: StatusConfirmed,
			Start: at("2026-03-02 10:00"), End: at("2026-03-02 11:00"), TimeZone: zone.UTC, StampedAt: at("2026-01-01"),
			Organizer: &Person{Email: "boss@org.test" + s, Name: s}, Attendees: []Attendee{{Person: Person{Email: "a@b.test" + s, Name: s}, Role: RoleRequired, ParticipationStatus: StatusAccepted, UserType: s}},
			Recurrence: &Recurrence{Rule: "FREQ=DAILY" + s},
		}
		text := AppendDocument(nil, &OutgoingCalendar{Method: "REQUEST" + s, FeedName: "n" + s, Events: []Event{e}})
		checkLines(t, text)
		var names []string
		in := lineReader{unreadBytes: text}
		for line, ok := in.nextLine(); ok; line, ok = in.nextLine() {
			name, _, _ := contentLine(line)
			names = append(names, name)
		}
		want := "BEGIN PRODID VERSION CALSCALE METHOD NAME X-WR-CALNAME REFRESH-INTERVAL X-PUBLISHED-TTL BEGIN UID DTSTAMP SEQUENCE DTSTART DTEND RRULE SUMMARY LOCATION DESCRIPTION STATUS ORGANIZER ATTENDEE COMMENT END END"
		if got := strings.Join(names, " "); s != "" && strings.ReplaceAll(got, " RRULE", "") != strings.ReplaceAll(want, " RRULE", "") {
			t.Errorf("%q: lines %s", s, got)
		}
		c, err := readOne(text, nil)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if a := c.Event.Attendees; len(a) != 1 || a[0].Role != RoleRequired || a[0].ParticipationStatus != StatusAccepted {
			t.Errorf("%q: attendees %+v", s, a)
		}
		if got, want := c.Event.Title, cleanText(strings.ToValidUTF8(s, "\uFFFD"), MaxTitle); got != want {
			t.Errorf("title is %q, want %q", got, want)
		}
		if got, want := c.Event.Organizer.Name, lineOf(strings.ToValidUTF8(cleanText(s, 200), "\uFFFD"), 2000); got != want {
			t.Errorf("name is %q, want %q", got, want)
		}
	}
}

// TestWhatIsWrittenIsReadAgain writes and parses every file of the test stories and of the corpus.
func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	for _, s := range seeds(t) {
		if c, err := readOne([]byte(s), nil); err == nil {
			again(t, c, AppendDocument(nil, &OutgoingCalendar{Method: c.Method, Events: []Event{c.Event}}))
		}
	}
	dir := corpus(t)
	for _, row := range rows(t, dir) {
		c, err := readOne(calendarText(t, dir+"/"+row.File), nil)
		if err != nil {
			continue
		}
		text := AppendDocument(nil, &OutgoingCalendar{Method: c.Method, Events: []Event{c.Event}})
		checkLines(t, text)
		again(t, c, text)
	}
}

// TestVTimezonesAreKept checks that the cache returns the same text for the same years, another for
// others, and that its size is limited.
func TestVTimezonesAreKept(t *testing.T) {
	var texts vtimezoneTexts
	first := texts.of(zoneYears{"Europe/Berlin", 2026, 2031})
	for last := 2031; last < 2031+mostVTimezones; last++ {
		s := zoneYears{"Europe/Berlin", 2026, last}
		if got := texts.of(s); !bytes.Equal(got, vtimezone(s)) || last > 2031 && bytes.Equal(got, first) {
			t.Fatalf("to %d: %s", last, got)
		}
	}
	if again := texts.of(zoneYears{"Europe/Berlin", 2026, 2031}); !bytes.Equal(again, first) || &again[0] != &first[0] {
		t.Error("it was written anew")
	}
	texts.of(zoneYears{"Asia/Tokyo", 2026, 2031})
	if n := len(texts.cachedTexts); n != 1 {
		t.Errorf("%d are kept", n)
	}
}

// TestWrittenZonesAreTrue checks that a VTIMEZONE that we write equals the named zone, from the
// first year of use to five years after the last.
func TestWrittenZonesAreTrue(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "Africa/Casablanca", "Europe/Dublin"} {
		e := Event{UID: "u", Start: at("2016-03-02 10:00"), End: at("2021-03-02 11:00"), TimeZone: zone.Zone{Name: name}}
		e.End = e.Start.Add(time.Hour)
		e.Recurrence = &Recurrence{Rule: "FREQ=YEARLY;COUNT=6"}
		text := string(AppendDocument(nil, &OutgoingCalendar{Method: "REQUEST", Events: []Event{e}}))
		if n := strings.Count(text, "BEGIN:VTIMEZONE"); n != 1 {
			t.Fatalf("%s: %d VTIMEZONEs", name, n)
		}
		c, err := readOne([]byte(strings.ReplaceAll(text, name, "Somewhere")), nil)
		if err != nil {
			t.Fatal(err)
		}
		named, written := e.TimeZone.Clock(), c.Event.TimeZone.Clock()
		if c.Event.TimeZone.Name != "" {
			t.Fatalf("%s: the VTIMEZONE was not asked", name)
		}
		for hour := at("2016-01-02"); hour.Year() < 2027; hour = hour.Add(time.Hour) {
			if a, b := named.ToLocal(hour), written.ToLocal(hour); !a.Equal(b) {
				t.Fatalf("%s: %v UTC shows %v, by the VTIMEZONE %v", name, hour, a, b)
			}
		}
	}
}

// TestAmbiguousTimesAreWrittenInUTC uses a local time that occurs twice, whose second instant local
// time cannot express.
func TestAmbiguousTimesAreWrittenInUTC(t *testing.T) {
	second := at("2026-10-25 01:30") // 02:30 in Berlin, the second time
	e := Event{UID: "u", Start: second, End: second, TimeZone: zone.Zone{Name: "Europe/Berlin"}, Status: StatusConfirmed}
	c, err := readOne(AppendDocument(nil, &OutgoingCalendar{Method: "REQUEST", Events: []Event{e}}), nil)
	if err != nil || !c.Event.Start.Equal(second) {
		t.Errorf("%v, %v", c, err)
	}
}

// TestOverridesRepeatLittle checks that the feed of a stranger's meeting is not much larger than
// the original file.
func TestOverridesRepeatLittle(t *testing.T) {
	e := Event{UID: "u", Start: at("2026-03-02 10:00"), End: at("2026-03-02 10:00"), TimeZone: zone.UTC, Description: strings.Repeat("x", 20_000), Recurrence: &Recurrence{Rule: "FREQ=DAILY"}}
	for i := range 199 {
		day := e.Start.AddDate(0, 0, i+1)
		e.Recurrence.Overrides = append(e.Recurrence.Overrides, Override{RecurrenceID: day, Start: day, End: day})
	}
	if n := len(AppendDocument(nil, &OutgoingCalendar{Method: "PUBLISH", Events: []Event{e}})); n > 128<<10 {
		t.Errorf("%d octets", n)
	}
}

// FuzzWrite checks that a written calendar is parsed to the same meeting, whatever was parsed
// before and whatever the texts contain.
func FuzzWrite(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s), "a;b,c\\n\n", "Doe, \"J\" ^n")
	}
	f.Fuzz(func(t *testing.T, text []byte, title, name string) {
		c, err := readOne(text, func(string) bool { return true })
		if err != nil {
			return
		}
		if c.Event.RecurrenceID.IsZero() { // otherwise it is also an override
			c.Event.Title = cleanText(strings.ToValidUTF8(title, "\uFFFD"), MaxTitle)
		}
		for i := range c.Event.Attendees {
			c.Event.Attendees[i].Name = truncateText(lineOf(strings.ToValidUTF8(name, "\uFFFD"), maxParam), MaxPersonName)
		}
		out := AppendDocument(nil, &OutgoingCalendar{Method: c.Method, Events: []Event{c.Event}})
		checkLines(t, out)
		again(t, c, out)
	})
}
