package persist

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
)

// The integer keys of these records are on disk: append only; never reorder or reuse.

// Rows of a calendar: [kind][partition][address 0x00] and one of these. On disk: append only; never
// reorder.
const (
	partCalendar byte = 0 // the calendar's own row
	partMeeting  byte = 1 // meeting id
)

// calendarRecord is an inbox's calendar without its meetings.
type calendarRecord struct {
	LastID    int64       `cbor:"1,keyasint,omitempty"`
	ChangedAt stamp       `cbor:"2,keyasint,omitempty"`
	Feed      *feedRecord `cbor:"3,keyasint,omitempty"`
	Enabled   bool        `cbor:"4,keyasint,omitempty"` // Owner.Enabled
	Blocked   bool        `cbor:"5,keyasint,omitempty"` // Owner.Blocked
	Removed   []byte      `cbor:"6,keyasint,omitempty"` // removals, of twelve octets each
	Hidden    bool        `cbor:"7,keyasint,omitempty"`
}

type feedRecord struct {
	Hash      []byte `cbor:"1,keyasint,omitempty"`
	Sealed    []byte `cbor:"2,keyasint,omitempty"`
	FetchedAt stamp  `cbor:"3,keyasint,omitempty"`
	Client    string `cbor:"4,keyasint,omitempty"`
	Had       stamp  `cbor:"5,keyasint,omitempty"`
	CreatedAt stamp  `cbor:"6,keyasint,omitempty"`
	Fetches   int64  `cbor:"7,keyasint,omitempty"`
	Key       []byte `cbor:"8,keyasint,omitempty"`
}

func recordFeed(f calendar.Feed) feedRecord {
	r := feedRecord{Hash: f.Hash[:], Sealed: f.Sealed, FetchedAt: stampOf(f.FetchedAt), Client: f.Client, Had: stampOf(f.Had), CreatedAt: stampOf(f.CreatedAt), Fetches: f.Fetches}
	if f.Bound() {
		r.Key = f.Key[:]
	}
	return r
}

func (r feedRecord) feed() calendar.Feed {
	f := calendar.Feed{
		Sealed: r.Sealed, CreatedAt: r.CreatedAt.time(), Fetches: r.Fetches,
		FetchedAt: r.FetchedAt.time(), Client: r.Client, Had: r.Had.time(),
	}
	copy(f.Hash[:], r.Hash)
	copy(f.Key[:], r.Key)
	return f
}

func (r *calendarRecord) from(b *calendar.Book) {
	*r = calendarRecord{b.LastID, stampOf(b.ChangedAt), optional(b.Feed, recordFeed), b.Owner.Enabled, b.Owner.Blocked, nil, b.Hidden}
	for _, gone := range b.Removed {
		r.Removed = binary.BigEndian.AppendUint64(r.Removed, gone.UID)
		r.Removed = binary.BigEndian.AppendUint32(r.Removed, uint32(gone.Until.Unix()))
	}
}

func (r *calendarRecord) book() *calendar.Book {
	b := &calendar.Book{
		LastID: r.LastID, ChangedAt: r.ChangedAt.time(), Feed: optional(r.Feed, feedRecord.feed), Hidden: r.Hidden,
		Owner: calendar.Owner{Enabled: r.Enabled, Blocked: r.Blocked},
	}
	const size = 8 + 4
	for rest := r.Removed; len(rest) >= size; rest = rest[size:] {
		until := time.Unix(int64(binary.BigEndian.Uint32(rest[8:])), 0).UTC()
		b.Removed = append(b.Removed, calendar.Removal{UID: binary.BigEndian.Uint64(rest), Until: until})
	}
	return b
}

// saidRecord is what a message said of a meeting, in a contentRecord.
type saidRecord struct {
	Meeting meetingRecord   `cbor:"1,keyasint"`
	Action  calendar.Action `cbor:"2,keyasint,omitempty"`
	Method  string          `cbor:"3,keyasint,omitempty"`
	Reason  string          `cbor:"4,keyasint,omitempty"`
}

func recordSaid(s calendar.Said) saidRecord {
	return saidRecord{recordMeeting(s.Meeting), s.Action, s.Method, s.Reason}
}
func (r saidRecord) said() calendar.Said {
	return calendar.Said{Meeting: r.Meeting.meeting(), Action: r.Action, Method: shared(r.Method), Reason: shared(r.Reason)}
}

