package calendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar"
)

// applyRequest applies an authorized REQUEST or PUBLISH.
func (x *messageMerger) applyRequest() mergeOutcome {
	switch {
	case x.knownMeeting == nil:
		return x.createMeeting()
	case !x.inv.Event.RecurrenceID.IsZero():
		return x.changeOccurrences()
	}
	return x.updateMeeting()
}

func (x *messageMerger) createMeeting() mergeOutcome {
	m := &Meeting{
		Event: x.storedEvent(), Source: SourceInbound, CreatedAt: x.now, UpdatedAt: x.now, Version: 1, FirstMessageID: x.inv.MessageID,
		AuthorizedMailbox: x.speakerMailbox(), MailboxAuthenticated: x.isAuthenticated(x.speakerMailbox()), IsPublished: x.inv.Method == "PUBLISH",
	}
	x.takeOccurrences(m)
	x.answerMyself(m)
	return mergeOutcome{nextMeeting: m, action: ActionCreated}
}

// storedEvent is the message's event as a meeting stores it: with the revision for the next comparison,
// and without the comment, which belongs to the message.
func (x *messageMerger) storedEvent() icalendar.Event {
	e := x.inv.Event
	e.StampedAt, e.Comment = x.messageRevision.StampedAt, ""
	return e
}

// updateMeeting takes the whole meeting over from the message. If only single occurrences are known and
// take place, this is the first version of the whole.
func (x *messageMerger) updateMeeting() mergeOutcome {
	k, takesOver := x.knownMeeting, x.takesOver()
	if whole, known := k.wholeRevision(); known && !takesOver && !x.messageRevision.isNewer(whole) {
		return oldRevision(x.messageRevision, whole)
	}
	m := x.copyKnown()
	m.Event, m.OccurrenceRevisions, m.CancelledRevision = x.storedEvent(), nil, nil
	x.takeOccurrences(m)
	if !takesOver {
		m.keepNewerOccurrences(k)
	}
	m.showRemaining()
	x.setOrigin(m)
	if x.inv.Method == "PUBLISH" {
		keepAsked(m, k)
	}
	x.answerMyself(m)
	return x.updateOutcome(m, m.Sequence != k.Sequence || !k.RecurrenceID.IsZero())
}

// setOrigin sets the origin of a version of the whole meeting. A publisher, or a sender other than
// the organizer, cannot replace the organizer once the organizer has sent a message.
func (x *messageMerger) setOrigin(m *Meeting) {
	k := x.knownMeeting
	m.MailboxAuthenticated = k.MailboxAuthenticated || x.isAuthenticated(x.speakerMailbox())
	if x.inv.Method != "PUBLISH" && (!k.boundToSender() || x.takesOver()) {
		m.IsPublished, m.AuthorizedMailbox = false, x.speakerMailbox()
	}
}

// oldRevision is the result for a revision that is not newer than the known one. A repeat is not
// reported as stale.
func oldRevision(r, known eventRevision) mergeOutcome {
	if r.Sequence == known.Sequence && r.StampedAt.Equal(known.StampedAt) {
		return mergeOutcome{action: ActionUnchanged}
	}
	return refuseMerge(RefusedStale)
}

// copyKnown is a copy of the known meeting, to be modified.
func (x *messageMerger) copyKnown() *Meeting {
	m := *x.knownMeeting
	m.UpdatedAt = x.now
	return &m
}

// updateOutcome is the result of a change. If nothing visible changed, only the revision is stored.
func (x *messageMerger) updateOutcome(m *Meeting, certainly bool) mergeOutcome {
	switch k := x.knownMeeting; {
	case k.OnlyCancelled && x.inv.Method != "CANCEL":
		m.OnlyCancelled = false
		return mergeOutcome{nextMeeting: m, action: ActionCreated}
	case k.OnlyCancelled, !certainly && sameShown(m, k):
		m.UpdatedAt = k.UpdatedAt
		return mergeOutcome{nextMeeting: m, action: ActionUnchanged}
	case m.Status == icalendar.StatusCancelled && k.Status != icalendar.StatusCancelled && x.inv.Event.RecurrenceID.IsZero():
		return mergeOutcome{nextMeeting: m, action: ActionCancelled}
	}
	return mergeOutcome{nextMeeting: m, action: ActionUpdated}
}

// keepAsked keeps the invited guests of a meeting that can be answered, because a PUBLISH names
// nobody.
func keepAsked(m, known *Meeting) {
	if !known.IsPublished {
		m.Attendees = known.Attendees
	}
}

