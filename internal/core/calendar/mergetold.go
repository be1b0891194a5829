package calendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar"
)

// tell applies an authorized REQUEST or PUBLISH.
func (x *merger) tell() outcome {
	switch {
	case x.known == nil:
		return x.create()
	case !x.inv.Event.RecurrenceID.IsZero():
		return x.occurrences()
	}
	return x.update()
}

func (x *merger) create() outcome {
	m := &Meeting{
		Event: x.event(), Source: Inbound, CreatedAt: x.now, UpdatedAt: x.now, Version: 1, Mail: x.inv.Mail,
		Speaker: x.speaker(), Signed: x.authentic(x.speaker()), Published: x.inv.Method == "PUBLISH",
	}
	x.hear(m)
	x.answerMyself(m)
	return outcome{next: m, action: Created}
}

// event is the message's event as a meeting stores it: with the revision for the next comparison,
// and without the comment, which belongs to the message.
func (x *merger) event() icalendar.Event {
	e := x.inv.Event
	e.Stamp, e.Comment = x.revision.Stamp, ""
	return e
}

// update takes the whole meeting over from the message. If only single occurrences are known and
// take place, this is the first version of the whole.
func (x *merger) update() outcome {
	k, takesOver := x.known, x.takesOver()
	if whole, known := k.whole(); known && !takesOver && !x.revision.newer(whole) {
		return old(x.revision, whole)
	}
	m := x.successor()
	m.Event, m.Heard, m.Outlived = x.event(), nil, nil
	x.hear(m)
	if !takesOver {
		m.remember(k)
	}
	m.settle()
	x.attribute(m)
	if x.inv.Method == "PUBLISH" {
		keepAsked(m, k)
	}
	x.answerMyself(m)
	return x.updated(m, m.Sequence != k.Sequence || !k.RecurrenceID.IsZero())
}

// attribute sets the origin of a version of the whole meeting. A publisher, or a sender other than
// the organizer, cannot replace the organizer once the organizer has sent a message.
func (x *merger) attribute(m *Meeting) {
	k := x.known
	m.Signed = k.Signed || x.authentic(x.speaker())
	if x.inv.Method != "PUBLISH" && (!k.boundToSender() || x.takesOver()) {
		m.Published, m.Speaker = false, x.speaker()
	}
}

// old is the result for a revision that is not newer than the known one. A repeat is not reported
// as stale.
func old(r, known revision) outcome {
	if r.Sequence == known.Sequence && r.Stamp.Equal(known.Stamp) {
		return outcome{action: Unchanged}
	}
	return refuse(RefusedStale)
}

// successor is a copy of the known meeting, to be modified.
func (x *merger) successor() *Meeting {
	m := *x.known
	m.UpdatedAt = x.now
	return &m
}

// updated is the result of a change. If nothing visible changed, only the revision is stored.
func (x *merger) updated(m *Meeting, certainly bool) outcome {
	switch k := x.known; {
	case k.Untold && x.inv.Method != "CANCEL":
		m.Untold = false
		return outcome{next: m, action: Created}
	case k.Untold, !certainly && sameShown(m, k):
		m.UpdatedAt = k.UpdatedAt
		return outcome{next: m, action: Unchanged}
	case m.Status == icalendar.Cancelled && k.Status != icalendar.Cancelled && x.inv.Event.RecurrenceID.IsZero():
		return outcome{next: m, action: Cancelled}
	}
	return outcome{next: m, action: Updated}
}

// keepAsked keeps the invited guests of a meeting that can be answered, because a PUBLISH names
// nobody.
func keepAsked(m, known *Meeting) {
	if !known.Published {
		m.Attendees = known.Attendees
	}
}

// answerMyself sets this inbox's own answer after a change, and its attendee line. It is the stored
// answer, else the one in the message. It is reset if the meeting has moved.
func (x *merger) answerMyself(m *Meeting) {
	own := x.ownLine(m.Attendees)
	if own == nil || m.Published {
		m.MyStatus = ""
		return
	}
	known := x.known
	switch {
	case known != nil && moved(m, known):
		m.MyStatus = icalendar.NeedsAction
	case m.MyStatus == "":
		m.MyStatus = own.Status
	}
	if own.Status != m.MyStatus {
		m.Attendees = slices.Clone(m.Attendees)
		x.ownLine(m.Attendees).Status = m.MyStatus
	}
}

