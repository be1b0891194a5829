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
	// one that waits. Without Mail the owner is not notified. Outcome.ID is the id of the copy. It
	// is 0 if the owner was notified before, if the meeting changed meanwhile, or if copies are
	// switched off.
	TellOwner struct {
		Meeting  int64
		Sequence int
		Mail     *Submit
	}
	// BlockOwnerCopies reports that a copy bounced.
	BlockOwnerCopies struct{}
)

type (
	// ownerSet is a changed setting of the owner's copies.
	ownerSet struct{ Owner calendar.Owner }
	// caughtUp means that possibly no copy is due any more.
	caughtUp struct{}
)

func (e ownerSet) apply(s *State)       { s.setCalendar(s.Calendar.Telling(e.Owner)) }
func (ownerSet) rows(s *State, r *Rows) { r.calendar(s) }

func (caughtUp) apply(*State)           {}
func (caughtUp) rows(s *State, r *Rows) { r.CopyDue = new(s.Calendar.HasDue()) }

// told marks a meeting as having no copy due. It counts as a change, so that an order planned
// before does not restore the old mark.
func told(m calendar.Meeting) []Event {
	m.Copy.Told = m.Copy.Sequence
	m.Version++
	return []Event{met{Meeting: m}, caughtUp{}}
}

func (c SetOwnerCopies) decide(s *State, _ Env) ([]Event, Outcome, error) {
	was := s.Calendar.Setting()
	now := calendar.Owner{Enabled: c.Enabled, Blocked: was.Blocked && !c.Enabled}
	if now == was {
		return nil, Outcome{}, nil
	}
	return []Event{ownerSet{now}}, Outcome{Count: 1}, nil
}

func (c TellOwner) decide(s *State, env Env) ([]Event, Outcome, error) {
	m := s.Calendar.Meeting(c.Meeting)
	switch {
	case m == nil && !s.Calendar.HasDue():
		return []Event{caughtUp{}}, Outcome{}, nil
	case m == nil, m.Copy.Sequence != c.Sequence, m.Copy.Told == c.Sequence:
		return nil, Outcome{}, nil
	case c.Mail == nil, !s.Calendar.Setting().Wants():
		return told(*m), Outcome{Count: 1}, nil
	}
	mail := c.Mail.submitted(s, env.Now, s.LastID+1)
	mail.Message.Hidden, mail.Message.Sending.Meeting = true, c.Meeting
	copied := *m
	if m.Copy.OfAnswers() {
		copied.Copy.AnswersAt = env.Now
	}
	evs := told(copied)
	if older := s.waitingCopies(c.Meeting); len(older) > 0 {
		evs = append(evs, removed{older})
	}
	return append(evs, mail), Outcome{ID: mail.Message.ID, Count: 1}, nil
}

// waitingCopies are a meeting's copies that are queued without an attempt in progress.
func (s *State) waitingCopies(meeting int64) (waiting []*Message) {
	for _, m := range s.Messages {
		if m.Waiting() && m.Sending.Meeting == meeting && !m.Sending.Leased {
			waiting = append(waiting, m)
		}
	}
	return waiting
}

func (BlockOwnerCopies) decide(s *State, _ Env) ([]Event, Outcome, error) {
	evs := s.blockCopies()
	return evs, Outcome{Count: len(evs)}, nil
}

// blockCopies blocks the copies of an inbox that sends them.
func (s *State) blockCopies() []Event {
	if owner := s.Calendar.Setting(); s.Live() && owner.Wants() {
		owner.Blocked = true
		return []Event{ownerSet{owner}}
	}
	return nil
}

// refused reports whether this is an owner's copy that failed.
func (s *Sending) refused() bool { return s.Meeting != 0 && s.Status == delivery.Failed }

// unseen reports whether the message has no events, because the service wrote it.
func (s *Sending) unseen() bool { return s.Auto || s.Meeting != 0 }
