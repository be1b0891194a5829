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

// treeBuilder makes the component tree of a file. One call of parse owns it.
//
// go-ical's Decoder does the same, but is not used. It appends each octet of a parameter to a
// string (a megabyte in parameters of 800 octets: 0.5 s and 430 MB; in one of 256 KiB: 120 s and
// 140 GB). It also panics if a line ends inside a parameter, recurses, and gives up at the first
// invalid line. Its value parsers are not used either: DateTime passes a stranger's TZID to
// time.LoadLocation, a file path; NormalizeText fails at an unknown escape; Duration overflows.
type treeBuilder struct {
	isOwnAddress   func(string) bool
	openComponents []*ical.Component
	roots          []*ical.Component
	componentCount int
	limitExceeded  bool // attendees or dates beyond the limit were left out
}

// parseTree parses a file into its components, with the known properties. An invalid line is skipped,
// and components that are open at the end are closed. cut means that attendees or dates are
// missing, because there were too many.
func parseTree(text []byte, own func(address string) bool) (roots []*ical.Component, cut bool, err error) {
	if len(text) > MaxBytes {
		return nil, true, ErrOverCaps
	}
	b := treeBuilder{isOwnAddress: own}
	in := lineReader{unreadBytes: bytes.TrimPrefix(text, []byte(byteOrderMark))}
	for line, ok := in.nextLine(); ok; line, ok = in.nextLine() {
		if err := b.addLine(line); err != nil {
			return nil, true, err
		}
	}
	return b.roots, b.limitExceeded, nil
}

func (b *treeBuilder) addLine(line []byte) error {
	name, rest, ok := contentLine(line)
	switch {
	case !ok:
		return nil
	case name == "BEGIN":
		return b.beginComponent(componentName(rest))
	case name == "END":
		b.endComponent(componentName(rest))
	case len(b.openComponents) > 0:
		b.addProperty(b.openComponents[len(b.openComponents)-1], name, rest)
	}
	return nil
}

func componentName(rest []byte) string {
	rest = bytes.TrimSpace(rest[1:])
	return strings.ToUpper(string(rest[:min(len(rest), maxName)]))
}

func (b *treeBuilder) beginComponent(name string) error {
	c := &ical.Component{Name: name, Props: ical.Props{}}
	if b.componentCount++; b.componentCount > maxComponents || len(b.openComponents) == maxDepth {
		return ErrOverCaps
	}
	if len(b.openComponents) == 0 {
		b.roots = append(b.roots, c)
	} else {
		parent := b.openComponents[len(b.openComponents)-1]
		parent.Children = append(parent.Children, c)
	}
	b.openComponents = append(b.openComponents, c)
	return nil
}

// endComponent closes the component of that name, and those left open inside it.
func (b *treeBuilder) endComponent(name string) {
	for i, c := range slices.Backward(b.openComponents) {
		if c.Name == name {
			b.openComponents = b.openComponents[:i]
			return
		}
	}
}

func (b *treeBuilder) addProperty(c *ical.Component, name string, rest []byte) {
	limit := keptProps[c.Name][name]
	if limit == 0 {
		return
	}
	have := len(c.Props[name])
	full := have >= limit
	b.limitExceeded = b.limitExceeded || full && limit >= maxDates
	if full && (name != ical.PropAttendee || have >= limit+maxOwn) {
		return
	}
	p, ok := parseProperty(name, rest)
	if !ok {
		return
	}
	if full && !b.isOwn(&p) {
		return // lines beyond the limit are reserved for the message's recipients
	}
	c.Props[name] = append(c.Props[name], p)
}

func (b *treeBuilder) isOwn(p *ical.Prop) bool {
	if b.isOwnAddress == nil {
		return false
	}
	who := personOf(p)
	return b.isOwnAddress(who.Email) || b.isOwnAddress(who.Mailbox())
}