// moved reports whether the times of a meeting changed. An occurrence that is removed or differs
// does not move the others.
func moved(m, known *Meeting) bool {
	a, b := orNone(m.Recurrence), orNone(known.Recurrence)
	switch {
	case !m.Start.Equal(known.Start), !m.End.Equal(known.End), m.AllDay != known.AllDay:
		return true
	}
	return a.Rule != b.Rule || !slices.EqualFunc(a.Also, b.Also, time.Time.Equal)
}

func orNone(r *icalendar.Recurrence) icalendar.Recurrence {
	if r == nil {
		return icalendar.Recurrence{}
	}
	return *r
}

// cancel applies a CANCEL.
func (x *merger) cancel() outcome {
	k := x.known
	if why := x.fromOrganizer(); why != "" {
		return refuse(why)
	}
	switch {
	case k == nil:
		return x.ahead()
	case !x.inv.Event.RecurrenceID.IsZero():
		return x.occurrences()
	}
	whole, known := k.whole()
	cancelled := k.Outlived != nil || k.Status == icalendar.Cancelled
	switch {
	case known && x.revision.below(whole) && !x.takesOver():
		return refuse(RefusedStale)
	case known && cancelled && !x.revision.newer(whole):
		return outcome{action: Unchanged}
	}
	m := x.successor()
	if !k.Published {
		x.attribute(m)
	}
	m.endEach(x.revision, !k.RecurrenceID.IsZero())
	m.cancelWhole(x.revision)
	m.settle()
	x.answerMyself(m)
	return x.updated(m, false)
}

// ahead stores the revision of a CANCEL without a known REQUEST (RFC 5546, section 2.1.5), in a
// cancelled meeting. It covers the whole meeting or single occurrences. Otherwise a late REQUEST
// would create the meeting. It changes nothing that anybody was notified of.
func (x *merger) ahead() outcome {
	if x.inv.Following {
		return refuse(RefusedOccurrence)
	}
	o := x.create()
	if m := o.next; m != nil {
		m.Status, m.Untold = icalendar.Cancelled, true
		o.action, o.refused = Unchanged, RefusedUnknown
	}
	return o
}

// sameShown reports whether two states of a meeting look the same to readers, except for SEQUENCE.
func sameShown(a, b *Meeting) bool {
	return sameWords(a, b) && sameTimes(a, b) && samePeople(a, b) && sameRecurrence(orNone(a.Recurrence), orNone(b.Recurrence))
}

func sameWords(a, b *Meeting) bool {
	words := func(m *Meeting) [5]string { return [5]string{m.Title, m.Location, m.Description, m.Status, m.JoinURL} }
	return words(a) == words(b)
}

func sameTimes(a, b *Meeting) bool {
	same := a.AllDay == b.AllDay && a.Zone.Name == b.Zone.Name && a.Transparent == b.Transparent
	return same && a.Start.Equal(b.Start) && a.End.Equal(b.End)
}

func samePeople(a, b *Meeting) bool {
	if (a.Organizer == nil) != (b.Organizer == nil) || a.Organizer != nil && *a.Organizer != *b.Organizer {
		return false
	}
	return a.MyStatus == b.MyStatus && slices.Equal(a.Attendees, b.Attendees)
}

func sameRecurrence(a, b icalendar.Recurrence) bool {
	return a.Rule == b.Rule && slices.EqualFunc(a.Also, b.Also, time.Time.Equal) &&
		slices.EqualFunc(a.Except, b.Except, time.Time.Equal) && slices.EqualFunc(a.Overrides, b.Overrides, sameOverride)
}

func sameOverride(a, b icalendar.Override) bool {
	words := a.Title == b.Title && a.Location == b.Location && a.Status == b.Status
	return words && a.AllDay == b.AllDay && a.RecurrenceID.Equal(b.RecurrenceID) && a.Start.Equal(b.Start) && a.End.Equal(b.End)
}
