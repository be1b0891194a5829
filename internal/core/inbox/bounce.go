package inbox

import (
	"slices"
	"strings"
)

func (c RecordBounce) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	i, ok := s.indexOf(c.ID)
	if !ok || s.Messages[i].OutgoingDelivery == nil {
		return nil, CommandOutcome{}, nil // removed meanwhile
	}
	m := s.Messages[i]
	at := m.OutgoingDelivery.indexOf(c.Recipient)
	if at < 0 {
		return nil, CommandOutcome{}, nil
	}
	was := m.OutgoingDelivery.Recipients[at]
	now := was.Status.AfterBounce()
	if now == was.Status {
		return nil, CommandOutcome{}, nil // already reported, or never accepted by the next server
	}
	ev := deliveryChanged{ID: c.ID, OutgoingDelivery: *m.OutgoingDelivery, DueBefore: m.OutgoingDelivery.NextDue}
	ev.OutgoingDelivery.Recipients = slices.Clone(ev.OutgoingDelivery.Recipients)
	r := &ev.OutgoingDelivery.Recipients[at]
	r.Status, r.Error, r.At = now, c.Error, env.Now
	ev.PublicEvent = s.sendEvent("message.bounced", m, &ev.OutgoingDelivery, []string{r.Email}, c.Error, env.Now)
	return []Event{ev}, CommandOutcome{ID: c.ID, Count: 1}, nil
}

// indexOf finds a recipient by address; -1 if it is missing.
func (s *OutgoingDelivery) indexOf(email string) int {
	return slices.IndexFunc(s.Recipients, func(r OutgoingRecipient) bool { return strings.EqualFold(r.Email, email) })
}
