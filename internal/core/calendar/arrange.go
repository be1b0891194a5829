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

// Arrange returns the plan of an order, given the calendar: the changed meeting and the messages
// about it. uid is random and becomes the UID of a new meeting. An error of the request itself is a
// fault.Invalid that names the field. NotFound, Forbidden and Refused come after it (specification,
// Calendar). The caller checks recipients and quotas.
func Arrange(b *Book, o Order, me Me, now time.Time, uid [16]byte) (Plan, error) {
	a := arranger{book: b, me: me, now: now.UTC()}
	switch o := o.(type) {
	case Schedule:
		return a.schedule(&o, uid)
	case Reschedule:
		return a.reschedule(&o)
	case Cancel:
		return a.cancel(&o)
	case Respond:
		return a.respond(&o)
	}
	return Plan{}, fmt.Errorf("calendar: unknown command %T", o)
}

// arranger is the context of an order. One call of Arrange owns it.
type arranger struct {
	book *Book
	me   Me
	now  time.Time
}

func (a *arranger) schedule(o *Schedule, uid [16]byte) (plan Plan, err error) {
	if err := o.complete(); err != nil {
		return plan, err
	}
	said, err := a.read(&o.Fields, o.Message)
	if err != nil {
		return plan, err
	}
	m := &plan.Meeting
	m.Source, m.CreatedAt, m.Status = Outbound, a.now, icalendar.Confirmed
	m.UID = hex.EncodeToString(uid[:]) + "@" + address.DomainOf(a.me.Address)
	if err := said.apply(&m.Event); err != nil {
		return plan, err
	}
	m.Attendees = said.guests
	a.changed(m)
	l := letter{meeting: m, subject: "Invitation: ", opening: a.called() + " invites you to a meeting.", note: o.Message, thread: o.InReplyTo}
	plan.Changed, plan.Must = true, emails(m.Attendees)
	plan.Mails = []Mail{l.request(m.Attendees, Created)}
	return plan, nil
}

// changed marks an own meeting as changed now.
func (a *arranger) changed(m *Meeting) {
	organizer := a.me.Person()
	m.Organizer = &organizer
	m.UpdatedAt, m.Stamp = a.now, a.now.Truncate(time.Second)
	if a.book.tell(m) {
		m.Copy.Called = m.Copy.Sequence
	}
}

// tell counts a change of an own meeting that the owner gets a copy of, if copies are enabled.
func (b *Book) tell(m *Meeting) bool {
	if !b.Setting().Wants() {
		return false
	}
	m.Copy.Sequence++
	return true
}

// called is the name of the inbox for people.
func (a *arranger) called() string { return personText(a.me.Person()) }

// known returns the meeting with the id.
func (a *arranger) known(id int64) (*Meeting, error) { return a.book.Find(id, a.me.Address) }