// answerMyself sets this inbox's own answer after a change, and its attendee line. It is the stored
// answer, else the one in the message. It is reset if the meeting has moved.
func (x *messageMerger) answerMyself(m *Meeting) {
	own := x.ownLine(m.Attendees)
	if own == nil || m.IsPublished {
		m.MyStatus = ""
		return
	}
	known := x.knownMeeting
	switch {
	case known != nil && timesChanged(m, known):
		m.MyStatus = icalendar.NeedsAction
	case m.MyStatus == "":
		m.MyStatus = own.ParticipationStatus
	}
	if own.ParticipationStatus != m.MyStatus {
		m.Attendees = slices.Clone(m.Attendees)
		x.ownLine(m.Attendees).ParticipationStatus = m.MyStatus
	}
}

// timesChanged reports whether the times of a meeting changed. An occurrence that is removed or differs
// does not move the others.
func timesChanged(m, known *Meeting) bool {
	a, b := orNone(m.Recurrence), orNone(known.Recurrence)
	switch {
	case !m.Start.Equal(known.Start), !m.End.Equal(known.End), m.AllDay != known.AllDay:
		return true
	}
	return a.Rule != b.Rule || !slices.EqualFunc(a.AdditionalDates, b.AdditionalDates, time.Time.Equal)
}

func orNone(r *icalendar.Recurrence) icalendar.Recurrence {
	if r == nil {
		return icalendar.Recurrence{}
	}
	return *r
}

// applyCancel applies a CANCEL.
func (x *messageMerger) applyCancel() mergeOutcome {
	k := x.knownMeeting
	if why := x.fromOrganizer(); why != "" {
		return refuseMerge(why)
	}
	switch {
	case k == nil:
		return x.storeEarlyCancel()
	case !x.inv.Event.RecurrenceID.IsZero():
		return x.changeOccurrences()
	}
	whole, known := k.wholeRevision()
	cancelled := k.CancelledRevision != nil || k.Status == icalendar.StatusCancelled
	switch {
	case known && x.messageRevision.isTooOld(whole) && !x.takesOver():
		return refuseMerge(RefusedStale)
	case known && cancelled && !x.messageRevision.isNewer(whole):
		return mergeOutcome{action: ActionUnchanged}
	}
	m := x.copyKnown()
	if !k.IsPublished {
		x.setOrigin(m)
	}
	m.endEach(x.messageRevision, !k.RecurrenceID.IsZero())
	m.cancelWhole(x.messageRevision)
	m.showRemaining()
	x.answerMyself(m)
	return x.updateOutcome(m, false)
}

// storeEarlyCancel stores the revision of a CANCEL without a known REQUEST (RFC 5546, section
// 2.1.5), in a cancelled meeting. It covers the whole meeting or single occurrences. Otherwise a
// late REQUEST would create the meeting. It changes nothing that anybody was notified of.
func (x *messageMerger) storeEarlyCancel() mergeOutcome {
	if x.inv.ThisAndFuture {
		return refuseMerge(RefusedOccurrence)
	}
	o := x.createMeeting()
	if m := o.nextMeeting; m != nil {
		m.Status, m.OnlyCancelled = icalendar.StatusCancelled, true
		o.action, o.refusalReason = ActionUnchanged, RefusedUnknown
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
	same := a.AllDay == b.AllDay && a.TimeZone.Name == b.TimeZone.Name && a.IsTransparent == b.IsTransparent
	return same && a.Start.Equal(b.Start) && a.End.Equal(b.End)
}

func samePeople(a, b *Meeting) bool {
	if (a.Organizer == nil) != (b.Organizer == nil) || a.Organizer != nil && *a.Organizer != *b.Organizer {
		return false
	}
	return a.MyStatus == b.MyStatus && slices.Equal(a.Attendees, b.Attendees)
}

func sameRecurrence(a, b icalendar.Recurrence) bool {
	return a.Rule == b.Rule && slices.EqualFunc(a.AdditionalDates, b.AdditionalDates, time.Time.Equal) &&
		slices.EqualFunc(a.ExceptionDates, b.ExceptionDates, time.Time.Equal) && slices.EqualFunc(a.Overrides, b.Overrides, sameOverride)
}

func sameOverride(a, b icalendar.Override) bool {
	words := a.Title == b.Title && a.Location == b.Location && a.Status == b.Status
	return words && a.AllDay == b.AllDay && a.RecurrenceID.Equal(b.RecurrenceID) && a.Start.Equal(b.Start) && a.End.Equal(b.End)
}
