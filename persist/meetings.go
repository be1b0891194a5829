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
	LastID          int64       `cbor:"1,keyasint,omitempty"`
	ChangedAt       unixMillis  `cbor:"2,keyasint,omitempty"`
	Feed            *feedRecord `cbor:"3,keyasint,omitempty"`
	OwnerEnabled    bool        `cbor:"4,keyasint,omitempty"` // Owner.Enabled
	OwnerBlocked    bool        `cbor:"5,keyasint,omitempty"` // Owner.Blocked
	RemovedMeetings []byte      `cbor:"6,keyasint,omitempty"` // removals, of twelve octets each
	IsHidden        bool        `cbor:"7,keyasint,omitempty"`
}

type feedRecord struct {
	TokenHash      []byte     `cbor:"1,keyasint,omitempty"`
	SealedToken    []byte     `cbor:"2,keyasint,omitempty"`
	FetchedAt      unixMillis `cbor:"3,keyasint,omitempty"`
	LastClient     string     `cbor:"4,keyasint,omitempty"`
	LastSeenChange unixMillis `cbor:"5,keyasint,omitempty"`
	CreatedAt      unixMillis `cbor:"6,keyasint,omitempty"`
	FetchCount     int64      `cbor:"7,keyasint,omitempty"`
	CreatorKeyHash []byte     `cbor:"8,keyasint,omitempty"`
}

func recordFeed(f calendar.SubscriptionLink) feedRecord {
	r := feedRecord{TokenHash: f.TokenHash[:], SealedToken: f.EncryptedToken, FetchedAt: stampOf(f.FetchedAt), LastClient: f.LastClient, LastSeenChange: stampOf(f.LastChangeFetched), CreatedAt: stampOf(f.CreatedAt), FetchCount: f.FetchCount}
	if f.EndsWithKey() {
		r.CreatorKeyHash = f.CreatorKey[:]
	}
	return r
}

func (r feedRecord) toFeed() calendar.SubscriptionLink {
	f := calendar.SubscriptionLink{
		EncryptedToken: r.SealedToken, CreatedAt: r.CreatedAt.toTime(), FetchCount: r.FetchCount,
		FetchedAt: r.FetchedAt.toTime(), LastClient: r.LastClient, LastChangeFetched: r.LastSeenChange.toTime(),
	}
	copy(f.TokenHash[:], r.TokenHash)
	copy(f.CreatorKey[:], r.CreatorKeyHash)
	return f
}

func (r *calendarRecord) copyFrom(b *calendar.Book) {
	*r = calendarRecord{b.LastID, stampOf(b.ChangedAt), convertOptional(b.Feed, recordFeed), b.CopySetting.Enabled, b.CopySetting.Blocked, nil, b.LinkHidden}
	for _, gone := range b.RemovedMeetings {
		r.RemovedMeetings = binary.BigEndian.AppendUint64(r.RemovedMeetings, gone.UID)
		r.RemovedMeetings = binary.BigEndian.AppendUint32(r.RemovedMeetings, uint32(gone.ForgetAt.Unix()))
	}
}

func (r *calendarRecord) toBook() *calendar.Book {
	b := &calendar.Book{
		LastID: r.LastID, ChangedAt: r.ChangedAt.toTime(), Feed: convertOptional(r.Feed, feedRecord.toFeed), LinkHidden: r.IsHidden,
		CopySetting: calendar.CopySetting{Enabled: r.OwnerEnabled, Blocked: r.OwnerBlocked},
	}
	const size = 8 + 4
	for rest := r.RemovedMeetings; len(rest) >= size; rest = rest[size:] {
		until := time.Unix(int64(binary.BigEndian.Uint32(rest[8:])), 0).UTC()
		b.RemovedMeetings = append(b.RemovedMeetings, calendar.RemovedMeeting{UID: binary.BigEndian.Uint64(rest), ForgetAt: until})
	}
	return b
}

// saidRecord is what a message said of a meeting, in a contentRecord.
type saidRecord struct {
	Meeting meetingRecord          `cbor:"1,keyasint"`
	Action  calendar.MeetingAction `cbor:"2,keyasint,omitempty"`
	Method  string                 `cbor:"3,keyasint,omitempty"`
	Reason  string                 `cbor:"4,keyasint,omitempty"`
}

