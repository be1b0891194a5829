// Package icalendar reads calendar files of strangers (RFC 5545, 7986, 6868) into plain structs, says
// when a meeting occurs, and writes our own. What is broken is mended where that is safe, what is
// too large or too deep is refused, and nothing is kept that no reader of a meeting is shown. It
// knows nothing of mail, of meetings that are kept, and of the clock.
package icalendar

import (
	"time"

	"inboxd/internal/mail/icalendar/zone"
)

// Caps of what is kept of an event, in code points, cut between characters.
const (
	MaxTitle       = 1000 // places too
	MaxDescription = 20_000
	MaxPersonName  = 200
	maxUID         = 1000 // octets, as of an address
	maxRuleText    = 2000
)

// Values of Status, Role and of an attendee's Status, as readers get them.
const (
	Confirmed = "confirmed"
	Tentative = "tentative"
	Cancelled = "cancelled"

	Required = "req-participant"
	Optional = "opt-participant"

	Accepted    = "accepted"
	Declined    = "declined"
	NeedsAction = "needs-action"
)

// Calendar is what a file says of one event, with its METHOD.
type Calendar struct {
	Method string // upper case; empty when the file has none
	Event  Event
	// NoStart says that DTSTART is missing, or is no time: then Event has no times, as a REPLY or CANCEL
	// may (RFC 5546, sections 3.2.3 and 3.2.5).
	NoStart bool
	// LostOccurrence says that RECURRENCE-ID was unreadable: the file may speak of one occurrence alone.
	LostOccurrence bool
	// Links are the http and https URLs of the properties that say where a conference is joined, the best
	// first. AltHTML is a description in HTML, which may have more of them.
	Links   []string
	AltHTML string
	// Revisions tell how new each of the Event's overrides is, in their order.
	Revisions []Revision
	// Following says that the file speaks of Event.RecurrenceID and all after it (RANGE=THISANDFUTURE).
	Following bool
}

// Revision tells one state of an event from another (RFC 5546, section 2.1.5).
type Revision struct {
	Sequence int
	Stamp    time.Time // DTSTAMP; zero when there is none
}

// Event is one meeting. Times are instants; of an all-day event they are its dates, at midnight UTC.
type Event struct {
	UID          string
	Sequence     int
	Stamp        time.Time // DTSTAMP; zero when there is none
	Title        string
	Location     string
	Description  string
	Status       string // Confirmed, Tentative, Cancelled
	Start, End   time.Time
	AllDay       bool      // End is exclusive then
	Transparent  bool      // it makes nobody busy (TRANSP, RFC 5545 section 3.8.2.7)
	Zone         zone.Zone // of the start; zero for all-day, and where nobody knows the TZID
	JoinURL      string    // where its conference is joined (http or https); empty: it has none
	Organizer    *Person   // nil: there is none
	SentBy       string    // mailbox that acts for the organizer (SENT-BY); empty: none
	Attendees    []Attendee
	Recurrence   *Recurrence // nil: it occurs once
	RecurrenceID time.Time   // the file speaks of this occurrence alone; zero: of the meeting
	Comment      string      // COMMENT, which replies carry
}

// Person is somebody by the address of a mailbox, or by another URI.
type Person struct {
	Email, Name string
	// URI is the calendar address, where that is not "mailto:" and Email: then Email is the EMAIL
	// parameter (RFC 7986, section 6.2), and the calendar knows the person by the URI.
	URI string
}

// Mailbox is where calendar messages to the person go: the mailbox of the URI, else Email.
func (p *Person) Mailbox() string {
	if mailbox, ok := mailboxOf(p.URI); ok {
		return mailbox
	}
	return p.Email
}

// Attendee is somebody who is asked.
type Attendee struct {
	Person
	Role   string // Required, Optional
	Status string // Accepted, Declined, Tentative, NeedsAction
	Kind   string // CUTYPE: INDIVIDUAL, GROUP, RESOURCE, ROOM, UNKNOWN; empty: not said
	Asked  bool   // RSVP=TRUE
}

// Recurrence says when an event occurs again.
type Recurrence struct {
	Rule      string // the first RRULE as it was sent; empty: none
	Except    []time.Time
	Also      []time.Time
	Overrides []Override
}

// Override is one occurrence that differs.
type Override struct {
	RecurrenceID time.Time // where it would be
	Start, End   time.Time
	AllDay       bool
	Transparent  bool
	Title        string
	Location     string
	Status       string
}

// ZoneUnknown reports an event whose TZID nobody knows by name: its times are by the file's VTIMEZONE, or, if
// there is none, as if they were in UTC.
func (e *Event) ZoneUnknown() bool { return !e.AllDay && e.Zone.Name == "" }

// OccurrenceOn is the occurrence that is meant where a date is sent for the RECURRENCE-ID of an event that has
// another clock time.
func (e *Event) OccurrenceOn(day time.Time) time.Time {
	clock := e.Zone.Clock()
	return e.atClock(clock.Instant(day), clock)
}

// Recurring reports whether the event itself comes back, by a rule or by dates.
func (e *Event) Recurring() bool {
	return e.Recurrence != nil && (e.Recurrence.Rule != "" || len(e.Recurrence.Also) > 0)
}
