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

// zones writes a VTIMEZONE for each zone that the events use.
func (w *writer) zones(events []Event) {
	known := map[string]string{}
	for i := range events {
		e := &events[i]
		switch {
		case e.AllDay:
		case len(e.Zone.Observances) > 0:
			w.custom(e.Zone, known)
		case e.Zone.Name != "" && e.Zone.Name != zone.UTC.Name && w.places[e.Zone.Name].clock == nil:
			w.places[e.Zone.Name] = place{e.Zone, e.Zone.Clock()}
			first, last := w.uses(events, e.Zone.Name)
			w.named(e.Zone, first, last+yearsBeyond)
		}
	}
}

// uses are the first and the last year in which events use a zone. The rules of one document are
// expanded for at most MaxSearchDays. A rule beyond that is treated as endless.
func (w *writer) uses(events []Event, name string) (first, last int) {
	first = LastYear
	for i := range events {
		e := &events[i]
		if e.AllDay || e.Zone.Name != name {
			continue
		}
		end, ends, walked := e.last(MaxSearchDays - w.walked)
		if w.walked += walked; !ends {
			end = e.Start.AddDate(yearsEndless, 0, 0)
		}
		first, last = min(first, e.Start.Year()), max(last, end.Year())
	}
	return first, last
}

// named writes the VTIMEZONE of a named zone. The texts are cached, because most meetings are in
// few zones, and computing the changes of one takes as long as writing the rest of a meeting.
func (w *writer) named(z zone.Zone, first, last int) {
	w.b = append(w.b, vtimezones.of(years{z.Name, first, last})...)
}

// years is the content of a VTIMEZONE: the years first to last of a zone.
type years struct {
	zone        string
	first, last int
}

var vtimezones vtimezoneTexts

// vtimezoneTexts caches recently written texts. mu guards kept; nobody modifies a text.
type vtimezoneTexts struct {
	mu   sync.Mutex
	kept map[years][]byte
}

// mostVTimezones is how many are cached, of some KiB each.
const mostVTimezones = 256

func (t *vtimezoneTexts) of(s years) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text, ok := t.kept[s]; ok {
		return text
	}
	if len(t.kept) >= mostVTimezones || t.kept == nil {
		t.kept = map[years][]byte{}
	}
	s.zone = strings.Clone(s.zone) // it may be a substring of a whole file
	t.kept[s] = vtimezone(s)
	return t.kept[s]
}

func vtimezone(s years) []byte {
	var w writer
	w.line("BEGIN", "VTIMEZONE")
	w.line("TZID", s.zone)
	for _, p := range (zone.Zone{Name: s.zone}).Periods(s.first, s.last) {
		w.observance(p.Observance, p.Daylight, p.Abbreviation)
	}
	w.line("END", "VTIMEZONE")
	return w.b
}

// custom writes a zone that only a file defines, under a unique name. known are the names by
// content, so that equal zones are written once.
func (w *writer) custom(z zone.Zone, known map[string]string) {
	says := fmt.Sprint(z.Observances)
	id := known[says]
	w.customs[&z.Observances[0]] = id
	if id != "" {
		return
	}
	id = fmt.Sprintf("Local-%d", len(w.places)+1)
	known[says], w.customs[&z.Observances[0]] = id, id
	w.places[id] = place{z, z.Clock()}
	w.line("BEGIN", "VTIMEZONE")
	w.line("TZID", id)
	for _, o := range z.Observances {
		w.observance(o, o.To > o.From, "")
	}
	w.line("END", "VTIMEZONE")
}

func (w *writer) observance(o zone.Observance, daylight bool, name string) {
	kind := "STANDARD"
	if daylight {
		kind = "DAYLIGHT"
	}
	w.line("BEGIN", kind)
	w.line("DTSTART", local(o.Start))
	w.line("TZOFFSETFROM", offset(o.From))
	w.line("TZOFFSETTO", offset(o.To))
	w.text("TZNAME", name)
	text, comesBack := zoneRule(o)
	if comesBack {
		w.line("RRULE", text)
	}
	if len(o.Dates) > 0 && !comesBack {
		w.line("RDATE", local(o.Start)) // repeated, because with RDATE ical.js does not count DTSTART
	}
	for _, at := range o.Dates {
		w.line("RDATE", local(at))
	}
	w.line("END", kind)
}

// zoneRule is the rule of an observance that its clock follows: a yearly one. Its end is an instant
// (RFC 5545, section 3.6.5).
func zoneRule(o zone.Observance) (spelled string, ok bool) {
	if r, err := rule.Parse(o.Rule); err != nil || r.Freq != rule.Yearly {
		return "", false
	}
	return rule.Spell(o.Rule, func(end time.Time, instant bool) string {
		if !instant {
			end = end.Add(-time.Duration(o.From) * time.Second)
		}
		return utc(end)
	})
}

func local(t time.Time) string { return t.Format("20060102T150405") }

// offset formats a UTC offset by RFC 5545, section 3.3.14.
func offset(seconds int) string {
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
