package icalendar

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// seeds are the files of the test stories.
func seeds(t testing.TB) (list []string) {
	story, err := os.ReadFile(filepath.Join("testdata", "read.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?s)(event|file)[ a-z]*\n(.*?)----`).FindAllStringSubmatch(string(story), -1) {
		if m[1] == "event" {
			m[2] = eventFile(strings.TrimSpace(m[2]))
		}
		list = append(list, m[2])
	}
	if len(list) < 50 {
		t.Fatalf("%d seeds", len(list))
	}
	return list
}

func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := readOne(text, func(a string) bool { return strings.HasPrefix(a, "a") })
		if err != nil {
			if c != nil || len(err.Error()) > 200 {
				t.Fatalf("%v with %.200q", c, err)
			}
			return
		}
		if c.NoStart != c.Event.Start.IsZero() {
			t.Fatalf("no start %v: %v", c.NoStart, c.Event.Start)
		}
		if !c.NoStart {
			checkEvent(t, &c.Event)
		}
	})
}

// checkEvent checks invariants of every parsed event.
func checkEvent(t *testing.T, e *Event) {
	t.Helper()
	text := func(what, s string, most int, lines bool) {
		t.Helper()
		bad := func(r rune) bool { return isControl(r) && !(lines && (r == '\n' || r == '\t')) }
		if !utf8.ValidString(s) || utf8.RuneCountInString(s) > most || strings.ContainsFunc(s, bad) {
			t.Errorf("%s: %.100q", what, s)
		}
	}
	text("UID", e.UID, maxUID, false)
	text("title", e.Title, MaxTitle, true)
	text("location", e.Location, MaxTitle, true)
	text("description", e.Description, MaxDescription, true)
	for _, a := range e.Attendees {
		text("attendee", a.Email, maxUID, false)
		text("name", a.Name, MaxPersonName, false)
	}
	if e.UID == "" || len(e.Attendees) > maxAttendees+maxOwn {
		t.Errorf("UID %q, %d attendees", e.UID, len(e.Attendees))
	}
	if e.Start.Year() < FirstYear || e.End.Before(e.Start) || e.End.After(e.Start.AddDate(1, 0, 0)) {
		t.Errorf("%v to %v", e.Start, e.End)
	}
	if day := 24 * time.Hour; e.AllDay && !(e.Start.Equal(e.Start.Truncate(day)) && e.End.Equal(e.End.Truncate(day))) {
		t.Errorf("all day from %v to %v", e.Start, e.End)
	}
}