// meetingRecord is a meeting: in its row, in a public record, and in the content of a message. Key
// 15 was never written: whether the meeting repeats follows from its recurrence.
type meetingRecord struct {
	ID          int64              `cbor:"1,keyasint,omitempty"` // absent in a row, whose key has it
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
	Occurrence  stamp              `cbor:"21,keyasint,omitempty"` // the one that a message referred to
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
	Until       stamp              `cbor:"34,keyasint,omitempty"`
	Outlived    *revisionRecord    `cbor:"35,keyasint,omitempty"`
	Untold      bool               `cbor:"36,keyasint,omitempty"`
	// OrganizerURI and the members after it come from other people's calendars.
	OrganizerURI string `cbor:"37,keyasint,omitempty"`
	SentBy       string `cbor:"38,keyasint,omitempty"`
	Transparent  bool   `cbor:"39,keyasint,omitempty"`
	JoinURL      string `cbor:"40,keyasint,omitempty"`
	LastMessage  int64  `cbor:"41,keyasint,omitempty"`
	RespondedAt  stamp  `cbor:"42,keyasint,omitempty"`
	Called       int    `cbor:"43,keyasint,omitempty"` // Copy.Called
	AnswersAt    stamp  `cbor:"44,keyasint,omitempty"` // Copy.AnswersAt
}

type attendeeRecord struct {
	Email  string `cbor:"1,keyasint,omitempty"`
	Name   string `cbor:"2,keyasint,omitempty"`
	Role   string `cbor:"3,keyasint,omitempty"`
	Status string `cbor:"4,keyasint,omitempty"`
	Kind   string `cbor:"5,keyasint,omitempty"`
	Asked  bool   `cbor:"6,keyasint,omitempty"`
	URI    string `cbor:"7,keyasint,omitempty"`
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
	Transparent  bool   `cbor:"8,keyasint,omitempty"`
}

// observanceRecord has local times, stored as if they were UTC.
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
	RecurrenceID stamp         `cbor:"1,keyasint,omitempty"`
	Sequence     int           `cbor:"2,keyasint,omitempty"`
	Stamp        stamp         `cbor:"3,keyasint,omitempty"`
	Within       bool          `cbor:"4,keyasint,omitempty"`
	Detail       *detailRecord `cbor:"5,keyasint,omitempty"`
}

type detailRecord struct {
	Timezone    string             `cbor:"1,keyasint,omitempty"`
	Observances []observanceRecord `cbor:"2,keyasint,omitempty"`
	Description string             `cbor:"3,keyasint,omitempty"`
	Organizer   *mailboxRecord     `cbor:"4,keyasint,omitempty"`
	Attendees   []attendeeRecord   `cbor:"5,keyasint,omitempty"`
	// OrganizerURI belongs to Organizer, whose record has no place for it.
	OrganizerURI string `cbor:"6,keyasint,omitempty"`
}

type revisionRecord struct {
	Sequence int   `cbor:"1,keyasint,omitempty"`
	Stamp    stamp `cbor:"2,keyasint,omitempty"`
}

func recordPerson(p icalendar.Person) mailboxRecord { return mailboxRecord{p.Email, p.Name} }
func (r mailboxRecord) person() icalendar.Person {
	return icalendar.Person{Email: shared(r[0]), Name: shared(r[1])}
}

func recordAttendee(a calendar.Attendee) attendeeRecord {
	return attendeeRecord{a.Email, a.Name, a.Role, a.Status, a.Kind, a.Asked, a.URI}
}

func (r attendeeRecord) attendee() calendar.Attendee {
	return calendar.Attendee{
		Person: icalendar.Person{Email: shared(r.Email), Name: shared(r.Name), URI: r.URI},
		Role:   shared(r.Role), Status: shared(r.Status), Kind: shared(r.Kind), Asked: r.Asked,
	}
}

func recordRecurrence(c icalendar.Recurrence) recurrenceRecord {
	return recurrenceRecord{c.Rule, convert(c.Except, stampOf), convert(c.Also, stampOf), convert(c.Overrides, recordOverride)}
}

func (r recurrenceRecord) recurrence() icalendar.Recurrence {
	return icalendar.Recurrence{Rule: r.Rule, Except: convert(r.Except, stamp.time), Also: convert(r.Also, stamp.time), Overrides: convert(r.Overrides, overrideRecord.override)}
}

func recordOverride(o icalendar.Override) overrideRecord {
	return overrideRecord{stampOf(o.RecurrenceID), stampOf(o.Start), stampOf(o.End), o.AllDay, o.Title, o.Location, o.Status, o.Transparent}
}

