package calendar

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/mail/icalendar"
)

// PlanChange returns the plan of an order, given the calendar: the changed meeting and the messages
// about it. uid is random and becomes the UID of a new meeting. An error of the request itself is a
// fault.InvalidRequest that names the field. NotFound, Forbidden and Refused come after it
// (specification, Calendar). The caller checks recipients and quotas.
func PlanChange(b *Book, o MeetingOrder, me Me, now time.Time, uid [16]byte) (PlannedChange, error) {
	a := changePlanner{book: b, me: me, now: now.UTC()}
	switch o := o.(type) {
	case Schedule:
		return a.planSchedule(&o, uid)
	case Reschedule:
		return a.planReschedule(&o)
	case Cancel:
		return a.planCancel(&o)
	case Respond:
		return a.planResponse(&o)
	}
	return PlannedChange{}, fmt.Errorf("calendar: unknown command %T", o)
}

// changePlanner is the context of an order. One call of PlanChange owns it.
type changePlanner struct {
	book *Book
	me   Me
	now  time.Time
}

func (a *changePlanner) planSchedule(o *Schedule, uid [16]byte) (plan PlannedChange, err error) {
	if err := o.checkComplete(); err != nil {
		return plan, err
	}
	said, err := a.parseFields(&o.MeetingFields, o.Message)
	if err != nil {
		return plan, err
	}
	m := &plan.Meeting
	m.Source, m.CreatedAt, m.Status = SourceOutbound, a.now, icalendar.StatusConfirmed
	m.UID = hex.EncodeToString(uid[:]) + "@" + address.DomainOf(a.me.Address)
	if err := said.applyTo(&m.Event); err != nil {
		return plan, err
	}
	m.Attendees = said.guests
	a.markChanged(m)
	l := messageBuilder{meeting: m, subjectPrefix: "Invitation: ", openingLine: a.displayName() + " invites you to a meeting.", clientNote: o.Message, threadID: o.InReplyTo}
	plan.HasChanged, plan.RequiredRecipients = true, emailsOf(m.Attendees)
	plan.OutgoingMessages = []MeetingMessage{l.buildRequest(m.Attendees, ActionCreated)}
	return plan, nil
}

// markChanged marks an own meeting as changed now.
func (a *changePlanner) markChanged(m *Meeting) {
	organizer := a.me.AsPerson()
	m.Organizer = &organizer
	m.UpdatedAt, m.StampedAt = a.now, a.now.Truncate(time.Second)
	if a.book.countOwnerChange(m) {
		m.OwnerCopy.LastClientChange = m.OwnerCopy.ChangeCount
	}
}

// countOwnerChange counts a change of an own meeting that the owner gets a copy of, if copies are
// enabled.
func (b *Book) countOwnerChange(m *Meeting) bool {
	if !b.CurrentSetting().CopiesWanted() {
		return false
	}
	m.OwnerCopy.ChangeCount++
	return true
}

// displayName is the name of the inbox for people.
func (a *changePlanner) displayName() string { return personText(a.me.AsPerson()) }

// findMeeting returns the meeting with the id.
func (a *changePlanner) findMeeting(id int64) (*Meeting, error) {
	return a.book.FindFor(id, a.me.Address)
}

// findOwnMeeting returns the meeting with the id, if this inbox can change it.
func (a *changePlanner) findOwnMeeting(id int64) (*Meeting, error) {
	m, err := a.findMeeting(id)
	switch {
	case err != nil:
		return nil, err
	case m.Source != SourceOutbound:
		return nil, fault.New(fault.Forbidden, fmt.Sprintf("Meeting %d was organized by %s, and only the organizer can change or cancel it. Answer it with rsvp", id, organizerOf(m)))
	case m.Status == icalendar.StatusCancelled:
		return nil, isCancelled(id)
	}
	return m, nil
}

func isCancelled(id int64) error {
	return fault.New(fault.Refused, fmt.Sprintf("Meeting %d is cancelled and can no longer be changed or answered", id))
}

func organizerOf(m *Meeting) string {
	if m.Organizer == nil {
		return "somebody else"
	}
	return m.Organizer.Email
}

func (a *changePlanner) planReschedule(o *Reschedule) (plan PlannedChange, err error) {
	said, err := a.parseFields(&o.MeetingFields, o.Message)
	if err != nil {
		return plan, err
	}
	old, err := a.findOwnMeeting(o.ID)
	if err != nil {
		return plan, err
	}
	plan.Meeting = *old
	next := &plan.Meeting
	if err := said.applyTo(&next.Event); err != nil {
		return plan, err
	}
	guests := guestChange{allInvited: slices.Clone(old.Attendees)}
	if said.guests != nil {
		guests = changeOf(old.Attendees, said.guests)
	}
	what := changeKind(&old.Event, &next.Event)
	if what == sameEvent && guests.isEmpty() {
		return plan, nil
	}
	next.Attendees = guests.allInvited
	next.Sequence++
	if what == otherTimes {
		askAgain(next)
	}
	a.markChanged(next)
	plan.HasChanged, plan.RequiredRecipients = true, emailsOf(guests.added)
	plan.OutgoingMessages = a.notifyChange(old, next, what, &guests, o.Message)
	return plan, nil
}

// The kind of a change of a meeting; the last applicable one counts.
const (
	sameEvent = iota
	otherTexts
	otherTimes
)

