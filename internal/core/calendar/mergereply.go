package calendar

import (
	"slices"

	"inboxd/internal/mail/icalendar"
)

// applyReply applies a REPLY. Only the line of the mailbox in its From is read, and only if it was
// invited and its domain authenticates the message.
func (x *messageMerger) applyReply() mergeOutcome {
	k := x.knownMeeting
	line, who := x.answerLine()
	switch {
	case k == nil:
		return refuseMerge(RefusedUnknown)
	case k.Source != SourceOutbound, !x.addressedHere():
		return refuseMerge(RefusedOrganizer)
	case line == nil:
		return refuseMerge(RefusedSender)
	case !x.inv.FromSigned:
		return refuseMerge(RefusedUnsigned)
	}
	guest := slices.IndexFunc(k.Attendees, func(a Attendee) bool { return sameMailbox(a.Email, who) })
	switch {
	case guest < 0:
		return refuseMerge(RefusedUninvited)
	case !x.inv.Event.RecurrenceID.IsZero():
		return refuseMerge(RefusedOccurrence) // meetings of this inbox do not recur
	case line.ParticipationStatus == icalendar.NeedsAction:
		return refuseMerge(RefusedAnswer) // also covers DELEGATED
	}
	return x.countAnswer(guest, line.ParticipationStatus)
}

// addressedHere reports whether an answer is meant for this inbox. ORGANIZER is its address, or a
// signed To or Cc names it if ORGANIZER is missing, as in answers from Exchange. Otherwise
// somebody who invited the guest under the same UID could forward the guest's signed answer to us.
func (x *messageMerger) addressedHere() bool {
	if o := x.inv.Event.Organizer; o != nil {
		return x.me().is(o.Mailbox())
	}
	return slices.ContainsFunc(x.inv.SignedTo, x.me().is)
}

// answerLine is the sender's line, and the address that was invited: that of From, or of the line
// if a neighbour sent the message.
func (x *messageMerger) answerLine() (line *Attendee, who string) {
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
func (x *messageMerger) neighbour(email string) bool {
	return x.inv.IsLocal && Me{Address: x.inv.From}.is(email)
}

// countAnswer counts the answer of a guest, unless a newer one has counted or everybody was asked again
// since. If the answer is the same, only its time is stored.
func (x *messageMerger) countAnswer(guest int, status string) mergeOutcome {
	k, email := x.knownMeeting, x.knownMeeting.Attendees[guest].Email
	last := slices.IndexFunc(k.LastAnswers, func(a GuestAnswer) bool { return sameMailbox(a.Email, email) })
	if x.messageRevision.Sequence < k.AskedSequence || last >= 0 && !x.messageRevision.StampedAt.After(k.LastAnswers[last].Stamp) {
		return refuseMerge(RefusedStale)
	}
	m := *k
	m.LastAnswers = slices.Clone(k.LastAnswers)
	if last >= 0 {
		m.LastAnswers[last].Stamp = x.messageRevision.StampedAt
	} else {
		m.LastAnswers = append(m.LastAnswers, GuestAnswer{email, x.messageRevision.StampedAt})
	}
	if k.Attendees[guest].ParticipationStatus == status {
		return mergeOutcome{nextMeeting: &m, action: ActionUnchanged}
	}
	m.Attendees = slices.Clone(k.Attendees)
	m.Attendees[guest].ParticipationStatus = status
	m.UpdatedAt = x.now
	x.book.countOwnerChange(&m)
	return mergeOutcome{nextMeeting: &m, action: ActionReplied, attendee: &m.Attendees[guest]}
}
