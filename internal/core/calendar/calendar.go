// Package calendar holds the rules of an inbox's meetings: what a mail with an invitation does to them
// (RFC 5546), whose answer counts, what an order of a client comes to, and the texts that tell of it:
// mails, feed, the owner's copy, free and busy times. It is pure. It refuses to know how calendar
// files are read and written (icalendar), mails, signatures, actors, the disk, the clock and randomness.
package calendar

import (
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
)

// Values of Meeting.Source.
const (
	Inbound  = "inbound"
	Outbound = "outbound" // this inbox organizes it
)

// Action is what a mail did to a meeting (specification, Calendar).
type Action string

const (
	Created   Action = "created"
	Updated   Action = "updated"
	Cancelled Action = "cancelled"
	Replied   Action = "replied"
	Unchanged Action = "unchanged"
)

// Attendee is one who was asked to a meeting.
type Attendee = icalendar.Attendee

// Meeting is one that an inbox keeps, or that a mail speaks of. It never changes once it is in a
// Book; a change replaces it.
type Meeting struct {
	// Event is what its organizer said last. Status of the attendees is what they answered.
	icalendar.Event
	ID        int64 // 0: it is not kept
	Source    string
	MyStatus  string // this inbox's own answer; empty: it was not asked
	CreatedAt time.Time
	UpdatedAt time.Time
	// LastMessage is the id of the inbox's last message that changed it or notified its guests; 0: none is known.
	LastMessage int64
	// RespondedAt is when this inbox answered last; zero: never.
	RespondedAt time.Time

	// Version counts the changes: an order that was weighed against another one is weighed again.
	Version int64
	// Mail is the Message-ID, without brackets, of the mail that it began with. Later ones thread to it.
	Mail string
	// Asked is, of an own meeting, the SEQUENCE of the last change that asked everybody again.
	Asked int
	// Answers are the answers that counted last, one a guest; of a received meeting the one that this
	// inbox gave last, so that the next is newer.
	Answers []Answer
	// Speaker is, of a received meeting, the mailbox that speaks for it: one of its organizer's, or the
	// sender that it is bound to (ADR 0098). Signed says that the mailbox was authenticated, and so must
	// it be in the next message.
	Speaker string
	Signed  bool
	// Published says that it came by PUBLISH: nobody can answer it.
	Published bool
	// Untold says that nobody was told of it: it is what cancellations say that came ahead of their REQUEST.
	Untold bool
	// Heard is how far single occurrences of a received meeting were told of beyond the meeting, each of
	// them an override.
	Heard []Heard
	// Outlived is, of a received meeting of which single occurrences alone take place, how new the
	// cancellation of all others is; nil: of the whole meeting nothing is known. Else RecurrenceID is zero.
	Outlived *icalendar.Revision
	// Copy is where the owner's copy of an own meeting stands.
	Copy Copy
	// Until is when it goes, see Goes; zero: never, as it is now.
	Until time.Time
	// Bytes is the size of its row on disk; 0: it is in no Book.
	Bytes int64

	sender string // in a Book: whose share it takes room of, see senderOf
}

// AsOrganizers is the meeting as calendars show it where its organizer counts as one who was asked: what this inbox
// organizes it has accepted.
func (m *Meeting) AsOrganizers() *Meeting {
	if m == nil || m.Source != Outbound {
		return m
	}
	next := *m
	next.MyStatus = icalendar.Accepted
	return &next
}

// Answer says when a guest's answer was written that counted last (DTSTAMP).
type Answer struct {
	Email string
	Stamp time.Time
}

// Heard is what was last told of one occurrence.
type Heard struct {
	RecurrenceID time.Time
	Sequence     int
	Stamp        time.Time
	// Within says that a mail of the whole meeting told it; the next one of the whole replaces it.
	Within bool
	// Detail is what else its mail said; nil: it was cancelled, or the mail described another one.
	Detail *Detail
}

