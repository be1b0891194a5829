package calendar

import (
	"slices"

	"inboxd/internal/base/address"
	"inboxd/internal/mail/icalendar"
)

// fromOrganizer returns why a REQUEST or CANCEL may not change the calendar; empty: it may (ADR
// 0098).
func (x *messageMerger) fromOrganizer() string {
	o, k := x.inv.Event.Organizer, x.knownMeeting
	switch {
	case o == nil:
		return RefusedOrganizer
	case x.organizedHere():
		return RefusedOwn
	case k == nil:
		return x.creationRefusal()
	}
	// The stored meeting determines its organizer: a message must not name its own sender in EMAIL
	// or SENT-BY.
	by := x.authorIn(organizerMailboxes(&k.Event))
	bound := k.boundToSender()
	switch {
	case bound && x.inv.From != "" && sameMailbox(x.inv.From, k.AuthorizedMailbox):
		by = x.inv.From
	case by == "":
		return RefusedSender
	}
	isSender := bound && sameMailbox(by, k.AuthorizedMailbox)
	switch {
	case !sameOrganizer(k, x.inv):
		return RefusedOrganizer
	case x.isAuthenticated(by):
		return ""
	case k.MailboxAuthenticated, isSender && !x.inv.FromAligned, bound && !isSender:
		return RefusedUnsigned
	}
	return ""
}

// creationRefusal returns why a message may not create a meeting; empty: it may. A sender other
// than the organizer, such as a booking service, must be authenticated.
func (x *messageMerger) creationRefusal() string {
	if x.authorIn(organizerMailboxes(&x.inv.Event)) == "" && !(x.inv.From != "" && x.inv.FromAligned) {
		return RefusedSender
	}
	return ""
}

// fromPublisher returns why a PUBLISH is not from the meeting's sender; empty: it is. It cannot
// change the organizer of a meeting that can be answered.
func (x *messageMerger) fromPublisher() string {
	from, known := x.authorMailbox(), x.knownMeeting
	switch {
	case x.organizedHere():
		return RefusedOwn
	case from == "", known != nil && !sameMailbox(from, known.AuthorizedMailbox):
		return RefusedSender
	case known != nil && known.MailboxAuthenticated && !x.isAuthenticated(from):
		return RefusedUnsigned
	case known != nil && !known.IsPublished && !sameOrganizer(known, x.inv):
		return RefusedOrganizer
	}
	return ""
}

// organizedHere reports whether only this inbox's own requests create and change the meeting.
func (x *messageMerger) organizedHere() bool {
	if x.knownMeeting != nil && x.knownMeeting.Source == SourceOutbound {
		return true
	}
	o := x.inv.Event.Organizer
	return o != nil && x.me().isPerson(o)
}

// organizerMailboxes are the mailboxes of an event's organizer: that of ORGANIZER, its EMAIL and its
// SENT-BY.
func organizerMailboxes(e *icalendar.Event) []string {
	if e.Organizer == nil {
		return nil
	}
	return []string{e.Organizer.Email, e.Organizer.Mailbox(), e.SentBy}
}

// authorIn is From, or else Sender, if it is in the list; empty: neither is.
func (x *messageMerger) authorIn(list []string) string {
	for _, author := range [...]string{x.inv.From, x.inv.Sender} {
		if slices.ContainsFunc(list, func(one string) bool { return sameMailbox(author, one) }) {
			return author
		}
	}
	return ""
}

// authorMailbox is the mailbox that the message is from.
func (x *messageMerger) authorMailbox() string {
	if x.inv.From != "" {
		return x.inv.From
	}
	return x.inv.Sender
}

// speakerMailbox is the author, preferably one of the organizer's mailboxes.
func (x *messageMerger) speakerMailbox() string {
	if by := x.authorIn(organizerMailboxes(&x.inv.Event)); by != "" && x.inv.Method != "PUBLISH" {
		return by
	}
	return x.authorMailbox()
}

// isAuthenticated reports whether the message is authenticated for that mailbox: by a signature
// over the field that contains it, or by SPF for From.
func (x *messageMerger) isAuthenticated(email string) bool {
	from := (x.inv.FromSigned || x.inv.FromSPF) && sameMailbox(x.inv.From, email)
	return from || x.inv.SenderSigned && sameMailbox(x.inv.Sender, email)
}

// takesOver reports whether a message is authenticated for the organizer or publisher, but the
// stored state is not. It then replaces the state whatever its SEQUENCE. Otherwise a forged
// invitation with a high SEQUENCE could lock the organizer out.
func (x *messageMerger) takesOver() bool {
	if k := x.knownMeeting; x.inv.Method == "PUBLISH" {
		return !k.MailboxAuthenticated && x.isAuthenticated(k.AuthorizedMailbox)
	}
	now := Meeting{Event: x.inv.Event, AuthorizedMailbox: x.speakerMailbox()}
	now.MailboxAuthenticated = x.isAuthenticated(now.AuthorizedMailbox)
	return !x.knownMeeting.OrganizerVerified() && now.OrganizerVerified()
}

// OrganizerVerified reports whether the last version is authenticated for its organizer: for the
// displayed mailbox, or for a SENT-BY of its domain. It is true for meetings of this inbox.
func (m *Meeting) OrganizerVerified() bool {
	switch {
	case m.Source == SourceOutbound:
		return true
	case m.Organizer == nil || !m.MailboxAuthenticated:
		return false
	}
	shown := m.Organizer.Email
	return sameMailbox(m.AuthorizedMailbox, shown) || sameMailbox(m.AuthorizedMailbox, m.SentBy) && address.DomainOf(foldAddress(m.SentBy)) == address.DomainOf(foldAddress(shown))
}

// boundToSender reports whether a sender other than the organizer first sent a received invitation.
// Only that sender or the organizer may change it.
func (m *Meeting) boundToSender() bool {
	return !m.IsPublished && !slices.ContainsFunc(organizerMailboxes(&m.Event), func(one string) bool { return sameMailbox(m.AuthorizedMailbox, one) })
}

// me is the inbox that the message reached.
func (x *messageMerger) me() Me { return Me{Address: x.address} }

// ownLine is this inbox's own line in a list, or nil.
func (x *messageMerger) ownLine(list []Attendee) *Attendee {
	i := slices.IndexFunc(list, func(a Attendee) bool { return x.me().isPerson(&a.Person) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func sameOrganizer(m *Meeting, inv *Invitation) bool {
	a, b := m.Organizer, inv.Event.Organizer
	if a == nil || b == nil {
		return false
	}
	return sameMailbox(a.Email, b.Email) || sameMailbox(a.Mailbox(), b.Mailbox())
}
