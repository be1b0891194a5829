package persist

import (
	"inboxd/internal/account"
	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
	"inboxd/internal/message"
)

// The integer keys of these records are on disk: append only; never reorder or reuse.

type publicRecord struct {
	Number    uint64     `cbor:"1,keyasint"`
	Name      string     `cbor:"2,keyasint"`
	Account   account.ID `cbor:"3,keyasint"`
	Address   string     `cbor:"4,keyasint"`
	MessageID int64      `cbor:"5,keyasint,omitempty"`
	At        stamp      `cbor:"6,keyasint,omitempty"`
	From      string     `cbor:"7,keyasint,omitempty"`
	Subject   string     `cbor:"8,keyasint,omitempty"`
	OTP       string     `cbor:"9,keyasint,omitempty"`

	To         []string `cbor:"10,keyasint,omitempty"`
	SendStatus string   `cbor:"11,keyasint,omitempty"`
	SendError  string   `cbor:"12,keyasint,omitempty"`

	Encrypted bool            `cbor:"13,keyasint,omitempty"`
	Meeting   *meetingRecord  `cbor:"14,keyasint,omitempty"`
	Attendee  *attendeeRecord `cbor:"15,keyasint,omitempty"`

	Recipients []recipientRecord `cbor:"16,keyasint,omitempty"` // email and status of each
	Gone       bool              `cbor:"17,keyasint,omitempty"`
	EnvelopeTo string            `cbor:"18,keyasint,omitempty"`
}

func (r *publicRecord) from(p *inbox.Public) {
	*r = publicRecord{
		Number: p.Number, Name: p.Name, Account: p.Account, Address: p.Address, MessageID: p.MessageID,
		At: stampOf(p.At), From: p.From, Subject: p.Subject, OTP: p.OTP, EnvelopeTo: p.EnvelopeTo,
		To: p.To, SendStatus: p.SendStatus, SendError: p.SendError, Recipients: convert(p.Recipients, recordOutcome),
		Encrypted: p.Encrypted, Gone: p.Gone, Meeting: optional(p.Meeting, recordMeeting), Attendee: optional(p.Attendee, recordAttendee),
	}
}

func (r *publicRecord) public() inbox.Public {
	return inbox.Public{
		Number: r.Number, Name: r.Name, Account: r.Account, Address: r.Address, MessageID: r.MessageID,
		At: r.At.time(), From: r.From, Subject: r.Subject, OTP: r.OTP, EnvelopeTo: r.EnvelopeTo,
		To: r.To, SendStatus: r.SendStatus, SendError: r.SendError, Recipients: convert(r.Recipients, recipientRecord.outcome),
		Encrypted: r.Encrypted, Gone: r.Gone, Meeting: optional(r.Meeting, meetingRecord.meeting), Attendee: optional(r.Attendee, attendeeRecord.attendee),
	}
}

func recordOutcome(r delivery.Recipient) recipientRecord {
	return recipientRecord{Email: r.Email, Status: r.Status}
}

func (r recipientRecord) outcome() delivery.Recipient {
	return delivery.Recipient{Email: r.Email, Status: r.Status}
}

// meetingRecord is a meeting inside a public record.
type meetingRecord struct {
	ID          int64            `cbor:"1,keyasint,omitempty"`
	UID         string           `cbor:"2,keyasint,omitempty"`
	Title       string           `cbor:"3,keyasint,omitempty"`
	Start       stamp            `cbor:"4,keyasint,omitempty"`
	End         stamp            `cbor:"5,keyasint,omitempty"`
	AllDay      bool             `cbor:"6,keyasint,omitempty"`
	Timezone    string           `cbor:"7,keyasint,omitempty"`
	Location    string           `cbor:"8,keyasint,omitempty"`
	Description string           `cbor:"9,keyasint,omitempty"`
	Organizer   mailboxRecord    `cbor:"10,keyasint,omitempty"`
	Attendees   []attendeeRecord `cbor:"11,keyasint,omitempty"`
	Status      string           `cbor:"12,keyasint,omitempty"`
	Source      string           `cbor:"13,keyasint,omitempty"`
	Sequence    int              `cbor:"14,keyasint,omitempty"`
	Recurring   bool             `cbor:"15,keyasint,omitempty"`
	MyStatus    string           `cbor:"16,keyasint,omitempty"`
	CreatedAt   stamp            `cbor:"17,keyasint,omitempty"`
	UpdatedAt   stamp            `cbor:"18,keyasint,omitempty"`
}

type attendeeRecord struct {
	Email  string `cbor:"1,keyasint,omitempty"`
	Name   string `cbor:"2,keyasint,omitempty"`
	Role   string `cbor:"3,keyasint,omitempty"`
	Status string `cbor:"4,keyasint,omitempty"`
}

func recordAttendee(a inbox.Attendee) attendeeRecord {
	return attendeeRecord{a.Email, a.Name, a.Role, a.Status}
}

func (r attendeeRecord) attendee() inbox.Attendee {
	return inbox.Attendee{Mailbox: message.Mailbox{Email: r.Email, Name: r.Name}, Role: r.Role, Status: r.Status}
}

func recordMeeting(m inbox.Meeting) meetingRecord {
	return meetingRecord{
		m.ID, m.UID, m.Title, stampOf(m.Start), stampOf(m.End), m.AllDay, m.Timezone, m.Location, m.Description,
		recordMailbox(m.Organizer), convert(m.Attendees, recordAttendee), m.Status, m.Source, m.Sequence, m.Recurring, m.MyStatus,
		stampOf(m.CreatedAt), stampOf(m.UpdatedAt),
	}
}

func (r meetingRecord) meeting() inbox.Meeting {
	return inbox.Meeting{
		ID: r.ID, UID: r.UID, Title: r.Title, Start: r.Start.time(), End: r.End.time(), AllDay: r.AllDay, Timezone: r.Timezone,
		Location: r.Location, Description: r.Description, Organizer: r.Organizer.mailbox(), Attendees: convert(r.Attendees, attendeeRecord.attendee),
		Status: r.Status, Source: r.Source, Sequence: r.Sequence, Recurring: r.Recurring, MyStatus: r.MyStatus,
		CreatedAt: r.CreatedAt.time(), UpdatedAt: r.UpdatedAt.time(),
	}
}