func changeKind(a, b *icalendar.Event) int {
	switch {
	case !a.Start.Equal(b.Start), !a.End.Equal(b.End), a.AllDay != b.AllDay:
		return otherTimes
	case a.Title != b.Title, a.Location != b.Location, a.Description != b.Description, a.TimeZone.Name != b.TimeZone.Name:
		return otherTexts
	}
	return sameEvent
}

// askAgain resets every answer.
func askAgain(m *Meeting) {
	m.AskedSequence = m.Sequence
	for i := range m.Attendees {
		m.Attendees[i].ParticipationStatus = icalendar.NeedsAction
	}
}

// notifyChange returns one message to all invited guests, and one to those that were removed. If only
// the list of guests changed, the others are not notified. A removed guest is notified about the
// meeting as they know it.
func (a *changePlanner) notifyChange(old, m *Meeting, what int, guests *guestChange, note string) (messages []MeetingMessage) {
	l := messageBuilder{meeting: m, clientNote: note, threadID: m.FirstMessageID}
	to := m.Attendees
	if what == sameEvent {
		to = slices.Concat(guests.added, guests.altered)
	}
	if len(to) > 0 {
		l.subjectPrefix, l.openingLine = "Updated invitation: ", a.displayName()+" changed this meeting."
		switch {
		case what == otherTimes:
			l.openingLine = a.displayName() + " moved this meeting, so please answer again."
		case len(to) == len(guests.added):
			l.subjectPrefix, l.openingLine = "Invitation: ", a.displayName()+" invites you to a meeting."
		}
		messages = append(messages, l.buildRequest(to, ActionUpdated))
	}
	if len(guests.removed) > 0 {
		was := *old
		was.Sequence, was.StampedAt, was.Organizer = m.Sequence, m.StampedAt, m.Organizer
		l.meeting, l.openingLine = &was, "You are no longer invited to this meeting."
		messages = append(messages, l.buildCancel(guests.removed))
	}
	return messages
}

func (a *changePlanner) planCancel(o *Cancel) (plan PlannedChange, err error) {
	if err := fault.CheckText("message", o.Message, maxMessage, false); err != nil {
		return plan, err
	}
	old, err := a.findOwnMeeting(o.ID)
	if err != nil {
		return plan, err
	}
	plan.Meeting, plan.HasChanged = *old, true
	m := &plan.Meeting
	m.Status = icalendar.StatusCancelled
	m.Sequence++
	a.markChanged(m)
	l := messageBuilder{meeting: m, openingLine: a.displayName() + " cancelled this meeting.", clientNote: o.Message, threadID: m.FirstMessageID}
	plan.OutgoingMessages = []MeetingMessage{l.buildCancel(m.Attendees)}
	return plan, nil
}

// planResponse answers a meeting. Each answer has a later DTSTAMP than the previous one, even within a
// second, because otherwise it would not count.
func (a *changePlanner) planResponse(o *Respond) (plan PlannedChange, err error) {
	if _, ok := answerTexts[o.Response]; !ok {
		return plan, fault.InvalidField("response", "must be accepted, declined or tentative")
	}
	if err := fault.CheckText("comment", o.Comment, maxMessage, false); err != nil {
		return plan, err
	}
	old, us, organizer, err := a.findInvitation(o.ID)
	if err != nil {
		return plan, err
	}
	plan.Meeting, plan.HasChanged, plan.RequiredRecipients = *old, true, []string{organizer}
	m := &plan.Meeting
	m.Attendees = slices.Clone(old.Attendees)
	m.Attendees[us].ParticipationStatus, m.MyStatus, m.UpdatedAt, m.RespondedAt = o.Response, o.Response, a.now, a.now
	stamp := a.now.Truncate(time.Second)
	for _, last := range old.LastAnswers {
		if a.me.is(last.Email) && !stamp.After(last.Stamp) {
			stamp = last.Stamp.Add(time.Second)
		}
	}
	m.LastAnswers = []GuestAnswer{{a.me.Address, stamp}}
	l := messageBuilder{meeting: m, subjectPrefix: answerTexts[o.Response].subject, openingLine: a.displayName() + " " + answerTexts[o.Response].says, clientNote: o.Comment, threadID: m.FirstMessageID}
	plan.OutgoingMessages = []MeetingMessage{l.buildReply(us, organizer, stamp)}
	return plan, nil
}

// findInvitation returns a meeting that this inbox can answer, its own index in the attendees, and the
// recipient of the answer.
func (a *changePlanner) findInvitation(id int64) (m *Meeting, us int, organizer string, err error) {
	if m, err = a.findMeeting(id); err != nil {
		return m, us, organizer, err
	}
	us = slices.IndexFunc(m.Attendees, func(at Attendee) bool { return a.me.isPerson(&at.Person) })
	refuse := func(format string, args ...any) error { return fault.New(fault.Refused, fmt.Sprintf(format, args...)) }
	switch {
	case m.Source == SourceOutbound:
		err = refuse("Meeting %d is organized by this inbox: change or cancel it instead of answering it", id)
	case m.Status == icalendar.StatusCancelled:
		err = isCancelled(id)
	case us < 0, m.IsPublished, m.Organizer == nil:
		err = refuse("%s is not among the attendees of meeting %d, so there is nothing to answer", a.me.Address, id)
	default:
		if organizer, err = address.CanonicalRecipient(m.Organizer.Mailbox()); err != nil {
			err = refuse("Meeting %d was organized by %s, to whom no mail can be sent", id, m.Organizer.Mailbox())
		}
	}
	return m, us, organizer, err
}