func recordSaid(s calendar.MessageEvent) saidRecord {
	return saidRecord{recordMeeting(s.Meeting), s.Action, s.Method, s.RefusalReason}
}
func (r saidRecord) toSaid() calendar.MessageEvent {
	return calendar.MessageEvent{Meeting: r.Meeting.toMeeting(), Action: r.Action, Method: internString(r.Method), RefusalReason: internString(r.Reason)}
}

// meetingRecord is a meeting: in its row, in a public record, and in the content of a message. Key
// 15 was never written: whether the meeting repeats follows from its recurrence.
type meetingRecord struct {
	ID                  int64              `cbor:"1,keyasint,omitempty"` // absent in a row, whose key has it
	UID                 string             `cbor:"2,keyasint,omitempty"`
	Title               string             `cbor:"3,keyasint,omitempty"`
	StartsAt            unixMillis         `cbor:"4,keyasint,omitempty"`
	EndsAt              unixMillis         `cbor:"5,keyasint,omitempty"`
	AllDay              bool               `cbor:"6,keyasint,omitempty"`
	Timezone            string             `cbor:"7,keyasint,omitempty"`
	Location            string             `cbor:"8,keyasint,omitempty"`
	Description         string             `cbor:"9,keyasint,omitempty"`
	Organizer           *mailboxRecord     `cbor:"10,keyasint,omitempty"`
	Attendees           []attendeeRecord   `cbor:"11,keyasint,omitempty"`
	Status              string             `cbor:"12,keyasint,omitempty"`
	Source              string             `cbor:"13,keyasint,omitempty"`
	Sequence            int                `cbor:"14,keyasint,omitempty"`
	MyStatus            string             `cbor:"16,keyasint,omitempty"`
	CreatedAt           unixMillis         `cbor:"17,keyasint,omitempty"`
	UpdatedAt           unixMillis         `cbor:"18,keyasint,omitempty"`
	Recurrence          *recurrenceRecord  `cbor:"19,keyasint,omitempty"`
	DateStamp           unixMillis         `cbor:"20,keyasint,omitempty"`
	OccurrenceAt        unixMillis         `cbor:"21,keyasint,omitempty"` // the one that a message referred to
	Comment             string             `cbor:"22,keyasint,omitempty"`
	Observances         []observanceRecord `cbor:"23,keyasint,omitempty"`
	Version             int64              `cbor:"24,keyasint,omitempty"`
	FirstMessageID      string             `cbor:"25,keyasint,omitempty"`
	AskedSequence       int                `cbor:"26,keyasint,omitempty"`
	Answers             []answerRecord     `cbor:"27,keyasint,omitempty"`
	Speaker             string             `cbor:"28,keyasint,omitempty"`
	IsSigned            bool               `cbor:"29,keyasint,omitempty"`
	IsPublished         bool               `cbor:"30,keyasint,omitempty"`
	OccurrenceRevisions []occurrenceRecord `cbor:"31,keyasint,omitempty"`
	CopySequence        int                `cbor:"32,keyasint,omitempty"` // Copy.ChangeCount
	NotifiedSequence    int                `cbor:"33,keyasint,omitempty"` // Copy.LastSentChange
	RemovedAt           unixMillis         `cbor:"34,keyasint,omitempty"`
	CancelledRevision   *revisionRecord    `cbor:"35,keyasint,omitempty"`
	OnlyCancelled       bool               `cbor:"36,keyasint,omitempty"`
	// OrganizerURI and the members after it come from other people's calendars.
	OrganizerURI   string     `cbor:"37,keyasint,omitempty"`
	SentBy         string     `cbor:"38,keyasint,omitempty"`
	IsTransparent  bool       `cbor:"39,keyasint,omitempty"`
	JoinURL        string     `cbor:"40,keyasint,omitempty"`
	LastMessage    int64      `cbor:"41,keyasint,omitempty"`
	RespondedAt    unixMillis `cbor:"42,keyasint,omitempty"`
	ClientSequence int        `cbor:"43,keyasint,omitempty"` // Copy.LastClientChange
	AnswersAt      unixMillis `cbor:"44,keyasint,omitempty"` // Copy.AnswersAt
}

type attendeeRecord struct {
	Email    string `cbor:"1,keyasint,omitempty"`
	Name     string `cbor:"2,keyasint,omitempty"`
	Role     string `cbor:"3,keyasint,omitempty"`
	Status   string `cbor:"4,keyasint,omitempty"`
	Kind     string `cbor:"5,keyasint,omitempty"`
	WasAsked bool   `cbor:"6,keyasint,omitempty"`
	URI      string `cbor:"7,keyasint,omitempty"`
}

