// Package calendar holds the rules of an inbox's meetings. It decides what a message with an
// invitation changes (RFC 5546), whose answer counts, and what a client's order does. It also makes
// the texts about meetings: messages, feed, the owner's copy, free and busy times. It is pure. It
// does not know how calendar files are parsed and written (icalendar), mail transport, signatures,
// actors, the disk, the clock and randomness.
package calendar

import (
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
)

// Values of Meeting.Source.
const (
	SourceInbound  = "inbound"
	SourceOutbound = "outbound" // organized by this inbox
)

// MeetingAction is the effect of a message on a meeting (specification, Calendar).
type MeetingAction string

// What a calendar message did to its meeting.
const (
	ActionCreated   MeetingAction = "created"
	ActionUpdated   MeetingAction = "updated"
	ActionCancelled MeetingAction = "cancelled"
	ActionReplied   MeetingAction = "replied"
	ActionUnchanged MeetingAction = "unchanged"
)

// Attendee is a person who was invited to a meeting.
type Attendee = icalendar.Attendee

// Meeting is a meeting that an inbox stores or that a message describes. It never changes once it
// is in a Book; a change replaces it.
type Meeting struct {
	// Event is the organizer's last version. The attendees have the status of their answers.
	icalendar.Event
	ID        int64 // 0: not stored
	Source    string
	MyStatus  string // this inbox's own answer; empty: not invited
	CreatedAt time.Time
	UpdatedAt time.Time
	// LastMessage is the id of the inbox's last message that changed the meeting or notified its
	// guests; 0: unknown.
	LastMessage int64
	// RespondedAt is when this inbox last answered; zero: never.
	RespondedAt time.Time

	// Version counts the changes. An order that was planned for another version is planned again.
	Version int64
	// FirstMessageID is the Message-ID, without brackets, of the first message about the meeting.
	// Later ones reply to it.
	FirstMessageID string
	// AskedSequence is the SEQUENCE of the last change of an own meeting that asked everybody again.
	AskedSequence int
	// LastAnswers are the last answers that counted, one for each guest. For a received meeting it is
	// the last answer of this inbox, so that the next one is newer.
	LastAnswers []GuestAnswer
	// AuthorizedMailbox is the mailbox that may change a received meeting: one of its organizer's,
	// or the sender that the meeting is bound to (ADR 0098). Signed means that this mailbox was
	// authenticated, and must be in the next message too.
	AuthorizedMailbox    string
	MailboxAuthenticated bool
	// IsPublished means that the meeting came by PUBLISH: nobody can answer it.
	IsPublished bool
	// OnlyCancelled means that only cancellations of the meeting came, ahead of its REQUEST. Nobody was
	// notified of it.
	OnlyCancelled bool
	// OccurrenceRevision contains the revisions of single occurrences of a received meeting that
	// are newer than the meeting's. Each belongs to an override.
	OccurrenceRevisions []OccurrenceRevision
	// CancelledRevision is the revision of the cancellation of all other occurrences, if only single
	// occurrences of a received meeting take place. If it is nil and RecurrenceID is set, nothing
	// is known about the whole meeting.
	CancelledRevision *icalendar.Revision
	// OwnerCopy is the state of the owner's copy of an own meeting.
	OwnerCopy OwnerCopy
	// RemoveAt is when the meeting is removed, see RemovalTime; zero: never, in its current state.
	RemoveAt time.Time
	// RowBytes is the size of its row on disk; 0: it is not in a Book.
	RowBytes int64

	quotaSender string // in a Book: whose share it counts against, see senderOf
}

// AsOrganizers returns the meeting for calendars that treat the organizer as an attendee: this
// inbox has accepted what it organizes.
func (m *Meeting) AsOrganizers() *Meeting {
	if m == nil || m.Source != SourceOutbound {
		return m
	}
	next := *m
	next.MyStatus = icalendar.StatusAccepted
	return &next
}

// GuestAnswer is the DTSTAMP of a guest's last answer that counted.
type GuestAnswer struct {
	Email string
	Stamp time.Time
}

// OccurrenceRevision is the last known revision of one occurrence.
type OccurrenceRevision struct {
	RecurrenceID time.Time
	Sequence     int
	Stamp        time.Time
	// FromWholeMeeting means that it came in a message about the whole meeting. The next such message
	// replaces it.
	FromWholeMeeting bool
	// OccurrenceDetail is what its message contained in addition; nil: it was cancelled, or the message
	// described another occurrence.
	Detail *OccurrenceDetail
}

