package persist

import (
	"inboxd/internal/account"
	"inboxd/internal/calendar"
	"inboxd/internal/delivery"
	"inboxd/internal/icalendar"
	"inboxd/internal/icalendar/zone"
	"inboxd/internal/inbox"
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

// meetingRecord is a meeting: in its row, in a public record, and as a message says it. Key 15 was
// never written: whether it comes back follows from its recurrence.
type meetingRecord struct {
	ID          int64              `cbor:"1,keyasint,omitempty"` // none in a row, whose key has it
	UID         string             `cbor:"2,keyasint,omitempty"`
	Title       string             `cbor:"3,keyasint,omitempty"`
	Start       stamp              `cbor:"4,keyasint,omitempty"`
	End         stamp              `cbor:"5,keyasint,omitempty"`
	AllDay      bool               `cbor:"6,keyasint,omitempty"`
	Timezone    string             `cbor:"7,keyasint,omitempty"`
	Location    string             `cbor:"8,keyasint,omitempty"`
	Description string             `cbor:"9,keyasint,omitempty"`
	Organizer   *mailboxRecord     `cbor:"10,keyasint,omitempty"`
	Attendees   []attendeeRecord   `cbor:"11,keyasint,omitempty"`
	Status      string             `cbor:"12,keyasint,omitempty"`
	Source      string             `cbor:"13,keyasint,omitempty"`
	Sequence    int                `cbor:"14,keyasint,omitempty"`
	MyStatus    string             `cbor:"16,keyasint,omitempty"`
	CreatedAt   stamp              `cbor:"17,keyasint,omitempty"`
	UpdatedAt   stamp              `cbor:"18,keyasint,omitempty"`
	Recurrence  *recurrenceRecord  `cbor:"19,keyasint,omitempty"`
	Stamp       stamp              `cbor:"20,keyasint,omitempty"`
	Occurrence  stamp              `cbor:"21,keyasint,omitempty"` // the one that a mail spoke of
	Comment     string             `cbor:"22,keyasint,omitempty"`
	Observances []observanceRecord `cbor:"23,keyasint,omitempty"`
	Version     int64              `cbor:"24,keyasint,omitempty"`
	Mail        string             `cbor:"25,keyasint,omitempty"`
	Asked       int                `cbor:"26,keyasint,omitempty"`
	Answers     []answerRecord     `cbor:"27,keyasint,omitempty"`
	Speaker     string             `cbor:"28,keyasint,omitempty"`
	Signed      bool               `cbor:"29,keyasint,omitempty"`
	Published   bool               `cbor:"30,keyasint,omitempty"`
	Heard       []heardRecord      `cbor:"31,keyasint,omitempty"`
	Copied      int                `cbor:"32,keyasint,omitempty"` // Copy.Sequence
	Told        int                `cbor:"33,keyasint,omitempty"` // Copy.Told
}

type attendeeRecord struct {
	Email  string `cbor:"1,keyasint,omitempty"`
	Name   string `cbor:"2,keyasint,omitempty"`
	Role   string `cbor:"3,keyasint,omitempty"`
	Status string `cbor:"4,keyasint,omitempty"`
	Kind   string `cbor:"5,keyasint,omitempty"`
	Asked  bool   `cbor:"6,keyasint,omitempty"`
}

type recurrenceRecord struct {
	Rule      string           `cbor:"1,keyasint,omitempty"`
	Except    []stamp          `cbor:"2,keyasint,omitempty"`
	Also      []stamp          `cbor:"3,keyasint,omitempty"`
	Overrides []overrideRecord `cbor:"4,keyasint,omitempty"`
}

type overrideRecord struct {
	RecurrenceID stamp  `cbor:"1,keyasint,omitempty"`
	Start        stamp  `cbor:"2,keyasint,omitempty"`
	End          stamp  `cbor:"3,keyasint,omitempty"`
	AllDay       bool   `cbor:"4,keyasint,omitempty"`
	Title        string `cbor:"5,keyasint,omitempty"`
	Location     string `cbor:"6,keyasint,omitempty"`
	Status       string `cbor:"7,keyasint,omitempty"`
}

// observanceRecord has local times, as if they were UTC.
type observanceRecord struct {
	Start stamp   `cbor:"1,keyasint,omitempty"`
	From  int     `cbor:"2,keyasint,omitempty"`
	To    int     `cbor:"3,keyasint,omitempty"`
	Rule  string  `cbor:"4,keyasint,omitempty"`
	Dates []stamp `cbor:"5,keyasint,omitempty"`
}

type answerRecord struct {
	Email string `cbor:"1,keyasint,omitempty"`
	Stamp stamp  `cbor:"2,keyasint,omitempty"`
}

type heardRecord struct {
	RecurrenceID stamp `cbor:"1,keyasint,omitempty"`
	Sequence     int   `cbor:"2,keyasint,omitempty"`
	Stamp        stamp `cbor:"3,keyasint,omitempty"`
}

func recordPerson(p icalendar.Person) mailboxRecord { return mailboxRecord{p.Email, p.Name} }
func (r mailboxRecord) person() icalendar.Person    { return icalendar.Person{Email: r[0], Name: r[1]} }

func recordAttendee(a calendar.Attendee) attendeeRecord {
	return attendeeRecord{a.Email, a.Name, a.Role, a.Status, a.Kind, a.Asked}
}

func (r attendeeRecord) attendee() calendar.Attendee {
	return calendar.Attendee{Person: icalendar.Person{Email: r.Email, Name: r.Name}, Role: r.Role, Status: r.Status, Kind: r.Kind, Asked: r.Asked}
}

func recordRecurrence(c icalendar.Recurrence) recurrenceRecord {
	return recurrenceRecord{c.Rule, convert(c.Except, stampOf), convert(c.Also, stampOf), convert(c.Overrides, recordOverride)}
}

func (r recurrenceRecord) recurrence() icalendar.Recurrence {
	return icalendar.Recurrence{Rule: r.Rule, Except: convert(r.Except, stamp.time), Also: convert(r.Also, stamp.time), Overrides: convert(r.Overrides, overrideRecord.override)}
}

func recordOverride(o icalendar.Override) overrideRecord {
	return overrideRecord{stampOf(o.RecurrenceID), stampOf(o.Start), stampOf(o.End), o.AllDay, o.Title, o.Location, o.Status}
}

func (r overrideRecord) override() icalendar.Override {
	return icalendar.Override{
		RecurrenceID: r.RecurrenceID.time(), Start: r.Start.time(), End: r.End.time(), AllDay: r.AllDay,
		Title: r.Title, Location: r.Location, Status: r.Status,
	}
}

func recordObservance(o zone.Observance) observanceRecord {
	return observanceRecord{stampOf(o.Start), o.From, o.To, o.Rule, convert(o.Dates, stampOf)}
}

func (r observanceRecord) observance() zone.Observance {
	return zone.Observance{Start: r.Start.time(), From: r.From, To: r.To, Rule: r.Rule, Dates: convert(r.Dates, stamp.time)}
}

func recordAnswer(a calendar.Answer) answerRecord { return answerRecord{a.Email, stampOf(a.Stamp)} }
func (r answerRecord) answer() calendar.Answer {
	return calendar.Answer{Email: r.Email, Stamp: r.Stamp.time()}
}
func recordHeard(h calendar.Heard) heardRecord {
	return heardRecord{stampOf(h.RecurrenceID), h.Sequence, stampOf(h.Stamp)}
}
func (r heardRecord) heard() calendar.Heard {
	return calendar.Heard{RecurrenceID: r.RecurrenceID.time(), Sequence: r.Sequence, Stamp: r.Stamp.time()}
}

func recordMeeting(m calendar.Meeting) meetingRecord {
	return meetingRecord{
		ID: m.ID, UID: m.UID, Title: m.Title, Start: stampOf(m.Start), End: stampOf(m.End), AllDay: m.AllDay, Timezone: m.Zone.Name,
		Location: m.Location, Description: m.Description, Organizer: optional(m.Organizer, recordPerson), Attendees: convert(m.Attendees, recordAttendee),
		Status: m.Status, Source: m.Source, Sequence: m.Sequence, MyStatus: m.MyStatus, CreatedAt: stampOf(m.CreatedAt), UpdatedAt: stampOf(m.UpdatedAt),
		Recurrence: optional(m.Recurrence, recordRecurrence), Stamp: stampOf(m.Stamp), Occurrence: stampOf(m.RecurrenceID), Comment: m.Comment,
		Observances: convert(m.Zone.Observances, recordObservance), Version: m.Version, Mail: m.Mail, Asked: m.Asked,
		Answers: convert(m.Answers, recordAnswer), Speaker: m.Speaker, Signed: m.Signed, Published: m.Published,
		Heard: convert(m.Heard, recordHeard), Copied: m.Copy.Sequence, Told: m.Copy.Told,
	}
}

func (r meetingRecord) meeting() calendar.Meeting {
	return calendar.Meeting{
		Event: icalendar.Event{
			UID: r.UID, Title: r.Title, Start: r.Start.time(), End: r.End.time(), AllDay: r.AllDay,
			Zone:     zone.Zone{Name: r.Timezone, Observances: convert(r.Observances, observanceRecord.observance)},
			Location: r.Location, Description: r.Description, Organizer: optional(r.Organizer, mailboxRecord.person), Attendees: convert(r.Attendees, attendeeRecord.attendee),
			Status: r.Status, Sequence: r.Sequence, Recurrence: optional(r.Recurrence, recurrenceRecord.recurrence), Stamp: r.Stamp.time(),
			RecurrenceID: r.Occurrence.time(), Comment: r.Comment,
		},
		ID: r.ID, Source: r.Source, MyStatus: r.MyStatus, CreatedAt: r.CreatedAt.time(), UpdatedAt: r.UpdatedAt.time(),
		Version: r.Version, Mail: r.Mail, Asked: r.Asked, Answers: convert(r.Answers, answerRecord.answer),
		Speaker: r.Speaker, Signed: r.Signed, Published: r.Published, Heard: convert(r.Heard, heardRecord.heard),
		Copy: calendar.Copy{Sequence: r.Copied, Told: r.Told},
	}
}