type recurrenceRecord struct {
	Rule        string           `cbor:"1,keyasint,omitempty"`
	ExceptDates []unixMillis     `cbor:"2,keyasint,omitempty"`
	ExtraDates  []unixMillis     `cbor:"3,keyasint,omitempty"`
	Overrides   []overrideRecord `cbor:"4,keyasint,omitempty"`
}

type overrideRecord struct {
	RecurrenceID  unixMillis `cbor:"1,keyasint,omitempty"`
	StartsAt      unixMillis `cbor:"2,keyasint,omitempty"`
	EndsAt        unixMillis `cbor:"3,keyasint,omitempty"`
	AllDay        bool       `cbor:"4,keyasint,omitempty"`
	Title         string     `cbor:"5,keyasint,omitempty"`
	Location      string     `cbor:"6,keyasint,omitempty"`
	Status        string     `cbor:"7,keyasint,omitempty"`
	IsTransparent bool       `cbor:"8,keyasint,omitempty"`
}

// observanceRecord has local times, stored as if they were UTC.
type observanceRecord struct {
	Start      unixMillis   `cbor:"1,keyasint,omitempty"`
	OffsetFrom int          `cbor:"2,keyasint,omitempty"`
	To         int          `cbor:"3,keyasint,omitempty"`
	Rule       string       `cbor:"4,keyasint,omitempty"`
	Dates      []unixMillis `cbor:"5,keyasint,omitempty"`
}

type answerRecord struct {
	Email     string     `cbor:"1,keyasint,omitempty"`
	DateStamp unixMillis `cbor:"2,keyasint,omitempty"`
}

type occurrenceRecord struct {
	RecurrenceID     unixMillis    `cbor:"1,keyasint,omitempty"`
	Sequence         int           `cbor:"2,keyasint,omitempty"`
	DateStamp        unixMillis    `cbor:"3,keyasint,omitempty"`
	FromWholeMeeting bool          `cbor:"4,keyasint,omitempty"`
	Detail           *detailRecord `cbor:"5,keyasint,omitempty"`
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
	Sequence  int        `cbor:"1,keyasint,omitempty"`
	DateStamp unixMillis `cbor:"2,keyasint,omitempty"`
}

func recordPerson(p icalendar.Person) mailboxRecord { return mailboxRecord{p.Email, p.Name} }
func (r mailboxRecord) toPerson() icalendar.Person {
	return icalendar.Person{Email: internString(r[0]), Name: internString(r[1])}
}

func recordAttendee(a calendar.Attendee) attendeeRecord {
	return attendeeRecord{a.Email, a.Name, a.Role, a.ParticipationStatus, a.UserType, a.ResponseRequested, a.URI}
}

func (r attendeeRecord) attendee() calendar.Attendee {
	return calendar.Attendee{
		Person: icalendar.Person{Email: internString(r.Email), Name: internString(r.Name), URI: r.URI},
		Role:   internString(r.Role), ParticipationStatus: internString(r.Status), UserType: internString(r.Kind), ResponseRequested: r.WasAsked,
	}
}

func recordRecurrence(c icalendar.Recurrence) recurrenceRecord {
	return recurrenceRecord{c.Rule, convertList(c.ExceptionDates, stampOf), convertList(c.AdditionalDates, stampOf), convertList(c.Overrides, recordOverride)}
}

func (r recurrenceRecord) toRecurrence() icalendar.Recurrence {
	return icalendar.Recurrence{Rule: r.Rule, ExceptionDates: convertList(r.ExceptDates, unixMillis.toTime), AdditionalDates: convertList(r.ExtraDates, unixMillis.toTime), Overrides: convertList(r.Overrides, overrideRecord.toOverride)}
}

func recordOverride(o icalendar.Override) overrideRecord {
	return overrideRecord{stampOf(o.RecurrenceID), stampOf(o.Start), stampOf(o.End), o.AllDay, o.Title, o.Location, o.Status, o.IsTransparent}
}

func (r overrideRecord) toOverride() icalendar.Override {
	return icalendar.Override{
		RecurrenceID: r.RecurrenceID.toTime(), Start: r.StartsAt.toTime(), End: r.EndsAt.toTime(), AllDay: r.AllDay,
		Title: r.Title, Location: r.Location, Status: r.Status, IsTransparent: r.IsTransparent,
	}
}

func recordObservance(o zone.Observance) observanceRecord {
	return observanceRecord{stampOf(o.Start), o.From, o.To, o.Rule, convertList(o.Dates, stampOf)}
}