// own returns the meeting with the id, if this inbox can change it.
func (a *arranger) own(id int64) (*Meeting, error) {
	m, err := a.known(id)
	switch {
	case err != nil:
		return nil, err
	case m.Source != Outbound:
		return nil, fault.New(fault.Forbidden, fmt.Sprintf("Meeting %d was organized by %s, and only the organizer can change or cancel it. Answer it with rsvp", id, organizerOf(m)))
	case m.Status == icalendar.Cancelled:
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

func (a *arranger) reschedule(o *Reschedule) (plan Plan, err error) {
	said, err := a.read(&o.Fields, o.Message)
	if err != nil {
		return plan, err
	}
	old, err := a.own(o.ID)
	if err != nil {
		return plan, err
	}
	plan.Meeting = *old
	next := &plan.Meeting
	if err := said.apply(&next.Event); err != nil {
		return plan, err
	}
	guests := guestChange{stay: slices.Clone(old.Attendees)}
	if said.guests != nil {
		guests = changeOf(old.Attendees, said.guests)
	}
	what := differs(&old.Event, &next.Event)
	if what == sameEvent && guests.none() {
		return plan, nil
	}
	next.Attendees = guests.stay
	next.Sequence++
	if what == otherTimes {
		askAgain(next)
	}
	a.changed(next)
	plan.Changed, plan.Must = true, emails(guests.added)
	plan.Mails = a.tellChange(old, next, what, &guests, o.Message)
	return plan, nil
}

// The kind of a change of a meeting; the last applicable one counts.
const (
	sameEvent = iota
	otherTexts
	otherTimes
)

func differs(a, b *icalendar.Event) int {
	switch {
	case !a.Start.Equal(b.Start), !a.End.Equal(b.End), a.AllDay != b.AllDay:
		return otherTimes
	case a.Title != b.Title, a.Location != b.Location, a.Description != b.Description, a.Zone.Name != b.Zone.Name:
		return otherTexts
	}
	return sameEvent
}

// askAgain resets every answer.
func askAgain(m *Meeting) {
	m.Asked = m.Sequence
	for i := range m.Attendees {
		m.Attendees[i].Status = icalendar.NeedsAction
	}
}

// tellChange returns one message to all invited guests, and one to those that were removed. If only
// the list of guests changed, the others are not notified. A removed guest is notified about the
// meeting as they know it.
func (a *arranger) tellChange(old, m *Meeting, what int, guests *guestChange, note string) (mails []Mail) {
	l := letter{meeting: m, note: note, thread: m.Mail}
	to := m.Attendees
	if what == sameEvent {
		to = slices.Concat(guests.added, guests.altered)
	}
	if len(to) > 0 {
		l.subject, l.opening = "Updated invitation: ", a.called()+" changed this meeting."
		switch {
		case what == otherTimes:
			l.opening = a.called() + " moved this meeting, so please answer again."
		case len(to) == len(guests.added):
			l.subject, l.opening = "Invitation: ", a.called()+" invites you to a meeting."
		}
		mails = append(mails, l.request(to, Updated))
	}
	if len(guests.removed) > 0 {
		was := *old
		was.Sequence, was.Stamp, was.Organizer = m.Sequence, m.Stamp, m.Organizer
		l.meeting, l.opening = &was, "You are no longer invited to this meeting."
		mails = append(mails, l.cancel(guests.removed))
	}
	return mails
}

func (a *arranger) cancel(o *Cancel) (plan Plan, err error) {
	if err := fault.CheckText("message", o.Message, maxMessage, false); err != nil {
		return plan, err
	}
	old, err := a.own(o.ID)
	if err != nil {
		return plan, err
	}
	plan.Meeting, plan.Changed = *old, true
	m := &plan.Meeting
	m.Status = icalendar.Cancelled
	m.Sequence++
	a.changed(m)
	l := letter{meeting: m, opening: a.called() + " cancelled this meeting.", note: o.Message, thread: m.Mail}
	plan.Mails = []Mail{l.cancel(m.Attendees)}
	return plan, nil
}

// respond answers a meeting. Each answer has a later DTSTAMP than the previous one, even within a
// second, because otherwise it would not count.
func (a *arranger) respond(o *Respond) (plan Plan, err error) {
	if _, ok := answers[o.Response]; !ok {
		return plan, fault.Field("response", "must be accepted, declined or tentative")
	}
	if err := fault.CheckText("comment", o.Comment, maxMessage, false); err != nil {
		return plan, err
	}
	old, us, organizer, err := a.invitation(o.ID)
	if err != nil {
		return plan, err
	}
	plan.Meeting, plan.Changed, plan.Must = *old, true, []string{organizer}
	m := &plan.Meeting
	m.Attendees = slices.Clone(old.Attendees)
	m.Attendees[us].Status, m.MyStatus, m.UpdatedAt, m.RespondedAt = o.Response, o.Response, a.now, a.now
	stamp := a.now.Truncate(time.Second)
	for _, last := range old.Answers {
		if a.me.is(last.Email) && !stamp.After(last.Stamp) {
			stamp = last.Stamp.Add(time.Second)
		}
	}
	m.Answers = []Answer{{a.me.Address, stamp}}
	l := letter{meeting: m, subject: answers[o.Response].subject, opening: a.called() + " " + answers[o.Response].says, note: o.Comment, thread: m.Mail}
	plan.Mails = []Mail{l.reply(us, organizer, stamp)}
	return plan, nil
}

// invitation returns a meeting that this inbox can answer, its own index in the attendees, and the
// recipient of the answer.
func (a *arranger) invitation(id int64) (m *Meeting, us int, organizer string, err error) {
	if m, err = a.known(id); err != nil {
		return m, us, organizer, err
	}
	us = slices.IndexFunc(m.Attendees, func(at Attendee) bool { return a.me.isPerson(&at.Person) })
	refuse := func(format string, args ...any) error { return fault.New(fault.Refused, fmt.Sprintf(format, args...)) }
	switch {
	case m.Source == Outbound:
		err = refuse("Meeting %d is organized by this inbox: change or cancel it instead of answering it", id)
	case m.Status == icalendar.Cancelled:
		err = isCancelled(id)
	case us < 0, m.Published, m.Organizer == nil:
		err = refuse("%s is not among the attendees of meeting %d, so there is nothing to answer", a.me.Address, id)
	default:
		if organizer, err = address.Recipient(m.Organizer.Mailbox()); err != nil {
			err = refuse("Meeting %d was organized by %s, to whom no mail can be sent", id, m.Organizer.Mailbox())
		}
	}
	return m, us, organizer, err
}
