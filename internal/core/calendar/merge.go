package calendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar"
)

// MergeResult is the effect of a message on a calendar.
type MergeResult struct {
	// Meeting is the new state of the meeting; nil: nothing is to be stored. The ID of a new one is
	// 0. It may have to be stored although the action is ActionUnchanged, because the message's revision
	// is stored.
	Meeting *Meeting
	// MessageEvent is what the message said. Its ID is also 0 for a new meeting: the caller that
	// assigns ids sets both.
	MessageEvent MessageEvent
	// PublicEvent is the public event about it; empty: none.
	PublicEvent string
	// Attendee is the person who answered, as stored in the meeting now; nil: nobody.
	Attendee *Attendee
	// RefusalReason is a word for why the message did not count; empty if it did, or contained nothing
	// new.
	RefusalReason string
}

// Values of MergeResult.RefusalReason.
const (
	RefusedMethod     = "method"     // one that never counts
	RefusedUnknown    = "unknown"    // no meeting has this UID
	RefusedOwn        = "own"        // only this inbox's own requests change what it organizes
	RefusedOrganizer  = "organizer"  // missing, or another one
	RefusedSender     = "sender"     // the sender is not authorized to change the meeting
	RefusedUnsigned   = "unsigned"   // the sender is authorized but not authenticated
	RefusedUninvited  = "uninvited"  // an answer from somebody who was not invited
	RefusedAnswer     = "answer"     // neither accepted, declined nor tentative
	RefusedStale      = "stale"      // a newer revision is stored
	RefusedOccurrence = "occurrence" // a part of single occurrences that is not stored
	RefusedRoom       = "room"       // the calendar is full
	RefusedRemoved    = "removed"    // the inbox removed the meeting in the last 30 days
	RefusedDMARC      = "dmarc"      // its From fails DMARC, and the domain's policy is quarantine or reject
)

// publicEvents are the event names for subscribers (specification, Events).
var publicEvents = map[MeetingAction]string{
	ActionCreated:   "calendar.event.created",
	ActionUpdated:   "calendar.event.updated",
	ActionCancelled: "calendar.event.cancelled",
	ActionReplied:   "calendar.attendee.responded",
}

// IsInvitation reports whether Merge understands a file. The file has a METHOD, times where that
// METHOD requires them, and an organizer where it requires one (RFC 5546, section 3.2).
func IsInvitation(c *icalendar.Calendar) bool {
	switch c.Method {
	case "":
		return false
	case "REQUEST":
		return c.Event.Organizer != nil && !c.NoStart
	case "CANCEL":
		return c.Event.Organizer != nil
	case "PUBLISH", "ADD":
		return !c.NoStart
	}
	return true
}

// MergeMessage returns the effect of a message that reached the inbox me at now on its calendar, by the
// rules of ADR 0063. It modifies none of its arguments; the result shares immutable parts with
// them.
func MergeMessage(b *Book, inv *Invitation, me string, now time.Time) MergeResult {
	x := messageMerger{book: b, inv: inv, address: me, now: now, knownMeeting: b.ByUID(inv.Event.UID)}
	x.messageRevision = x.revisionOf(icalendar.Revision{Sequence: inv.Event.Sequence, StampedAt: inv.Event.StampedAt})
	x.fillOmitted()
	o := x.applyMethod()
	out := MergeResult{Meeting: o.nextMeeting, Attendee: o.attendee, RefusalReason: o.refusalReason, PublicEvent: publicEvents[o.action], MessageEvent: x.messageEvent(o)}
	if o.nextMeeting != nil && x.knownMeeting != nil {
		o.nextMeeting.Version = x.knownMeeting.Version + 1
	}
	return out
}

// WithoutRoom is the result if the calendar has no room for the meeting.
func (m MergeResult) WithoutRoom() MergeResult {
	said := m.MessageEvent
	said.Action, said.RefusalReason = ActionUnchanged, RefusedRoom
	return MergeResult{MessageEvent: said, RefusalReason: RefusedRoom}
}

// messageMerger evaluates one message. One call of Merge owns it.
type messageMerger struct {
	book            *Book
	inv             *Invitation
	address         string // of the event in the message
	now             time.Time
	messageRevision eventRevision // of what the mail describes
	knownMeeting    *Meeting      // the stored meeting with that UID; nil: none
}

