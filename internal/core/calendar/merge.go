package calendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar"
)

// Merged is the effect of a message on a calendar.
type Merged struct {
	// Meeting is the new state of the meeting; nil: nothing is to be stored. The ID of a new one is
	// 0. It may have to be stored although the action is Unchanged, because the message's revision
	// is stored.
	Meeting *Meeting
	// Said is what the message said. Its ID is also 0 for a new meeting: the caller that assigns
	// ids sets both.
	Said Said
	// Event is the public event about it; empty: none.
	Event string
	// Attendee is the person who answered, as stored in the meeting now; nil: nobody.
	Attendee *Attendee
	// Refused is a word for why the message did not count; empty if it did, or contained nothing
	// new.
	Refused string
}

// Values of Merged.Refused.
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
var publicEvents = map[Action]string{
	Created:   "calendar.event.created",
	Updated:   "calendar.event.updated",
	Cancelled: "calendar.event.cancelled",
	Replied:   "calendar.attendee.responded",
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

// Merge returns the effect of a message that reached the inbox me at now on its calendar, by the
// rules of ADR 0063. It modifies none of its arguments; the result shares immutable parts with
// them.
func Merge(b *Book, inv *Invitation, me string, now time.Time) Merged {
	x := merger{book: b, inv: inv, address: me, now: now, known: b.ByUID(inv.Event.UID)}
	x.revision = x.revisionOf(icalendar.Revision{Sequence: inv.Event.Sequence, Stamp: inv.Event.Stamp})
	x.complete()
	o := x.weigh()
	out := Merged{Meeting: o.next, Attendee: o.attendee, Refused: o.refused, Event: publicEvents[o.action], Said: x.said(o)}
	if o.next != nil && x.known != nil {
		o.next.Version = x.known.Version + 1
	}
	return out
}

// WithoutRoom is the result if the calendar has no room for the meeting.
func (m Merged) WithoutRoom() Merged {
	said := m.Said
	said.Action, said.Reason = Unchanged, RefusedRoom
	return Merged{Said: said, Refused: RefusedRoom}
}

// merger evaluates one message. One call of Merge owns it.
type merger struct {
	book     *Book
	inv      *Invitation
	address  string // of the event in the message
	now      time.Time
	revision revision // of what the mail describes
	known    *Meeting // the stored meeting with that UID; nil: none
}

// outcome is the result of the evaluation.
type outcome struct {
	next     *Meeting
	action   Action
	attendee *Attendee
	refused  string
}

func refuse(why string) outcome { return outcome{action: Unchanged, refused: why} }

// weigh applies the rule of the METHOD.
func (x *merger) weigh() outcome {
	switch {
	case x.inv.Unwanted:
		return refuse(RefusedDMARC)
	case x.known == nil && x.book.removed(x.inv.Event.UID, x.now):
		return refuse(RefusedRemoved)
	case x.inv.LostOccurrence && x.known != nil && x.known.Recurrence != nil:
		return refuse(RefusedOccurrence) // it is unknown which occurrence is meant, so the others must not change
	}
	switch x.inv.Method {
	case "REQUEST":
		if why := x.fromOrganizer(); why != "" {
			return refuse(why)
		}
		return x.tell()
	case "PUBLISH":
		if why := x.fromPublisher(); why != "" {
			return refuse(why)
		}
		return x.tell()
	case "CANCEL":
		return x.cancel()
	case "REPLY":
		return x.reply()
	}
	return refuse(RefusedMethod)
}

// said is what the message said.
func (x *merger) said(o outcome) Said {
	s := Said{Meeting: Meeting{Event: x.inv.Event, Source: Inbound}, Action: o.action, Method: x.inv.Method, Reason: o.refused}
	s.Meeting.Speaker = x.speaker()
	s.Meeting.Signed = x.authentic(s.Meeting.Speaker)
	if own := x.ownLine(x.inv.Event.Attendees); own != nil && x.inv.Method != "PUBLISH" { // a PUBLISH invites nobody
		s.Meeting.MyStatus = own.Status
	}
	if org := x.inv.Event.Organizer; org != nil && x.me().isPerson(org) {
		s.Meeting.Source, s.Meeting.MyStatus = Outbound, ""
	}
	of := x.known
	if of != nil {
		s.Meeting.ID, s.Meeting.Source = of.ID, of.Source
	}
	if o.next != nil {
		of = o.next
	}
	if of != nil {
		s.Meeting.CreatedAt, s.Meeting.UpdatedAt = of.CreatedAt, of.UpdatedAt
	}
	return s
}

// revision orders the states of an event (RFC 5546, section 2.1.5).
type revision icalendar.Revision

// revisionOf completes a revision for comparison: a missing DTSTAMP is the time of receipt.
func (x *merger) revisionOf(r icalendar.Revision) revision {
	if r.Stamp.IsZero() {
		r.Stamp = x.now
	}
	return revision(r)
}

// newer reports whether a revision replaces the other.
func (r revision) newer(than revision) bool {
	return r.Sequence > than.Sequence || r.Sequence == than.Sequence && r.Stamp.After(than.Stamp)
}

// below reports whether a cancellation is too old: its SEQUENCE is lower or its DTSTAMP is older.
func (r revision) below(other revision) bool {
	return r.Sequence < other.Sequence || r.Stamp.Before(other.Stamp)
}

func (m *Meeting) revision() revision { return revision{m.Sequence, m.Stamp} }

func (h *Heard) revision() revision { return revision{h.Sequence, h.Stamp} }

// heard is the index in m.Heard of an occurrence; -1: none.
func (m *Meeting) heard(id time.Time) int {
	return slices.IndexFunc(m.Heard, func(h Heard) bool { return h.RecurrenceID.Equal(id) })
}
