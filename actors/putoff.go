package actors

import (
	"context"
	"math/rand/v2"

	"inboxd/internal/inbox"
)

// putOff notes an attempt that costs no connection, and so no signature and no lease: most
// of what a queue full of mail for dead destinations does. False: the mail is gone or its
// time has not come, and the long way finds out.
func (s *System) putOff(ctx context.Context, j *job) bool {
	t := j.task
	t.woken = s.inboxes.resident([]byte(t.key.address)) == nil
	answer, err := s.Do(ctx, t.key.address, inbox.PutOff{ID: t.key.id, Why: j.putOff, Schedule: s.Schedule, Jitter: rand.Float64()})
	switch {
	case err != nil:
		s.giveBack(t, err)
		return true
	case answer.Count == 0:
		return false
	}
	s.mail.counts.temporary.Add(1)
	verb := "attempt"
	if view := s.Resident([]byte(t.key.address)); view != nil {
		if m := view.Message(t.key.id, s.now()); m == nil || !m.Waiting() {
			verb = "failed" // its time is over
		}
	}
	s.Logger.Info(verb, "inbox", t.key.address, "message_id", t.key.id, "attempt", answer.Count, "destination", j.lane.name, "tried", false, "answer", j.putOff)
	s.letSleep(t)
	return true
}
