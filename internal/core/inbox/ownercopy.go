package inbox

import (
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
)

// Commands of the owner's copies (ADR 0069).
type (
	// SetOwnerCopies switches the copies on or off. On also removes a block.
	SetOwnerCopies struct{ Enabled bool }
	// TellOwner queues the copy of a meeting at that Sequence of its Copy, and replaces an older
	// one that waits. Without CopyMessage the owner is not notified. Outcome.ID is the id of the
	// copy. It is 0 if the owner was notified before, if the meeting changed meanwhile, or if
	// copies are switched off.
	TellOwner struct {
		MeetingID   int64
		Sequence    int
		CopyMessage *Submit
	}
	// BlockOwnerCopies reports that a copy bounced.
	BlockOwnerCopies struct{}
)

type (
	// ownerSet is a changed setting of the owner's copies.
	ownerSet struct{ CopySetting calendar.CopySetting }
	// caughtUp means that possibly no copy is due any more.
	caughtUp struct{}
)

func (e ownerSet) applyTo(s *State)            { s.setCalendar(s.Calendar.WithCopySetting(e.CopySetting)) }
func (ownerSet) collectRows(s *State, r *Rows) { r.writeCalendar(s) }

func (caughtUp) applyTo(*State)                {}
func (caughtUp) collectRows(s *State, r *Rows) { r.CopyDue = new(s.Calendar.HasDue()) }

// markCopySent marks a meeting as having no copy due. It counts as a change, so that an order planned
// before does not restore the old mark.
func markCopySent(m calendar.Meeting) []Event {
	m.OwnerCopy.LastSentChange = m.OwnerCopy.ChangeCount
	m.Version++
	return []Event{meetingStored{Meeting: m}, caughtUp{}}
}

func (c SetOwnerCopies) decideEvents(s *State, _ Env) ([]Event, CommandOutcome, error) {
	was := s.Calendar.CurrentSetting()
	now := calendar.CopySetting{Enabled: c.Enabled, Blocked: was.Blocked && !c.Enabled}
	if now == was {
		return nil, CommandOutcome{}, nil
	}
	return []Event{ownerSet{now}}, CommandOutcome{Count: 1}, nil
}

func (c TellOwner) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m := s.Calendar.Meeting(c.MeetingID)
	switch {
	case m == nil && !s.Calendar.HasDue():
		return []Event{caughtUp{}}, CommandOutcome{}, nil
	case m == nil, m.OwnerCopy.ChangeCount != c.Sequence, m.OwnerCopy.LastSentChange == c.Sequence:
		return nil, CommandOutcome{}, nil
	case c.CopyMessage == nil, !s.Calendar.CurrentSetting().CopiesWanted():
		return markCopySent(*m), CommandOutcome{Count: 1}, nil
	}
	mail := c.CopyMessage.storageEvent(s, env.Now, s.LastID+1)
	mail.Message.IsHidden, mail.Message.OutgoingDelivery.CopyOfMeeting = true, c.MeetingID
	copied := *m
	if m.OwnerCopy.OfAnswers() {
		copied.OwnerCopy.AnswersAt = env.Now
	}
	evs := markCopySent(copied)
	if older := s.waitingCopies(c.MeetingID); len(older) > 0 {
		evs = append(evs, messagesRemoved{older})
	}
	return append(evs, mail), CommandOutcome{ID: mail.Message.ID, Count: 1}, nil
}

// waitingCopies are a meeting's copies that are queued without an attempt in progress.
func (s *State) waitingCopies(meeting int64) (waiting []*Message) {
	for _, m := range s.Messages {
		if m.IsWaiting() && m.OutgoingDelivery.CopyOfMeeting == meeting && !m.OutgoingDelivery.AttemptLeased {
			waiting = append(waiting, m)
		}
	}
	return waiting
}

func (BlockOwnerCopies) decideEvents(s *State, _ Env) ([]Event, CommandOutcome, error) {
	evs := s.blockCopies()
	return evs, CommandOutcome{Count: len(evs)}, nil
}

// blockCopies blocks the copies of an inbox that sends them.
func (s *State) blockCopies() []Event {
	if owner := s.Calendar.CurrentSetting(); s.IsLive() && owner.CopiesWanted() {
		owner.Blocked = true
		return []Event{ownerSet{owner}}
	}
	return nil
}

// ownerCopyFailed reports whether this is an owner's copy that failed.
func (s *OutgoingDelivery) ownerCopyFailed() bool {
	return s.CopyOfMeeting != 0 && s.Status == delivery.StatusFailed
}

// hasNoEvents reports whether the message has no events, because the service wrote it.
func (s *OutgoingDelivery) hasNoEvents() bool { return s.ServiceWritten || s.CopyOfMeeting != 0 }
