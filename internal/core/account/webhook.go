package account

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"inboxd/internal/base/fault"
)

// Webhook is one subscription of an account (specification, Webhooks). It never changes once it is
// in a published list; a change replaces it.
type Webhook struct {
	ID          int64
	URL         string // canonical
	EventFilter string // an event name, or a subscription that selects several
	InboxFilter string // empty: every inbox
	Secret      string
	CreatedAt   time.Time

	// PreviousSecret also signs, together with Secret, until PreviousUntil after a rotation.
	PreviousSecret string
	PreviousUntil  time.Time
}

// SigningSecrets returns the secrets that sign a delivery at now, newest first.
func (w *Webhook) SigningSecrets(now time.Time) []string {
	if w.PreviousSecret != "" && now.Before(w.PreviousUntil) {
		return []string{w.Secret, w.PreviousSecret}
	}
	return []string{w.Secret}
}

// Commands about webhooks. URL, event and inbox were checked before.
type (
	// AddWebhook adds a subscription; Decide assigns ID and CreatedAt. By is the requester; the
	// operator has no kind. A command is refused if its credential ended while it was on its way.
	AddWebhook struct {
		By      *Principal
		Webhook Webhook
	}
	// ChangeWebhook changes the fields that are not nil.
	ChangeWebhook struct {
		ID          int64
		URL         *string
		EventFilter *string
	}
	// RotateSecret gives a webhook a new secret; the previous one also signs for OverlapPeriod.
	RotateSecret struct {
		ID            int64
		Secret        string
		OverlapPeriod time.Duration
	}
	// DropWebhook ends a subscription, and cancels its pending deliveries.
	DropWebhook struct{ ID int64 }
)

type (
	webhookAdded   struct{ Webhook Webhook }
	webhookChanged struct{ Webhook Webhook }
	webhookDropped struct{ ID int64 }
)

func (c AddWebhook) decideEvents(s *State, env Env) ([]Event, error) {
	if err := s.checkPrincipal(c.By); err != nil {
		return nil, err
	}
	if plan := env.Plans.Of(s.Plan); len(s.Webhooks) >= plan.MaxWebhooks {
		return nil, plan.limitError("%d webhooks. Delete a webhook first", plan.MaxWebhooks)
	}
	w := c.Webhook
	w.ID, w.CreatedAt = s.LastWebhook+1, env.Now
	return []Event{webhookAdded{w}}, nil
}

func (c ChangeWebhook) decideEvents(s *State, _ Env) ([]Event, error) {
	w, err := s.webhook(c.ID)
	if err != nil {
		return nil, err
	}
	if c.URL != nil {
		w.URL = *c.URL
	}
	if c.EventFilter != nil {
		w.EventFilter = *c.EventFilter
	}
	if w == *s.Webhooks[c.ID] {
		return nil, nil
	}
	return []Event{webhookChanged{w}}, nil
}

func (c RotateSecret) decideEvents(s *State, env Env) ([]Event, error) {
	w, err := s.webhook(c.ID)
	if err != nil {
		return nil, err
	}
	w.PreviousSecret, w.PreviousUntil, w.Secret = w.Secret, env.Now.Add(c.OverlapPeriod), c.Secret
	return []Event{webhookChanged{w}}, nil
}

func (c DropWebhook) decideEvents(s *State, _ Env) ([]Event, error) {
	if _, err := s.webhook(c.ID); err != nil {
		return nil, err
	}
	return []Event{webhookDropped{c.ID}}, nil
}

// dropWebhooksOf ends the subscriptions to one inbox, which was deleted.
func (s *State) dropWebhooksOf(address string) (evs []Event) {
	for _, w := range s.WebhookList() {
		if w.InboxFilter == address {
			evs = append(evs, webhookDropped{w.ID})
		}
	}
	return evs
}

// dropWebhooks ends every subscription.
func (s *State) dropWebhooks() (evs []Event) {
	for _, w := range s.WebhookList() {
		evs = append(evs, webhookDropped{w.ID})
	}
	return evs
}

// NoWebhook is the fault for an unknown webhook id.
func NoWebhook(id string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("Webhook %s not found", id))
}

// webhook returns a copy.
func (s *State) webhook(id int64) (Webhook, error) {
	w := s.Webhooks[id]
	if w == nil {
		return Webhook{}, NoWebhook(fmt.Sprint(id))
	}
	return *w, nil
}

// WebhookList returns the subscriptions, oldest first.
func (s *State) WebhookList() []Webhook {
	out := make([]Webhook, 0, len(s.Webhooks))
	for _, w := range s.Webhooks {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Webhook) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (e webhookAdded) applyTo(s *State) {
	w := e.Webhook
	s.Webhooks[w.ID], s.LastWebhook = &w, w.ID
}
func (e webhookAdded) collectRows(s *State, r *Rows) {
	r.putWebhook(e.Webhook)
	r.NewWebhooks = append(r.NewWebhooks, e.Webhook.ID)
	r.writeProfile(s)
}
func (e webhookChanged) applyTo(s *State)              { w := e.Webhook; s.Webhooks[w.ID] = &w }
func (e webhookChanged) collectRows(_ *State, r *Rows) { r.putWebhook(e.Webhook) }
func (e webhookDropped) applyTo(s *State)              { delete(s.Webhooks, e.ID) }
func (e webhookDropped) collectRows(_ *State, r *Rows) { r.DropWebhooks = append(r.DropWebhooks, e.ID) }

func (r *Rows) putWebhook(w Webhook) { r.PutWebhooks = append(r.PutWebhooks, &w) }
