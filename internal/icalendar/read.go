package icalendar

import (
	"bytes"
	"errors"
	"strings"

	"github.com/emersion/go-ical"
)

var (
	errNoCalendar = errors.New("icalendar: no VCALENDAR with a VEVENT")
	errMethods    = errors.New("icalendar: two METHODs")
)

// Read reads a calendar file, UTF-8 with or without a byte order mark, of the first VCALENDAR that has
// events. It describes the first VEVENT without RECURRENCE-ID, else the first one; the others of that UID are
// its overrides. own names this inbox's addresses, whose attendee line is kept however many there
// are; nil: none. ErrOverCaps tells a file that is too large; every other error one that holds no
// event that could be read.
func Read(text []byte, own func(address string) bool) (*Calendar, error) {
	roots, err := parse(text, own)
	if err != nil {
		return nil, err
	}
	if c := firstCalendar(roots); c != nil {
		return calendarOf(c)
	}
	return nil, errNoCalendar
}

// HasMethod reports whether a file has a METHOD, whatever else is wrong with it; of one beyond MaxBytes,
// whether it has one up to there. A file without is no message about a meeting (RFC 5546).
func HasMethod(text []byte) bool {
	in := lines{rest: bytes.TrimPrefix(text[:min(len(text), MaxBytes)], []byte(byteOrderMark))}
	for line, ok := in.next(); ok; line, ok = in.next() {
		if line = bytes.TrimLeft(line, " \t"); len(line) < len(ical.PropMethod) || !bytes.EqualFold(line[:len(ical.PropMethod)], []byte(ical.PropMethod)) {
			continue
		}
		if name, rest, ok := contentLine(line); ok && name == ical.PropMethod {
			p, ok := property(name, rest)
			if ok && lineOf(p.Value, maxName) != "" {
				return true
			}
		}
	}
	return false
}

// firstCalendar is the first VCALENDAR that holds a VEVENT; some wrap one in another.
func firstCalendar(list []*ical.Component) *ical.Component {
	for _, c := range list {
		if c.Name != ical.CompCalendar {
			continue
		}
		if described, _ := events(c); described != nil {
			return c
		}
		if inner := firstCalendar(c.Children); inner != nil {
			return inner
		}
	}
	return nil
}

func calendarOf(c *ical.Component) (*Calendar, error) {
	method, err := methodOf(c.Props[ical.PropMethod])
	if err != nil {
		return nil, err
	}
	described, others := events(c)
	r := reader{zones: zonesOf(c)}
	e, err := r.event(described, nil)
	if err != nil {
		return nil, err
	}
	revisions := r.overrides(e, described, others)
	return &Calendar{Method: method, Event: *e, Revisions: revisions, Following: following(described)}, nil
}

// methodOf is the one METHOD, in upper case. Two that differ are a refusal.
func methodOf(all []ical.Prop) (method string, err error) {
	for i, p := range all {
		m := strings.ToUpper(lineOf(textOf(p.Value, maxName), maxName))
		if i > 0 && m != method {
			return "", errMethods
		}
		method = m
	}
	return method, nil
}

// events finds the described event, and those beside it that may be its overrides.
func events(c *ical.Component) (described *ical.Component, others []*ical.Component) {
	for _, e := range c.Children {
		if e.Name != ical.CompEvent {
			continue
		}
		if first(e, ical.PropRecurrenceID) != nil {
			others = append(others, e)
		} else if described == nil {
			described = e
		}
	}
	if described == nil && len(others) > 0 {
		described = others[0]
	}
	return described, others
}

// reader reads the events of one file. One call of Read owns it.
type reader struct{ zones *zones }

// overrides reads what differs. An invitation to single occurrences alone, which described is
// the first of, has itself among them. A broken override is left out. It returns how new each of them is.
func (r *reader) overrides(e *Event, described *ical.Component, others []*ical.Component) (revisions []Revision) {
	var list []Override
	uid, _ := value(described, ical.PropUID)
	for _, c := range others {
		if id, _ := value(c, ical.PropUID); id != uid {
			continue
		}
		if o, err := r.event(c, e); err == nil {
			list = append(list, Override{o.RecurrenceID, o.Start, o.End, o.AllDay, o.Title, o.Location, o.Status})
			revisions = append(revisions, Revision{o.Sequence, o.Stamp})
		}
	}
	if len(list) == 0 {
		return nil
	}
	if e.Recurrence == nil {
		e.Recurrence = &Recurrence{}
	}
	e.Recurrence.Overrides = list
	return revisions
}

// following reports an occurrence that stands for all after it too.
func following(c *ical.Component) bool {
	p := first(c, ical.PropRecurrenceID)
	return p != nil && strings.EqualFold(p.Params.Get(ical.ParamRange), "THISANDFUTURE")
}
