package icalendar

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// corpus returns the folder of calendar files from other programs, or skips the test.
func corpus(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("INBOX_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpora")
	}
	dir = filepath.Join(dir, "cal")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpora: set INBOX_CORPORA, or put them at %s", filepath.Dir(dir))
	}
	return dir
}

// expected is what two other parsers found in a file.
type expected struct {
	File           string
	Use            string
	UIDs           int
	Method         *string
	UID            *string
	Title          *string
	Start          string
	End            string
	AllDay         bool `json:"all_day"`
	Timezone       *string
	Organizer      *string
	Attendees      int
	AttendeeStatus []string `json:"attendee_status"`
	Recurring      bool
	Overrides      int
	Sequence       int
	Status         *string
	Location       *string
}

// calendarText is the file, or the first calendar part of a message.
func calendarText(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".eml") {
		return raw
	}
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text := calendarPart(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body)
	if text == nil {
		t.Fatalf("%s: no calendar part", name)
	}
	return text
}

func calendarPart(contentType, encoding string, body io.Reader) []byte {
	kind, params, _ := mime.ParseMediaType(contentType)
	if strings.HasPrefix(kind, "multipart/") {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			p, err := parts.NextRawPart()
			if err != nil {
				return nil
			}
			if text := calendarPart(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p); text != nil {
				return text
			}
		}
	}
	if kind != "text/calendar" && kind != "application/ics" && !strings.HasSuffix(params["name"], ".ics") {
		return nil
	}
	switch strings.ToLower(encoding) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	text, _ := io.ReadAll(body)
	return text
}

func rows(t *testing.T, dir string) (list []expected) {
	f, err := os.Open(filepath.Join(dir, "expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var e expected
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func TestCorpus(t *testing.T) {
	dir, used := corpus(t), 0
	for _, want := range rows(t, dir) {
		t.Run(want.File, func(t *testing.T) {
			text := calendarText(t, filepath.Join(dir, want.File))
			c, err := readOne(text, nil)
			if want.Use != "yes" {
				return // it only must not crash
			}
			used++
			if want.UID == nil { // an error is expected, or an event without a UID
				if err == nil {
					t.Fatalf("read without a UID: %+v", c.Event)
				}
				text = bytes.Replace(text, []byte("BEGIN:VEVENT"), []byte("BEGIN:VEVENT\r\nUID:none"), 1)
				want.UID = new(string)
				*want.UID = "none"
				c, err = readOne(text, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			want.check(t, c)
		})
	}
	if used == 0 {
		t.Error("no row was used")
	}
}

func (want *expected) check(t *testing.T, c *Calendar) {
	t.Helper()
	e := &c.Event
	same := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	same("method", c.Method, strings.ToUpper(text(want.Method)))
	same("uid", e.UID, text(want.UID))
	same("title", e.Title, truncateText(text(want.Title), MaxTitle))
	same("all_day", e.AllDay, want.AllDay)
	same("start", shown(e.Start, e.AllDay), instant(want.Start))
	if want.End != "" {
		same("end", shown(e.End, e.AllDay), instant(want.End))
	}
	if want.Timezone != nil || e.AllDay {
		same("timezone", e.TimeZone.Name, text(want.Timezone))
	}
	organizer := ""
	if e.Organizer != nil {
		organizer = cmp.Or(strings.TrimPrefix(e.Organizer.URI, "mailto:"), e.Organizer.Email) // the other parsers do not know EMAIL
	}
	same("organizer", organizer, text(want.Organizer))
	var statuses []string
	for _, a := range e.Attendees {
		statuses = append(statuses, a.ParticipationStatus)
	}
	if len(statuses) != want.Attendees || !slices.Equal(statuses, want.AttendeeStatus) && want.Attendees > 0 {
		t.Errorf("attendees are %v, want %v", statuses, want.AttendeeStatus)
	}
	if want.File != "d-070.ics" { // its UNTIL is invalid: the rule is dropped
		same("recurring", e.IsRecurring(), want.Recurring)
	}
	if want.UIDs == 1 {
		n := 0
		if e.Recurrence != nil {
			n = len(e.Recurrence.Overrides)
		}
		same("overrides", n, want.Overrides)
	}
	same("sequence", e.Sequence, want.Sequence)
	status := text(want.Status)
	if status == "" {
		status = StatusConfirmed
	}
	same("status", e.Status, status)
	same("location", e.Location, text(want.Location))
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func shown(at time.Time, allDay bool) string {
	if allDay {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.RFC3339)
}

// instant is an expected time; a floating one is in UTC.
func instant(s string) string {
	if strings.Contains(s, "T") && !strings.HasSuffix(s, "Z") {
		return s + "Z"
	}
	return s
}