// mergeOutcome is the result of the evaluation.
type mergeOutcome struct {
	nextMeeting   *Meeting
	action        MeetingAction
	attendee      *Attendee
	refusalReason string
}

func refuseMerge(why string) mergeOutcome {
	return mergeOutcome{action: ActionUnchanged, refusalReason: why}
}

// applyMethod applies the rule of the METHOD.
func (x *messageMerger) applyMethod() mergeOutcome {
	switch {
	case x.inv.FailsDMARC:
		return refuseMerge(RefusedDMARC)
	case x.knownMeeting == nil && x.book.wasRemoved(x.inv.Event.UID, x.now):
		return refuseMerge(RefusedRemoved)
	case x.inv.LostOccurrence && x.knownMeeting != nil && x.knownMeeting.Recurrence != nil:
		return refuseMerge(RefusedOccurrence) // it is unknown which occurrence is meant, so the others must not change
	}
	switch x.inv.Method {
	case "REQUEST":
		if why := x.fromOrganizer(); why != "" {
			return refuseMerge(why)
		}
		return x.applyRequest()
	case "PUBLISH":
		if why := x.fromPublisher(); why != "" {
			return refuseMerge(why)
		}
		return x.applyRequest()
	case "CANCEL":
		return x.applyCancel()
	case "REPLY":
		return x.applyReply()
	}
	return refuseMerge(RefusedMethod)
}

// messageEvent is what the message said.
func (x *messageMerger) messageEvent(o mergeOutcome) MessageEvent {
	s := MessageEvent{Meeting: Meeting{Event: x.inv.Event, Source: SourceInbound}, Action: o.action, Method: x.inv.Method, RefusalReason: o.refusalReason}
	s.Meeting.AuthorizedMailbox = x.speakerMailbox()
	s.Meeting.MailboxAuthenticated = x.isAuthenticated(s.Meeting.AuthorizedMailbox)
	if own := x.ownLine(x.inv.Event.Attendees); own != nil && x.inv.Method != "PUBLISH" { // a PUBLISH invites nobody
		s.Meeting.MyStatus = own.ParticipationStatus
	}
	if org := x.inv.Event.Organizer; org != nil && x.me().isPerson(org) {
		s.Meeting.Source, s.Meeting.MyStatus = SourceOutbound, ""
	}
	of := x.knownMeeting
	if of != nil {
		s.Meeting.ID, s.Meeting.Source = of.ID, of.Source
	}
	if o.nextMeeting != nil {
		of = o.nextMeeting
	}
	if of != nil {
		s.Meeting.CreatedAt, s.Meeting.UpdatedAt = of.CreatedAt, of.UpdatedAt
	}
	return s
}

// eventRevision orders the states of an event (RFC 5546, section 2.1.5).
type eventRevision icalendar.Revision

// revisionOf completes a revision for comparison: a missing DTSTAMP is the time of receipt.
func (x *messageMerger) revisionOf(r icalendar.Revision) eventRevision {
	if r.StampedAt.IsZero() {
		r.StampedAt = x.now
	}
	return eventRevision(r)
}

// isNewer reports whether a revision replaces the other.
func (r eventRevision) isNewer(than eventRevision) bool {
	return r.Sequence > than.Sequence || r.Sequence == than.Sequence && r.StampedAt.After(than.StampedAt)
}

// isTooOld reports whether a cancellation is too old: its SEQUENCE is lower or its DTSTAMP is older.
func (r eventRevision) isTooOld(other eventRevision) bool {
	return r.Sequence < other.Sequence || r.StampedAt.Before(other.StampedAt)
}

func (m *Meeting) currentRevision() eventRevision { return eventRevision{m.Sequence, m.StampedAt} }

func (h *OccurrenceRevision) asEventRevision() eventRevision {
	return eventRevision{h.Sequence, h.Stamp}
}

// revisionIndex is the index in m.Heard of an occurrence; -1: none.
func (m *Meeting) revisionIndex(id time.Time) int {
	return slices.IndexFunc(m.OccurrenceRevisions, func(h OccurrenceRevision) bool { return h.RecurrenceID.Equal(id) })
}
