package icalendar

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/emersion/go-ical"
)

// Limits of a file. A file beyond them is not treated as an invitation, and is reported as cut.
const (
	MaxBytes      = 1 << 20
	maxDepth      = 4
	maxComponents = 200
)

// ErrOverCaps is the error of Read for a file beyond the limits.
var ErrOverCaps = errors.New("icalendar: over 1 MiB, 200 components or 4 levels")

const (
	maxAttendees = 500 // of an event
	maxOwn       = 100 // further attendee lines that are of this message's recipients
	maxMethods   = 100 // which must all be the same
	maxDates     = 100 // EXDATE and RDATE each
)

// keptProps are the properties that are parsed, by component, each with the maximum number of its
// lines. Nothing else of a file is kept in memory.
var keptProps = map[string]map[string]int{
	ical.CompCalendar: {ical.PropMethod: maxMethods},
	ical.CompEvent: {
		ical.PropUID: 1, ical.PropDateTimeStamp: 1, ical.PropSequence: 1, ical.PropStatus: 1, ical.PropRecurrenceID: 1,
		ical.PropDateTimeStart: 1, ical.PropDateTimeEnd: 1, ical.PropDuration: 1,
		ical.PropSummary: 1, ical.PropLocation: 1, ical.PropDescription: 1, ical.PropComment: 1,
		ical.PropRecurrenceRule: 1, ical.PropRecurrenceDates: maxDates, ical.PropExceptionDates: maxDates,
		ical.PropOrganizer: 1, ical.PropAttendee: maxAttendees, ical.PropTransparency: 1,
		propBusyStatus: 1, propIntendedStatus: 1,
		ical.PropURL: 1, ical.PropConference: maxLinks, propGoogleConference: 1, propTeamsMeeting: 1, propAltDesc: 1,
	},
	ical.CompTimezone:         {ical.PropTimezoneID: 1, "X-LIC-LOCATION": 1},
	ical.CompTimezoneStandard: observanceProps,
	ical.CompTimezoneDaylight: observanceProps,
}

var observanceProps = map[string]int{
	ical.PropDateTimeStart: 1, ical.PropTimezoneOffsetFrom: 1, ical.PropTimezoneOffsetTo: 1, ical.PropRecurrenceRule: 1, ical.PropRecurrenceDates: maxDates + 1, // DTSTART may be among them
}

// builder makes the component tree of a file. One call of parse owns it.
//
// go-ical's Decoder does the same, but is not used. It appends each octet of a parameter to a
// string (a megabyte in parameters of 800 octets: 0.5 s and 430 MB; in one of 256 KiB: 120 s and
// 140 GB). It also panics if a line ends inside a parameter, recurses, and gives up at the first
// invalid line. Its value parsers are not used either: DateTime passes a stranger's TZID to
// time.LoadLocation, a file path; Text fails at an unknown escape; Duration overflows.
type builder struct {
	own   func(string) bool
	open  []*ical.Component
	roots []*ical.Component
	count int
	full  bool // attendees or dates beyond the limit were left out
}

// parse parses a file into its components, with the known properties. An invalid line is skipped,
// and components that are open at the end are closed. cut means that attendees or dates are
// missing, because there were too many.
func parse(text []byte, own func(address string) bool) (roots []*ical.Component, cut bool, err error) {
	if len(text) > MaxBytes {
		return nil, true, ErrOverCaps
	}
	b := builder{own: own}
	in := lines{rest: bytes.TrimPrefix(text, []byte(byteOrderMark))}
	for line, ok := in.next(); ok; line, ok = in.next() {
		if err := b.line(line); err != nil {
			return nil, true, err
		}
	}
	return b.roots, b.full, nil
}

func (b *builder) line(line []byte) error {
	name, rest, ok := contentLine(line)
	switch {
	case !ok:
		return nil
	case name == "BEGIN":
		return b.begin(componentName(rest))
	case name == "END":
		b.end(componentName(rest))
	case len(b.open) > 0:
		b.keep(b.open[len(b.open)-1], name, rest)
	}
	return nil
}

func componentName(rest []byte) string {
	rest = bytes.TrimSpace(rest[1:])
	return strings.ToUpper(string(rest[:min(len(rest), maxName)]))
}

func (b *builder) begin(name string) error {
	c := &ical.Component{Name: name, Props: ical.Props{}}
	if b.count++; b.count > maxComponents || len(b.open) == maxDepth {
		return ErrOverCaps
	}
	if len(b.open) == 0 {
		b.roots = append(b.roots, c)
	} else {
		parent := b.open[len(b.open)-1]
		parent.Children = append(parent.Children, c)
	}
	b.open = append(b.open, c)
	return nil
}

// end closes the component of that name, and those left open inside it.
func (b *builder) end(name string) {
	for i, c := range slices.Backward(b.open) {
		if c.Name == name {
			b.open = b.open[:i]
			return
		}
	}
}

func (b *builder) keep(c *ical.Component, name string, rest []byte) {
	limit := keptProps[c.Name][name]
	if limit == 0 {
		return
	}
	have := len(c.Props[name])
	full := have >= limit
	b.full = b.full || full && limit >= maxDates
	if full && (name != ical.PropAttendee || have >= limit+maxOwn) {
		return
	}
	p, ok := property(name, rest)
	if !ok {
		return
	}
	if full && !b.isOwn(&p) {
		return // lines beyond the limit are reserved for the message's recipients
	}
	c.Props[name] = append(c.Props[name], p)
}

func (b *builder) isOwn(p *ical.Prop) bool {
	if b.own == nil {
		return false
	}
	who := personOf(p)
	return b.own(who.Email) || b.own(who.Mailbox())
}