func (r overrideRecord) override() icalendar.Override {
	return icalendar.Override{
		RecurrenceID: r.RecurrenceID.time(), Start: r.Start.time(), End: r.End.time(), AllDay: r.AllDay,
		Title: r.Title, Location: r.Location, Status: r.Status, Transparent: r.Transparent,
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
	return heardRecord{stampOf(h.RecurrenceID), h.Sequence, stampOf(h.Stamp), h.Within, optional(h.Detail, recordDetail)}
}
func (r heardRecord) heard() calendar.Heard {
	return calendar.Heard{
		RecurrenceID: r.RecurrenceID.time(), Sequence: r.Sequence, Stamp: r.Stamp.time(), Within: r.Within,
		Detail: optional(r.Detail, detailRecord.detail),
	}
}

func recordDetail(d calendar.Detail) detailRecord {
	return detailRecord{
		d.Zone.Name, convert(d.Zone.Observances, recordObservance), d.Description,
		optional(d.Organizer, recordPerson), convert(d.Attendees, recordAttendee), uriOf(d.Organizer),
	}
}

func (r detailRecord) detail() calendar.Detail {
	return calendar.Detail{
		Zone: zone.Zone{Name: r.Timezone, Observances: convert(r.Observances, observanceRecord.observance)}, Description: r.Description,
		Organizer: organizer(r.Organizer, r.OrganizerURI), Attendees: convert(r.Attendees, attendeeRecord.attendee),
	}
}

// uriOf returns an organizer's URI, which mailboxRecord has no place for.
func uriOf(p *icalendar.Person) string {
	if p == nil {
		return ""
	}
	return p.URI
}

func organizer(r *mailboxRecord, uri string) *icalendar.Person {
	p := optional(r, mailboxRecord.person)
	if p != nil {
		p.URI = uri
	}
	return p
}

func recordRevision(v icalendar.Revision) revisionRecord {
	return revisionRecord{v.Sequence, stampOf(v.Stamp)}
}
func (r revisionRecord) revision() icalendar.Revision {
	return icalendar.Revision{Sequence: r.Sequence, Stamp: r.Stamp.time()}
}

func recordMeeting(m calendar.Meeting) meetingRecord {
	return meetingRecord{
		ID: m.ID, UID: m.UID, Title: m.Title, Start: stampOf(m.Start), End: stampOf(m.End), AllDay: m.AllDay, Timezone: m.Zone.Name,
		Location: m.Location, Description: m.Description, Organizer: optional(m.Organizer, recordPerson), Attendees: convert(m.Attendees, recordAttendee),
		Status: m.Status, Source: m.Source, Sequence: m.Sequence, MyStatus: m.MyStatus, CreatedAt: stampOf(m.CreatedAt), UpdatedAt: stampOf(m.UpdatedAt),
		Recurrence: optional(m.Recurrence, recordRecurrence), Stamp: stampOf(m.Stamp), Occurrence: stampOf(m.RecurrenceID), Comment: m.Comment,
		Observances: convert(m.Zone.Observances, recordObservance), Version: m.Version, Mail: m.Mail, Asked: m.Asked,
		Answers: convert(m.Answers, recordAnswer), Speaker: m.Speaker, Signed: m.Signed, Published: m.Published,
		Heard: convert(m.Heard, recordHeard), Copied: m.Copy.Sequence, Told: m.Copy.Told, Until: stampOf(m.Until),
		Outlived: optional(m.Outlived, recordRevision), Untold: m.Untold,
		OrganizerURI: uriOf(m.Organizer), SentBy: m.SentBy, Transparent: m.Transparent, JoinURL: m.JoinURL,
		LastMessage: m.LastMessage, RespondedAt: stampOf(m.RespondedAt),
		Called: m.Copy.Called, AnswersAt: stampOf(m.Copy.AnswersAt),
	}
}

func (r meetingRecord) meeting() calendar.Meeting {
	return calendar.Meeting{
		Event: icalendar.Event{
			UID: r.UID, Title: r.Title, Start: r.Start.time(), End: r.End.time(), AllDay: r.AllDay,
			Zone:     zone.Zone{Name: shared(r.Timezone), Observances: convert(r.Observances, observanceRecord.observance)},
			Location: shared(r.Location), Description: r.Description, Organizer: organizer(r.Organizer, r.OrganizerURI), Attendees: convert(r.Attendees, attendeeRecord.attendee),
			Status: shared(r.Status), Sequence: r.Sequence, Recurrence: optional(r.Recurrence, recurrenceRecord.recurrence), Stamp: r.Stamp.time(),
			RecurrenceID: r.Occurrence.time(), Comment: r.Comment, SentBy: shared(r.SentBy), Transparent: r.Transparent, JoinURL: r.JoinURL,
		},
		ID: r.ID, Source: shared(r.Source), MyStatus: shared(r.MyStatus), CreatedAt: r.CreatedAt.time(), UpdatedAt: r.UpdatedAt.time(),
		LastMessage: r.LastMessage, RespondedAt: r.RespondedAt.time(), Version: r.Version, Mail: r.Mail, Asked: r.Asked, Answers: convert(r.Answers, answerRecord.answer),
		Speaker: shared(r.Speaker), Signed: r.Signed, Published: r.Published, Heard: convert(r.Heard, heardRecord.heard),
		Copy: calendar.Copy{Sequence: r.Copied, Told: r.Told, Called: r.Called, AnswersAt: r.AnswersAt.time()}, Until: r.Until.time(),
		Outlived: optional(r.Outlived, revisionRecord.revision), Untold: r.Untold,
	}
}

// calendarKey is the key of a calendar's own row, or the prefix of its meetings.
func calendarKey(dst []byte, addr string, part byte) []byte {
	return append(appendText(dst, kindCalendar, addr), part)
}

func meetingKey(dst []byte, addr string, id int64) []byte {
	return appendNumber(calendarKey(dst, addr, partMeeting), id)
}

// putCalendar writes the changes of a calendar. Deletions come last, because the same rows may have
// added the meeting.
func (w *writer) putCalendar(r *inbox.Rows) {
	if r.Calendar == nil {
		return
	}
	var rec calendarRecord
	rec.from(r.Calendar)
	w.put(calendarKey(w.key[:0], r.Address, partCalendar), &rec)
	for _, m := range r.Meetings {
		rec := recordMeeting(*m)
		rec.ID = 0
		w.put(meetingKey(w.key[:0], r.Address, m.ID), &rec)
	}
	for run := range runs(ascending(r.DropMeetings)) {
		w.dropRun(run, func(dst []byte, id int64) []byte { return meetingKey(dst, r.Address, id) })
	}
}

// loadCalendar reads a calendar in one scan. Meetings that the disk has lost are listed in the
// book, logged and counted; the reader gets the others.
func (t *inboxTable) loadCalendar(addr string) (*calendar.Book, error) {
	b := &calendar.Book{}
	own, meetings := calendarKey(nil, addr, partCalendar), calendarKey(nil, addr, partMeeting)
	read := func(key, value []byte) error {
		if bytes.Equal(key, own) {
			var r calendarRecord
			if err := decode(value, &r); err != nil {
				return err
			}
			*b = *r.book() // its row is the first
			return nil
		}
		var r meetingRecord
		if err := decode(value, &r); err != nil {
			return err
		}
		m := r.meeting()
		m.ID = readNumber(key)
		b.Restore(&m, inbox.MeetingBytes(&m))
		return nil
	}
	err := t.scan(span{own, end(meetings)}, read)
	if damages(err) {
		*b = calendar.Book{}
		err = t.salvageCalendar(addr, b, read)
	}
	b.LastID = max(b.LastID, t.folder.Above())
	return b, err
}

// salvageCalendar reads a calendar row by row after a scan of its rows hit damage.
func (t *inboxTable) salvageCalendar(addr string, b *calendar.Book, read func(key, value []byte) error) error {
	own := calendarKey(nil, addr, partCalendar)
	one := func(key []byte) error {
		_, err := t.read(key, func(value []byte) error { return read(key, value) })
		if !damages(err) {
			return err
		}
		if key[len(own)-1] == partMeeting {
			b.Damaged = append(b.Damaged, readNumber(key))
		}
		if t.damage.note(messageName{address: string(key)}) {
			t.folder.Log.Error("storage: damaged part of a calendar skipped", "inbox", addr, "key", fmt.Sprintf("%x", key), "err", err)
		}
		return nil
	}
	if err := one(own); err != nil {
		return err
	}
	last := b.LastID
	if last == 0 { // the calendar's row is lost: no id that a meeting ever had may be assigned again
		last = lostCalendar
	}
	for id := int64(1); id <= last; id++ {
		if err := one(meetingKey(nil, addr, id)); err != nil {
			return err
		}
	}
	b.LastID = last
	return nil
}

// lostCalendar is how many ids are searched in a calendar whose own row is lost. These ids are not
// assigned again.
const lostCalendar = 1 << 16
