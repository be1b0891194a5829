package calendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar"
)

// Merged is what a mail does to a calendar.
type Merged struct {
	// Meeting is how the meeting is from now on; nil: nothing is to be kept. Of a new one ID is 0. It can
	// have to be kept although the action is Unchanged: how new a mail was is remembered.
	Meeting *Meeting
	// Said is what the mail said. Of a new meeting its ID is 0 as well: whoever gives ids sets both.
	Said Said
	// Event is the one public event that tells of it; empty: none does.
	Event string
	// Attendee is who answered, as the meeting has it now; nil: nobody did.
	Attendee *Attendee
	// Refused says in a word why the mail did not count; empty when it did, or said nothing new.
	Refused string
}

// Values of Merged.Refused.
const (
	RefusedMethod     = "method"     // one that never counts
	RefusedUnknown    = "unknown"    // a UID that no meeting has
	RefusedOwn        = "own"        // only this inbox's own calls change what it organizes
	RefusedOrganizer  = "organizer"  // none, or another one
	RefusedSender     = "sender"     // the mail is not from who alone may say so
	RefusedUnsigned   = "unsigned"   // and nothing vouches for it
	RefusedUninvited  = "uninvited"  // an answer of somebody who was not asked
	RefusedAnswer     = "answer"     // neither accepted, declined nor tentative
	RefusedStale      = "stale"      // something newer is known
	RefusedOccurrence = "occurrence" // of single occurrences what is not kept
	RefusedRoom       = "room"       // the calendar is full
	RefusedRemoved    = "removed"    // the inbox removed the meeting in the last 30 days
	RefusedDMARC      = "dmarc"      // its From fails DMARC, and the domain asks to quarantine or reject that
)

// publicEvents are the names that subscribers know (specification, Events).
var publicEvents = map[Action]string{
	Created:   "calendar.event.created",
	Updated:   "calendar.event.updated",
	Cancelled: "calendar.event.cancelled",
	Replied:   "calendar.attendee.responded",
}

// IsInvitation reports whether a file speaks of a meeting in a way that Merge understands: it has a
// METHOD, times where that METHOD requires them, and an organizer where one asks (RFC 5546, section 3.2).
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

// Merge says what a mail that reached the inbox me at now does to its calendar, by the rules of ADR 0063.
// It keeps none of its arguments from being used further: what it returns shares with them what never changes.
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

// WithoutRoom is what the message comes to when there is no room for what it would have kept.
func (m Merged) WithoutRoom() Merged {
	said := m.Said
	said.Action, said.Reason = Unchanged, RefusedRoom
	return Merged{Said: said, Refused: RefusedRoom}
}

// merger weighs one mail. One call of Merge owns it.
type merger struct {
	book     *Book
	inv      *Invitation
	address  string // of the inbox
	now      time.Time
	revision revision // of what the mail describes
	known    *Meeting // the meeting of that UID; nil: there is none
}

// outcome is what was found.
type outcome struct {
	next     *Meeting
	action   Action
	attendee *Attendee
	refused  string
}

func refuse(why string) outcome { return outcome{action: Unchanged, refused: why} }

// weigh asks the rule of the METHOD.
func (x *merger) weigh() outcome {
	switch {
	case x.inv.Unwanted:
		return refuse(RefusedDMARC)
	case x.known == nil && x.book.removed(x.inv.Event.UID, x.now):
		return refuse(RefusedRemoved)
	case x.inv.LostOccurrence && x.known != nil && x.known.Recurrence != nil:
		return refuse(RefusedOccurrence) // which of them is not known, so the others must not change
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

// said is what the mail said, in its own words.
func (x *merger) said(o outcome) Said {
	s := Said{Meeting: Meeting{Event: x.inv.Event, Source: Inbound}, Action: o.action, Method: x.inv.Method, Reason: o.refused}
	s.Meeting.Speaker = x.speaker()
	s.Meeting.Signed = x.authentic(s.Meeting.Speaker)
	if own := x.ownLine(x.inv.Event.Attendees); own != nil && x.inv.Method != "PUBLISH" { // which asks nobody
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

// revision is how new a state of an event is (RFC 5546, section 2.1.5).
type revision icalendar.Revision

// revisionOf is a revision as it is compared: without DTSTAMP it is of the time of receipt.
func (x *merger) revisionOf(r icalendar.Revision) revision {
	if r.Stamp.IsZero() {
		r.Stamp = x.now
	}
	return revision(r)
}

// newer reports a revision that replaces the other.
func (r revision) newer(than revision) bool {
	return r.Sequence > than.Sequence || r.Sequence == than.Sequence && r.Stamp.After(than.Stamp)
}

// below reports what a cancellation must not be: of a lower SEQUENCE or an older DTSTAMP.
func (r revision) below(other revision) bool {
	return r.Sequence < other.Sequence || r.Stamp.Before(other.Stamp)
}

func (m *Meeting) revision() revision { return revision{m.Sequence, m.Stamp} }

func (h *Heard) revision() revision { return revision{h.Sequence, h.Stamp} }

// heard is where m tells how new it knows an occurrence to be.
func (m *Meeting) heard(id time.Time) int {
	return slices.IndexFunc(m.Heard, func(h Heard) bool { return h.RecurrenceID.Equal(id) })
}