// Detail is what a mail said of one occurrence beside what an override shows. It never changes.
type Detail struct {
	Zone        zone.Zone
	Description string
	Organizer   *icalendar.Person
	Attendees   []Attendee
}

// Copy is the owner's copy of a meeting. Sequence counts the changes that the owner is to be told of;
// Told is the last one that was, so that one is due while they differ. Called is the last one that a call of
// the inbox made; guests' answers made the others.
type Copy struct {
	Sequence  int
	Told      int
	Called    int
	AnswersAt time.Time // when the last copy was queued that answers alone made due; zero for never
}

// Invitation is what one mail says of a meeting, and who vouches for it. It never changes.
type Invitation struct {
	icalendar.Calendar
	// From and Sender are the one mailbox of each field, as it was written; empty: none, or several.
	From, Sender string
	// FromSigned says that a DKIM signature vouches for From (ADR 0097); SenderSigned the same of
	// Sender, which it covers too.
	FromSigned, SenderSigned bool
	// FromSPF says that SPF passes for From's domain or an ancestor of it; FromAligned that DKIM or SPF passes
	// for its organizational domain, as DMARC asks in relaxed mode.
	FromSPF, FromAligned bool
	// Unwanted says that From fails DMARC under a policy of quarantine or reject.
	Unwanted bool
	// SignedTo are those of the message's recipients on this node that a signed To or Cc names.
	SignedTo []string
	// Local says that the mail never left this node: the inbox in its From has sent it.
	Local bool
	// Mail is the mail's Message-ID without brackets.
	Mail string
}

// Said is what a mail said of a meeting, and what came of it: a message's calendar_event. It is kept
// with the message and never changes.
type Said struct {
	Meeting Meeting // ID is the event_id; 0: it belongs to none
	Action  Action
	Method  string // METHOD of the file; empty in messages that were stored before it was kept
	Reason  string // why it changed nothing, one of the Refused words; empty: it counted, or said nothing new
}

// Book is the calendar of an inbox. It never changes: a change makes another one. Nil is an empty one.
type Book struct {
	Meetings []*Meeting // ascending by id
	Bytes    int64      // of their rows on disk
	LastID   int64      // highest id ever given
	// ChangedAt is the latest UpdatedAt of all meetings that were ever in it.
	ChangedAt time.Time
	Feed      *Feed // nil: there is no link
	Hidden    bool  // the link was ended, and readers are to make no other
	Owner     Owner
	// Removed are meetings that the inbox removed in the last 30 days, by when they are forgotten.
	Removed []Removal
	// Damaged are the ids, ascending, of meetings that the disk has lost: what they were nobody knows. They
	// are found as the calendar is read, and never written.
	Damaged []int64
}

// Feed is the link under which the calendar can be subscribed to.
type Feed struct {
	Hash      [32]byte // of the token
	Sealed    []byte   // the token under the folder's key
	CreatedAt time.Time
	Fetches   int64 // how often it was fetched
	FetchedAt time.Time
	Client    string // short name of who fetched it last
	// Key is the hash of the key that made the link, which ends with that key; zero when it was a session, or when
	// a session or a key with inbox:manage has read the link since.
	Key [32]byte
	// Had is the calendar's ChangedAt as it was fetched last: what was on its way to the disk then is
	// newer, whatever its time.
	Had time.Time
}

// Bound reports a link that ends with the key that made it.
func (f *Feed) Bound() bool { return f.Key != [32]byte{} }

// Reader is who asks for the link of a calendar.
type Reader struct {
	Key    [32]byte // hash of the key; zero for a session
	Manage bool     // a session, or a key with inbox:manage
	Looks  bool     // HEAD, which makes no link
}

// Owner is the setting of the owner's copies.
type Owner struct {
	Enabled bool
	Blocked bool // a copy came back, or was refused for good
}

// Limits of a calendar (specification, Calendar).
const (
	MaxMeetings = 5000
	MaxBytes    = 16 << 20
)

