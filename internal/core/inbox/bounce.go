package inbox

import (
	"slices"
	"strings"
)

func (c Bounce) decide(s *State, env Env) ([]Event, Outcome, error) {
	i, ok := s.find(c.ID)
	if !ok || s.Messages[i].Sending == nil {
		return nil, Outcome{}, nil // removed meanwhile
	}
	m := s.Messages[i]
	at := m.Sending.indexOf(c.Recipient)
	if at < 0 {
		return nil, Outcome{}, nil
	}
	was := m.Sending.Recipients[at]
	now := was.Status.AfterBounce()
	if now == was.Status {
		return nil, Outcome{}, nil // already reported, or never accepted by the next server
	}
	ev := moved{ID: c.ID, Sending: *m.Sending, From: m.Sending.Due}
	ev.Sending.Recipients = slices.Clone(ev.Sending.Recipients)
	r := &ev.Sending.Recipients[at]
	r.Status, r.Error, r.At = now, c.Error, env.Now
	ev.Public = s.sendEvent("message.bounced", m, &ev.Sending, []string{r.Email}, c.Error, env.Now)
	return []Event{ev}, Outcome{ID: c.ID, Count: 1}, nil
}

// indexOf finds a recipient by address; -1 if it is missing.
func (s *Sending) indexOf(email string) int {
	return slices.IndexFunc(s.Recipients, func(r Recipient) bool { return strings.EqualFold(r.Email, email) })
}
