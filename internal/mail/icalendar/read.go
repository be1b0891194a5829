package icalendar

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/emersion/go-ical"
)

var (
	errNoCalendar = errors.New("icalendar: no VCALENDAR with a VEVENT")
	errMethods    = errors.New("icalendar: two METHODs")
)

// Read parses a calendar file, UTF-8 with or without a byte order mark. It returns the events of
// the first VCALENDAR that has any, and of later ones with the same METHOD, by UID in the order of
// the file. For each UID it describes the first VEVENT without RECURRENCE-ID, else the first one;
// the others are its overrides. own selects this inbox's addresses, whose attendee line is kept
// beyond the limit; nil: none. dropped means that something was invalid and left out. ErrOverCaps
// reports a file that is too large; any other error means that no event could be parsed.
func Read(text []byte, own func(address string) bool) (all []*Calendar, dropped bool, err error) {
	roots, dropped, err := parseTree(text, own)
	if err != nil {
		return nil, dropped, err
	}
	for _, c := range calendarsIn(nil, roots) {
		read, lost, failed := calendarOf(c)
		dropped = dropped || lost || failed != nil
		if err == nil {
			err = failed
		}
		if len(all) == 0 || len(read) == 0 || read[0].Method == all[0].Method {
			all = append(all, read...)
		} else {
			dropped = true
		}
	}
	if len(all) > 0 {
		return all, dropped, nil
	}
	return nil, dropped, cmp.Or(err, errNoCalendar)
}

// HasMethod reports whether a file has a METHOD, whatever else is wrong with it, within its first
// MaxBytes. A file without METHOD is not a message about a meeting (RFC 5546).
func HasMethod(text []byte) bool {
	in := lineReader{unreadBytes: bytes.TrimPrefix(text[:min(len(text), MaxBytes)], []byte(byteOrderMark))}
	for line, ok := in.nextLine(); ok; line, ok = in.nextLine() {
		if line = bytes.TrimLeft(line, " \t"); len(line) < len(ical.PropMethod) || !bytes.EqualFold(line[:len(ical.PropMethod)], []byte(ical.PropMethod)) {
			continue
		}
		if name, rest, ok := contentLine(line); ok && name == ical.PropMethod {
			p, ok := parseProperty(name, rest)
			if ok && lineOf(p.Value, maxName) != "" {
				return true
			}
		}
	}
	return false
}

// calendarsIn appends the VCALENDARs that contain a VEVENT, in order. Some programs nest them.
func calendarsIn(found, list []*ical.Component) []*ical.Component {
	for _, c := range list {
		if c.Name != ical.CompCalendar {
			continue
		}
		if slices.ContainsFunc(c.Children, isEvent) {
			found = append(found, c)
		} else {
			found = calendarsIn(found, c.Children)
		}
	}
	return found
}

func isEvent(c *ical.Component) bool { return c.Name == ical.CompEvent }

// calendarOf parses the valid events of a VCALENDAR. The error is that of the first invalid one.
func calendarOf(c *ical.Component) (all []*Calendar, dropped bool, err error) {
	method, err := methodOf(c.Props[ical.PropMethod])
	if err != nil {
		return nil, false, err
	}
	r := calendarParser{zones: zonesOf(c)}
	for _, group := range groupsOf(c) {
		one, failed := r.parseCalendar(group)
		if failed != nil {
			if r.droppedInvalid = true; err == nil {
				err = failed
			}
			continue
		}
		one.Method = method
		all = append(all, one)
	}
	return all, r.droppedInvalid, err
}

// groupsOf returns the events of a VCALENDAR grouped by UID, in the order of the first of each.
func groupsOf(c *ical.Component) (groups [][]*ical.Component) {
	at := map[string]int{}
	for _, e := range c.Children {
		if !isEvent(e) {
			continue
		}
		uid, _ := firstValue(e, ical.PropUID)
		i, known := at[uid]
		if !known {
			i, groups = len(groups), append(groups, nil)
			at[uid] = i
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

// parseCalendar parses the events of one UID.
func (r *calendarParser) parseCalendar(group []*ical.Component) (*Calendar, error) {
	described := group[0]
	for _, e := range group {
		if firstProperty(e, ical.PropRecurrenceID) == nil {
			described = e
			break
		}
	}
	e, err := r.parseEvent(described, nil)
	if err != nil {
		return nil, err
	}
	one := &Calendar{NoStart: e.Start.IsZero(), ThisAndFuture: isThisAndFuture(described)}
	one.LostOccurrence = e.RecurrenceID.IsZero() && firstProperty(described, ical.PropRecurrenceID) != nil
	one.Revisions = r.parseOverrides(e, group)
	one.Links, one.AltHTML = linksOf(described)
	if len(one.Links) > 0 {
		e.JoinURL = one.Links[0]
	}
	one.Event = *e
	return one, nil
}

// methodOf is the METHOD, in upper case. Two different ones are an error.
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

// calendarParser parses the events of one VCALENDAR. One call of Read owns it.
type calendarParser struct {
	zones          *fileZones
	droppedInvalid bool // something was invalid and left out
}

// parseOverrides parses the overrides, and returns their revisions. An invitation only to single
// occurrences, the first of which is e, has itself among them. An invalid override is left out; one
// without times takes place when the meeting would.
func (r *calendarParser) parseOverrides(e *Event, group []*ical.Component) (revisions []Revision) {
	var list []Override
	for _, c := range group {
		if firstProperty(c, ical.PropRecurrenceID) == nil {
			continue
		}
		o, err := r.parseEvent(c, e)
		unknown := err == nil && o.Start.IsZero() && firstProperty(c, ical.PropDateTimeStart) != nil // moved to an unknown time
		if err != nil || o.RecurrenceID.IsZero() || unknown {
			r.droppedInvalid = true
			continue
		}
		if o.Start.IsZero() {
			o.Start, o.End, o.AllDay = o.RecurrenceID, o.RecurrenceID.Add(e.End.Sub(e.Start)), e.AllDay
		}
		list = append(list, Override{o.RecurrenceID, o.Start, o.End, o.AllDay, o.IsTransparent, o.Title, o.Location, o.Status})
		revisions = append(revisions, Revision{o.Sequence, o.StampedAt})
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

// isThisAndFuture reports whether the override also applies to all later occurrences.
func isThisAndFuture(c *ical.Component) bool {
	p := firstProperty(c, ical.PropRecurrenceID)
	return p != nil && strings.EqualFold(p.Params.Get(ical.ParamRange), "THISANDFUTURE")
}
