package icalendar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"inboxd/internal/mail/icalendar/zone"
	"inboxd/internal/testutil/testtools"
)

// asked is an event that another program expands.
type asked struct {
	event    *Event
	from, to time.Time
}

// MarshalJSON returns the input format of testdata/occurrences.py.
func (a asked) MarshalJSON() ([]byte, error) {
	text := AppendDocument(nil, &OutgoingCalendar{Method: "REQUEST", Events: []Event{*a.event}})
	return json.Marshal([]string{string(text), a.from.Format(time.RFC3339), a.to.Format(time.RFC3339)})
}

// TestOccurrencesAgreeWithPython compares with python3-recurring-ical-events. It uses random rules,
// in zones with and without summer time, for days and for hours, with exceptions and additional
// dates. That program does not count a DTSTART that the rule does not name, so the meetings begin
// where their rule does.
func TestOccurrencesAgreeWithPython(t *testing.T) {
	seed := uint64(time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC).Unix())
	r := rand.New(rand.NewPCG(seed, 2))
	var all []asked
	for len(all) < 150 {
		if e := randomEvent(r); e != nil {
			from := e.Start.AddDate(0, r.IntN(30), 0)
			all = append(all, asked{e, from.Truncate(time.Second), from.AddDate(2, 0, 0).Truncate(time.Second)})
		}
	}
	in, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), testtools.ProgramPath(t, "python3"), filepath.Join("testdata", "occurrences.py"))
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	var theirs [][]string
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &theirs)
	}
	if err != nil || len(theirs) != len(all) {
		t.Fatalf("%v: %s (make deps)", err, said.Bytes())
	}
	times := 0
	for i, a := range all {
		ours := starts(a)
		times += len(ours)
		if !slices.Equal(ours, theirs[i]) {
			t.Errorf("%s\nfrom %v to %v: %d times, they have %d; %s", AppendDocument(nil, &OutgoingCalendar{Events: []Event{*a.event}}), a.from, a.to, len(ours), len(theirs[i]), firstDifference(ours, theirs[i]))
		}
	}
	if times < 2000 {
		t.Errorf("only %d times were compared", times)
	}
}

func firstDifference(ours, theirs []string) string {
	for i := range max(len(ours), len(theirs)) {
		if i >= len(ours) || i >= len(theirs) || ours[i] != theirs[i] {
			return fmt.Sprintf("number %d: %v, %v", i, ours[min(i, len(ours)):min(i+3, len(ours))], theirs[min(i, len(theirs)):min(i+3, len(theirs))])
		}
	}
	return ""
}

func starts(a asked) []string {
	list := []string{}
	occurrences, _ := a.event.Occurrences(a.from, a.to)
	for _, o := range occurrences {
		format := "2006-01-02T15:04:05Z"
		if a.event.AllDay {
			format = time.DateOnly
		}
		list = append(list, o.Start.Format(format))
	}
	slices.Sort(list)
	return list
}

// randomEvent begins where its rule does; nil if the rule has too few times.
func randomEvent(r *rand.Rand) *Event {
	e := &Event{UID: "u", Start: time.Date(1995+r.IntN(30), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(4)*15, 0, 0, time.UTC)}
	text := randomRule(r)
	e.AllDay = r.IntN(4) == 0
	if e.AllDay {
		e.Start = e.Start.Truncate(24 * time.Hour)
		text = strings.Split(strings.Split(text, ";BYHOUR")[0], ";BYMINUTE")[0]
	} else {
		e.TimeZone = zone.Zone{Name: []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney"}[r.IntN(5)]}
	}
	e.Recurrence = &Recurrence{Rule: text}
	e.End = e.Start
	all, _ := e.Occurrences(e.Start.Add(time.Second), e.Start.AddDate(12, 0, 0))
	if len(all) < 4 {
		return nil
	}
	length := time.Duration(1+r.IntN(8)) * 15 * time.Minute
	if e.AllDay {
		length = 24 * time.Hour
	}
	e.Start = all[1].Start
	if clock := e.TimeZone.Clock(); !e.AllDay && clock.ToLocal(e.Start).Hour() < 5 {
		return nil // for an hour that occurs twice, pytz takes the second, RFC 5545 the first
	}
	e.End = e.Start.Add(length)
	e.Recurrence.Rule += []string{"", ";COUNT=20", ";UNTIL=" + all[len(all)-1].Start.Format("20060102T150405Z")}[r.IntN(3)]
	if r.IntN(2) == 0 {
		e.Recurrence.ExceptionDates = []time.Time{all[2].Start, all[3].Start}
	}
	also := e.Start.AddDate(0, 5, 3)
	if alongside, _ := e.Occurrences(also.AddDate(0, 0, -2), also.AddDate(0, 0, 2)); len(alongside) == 0 { // they allow one occurrence a day
		e.Recurrence.AdditionalDates = []time.Time{also}
	}
	if e.AllDay {
		e.Recurrence.Rule = strings.ReplaceAll(e.Recurrence.Rule, "T000000Z", "")
	}
	return e
}
