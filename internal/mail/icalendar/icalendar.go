// Package icalendar parses calendar files from strangers (RFC 5545, 7986, 6868) into plain structs,
// computes when a meeting occurs, and writes our own files. Errors are repaired where that is safe,
// and files that are too large or too deep are refused. Properties that no client sees are not
// stored. The package does not know messages, stored meetings and the clock.
package icalendar

import (
	"time"

	"inboxd/internal/mail/icalendar/zone"
)

// Limits of an event's texts, in code points. Longer ones are cut between characters.
const (
	MaxTitle       = 1000 // also of a location
	MaxDescription = 20_000
	MaxPersonName  = 200
	maxUID         = 1000 // octets, also of an address
	maxRuleText    = 2000
)

// Values of Status, Role and of an attendee's Status, as clients see them.
const (
	StatusConfirmed = "confirmed"
	StatusTentative = "tentative"
	StatusCancelled = "cancelled"

	RoleRequired = "req-participant"
	RoleOptional = "opt-participant"

	StatusAccepted = "accepted"
	StatusDeclined = "declined"
	NeedsAction    = "needs-action"
)

// Calendar is the content of a file about one event, with its METHOD.
type Calendar struct {
	Method string // upper case; empty if the file has none
	Event  Event
	// NoStart means that DTSTART is missing or invalid. Event then has no times, which is valid in
	// a REPLY or CANCEL (RFC 5546, sections 3.2.3 and 3.2.5).
	NoStart bool
	// LostOccurrence means that RECURRENCE-ID was invalid: the file may be about one occurrence
	// only.
	LostOccurrence bool
	// Links are the http and https URLs of the properties for joining a conference, the best first.
	// AltHTML is a description in HTML, which may contain more of them.
	Links   []string
	AltHTML string
	// Revisions are the revisions of the Event's overrides, in their order.
	Revisions []Revision
	// ThisAndFuture means that the file is about Event.RecurrenceID and all later occurrences
	// (RANGE=THISANDFUTURE).
	ThisAndFuture bool
}

// Revision identifies one state of an event (RFC 5546, section 2.1.5).
type Revision struct {
	Sequence  int
	StampedAt time.Time // DTSTAMP; zero if missing
}

// Event is one meeting. Times are instants; for an all-day event they are its dates, at midnight
// UTC.
type Event struct {
	UID           string
	Sequence      int
	StampedAt     time.Time // DTSTAMP; zero if missing
	Title         string
	Location      string
	Description   string
	Status        string // Confirmed, StatusTentative, StatusCancelled
	Start, End    time.Time
	AllDay        bool      // then End is exclusive
	IsTransparent bool      // it makes nobody busy (TRANSP, RFC 5545 section 3.8.2.7)
	TimeZone      zone.Zone // of the start; zero for all-day events and for an unknown TZID
	JoinURL       string    // URL for joining its conference (http or https); empty: none
	Organizer     *Person   // nil: none
	SentBy        string    // mailbox that acts for the organizer (SENT-BY); empty: none
	Attendees     []Attendee
	Recurrence    *Recurrence // nil: it occurs once
	RecurrenceID  time.Time   // the file is only about this occurrence; zero: about the meeting
	Comment       string      // COMMENT, which replies contain
}

// Person is identified by a mailbox address, or by another URI.
type Person struct {
	Email, Name string
	// URI is the calendar address if it is not "mailto:" and Email. Then Email is the EMAIL
	// parameter (RFC 7986, section 6.2), and the calendar identifies the person by the URI.
	URI string
}

// Mailbox is the address for calendar messages to the person: the mailbox of the URI, else Email.
func (p *Person) Mailbox() string {
	if mailbox, ok := mailboxOf(p.URI); ok {
		return mailbox
	}
	return p.Email
}

// Attendee is an invited person.
type Attendee struct {
	Person
	Role                string // Required, RoleOptional
	ParticipationStatus string // StatusAccepted, StatusDeclined, StatusTentative, NeedsAction
	UserType            string // CUTYPE: INDIVIDUAL, GROUP, RESOURCE, ROOM, UNKNOWN; empty: not given
	ResponseRequested   bool   // RSVP=TRUE
}

// Recurrence defines the further occurrences of an event.
type Recurrence struct {
	Rule            string // the first RRULE as it was sent; empty: none
	ExceptionDates  []time.Time
	AdditionalDates []time.Time
	Overrides       []Override
}

// Override is one occurrence that differs.
type Override struct {
	RecurrenceID  time.Time // the original time
	Start, End    time.Time
	AllDay        bool
	IsTransparent bool
	Title         string
	Location      string
	Status        string
}

// ZoneUnknown reports whether the TZID of an event is unknown. Its times then follow the file's
// VTIMEZONE, or UTC without one.
func (e *Event) ZoneUnknown() bool { return !e.AllDay && e.TimeZone.Name == "" }

// OccurrenceOn is the occurrence that a date means as the RECURRENCE-ID of an event with another
// clock time.
func (e *Event) OccurrenceOn(day time.Time) time.Time {
	clock := e.TimeZone.Clock()
	return e.atClock(clock.ToInstant(day), clock)
}

// IsRecurring reports whether the event itself recurs, by a rule or by dates.
func (e *Event) IsRecurring() bool {
	return e.Recurrence != nil && (e.Recurrence.Rule != "" || len(e.Recurrence.AdditionalDates) > 0)
}
