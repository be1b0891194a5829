package inbox

import (
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/calendar"
)

// ApplyMeetingPlan carries out an order: it stores the resulting meeting and queues the messages
// about it, Submits[i] for Plan.OutgoingMessages[i]. After is the position of their count in the
// day's quota, as for Submit. It is refused with ErrOutdated if the meeting changed since the plan
// was made.
type ApplyMeetingPlan struct {
	MeetingPlan   calendar.PlannedChange
	Submits       []Submit
	AfterPosition partition.Position
}

// RemoveMeeting removes a meeting from the calendar without notifying anybody. Messages do not
// bring it back for 30 days.
type RemoveMeeting struct{ ID int64 }

func (c RemoveMeeting) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m, err := s.Calendar.FindFor(c.ID, s.Address)
	if err != nil {
		return nil, CommandOutcome{}, err
	}
	return []Event{meetingRemoved{m, env.Now}, caughtUp{}}, CommandOutcome{}, nil
}

// meetingRemoved is a meeting that the inbox removed.
type meetingRemoved struct {
	Meeting *calendar.Meeting
	At      time.Time
}

func (e meetingRemoved) applyTo(s *State) {
	s.Calendar = s.Calendar.WithRemoval(e.Meeting, e.At)
	s.rescheduleDue()
}

func (e meetingRemoved) collectRows(s *State, r *Rows) {
	r.Calendar = s.Calendar
	r.DropMeetings = append(r.DropMeetings, e.Meeting.ID)
}

// Size is the total number of bytes of the messages.
func (c *ApplyMeetingPlan) Size() (n int64) {
	for i := range c.Submits {
		n += int64(len(c.Submits[i].Raw))
	}
	return n
}

// NoCalendar is the error for a request for meetings of an encrypted inbox.
const NoCalendar = "This inbox is end-to-end encrypted, so it has no calendar"

// ErrOutdated means that an order must be planned again.
var ErrOutdated = fault.Refuse(fault.CodeConflict, "The meeting was changed at the same time, try again")

// meetingStored is a meeting that is new or changed. Public is the event about it; nil: none.
type meetingStored struct {
	Meeting     calendar.Meeting
	PublicEvent *PublicEvent
}

func (e meetingStored) applyTo(s *State) {
	was := s.Calendar.Meeting(e.Meeting.ID)
	s.Calendar = s.Calendar.WithMeeting(&e.Meeting, MeetingBytes(&e.Meeting))
	s.HasCalendar = true
	if e.PublicEvent != nil {
		s.LastEvent = e.PublicEvent.SequenceNumber
	}
	if was != nil && was.RemoveAt.Equal(s.DueAt) {
		s.rescheduleDue() // it may stay longer now
	}
	s.dueBy(e.Meeting.RemoveAt)
}
func (e meetingStored) collectRows(s *State, r *Rows) {
	r.writeProfile(s)
	r.Calendar = s.Calendar
	r.PutMeetings = append(r.PutMeetings, s.Calendar.Meeting(e.Meeting.ID))
	if e.Meeting.OwnerCopy.IsDue() {
		r.CopyDue = new(true)
	}
	if e.PublicEvent != nil {
		r.PublicEvents = append(r.PublicEvents, *e.PublicEvent)
	}
}

// unmet are meetings that are over at a time. With AllMeetings the calendar is removed too; its ids
// are not reused.
type unmet struct {
	IDs         []int64
	At          time.Time
	AllMeetings bool
}

func (e unmet) applyTo(s *State) {
	if e.AllMeetings {
		s.Calendar = &calendar.Book{LastID: s.Calendar.LastID}
	} else {
		s.Calendar = s.Calendar.WithoutMeetings(e.IDs)
		s.Calendar.ChangedAt = e.At
	}
	s.rescheduleDue()
}
func (e unmet) collectRows(s *State, r *Rows) {
	r.Calendar = s.Calendar
	r.DropMeetings = append(r.DropMeetings, e.IDs...)
}