// OccurrenceDetail is what a message says about one occurrence in addition to an override. It never
// changes.
type OccurrenceDetail struct {
	Zone        zone.Zone
	Description string
	Organizer   *icalendar.Person
	Attendees   []Attendee
}

// OwnerCopy is the state of the owner's copy of a meeting. Sequence counts the changes that the
// owner is notified of. Told is the last one that was sent, so a copy is due while they differ.
// Called is the last change made by a client; guests' answers made the others.
type OwnerCopy struct {
	ChangeCount      int
	LastSentChange   int
	LastClientChange int
	AnswersAt        time.Time // when the last copy was queued that only answers made due; zero for never
}

// Invitation is what one message says about a meeting, and how it was authenticated. It never
// changes.
type Invitation struct {
	icalendar.Calendar
	// From and Sender are the single mailbox of each field, as written; empty: none, or several.
	From, Sender string
	// FromSigned means that a DKIM signature authenticates From (ADR 0097). SenderSigned means the
	// same of Sender, which the signature also covers.
	FromSigned, SenderSigned bool
	// FromSPF means that SPF passes for From's domain or an ancestor of it. FromAligned means that
	// DKIM or SPF passes for its organizational domain, as in DMARC's relaxed mode.
	FromSPF, FromAligned bool
	// FailsDMARC means that From fails DMARC under a policy of quarantine or reject.
	FailsDMARC bool
	// SignedTo are the message's recipients on this node that a signed To or Cc names.
	SignedTo []string
	// IsLocal means that the message never left this node: the inbox in its From sent it.
	IsLocal bool
	// MessageID is the message's Message-ID without brackets.
	MessageID string
}

// MessageEvent is what a message said about a meeting, and the effect: a message's calendar_event.
// It is stored with the message and never changes.
type MessageEvent struct {
	Meeting       Meeting // ID is the event_id; 0: it belongs to no meeting
	Action        MeetingAction
	Method        string // METHOD of the file; empty in messages stored before this field existed
	RefusalReason string // why it changed nothing, one of the Refused words; empty: it counted, or contained nothing new
}

// Book is the calendar of an inbox. It never changes: a change makes another one. Nil is an empty
// one.
type Book struct {
	Meetings []*Meeting // ascending by id
	Bytes    int64      // of their rows on disk
	LastID   int64      // highest id ever assigned
	// ChangedAt is the latest UpdatedAt of all meetings that were ever in the calendar.
	ChangedAt   time.Time
	Feed        *SubscriptionLink // nil without a link
	LinkHidden  bool              // the link was ended, and readers cannot create another
	CopySetting CopySetting
	// RemovedMeetings are meetings that the inbox removed in the last 30 days, by the time when
	// they are forgotten.
	RemovedMeetings []RemovedMeeting
	// DamagedIDs are the ids, ascending, of meetings that the disk has lost. They are found when the
	// calendar is loaded, and never written.
	DamagedIDs []int64
}

// SubscriptionLink is the subscription link of the calendar.
type SubscriptionLink struct {
	TokenHash      [32]byte // of the token
	EncryptedToken []byte   // the token encrypted under the folder's key
	CreatedAt      time.Time
	FetchCount     int64 // how often it was fetched
	FetchedAt      time.Time
	LastClient     string // short name of the last client
	// CreatorKey is the hash of the key that created the link, which ends with that key. It is zero
	// if a session created it, or if a session or a key with inbox:manage has read the link since.
	CreatorKey [32]byte
	// LastChangeFetched is the calendar's ChangedAt at the last fetch. A change that was being
	// committed then counts as newer, whatever its time.
	LastChangeFetched time.Time
}

// EndsWithKey reports whether the link ends with the key that created it.
func (f *SubscriptionLink) EndsWithKey() bool { return f.CreatorKey != [32]byte{} }

// LinkReader is the requester of a calendar's link.
type LinkReader struct {
	KeyHash   [32]byte // hash of the key; zero for a session
	CanManage bool     // a session, or a key with inbox:manage
	IsHead    bool     // HEAD, which creates no link
}

// CopySetting is the setting of the owner's copies.
type CopySetting struct {
	Enabled bool
	Blocked bool // a copy bounced, or was permanently rejected
}

