package calendar

import "slices"

// fromOrganizer says why a REQUEST or CANCEL is not the organizer's word; empty: it is.
func (x *merger) fromOrganizer() string {
	o, known := x.inv.Event.Organizer, x.known
	switch {
	case o == nil:
		return RefusedOrganizer
	case x.organizedHere():
		return RefusedOwn
	case !x.speaks(o.Email):
		return RefusedSender
	case known != nil && !sameOrganizer(known, x.inv):
		return RefusedOrganizer
	case known != nil && known.Signed && !x.signed(o.Email):
		return RefusedUnsigned
	}
	return ""
}

// fromPublisher says why a PUBLISH is not of whom the meeting came from; empty: it is. Of a meeting that
// can be answered it cannot make another organizer.
func (x *merger) fromPublisher() string {
	from, known := x.speaker(), x.known
	switch {
	case x.organizedHere():
		return RefusedOwn
	case from == "", known != nil && !sameMailbox(from, known.Speaker):
		return RefusedSender
	case known != nil && known.Signed && !x.signed(from):
		return RefusedUnsigned
	case known != nil && !known.Published && !sameOrganizer(known, x.inv):
		return RefusedOrganizer
	}
	return ""
}

// organizedHere reports a meeting that only this inbox's own calls make and change.
func (x *merger) organizedHere() bool {
	if x.known != nil && x.known.Source == Outbound {
		return true
	}
	o := x.inv.Event.Organizer
	return o != nil && x.mine(o.Email)
}

// speaker is the mailbox that the mail is from.
func (x *merger) speaker() string {
	if x.inv.From != "" {
		return x.inv.From
	}
	return x.inv.Sender
}

// speaks reports whether the mail is of that mailbox.
func (x *merger) speaks(email string) bool {
	return sameMailbox(x.inv.From, email) || sameMailbox(x.inv.Sender, email)
}

// signed reports whether a signature vouches for that: of the field that names the mailbox.
func (x *merger) signed(email string) bool {
	return x.inv.FromSigned && sameMailbox(x.inv.From, email) || x.inv.SenderSigned && sameMailbox(x.inv.Sender, email)
}

// mine reports an address of this inbox, those with a tag too.
func (x *merger) mine(email string) bool {
	return Me{Address: x.me}.is(email)
}

// ownLine is this inbox's own line of a list; nil when it is not among them.
func (x *merger) ownLine(list []Attendee) *Attendee {
	i := slices.IndexFunc(list, func(a Attendee) bool { return x.mine(a.Email) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func sameOrganizer(m *Meeting, inv *Invitation) bool {
	o := inv.Event.Organizer
	return m.Organizer != nil && o != nil && sameMailbox(m.Organizer.Email, o.Email)
}
