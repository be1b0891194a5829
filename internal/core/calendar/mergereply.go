package calendar

import (
	"slices"

	"inboxd/internal/mail/icalendar"
)

// reply applies a REPLY. Only the line of the mailbox in its From is read, and only if it was
// invited and its domain authenticates the message.
func (x *merger) reply() outcome {
	k := x.known
	line, who := x.answerLine()
	switch {
	case k == nil:
		return refuse(RefusedUnknown)
	case k.Source != Outbound, !x.addressedHere():
		return refuse(RefusedOrganizer)
	case line == nil:
		return refuse(RefusedSender)
	case !x.inv.FromSigned:
		return refuse(RefusedUnsigned)
	}
	guest := slices.IndexFunc(k.Attendees, func(a Attendee) bool { return sameMailbox(a.Email, who) })
	switch {
	case guest < 0:
		return refuse(RefusedUninvited)
	case !x.inv.Event.RecurrenceID.IsZero():
		return refuse(RefusedOccurrence) // meetings of this inbox do not recur
	case line.Status == icalendar.NeedsAction:
		return refuse(RefusedAnswer) // also covers DELEGATED
	}
	return x.answer(guest, line.Status)
}

// addressedHere reports whether an answer is meant for this inbox. ORGANIZER is its address, or a
// signed To or Cc names it if ORGANIZER is missing, as in answers from Exchange. Otherwise
// somebody who invited the guest under the same UID could forward the guest's signed answer to us.
func (x *merger) addressedHere() bool {
	if o := x.inv.Event.Organizer; o != nil {
		return x.me().is(o.Mailbox())
	}
	return slices.ContainsFunc(x.inv.SignedTo, x.me().is)
}

// answerLine is the sender's line, and the address that was invited: that of From, or of the line
// if a neighbour sent the message.
func (x *merger) answerLine() (line *Attendee, who string) {
	list := x.inv.Event.Attendees
	for i := range list {
		switch a := &list[i]; {
		case sameMailbox(x.inv.From, a.Email), sameMailbox(x.inv.From, a.Mailbox()):
			return a, x.inv.From
		case x.neighbour(a.Email):
			return a, a.Email
		}
	}
	return nil, ""
}

// neighbour reports whether an inbox of this node sent the message and email is one of its
// addresses with a tag. It was invited there and answers from its plain address.
func (x *merger) neighbour(email string) bool {
	return x.inv.Local && Me{Address: x.inv.From}.is(email)
}

// answer counts the answer of a guest, unless a newer one has counted or everybody was asked again
// since. If the answer is the same, only its time is stored.
func (x *merger) answer(guest int, status string) outcome {
	k, email := x.known, x.known.Attendees[guest].Email
	last := slices.IndexFunc(k.Answers, func(a Answer) bool { return sameMailbox(a.Email, email) })
	if x.revision.Sequence < k.Asked || last >= 0 && !x.revision.Stamp.After(k.Answers[last].Stamp) {
		return refuse(RefusedStale)
	}
	m := *k
	m.Answers = slices.Clone(k.Answers)
	if last >= 0 {
		m.Answers[last].Stamp = x.revision.Stamp
	} else {
		m.Answers = append(m.Answers, Answer{email, x.revision.Stamp})
	}
	if k.Attendees[guest].Status == status {
		return outcome{next: &m, action: Unchanged}
	}
	m.Attendees = slices.Clone(k.Attendees)
	m.Attendees[guest].Status = status
	m.UpdatedAt = x.now
	x.book.tell(&m)
	return outcome{next: &m, action: Replied, attendee: &m.Attendees[guest]}
}