// Limits of a calendar (specification, Calendar).
const (
	MaxMeetings = 5000
	MaxBytes    = 16 << 20
)

// Guest is a person whom a client invites.
type Guest struct {
	Email, Name string
	Optional    bool
}

// MeetingFields is a client's description of a meeting, with times as written; nil: not given.
type MeetingFields struct {
	Title, Start, End, Timezone, Location, Description *string

	Minutes   *int
	AllDay    *bool
	Attendees *[]Guest
}

// MeetingOrder is a client's order about a meeting: one of the structs below.
type MeetingOrder interface{ meetingID() int64 }

type (
	// Schedule creates a meeting and invites the guests. InReplyTo is without brackets.
	Schedule struct {
		MeetingFields
		Message, InReplyTo string
	}
	// Reschedule changes a meeting of this inbox.
	Reschedule struct {
		ID int64
		MeetingFields
		Message string
	}
	// Cancel cancels a meeting of this inbox.
	Cancel struct {
		ID      int64
		Message string
	}
	// Respond answers an invitation. Response is icalendar.StatusAccepted, Declined or Tentative.
	Respond struct {
		ID                int64
		Response, Comment string
	}
)

func (Schedule) meetingID() int64     { return 0 }
func (o Reschedule) meetingID() int64 { return o.ID }
func (o Cancel) meetingID() int64     { return o.ID }
func (o Respond) meetingID() int64    { return o.ID }

// Me is the inbox that a rule is applied for: its address, and the label that a person chose, if
// any.
type Me struct{ Address, Name string }

// AsPerson is the inbox as an organizer, in API responses and in messages.
func (me Me) AsPerson() icalendar.Person { return icalendar.Person{Email: me.Address, Name: me.Name} }

// is reports whether an address is the inbox's, with or without a tag.
func (me Me) is(email string) bool {
	return foldAddress(address.WithoutTag(email)) == foldAddress(me.Address)
}

// isPerson reports whether the inbox is that person, by either address.
func (me Me) isPerson(p *icalendar.Person) bool { return me.is(p.Email) || me.is(p.Mailbox()) }

// foldAddress is an address in the form for comparison: that of an inbox's lookup, else in lower case.
func foldAddress(email string) string {
	if form, ok := address.CanonicalInbox(email); ok {
		return form
	}
	return address.FoldLocal(email)
}

// sameMailbox reports whether two spellings are the same address.
func sameMailbox(a, b string) bool { return a != "" && foldAddress(a) == foldAddress(b) }

// PlannedChange is the planned result of an order.
type PlannedChange struct {
	// Meeting is the future state. For a new one, ID and Version are 0. Otherwise Version is that
	// of the meeting that the plan was made for.
	Meeting Meeting
	// HasChanged is false if the meeting stays as it is; then there are no messages.
	HasChanged bool
	// OutgoingMessages are the messages about the change. The API response contains the id of the
	// first one.
	OutgoingMessages []MeetingMessage
	// RequiredRecipients are the recipients that the order is about. The order is refused if
	// messages to one of them bounce. Other suppressed recipients are left out of To.
	RequiredRecipients []string
}

// ChangeResult is the result of an order.
type ChangeResult struct {
	Meeting   *Meeting
	MessageID int64 // of the message about it; 0: there were no recipients left
}

// OwnerSetting is the setting of the owner's copies as clients see it.
type OwnerSetting struct {
	CopySetting
	Email          string // the account's sign-in address
	EmailAvailable bool   // Email is not an inbox of this service
}

// MeetingMessage is a message about a meeting: a text for people, and the iTIP message for calendars.
type MeetingMessage struct {
	To       []icalendar.Person
	Subject  string
	Text     string
	Method   string // REQUEST, REPLY, CANCEL
	Calendar []byte
	// Event is the content of Calendar.
	Event icalendar.Event
	// InReplyTo is the Message-ID that it replies to, without brackets; empty: it begins a thread.
	InReplyTo string
	// MeetingAction is the action in the sent message's calendar_event.
	Action MeetingAction
}

// SentEvent is the sent message's calendar_event: what the message says about its meeting.
func (m *MeetingMessage) SentEvent(of *Meeting) *MessageEvent {
	said := MessageEvent{Meeting: *of, Action: m.Action, Method: m.Method}
	said.Meeting.Event, said.Meeting.LastMessage, said.Meeting.RespondedAt = m.Event, 0, time.Time{}
	return &said
}