func (r observanceRecord) toObservance() zone.Observance {
	return zone.Observance{Start: r.Start.toTime(), From: r.OffsetFrom, To: r.To, Rule: r.Rule, Dates: convertList(r.Dates, unixMillis.toTime)}
}

func recordAnswer(a calendar.GuestAnswer) answerRecord {
	return answerRecord{a.Email, stampOf(a.Stamp)}
}
func (r answerRecord) toAnswer() calendar.GuestAnswer {
	return calendar.GuestAnswer{Email: r.Email, Stamp: r.DateStamp.toTime()}
}
func recordOccurrence(h calendar.OccurrenceRevision) occurrenceRecord {
	return occurrenceRecord{stampOf(h.RecurrenceID), h.Sequence, stampOf(h.Stamp), h.FromWholeMeeting, convertOptional(h.Detail, recordDetail)}
}
func (r occurrenceRecord) toRevision() calendar.OccurrenceRevision {
	return calendar.OccurrenceRevision{
		RecurrenceID: r.RecurrenceID.toTime(), Sequence: r.Sequence, Stamp: r.DateStamp.toTime(), FromWholeMeeting: r.FromWholeMeeting,
		Detail: convertOptional(r.Detail, detailRecord.toDetail),
	}
}

func recordDetail(d calendar.OccurrenceDetail) detailRecord {
	return detailRecord{
		d.Zone.Name, convertList(d.Zone.Observances, recordObservance), d.Description,
		convertOptional(d.Organizer, recordPerson), convertList(d.Attendees, recordAttendee), uriOf(d.Organizer),
	}
}

func (r detailRecord) toDetail() calendar.OccurrenceDetail {
	return calendar.OccurrenceDetail{
		Zone: zone.Zone{Name: r.Timezone, Observances: convertList(r.Observances, observanceRecord.toObservance)}, Description: r.Description,
		Organizer: toOrganizer(r.Organizer, r.OrganizerURI), Attendees: convertList(r.Attendees, attendeeRecord.attendee),
	}
}

// uriOf returns an organizer's URI, which mailboxRecord has no place for.
func uriOf(p *icalendar.Person) string {
	if p == nil {
		return ""
	}
	return p.URI
}

func toOrganizer(r *mailboxRecord, uri string) *icalendar.Person {
	p := convertOptional(r, mailboxRecord.toPerson)
	if p != nil {
		p.URI = uri
	}
	return p
}

func recordRevision(v icalendar.Revision) revisionRecord {
	return revisionRecord{v.Sequence, stampOf(v.StampedAt)}
}
func (r revisionRecord) toRevision() icalendar.Revision {
	return icalendar.Revision{Sequence: r.Sequence, StampedAt: r.DateStamp.toTime()}
}

func recordMeeting(m calendar.Meeting) meetingRecord {
	return meetingRecord{
		ID: m.ID, UID: m.UID, Title: m.Title, StartsAt: stampOf(m.Start), EndsAt: stampOf(m.End), AllDay: m.AllDay, Timezone: m.TimeZone.Name,
		Location: m.Location, Description: m.Description, Organizer: convertOptional(m.Organizer, recordPerson), Attendees: convertList(m.Attendees, recordAttendee),
		Status: m.Status, Source: m.Source, Sequence: m.Sequence, MyStatus: m.MyStatus, CreatedAt: stampOf(m.CreatedAt), UpdatedAt: stampOf(m.UpdatedAt),
		Recurrence: convertOptional(m.Recurrence, recordRecurrence), DateStamp: stampOf(m.StampedAt), OccurrenceAt: stampOf(m.RecurrenceID), Comment: m.Comment,
		Observances: convertList(m.TimeZone.Observances, recordObservance), Version: m.Version, FirstMessageID: m.FirstMessageID, AskedSequence: m.AskedSequence,
		Answers: convertList(m.LastAnswers, recordAnswer), Speaker: m.AuthorizedMailbox, IsSigned: m.MailboxAuthenticated, IsPublished: m.IsPublished,
		OccurrenceRevisions: convertList(m.OccurrenceRevisions, recordOccurrence), CopySequence: m.OwnerCopy.ChangeCount, NotifiedSequence: m.OwnerCopy.LastSentChange, RemovedAt: stampOf(m.RemoveAt),
		CancelledRevision: convertOptional(m.CancelledRevision, recordRevision), OnlyCancelled: m.OnlyCancelled,
		OrganizerURI: uriOf(m.Organizer), SentBy: m.SentBy, IsTransparent: m.IsTransparent, JoinURL: m.JoinURL,
		LastMessage: m.LastMessage, RespondedAt: stampOf(m.RespondedAt),
		ClientSequence: m.OwnerCopy.LastClientChange, AnswersAt: stampOf(m.OwnerCopy.AnswersAt),
	}
}