// withoutCalendar returns the events that remove the calendar of a deleted inbox.
func (s *State) withoutCalendar(now time.Time) []Event {
	if s.Calendar == nil {
		return nil
	}
	ev := unmet{At: now, AllMeetings: true}
	for _, m := range s.Calendar.Meetings {
		ev.IDs = append(ev.IDs, m.ID)
	}
	return append(s.endLink(), ev, caughtUp{})
}

// meetingsOver returns the meetings that retention may remove, at most expireStep.
func (s *State) meetingsOver(now time.Time) (ids []int64) {
	if s.Calendar == nil {
		return nil
	}
	for _, m := range s.Calendar.Meetings {
		if !m.RemoveAt.IsZero() && !now.Before(m.RemoveAt) && len(ids) < expireStep {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// meetingToStore is a meeting to be stored, and the ids of those removed to make room for it.
type meetingToStore struct {
	meeting    calendar.Meeting
	removedIDs []int64
}

// prepareMeeting assigns an id to a new meeting and makes room for it. The error means that the
// calendar is full.
func prepareMeeting(in *calendar.Book, m calendar.Meeting, now time.Time) (k meetingToStore, err error) {
	if in.Meeting(m.ID) == nil {
		m.ID = 1
		if in != nil {
			m.ID = in.LastID + 1
		}
	}
	m.RemoveAt = time.Time{}
	if at, ever := calendar.RemovalTime(&m); ever {
		m.RemoveAt = at.UTC().Truncate(time.Millisecond)
	}
	gone, ok := in.MakeRoom(&m, MeetingBytes(&m), now)
	if !ok {
		return k, fault.Refuse(fault.CodeLimitReached, "The calendar of this inbox is full: its limits are %d meetings and %d bytes. Remove meetings with DELETE .../calendar/events/{id}", calendar.MaxMeetings, calendar.MaxBytes)
	}
	return meetingToStore{m, gone}, nil
}

// changeEvents returns the events of the change. A nil public means that no subscriber is notified.
func (k *meetingToStore) changeEvents(public *PublicEvent, now time.Time) (evs []Event) {
	if len(k.removedIDs) > 0 {
		evs = append(evs, unmet{IDs: k.removedIDs, At: now})
	}
	return append(evs, meetingStored{k.meeting, public})
}

// mergeInvitations applies what the message says about meetings, in order, and returns the content
// of m and the events.
func (c *Receive) mergeInvitations(s *State, m *Message) (*Content, []Event, []*calendar.MessageEvent) {
	if len(c.Invitations) == 0 {
		return c.Content, nil, nil
	}
	var evs []Event
	var all []*calendar.MessageEvent
	book, number := s.Calendar, s.LastEvent+2 // the message's own event comes first
	for _, inv := range c.Invitations {
		merged := calendar.MergeMessage(book, inv, s.Address, m.ReceivedAt)
		if merged.Meeting != nil {
			merged.Meeting.LastMessage = m.ID
			k, err := prepareMeeting(book, *merged.Meeting, m.ReceivedAt)
			if err != nil {
				merged = merged.WithoutRoom()
			} else {
				merged.MessageEvent.Meeting.ID = k.meeting.ID
				book = book.WithoutMeetings(k.removedIDs).WithMeeting(&k.meeting, MeetingBytes(&k.meeting))
				public := s.meetingEvent(&merged, &k.meeting, m, number)
				if evs = append(evs, k.changeEvents(public, m.ReceivedAt)...); public != nil {
					number++
				}
			}
		}
		all = append(all, &merged.MessageEvent)
	}
	content := *c.Content // shared with all recipients
	content.Calendar, content.MoreCalendar = all[0], all[1:]
	return &content, evs, all
}

// meetingEvent is the public event about the effect of message m on a meeting.
func (s *State) meetingEvent(merged *calendar.MergeResult, kept *calendar.Meeting, m *Message, number uint64) *PublicEvent {
	if merged.PublicEvent == "" {
		return nil
	}
	return &PublicEvent{
		SequenceNumber: number, EventName: merged.PublicEvent, Account: s.Account, Address: s.Address, MessageID: m.ID, At: m.ReceivedAt,
		Meeting: kept, Attendee: merged.Attendee,
	}
}

func (c ApplyMeetingPlan) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m := &c.MeetingPlan.Meeting
	known := s.Calendar.Meeting(m.ID)
	switch {
	case s.Encrypted:
		return nil, CommandOutcome{}, fault.New(fault.Refused, NoCalendar)
	case m.ID != 0 && (known == nil || known.Version != m.Version):
		return nil, CommandOutcome{}, ErrOutdated
	case !c.MeetingPlan.HasChanged:
		return nil, CommandOutcome{Meeting: known}, nil
	}
	k, err := prepareMeeting(s.Calendar, *m, env.Now)
	if err != nil {
		return nil, CommandOutcome{}, err
	}
	k.meeting.Version++
	if len(c.Submits) > 0 {
		k.meeting.LastMessage = s.LastID + 1
	}
	gone, err := s.makeRoom(len(c.Submits), c.Size(), env.Capacity, env.Now)
	if err != nil {
		return nil, CommandOutcome{}, err
	}
	evs, outcome := withRemoval(gone, k.changeEvents(nil, env.Now)...), CommandOutcome{Meeting: &k.meeting}
	for i := range c.Submits {
		ev := c.Submits[i].storageEvent(s, env.Now, s.LastID+1+int64(i))
		content := *ev.Content
		content.Calendar = c.MeetingPlan.OutgoingMessages[i].SentEvent(&k.meeting)
		ev.Content = &content
		evs = append(evs, ev)
	}
	if len(c.Submits) > 0 {
		outcome.ID = k.meeting.LastMessage
	}
	return evs, outcome, nil
}

// MeetingBytes is the approximate size of a meeting's row on disk. It depends only on the meeting.
func MeetingBytes(m *calendar.Meeting) int64 {
	const perMeeting, perOccurrence, perAnswer, perTime = 160, 48, 24, 10
	n := perMeeting + len(m.UID) + len(m.Title) + len(m.Location) + len(m.Comment) + len(m.FirstMessageID) + len(m.AuthorizedMailbox) + len(m.SentBy) + len(m.JoinURL)
	n += detailBytes(&calendar.OccurrenceDetail{Zone: m.TimeZone, Description: m.Description, Organizer: m.Organizer, Attendees: m.Attendees})
	for i := range m.LastAnswers {
		n += perAnswer + len(m.LastAnswers[i].Email)
	}
	for i := range m.OccurrenceRevisions {
		if d := m.OccurrenceRevisions[i].Detail; d != nil {
			n += detailBytes(d)
		}
	}
	n += perOccurrence * len(m.OccurrenceRevisions)
	if r := m.Recurrence; r != nil {
		n += len(r.Rule) + perTime*(len(r.ExceptionDates)+len(r.AdditionalDates))
		for i := range r.Overrides {
			n += perOccurrence + len(r.Overrides[i].Title) + len(r.Overrides[i].Location)
		}
	}
	return int64(n)
}

// detailBytes is the approximate number of bytes of d in a row.
func detailBytes(d *calendar.OccurrenceDetail) int {
	const perPerson, perObservance, perTime = 64, 32, 10
	n := len(d.Description) + len(d.Zone.Name)
	if d.Organizer != nil {
		n += len(d.Organizer.Email) + len(d.Organizer.Name) + len(d.Organizer.URI)
	}
	for i := range d.Attendees {
		n += perPerson + len(d.Attendees[i].Email) + len(d.Attendees[i].Name) + len(d.Attendees[i].URI)
	}
	for i := range d.Zone.Observances {
		o := &d.Zone.Observances[i]
		n += perObservance + len(o.Rule) + perTime*len(o.Dates)
	}
	return n
}

// calendarWeight is the approximate number of bytes that a calendar uses in memory.
func calendarWeight(b *calendar.Book) int64 {
	if b == nil {
		return 0
	}
	const perBook, perMeeting, perRemoval = 256, 512, 32
	return perBook + perMeeting*int64(len(b.Meetings)) + 2*b.Bytes + perRemoval*int64(len(b.RemovedMeetings))
}