// Guest is somebody whom a client invites.
type Guest struct {
	Email, Name string
	Optional    bool
}

// Fields is what a client says of a meeting, times as they were written; nil: nothing was said.
type Fields struct {
	Title, Start, End, Timezone, Location, Description *string

	Minutes   *int
	AllDay    *bool
	Attendees *[]Guest
}

// Order is what a client wants done to a meeting: one of the structs below.
type Order interface{ meeting() int64 }

type (
	// Schedule makes a meeting and invites to it. InReplyTo is without brackets.
	Schedule struct {
		Fields
		Message, InReplyTo string
	}
	// Reschedule changes a meeting of this inbox.
	Reschedule struct {
		ID int64
		Fields
		Message string
	}
	// Cancel cancels a meeting of this inbox.
	Cancel struct {
		ID      int64
		Message string
	}
	// Respond answers an invitation. Response is icalendar.Accepted, Declined or Tentative.
	Respond struct {
		ID                int64
		Response, Comment string
	}
)

func (Schedule) meeting() int64     { return 0 }
func (o Reschedule) meeting() int64 { return o.ID }
func (o Cancel) meeting() int64     { return o.ID }
func (o Respond) meeting() int64    { return o.ID }

// Me is the inbox that a rule is asked for: its address, and the label that a person chose, if any.
type Me struct{ Address, Name string }

// Person is how the inbox is called as an organizer, in answers and in mails.
func (me Me) Person() icalendar.Person { return icalendar.Person{Email: me.Address, Name: me.Name} }

// is reports whether an address is the inbox's, with a tag or without.
func (me Me) is(email string) bool {
	return folded(address.WithoutTag(email)) == folded(me.Address)
}

// isPerson reports whether the inbox is that person, by either address.
func (me Me) isPerson(p *icalendar.Person) bool { return me.is(p.Email) || me.is(p.Mailbox()) }

// folded is an address as it is compared: in the form that an inbox is found by; what has none, without case.
func folded(email string) string {
	if form, ok := address.Inbox(email); ok {
		return form
	}
	return address.Fold(email)
}

// sameMailbox reports two spellings of one address.
func sameMailbox(a, b string) bool { return a != "" && folded(a) == folded(b) }

// Plan is what an order comes to.
type Plan struct {
	// Meeting is how it will be: of a new one ID and Version are 0, else Version is that of the
	// meeting that the order was weighed against.
	Meeting Meeting
	// Changed is false when the meeting stays as it is; then there are no mails.
	Changed bool
	// Mails are those that tell of it. The first is the one whose id the client is told.
	Mails []Mail
	// Must are those of their recipients whom the order is about, so that it is refused where mail to one of
	// them is; anybody else whom mail came back from is left out of To.
	Must []string
}

// Done is what an order came to.
type Done struct {
	Meeting   *Meeting
	MessageID int64 // of the mail that tells of it; 0: nobody was left to tell
}

// OwnerSetting is the setting of the owner's copies as it is shown.
type OwnerSetting struct {
	Owner
	Email     string // the account's sign-in address
	Available bool   // it is not an inbox of this service
}

// Mail is a mail that tells of a meeting: a text for people, and the iTIP message for calendars.
type Mail struct {
	To       []icalendar.Person
	Subject  string
	Text     string
	Method   string // REQUEST, REPLY, CANCEL
	Calendar []byte
	// Event is what Calendar says.
	Event icalendar.Event
	// InReplyTo is the Message-ID that it threads to, without brackets; empty: it begins a thread.
	InReplyTo string
	// Action is what the sent message's calendar_event says.
	Action Action
}

// Said is the sent message's calendar_event: what the mail says of the meeting that it tells of.
func (m *Mail) Said(of *Meeting) *Said {
	said := Said{Meeting: *of, Action: m.Action, Method: m.Method}
	said.Meeting.Event, said.Meeting.LastMessage, said.Meeting.RespondedAt = m.Event, 0, time.Time{}
	return &said
}
