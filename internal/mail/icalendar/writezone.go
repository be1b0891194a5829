package icalendar

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"inboxd/internal/mail/icalendar/rule"
	"inboxd/internal/mail/icalendar/zone"
)

// yearsBeyond is how many years a VTIMEZONE covers after the last use of its zone, and yearsEndless
// after the first use in an endless meeting. That is enough, because clients know the zone names
// and fetch a feed again.
const yearsBeyond, yearsEndless = 5, 10

// writeZones writes a VTIMEZONE for each zone that the events use.
func (w *calendarWriter) writeZones(events []Event) {
	known := map[string]string{}
	for i := range events {
		e := &events[i]
		switch {
		case e.AllDay:
		case len(e.TimeZone.Observances) > 0:
			w.writeCustomZone(e.TimeZone, known)
		case e.TimeZone.Name != "" && e.TimeZone.Name != zone.UTC.Name && w.writtenZones[e.TimeZone.Name].clock == nil:
			w.writtenZones[e.TimeZone.Name] = zoneClock{e.TimeZone, e.TimeZone.Clock()}
			first, last := w.usedYears(events, e.TimeZone.Name)
			w.writeNamedZone(e.TimeZone, first, last+yearsBeyond)
		}
	}
}

// usedYears are the first and the last year in which events use a zone. The rules of one document are
// expanded for at most MaxSearchDays. A rule beyond that is treated as endless.
func (w *calendarWriter) usedYears(events []Event, name string) (first, last int) {
	first = LastYear
	for i := range events {
		e := &events[i]
		if e.AllDay || e.TimeZone.Name != name {
			continue
		}
		end, ends, walked := e.lastEndWithin(MaxSearchDays - w.expandedDays)
		if w.expandedDays += walked; !ends {
			end = e.Start.AddDate(yearsEndless, 0, 0)
		}
		first, last = min(first, e.Start.Year()), max(last, end.Year())
	}
	return first, last
}

// writeNamedZone writes the VTIMEZONE of a named zone. The texts are cached, because most meetings
// are in few zones, and computing the changes of one takes as long as writing the rest of a
// meeting.
func (w *calendarWriter) writeNamedZone(z zone.Zone, first, last int) {
	w.b = append(w.b, vtimezones.of(zoneYears{z.Name, first, last})...)
}

// zoneYears is the content of a VTIMEZONE: the years first to last of a zone.
type zoneYears struct {
	zone                string
	firstYear, lastYear int
}

var vtimezones vtimezoneTexts

// vtimezoneTexts caches recently written texts. mu guards kept; nobody modifies a text.
type vtimezoneTexts struct {
	mu          sync.Mutex
	cachedTexts map[zoneYears][]byte
}

// mostVTimezones is how many are cached, of some KiB each.
const mostVTimezones = 256

func (t *vtimezoneTexts) of(s zoneYears) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text, ok := t.cachedTexts[s]; ok {
		return text
	}
	if len(t.cachedTexts) >= mostVTimezones || t.cachedTexts == nil {
		t.cachedTexts = map[zoneYears][]byte{}
	}
	s.zone = strings.Clone(s.zone) // it may be a substring of a whole file
	t.cachedTexts[s] = vtimezone(s)
	return t.cachedTexts[s]
}

func vtimezone(s zoneYears) []byte {
	var w calendarWriter
	w.writeLine("BEGIN", "VTIMEZONE")
	w.writeLine("TZID", s.zone)
	for _, p := range (zone.Zone{Name: s.zone}).PeriodsBetween(s.firstYear, s.lastYear) {
		w.writeObservance(p.Observance, p.IsDaylight, p.Abbreviation)
	}
	w.writeLine("END", "VTIMEZONE")
	return w.b
}

// writeCustomZone writes a zone that only a file defines, under a unique name. known are the names by
// content, so that equal zones are written once.
func (w *calendarWriter) writeCustomZone(z zone.Zone, known map[string]string) {
	says := fmt.Sprint(z.Observances)
	id := known[says]
	w.customZoneIDs[&z.Observances[0]] = id
	if id != "" {
		return
	}
	id = fmt.Sprintf("Local-%d", len(w.writtenZones)+1)
	known[says], w.customZoneIDs[&z.Observances[0]] = id, id
	w.writtenZones[id] = zoneClock{z, z.Clock()}
	w.writeLine("BEGIN", "VTIMEZONE")
	w.writeLine("TZID", id)
	for _, o := range z.Observances {
		w.writeObservance(o, o.To > o.From, "")
	}
	w.writeLine("END", "VTIMEZONE")
}

func (w *calendarWriter) writeObservance(o zone.Observance, daylight bool, name string) {
	kind := "STANDARD"
	if daylight {
		kind = "DAYLIGHT"
	}
	w.writeLine("BEGIN", kind)
	w.writeLine("DTSTART", formatLocal(o.Start))
	w.writeLine("TZOFFSETFROM", formatOffset(o.From))
	w.writeLine("TZOFFSETTO", formatOffset(o.To))
	w.writeText("TZNAME", name)
	text, comesBack := zoneRule(o)
	if comesBack {
		w.writeLine("RRULE", text)
	}
	if len(o.Dates) > 0 && !comesBack {
		w.writeLine("RDATE", formatLocal(o.Start)) // repeated, because with RDATE ical.js does not count DTSTART
	}
	for _, at := range o.Dates {
		w.writeLine("RDATE", formatLocal(at))
	}
	w.writeLine("END", kind)
}

// zoneRule is the rule of an observance that its clock follows: a yearly one. Its end is an instant
// (RFC 5545, section 3.6.5).
func zoneRule(o zone.Observance) (spelled string, ok bool) {
	if r, err := rule.Parse(o.Rule); err != nil || r.Freq != rule.Yearly {
		return "", false
	}
	return rule.NormalizeRule(o.Rule, func(end time.Time, instant bool) string {
		if !instant {
			end = end.Add(-time.Duration(o.From) * time.Second)
		}
		return formatUTC(end)
	})
}

func formatLocal(t time.Time) string { return t.Format("20060102T150405") }

// formatOffset formats a UTC offset by RFC 5545, section 3.3.14.
func formatOffset(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	s := fmt.Sprintf("%c%02d%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		s += fmt.Sprintf("%02d", seconds%60)
	}
	return s
}