func (r meetingRecord) toMeeting() calendar.Meeting {
	return calendar.Meeting{
		Event: icalendar.Event{
			UID: r.UID, Title: r.Title, Start: r.StartsAt.toTime(), End: r.EndsAt.toTime(), AllDay: r.AllDay,
			TimeZone: zone.Zone{Name: internString(r.Timezone), Observances: convertList(r.Observances, observanceRecord.toObservance)},
			Location: internString(r.Location), Description: r.Description, Organizer: toOrganizer(r.Organizer, r.OrganizerURI), Attendees: convertList(r.Attendees, attendeeRecord.attendee),
			Status: internString(r.Status), Sequence: r.Sequence, Recurrence: convertOptional(r.Recurrence, recurrenceRecord.toRecurrence), StampedAt: r.DateStamp.toTime(),
			RecurrenceID: r.OccurrenceAt.toTime(), Comment: r.Comment, SentBy: internString(r.SentBy), IsTransparent: r.IsTransparent, JoinURL: r.JoinURL,
		},
		ID: r.ID, Source: internString(r.Source), MyStatus: internString(r.MyStatus), CreatedAt: r.CreatedAt.toTime(), UpdatedAt: r.UpdatedAt.toTime(),
		LastMessage: r.LastMessage, RespondedAt: r.RespondedAt.toTime(), Version: r.Version, FirstMessageID: r.FirstMessageID, AskedSequence: r.AskedSequence, LastAnswers: convertList(r.Answers, answerRecord.toAnswer),
		AuthorizedMailbox: internString(r.Speaker), MailboxAuthenticated: r.IsSigned, IsPublished: r.IsPublished, OccurrenceRevisions: convertList(r.OccurrenceRevisions, occurrenceRecord.toRevision),
		OwnerCopy: calendar.OwnerCopy{ChangeCount: r.CopySequence, LastSentChange: r.NotifiedSequence, LastClientChange: r.ClientSequence, AnswersAt: r.AnswersAt.toTime()}, RemoveAt: r.RemovedAt.toTime(),
		CancelledRevision: convertOptional(r.CancelledRevision, revisionRecord.toRevision), OnlyCancelled: r.OnlyCancelled,
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
func (w *batchWriter) putCalendar(r *inbox.Rows) {
	if r.Calendar == nil {
		return
	}
	var rec calendarRecord
	rec.copyFrom(r.Calendar)
	w.putRecord(calendarKey(w.keyBuf[:0], r.Address, partCalendar), &rec)
	for _, m := range r.PutMeetings {
		rec := recordMeeting(*m)
		rec.ID = 0
		w.putRecord(meetingKey(w.keyBuf[:0], r.Address, m.ID), &rec)
	}
	for run := range idRuns(sortIDs(r.DropMeetings)) {
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
			if err := decodeRecord(value, &r); err != nil {
				return err
			}
			*b = *r.toBook() // its row is the first
			return nil
		}
		var r meetingRecord
		if err := decodeRecord(value, &r); err != nil {
			return err
		}
		m := r.toMeeting()
		m.ID = readNumber(key)
		b.RestoreMeeting(&m, inbox.MeetingBytes(&m))
		return nil
	}
	err := t.scanRows(keyRange{own, endOfPrefix(meetings)}, read)
	if isDamage(err) {
		*b = calendar.Book{}
		err = t.salvageCalendar(addr, b, read)
	}
	b.LastID = max(b.LastID, t.folder.MinimumID())
	return b, err
}

// salvageCalendar reads a calendar row by row after a scan of its rows hit damage.
func (t *inboxTable) salvageCalendar(addr string, b *calendar.Book, read func(key, value []byte) error) error {
	own := calendarKey(nil, addr, partCalendar)
	one := func(key []byte) error {
		_, err := t.readRow(key, func(value []byte) error { return read(key, value) })
		if !isDamage(err) {
			return err
		}
		if key[len(own)-1] == partMeeting {
			b.DamagedIDs = append(b.DamagedIDs, readNumber(key))
		}
		if t.damageLog.noteDamaged(messageName{inboxAddress: string(key)}) {
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
