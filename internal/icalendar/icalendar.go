// Package icalendar reads calendar files of strangers (RFC 5545, 7986, 6868) into plain structs, says
// when a meeting occurs, and writes our own. What is broken is mended where that is safe, what is
// too large or too deep is refused, and nothing is kept that no reader of a meeting is shown. It
// knows nothing of mail, of meetings that are kept, and of the clock.
package icalendar

import (
	"time"

	"inboxd/internal/icalendar/zone"
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

// Calendar is what a file says: a METHOD and one event.
type Calendar struct {
	Method string // upper case; empty when the file has none
	Event  Event
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
	Zone         zone.Zone // of the start; zero for all-day
	Organizer    *Person   // nil: there is none
	Attendees    []Attendee
	Recurrence   *Recurrence // nil: it occurs once
	RecurrenceID time.Time   // the file speaks of this occurrence alone; zero: of the meeting
	Comment      string      // COMMENT, which replies carry
}

// Person is somebody by the address of a mailbox, or by another URI.
type Person struct{ Email, Name string }

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
	Title        string
	Location     string
	Status       string
}

// Recurring reports whether the event itself comes back, by a rule or by dates.
func (e *Event) Recurring() bool {
	return e.Recurrence != nil && (e.Recurrence.Rule != "" || len(e.Recurrence.Also) > 0)
}
