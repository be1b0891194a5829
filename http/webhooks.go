package http

import (
	"context"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// Webhooks is what the handlers of an account's webhooks need. URLs and events are already checked
// for their form. An unknown webhook or delivery is NotFound.
type Webhooks interface {
	// AddWebhook creates a subscription. Only its result contains the secret. inbox may be empty;
	// NoInbox if it does not belong to the account. Refused at the plan's limit.
	AddWebhook(ctx context.Context, by *account.Principal, url, event, inbox string) (account.Webhook, error)
	ListWebhooks(ctx context.Context, id account.ID) ([]webhook.Listed, error)
	Webhook(ctx context.Context, id account.ID, hook int64) (webhook.Listed, error)
	// ChangeWebhook changes the values that are not nil.
	ChangeWebhook(ctx context.Context, id account.ID, hook int64, url, event *string) error
	RotateSecret(ctx context.Context, id account.ID, hook int64) (string, error)
	DropWebhook(ctx context.Context, id account.ID, hook int64) error
	// TestWebhook posts a sample and waits for the response.
	TestWebhook(ctx context.Context, id account.ID, hook int64) (webhook.Answer, error)
	// Deliveries returns up to limit deliveries with ids below before (0: all), newest first. It
	// returns only those of one webhook unless hook is 0.
	Deliveries(ctx context.Context, id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error)
	// Redeliver retries a finished delivery. It returns Refused while attempts continue.
	Redeliver(ctx context.Context, id account.ID, delivery int64) error
}

var (
	webhookShape = shape{
		{name: "url", kind: text, required: true, max: webhook.MaxURL},
		{name: "event", kind: line, required: true, max: maxName},
		{name: "inbox", kind: line, max: maxAddress},
	}
	webhookChangeShape = shape{
		{name: "url", kind: text, max: webhook.MaxURL},
		{name: "event", kind: line, max: maxName},
	}
)

// webhooks has the handlers that manage subscriptions and list deliveries.
type webhooks struct{ port Webhooks }

func (h *webhooks) routes() []route {
	const (
		all = "/api/webhooks"
		one = all + "/{id}"
		log = all + "/deliveries"
	)
	return []route{
		{post, all, sessions, none, false, webhookShape, h.addWebhook},
		{get, all, sessions, none, false, nil, h.listWebhooks},
		{get, one, sessions, none, false, nil, onWebhook(h.respond)},
		{patch, one, sessions, none, false, webhookChangeShape, h.changeWebhook},
		{remove, one, sessions, none, false, nil, onWebhook(h.dropWebhook)},
		{post, one + "/rotate-secret", sessions, none, false, emptyShape, onWebhook(h.rotateSecret)},
		{post, one + "/test", sessions, none, false, emptyShape, onWebhook(h.testWebhook)},
		{get, log, sessions, none, false, nil, h.listDeliveries},
		{post, log + "/{id}/redeliver", sessions, none, false, emptyShape, h.redeliver},
	}
}

// webhookResponse never contains the secret.
type webhookResponse struct {
	ID         int64   `json:"id"`
	URL        string  `json:"url"`
	Event      string  `json:"event"`
	Inbox      *string `json:"inbox"` // null: every inbox
	CreatedAt  string  `json:"created_at"`
	LastAt     *string `json:"last_delivery_at"`
	LastStatus *int    `json:"last_status_code"` // null: no attempt yet, or no response
}

func shownWebhook(w *webhook.Listed) webhookResponse {
	return webhookResponse{w.ID, w.URL, w.Event, stringOrNull(w.Inbox), wireTime(w.CreatedAt), wireTimeOrNull(w.LastAt), numberOrNull(w.LastStatus)}
}

func numberOrNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// subscription checks the URL and the event of a request, each if it is given.
func (r *request) subscription() (url, event *string, err error) {
	if given := r.body.text("url"); given != nil {
		canonical, err := webhook.CanonicalURL(*given)
		if err != nil {
			return nil, nil, err
		}
		url = &canonical
	}
	if event = r.body.text("event"); event != nil && !webhook.Known(*event) {
		return nil, nil, fault.Field("event", "is not a valid event. Valid events: %s", strings.Join(webhook.Subscriptions(), ", "))
	}
	return url, event, nil
}

func (h *webhooks) addWebhook(r *request) error {
	url, event, err := r.subscription()
	if err != nil {
		return err
	}
	only, given := "", r.body.text("inbox")
	if given != nil {
		canonical, ok := address.Inbox(*given)
		if !ok {
			return noInbox(*given)
		}
		only = address.WithoutTag(canonical)
	}
	w, err := h.port.AddWebhook(r.ctx, r.principal, *url, *event, only)
	switch {
	case fault.Is(err, fault.NoInbox):
		return noInbox(only)
	case err != nil:
		return err
	}
	return r.json(fasthttp.StatusCreated, struct {
		Webhook webhookResponse `json:"webhook"`
		Secret  string          `json:"secret"`
	}{shownWebhook(&webhook.Listed{Webhook: w}), w.Secret}, nil)
}

func (h *webhooks) listWebhooks(r *request) error {
	all, err := h.port.ListWebhooks(r.ctx, r.principal.Account)
	return r.json(fasthttp.StatusOK, struct {
		Webhooks []webhookResponse `json:"webhooks"`
	}{each(all, shownWebhook)}, err)
}

// webhookID returns the id in the path.
func (r *request) webhookID() (int64, error) {
	given := parameter(r.http, "id")
	id, ok := number(given)
	if !ok {
		return 0, account.NoWebhook(given)
	}
	return id, nil
}

// onWebhook passes the id in the path to a handler.
func onWebhook(handle func(*request, int64) error) func(*request) error {
	return func(r *request) error {
		id, err := r.webhookID()
		if err != nil {
			return err
		}
		return handle(r, id)
	}
}

func (h *webhooks) respond(r *request, id int64) error {
	w, err := h.port.Webhook(r.ctx, r.principal.Account, id)
	return r.json(fasthttp.StatusOK, struct {
		Webhook webhookResponse `json:"webhook"`
	}{shownWebhook(&w)}, err)
}

func (h *webhooks) changeWebhook(r *request) error {
	url, event, err := r.subscription()
	if err != nil {
		return err
	}
	id, err := r.webhookID()
	if err == nil {
		err = h.port.ChangeWebhook(r.ctx, r.principal.Account, id, url, event)
	}
	if err != nil {
		return err
	}
	return h.respond(r, id)
}

func (h *webhooks) dropWebhook(r *request, id int64) error {
	return r.ok(h.port.DropWebhook(r.ctx, r.principal.Account, id))
}

func (h *webhooks) rotateSecret(r *request, id int64) error {
	secret, err := h.port.RotateSecret(r.ctx, r.principal.Account, id)
	return r.json(fasthttp.StatusOK, struct {
		Secret string `json:"secret"`
	}{secret}, err)
}

func (h *webhooks) testWebhook(r *request, id int64) error {
	a, err := h.port.TestWebhook(r.ctx, r.principal.Account, id)
	return r.json(fasthttp.StatusOK, struct {
		OK       bool    `json:"ok"`
		Status   *int    `json:"status_code"`
		Duration int64   `json:"duration_ms"`
		Error    *string `json:"error"`
	}{webhook.Succeeded(a.Status), numberOrNull(a.Status), a.Duration.Milliseconds(), stringOrNull(a.Error)}, err)
}

// deliveryResponse is one attempt to deliver one event to one webhook.
type deliveryResponse struct {
	ID       int64   `json:"id"`
	Webhook  int64   `json:"webhook_id"`
	EventID  string  `json:"event_id"`
	Event    string  `json:"event"`
	Inbox    string  `json:"inbox"`
	URL      string  `json:"url"`
	Attempt  int     `json:"attempt"` // 0: the next attempt, not made yet
	Status   *int    `json:"status_code"`
	Error    *string `json:"error"`
	Duration *int64  `json:"duration_ms"`
	At       string  `json:"at"` // of the last attempt; without one, of the event
	NextAt   *string `json:"next_attempt_at"`
	State    string  `json:"state"`
	Response *string `json:"response"` // first KiB of the response's body
	Gone     bool    `json:"gone,omitzero"`
}

func shownDelivery(r *webhook.Record) deliveryResponse {
	d := r.Delivery
	a := deliveryResponse{
		ID: r.ID, Webhook: d.Webhook, EventID: d.EventID, Event: d.Event, Inbox: d.Inbox, URL: r.URL, Attempt: r.Attempt,
		Status: numberOrNull(r.Status), Error: stringOrNull(r.Error), At: wireTime(d.At),
		NextAt: wireTimeOrNull(r.NextAt), State: r.State.Name(), Response: stringOrNull(r.Excerpt),
	}
	_, a.Gone = d.About()
	if !r.At.IsZero() {
		took := r.Duration.Milliseconds()
		a.At, a.Duration = wireTime(r.At), &took
	}
	return a
}

const (
	defaultDeliveries = 100
	maxDeliveries     = 1000
	// deliveriesRead is how many deliveries are read at once, because their bodies are large and
	// not shown. deliveryBytes is the approximate size of one record in a response.
	deliveriesRead = 16
	deliveryBytes  = 4 << 10
	maxID          = 1 << 53
)

func (h *webhooks) listDeliveries(r *request) error {
	q := r.query()
	limit, hook, before := q.number("limit", defaultDeliveries, 1, maxDeliveries), q.number("webhook_id", 0, 1, maxID), q.number("before", 0, 1, maxID)
	if q.err != nil {
		return q.err
	}
	if err := r.charged(limit * deliveryBytes); err != nil {
		return err
	}
	shown, err := h.deliveries(r, hook, before, int(limit))
	return r.json(fasthttp.StatusOK, struct {
		Deliveries []deliveryResponse `json:"deliveries"`
	}{shown}, err)
}

// deliveries returns up to limit records with ids below before (0: all), newest first.
func (h *webhooks) deliveries(r *request, hook, before int64, limit int) ([]deliveryResponse, error) {
	shown := []deliveryResponse{}
	for below := webhook.BehindRecord(before); len(shown) < limit; {
		some, err := h.port.Deliveries(r.ctx, r.principal.Account, hook, below, deliveriesRead)
		if err != nil {
			return nil, err
		}
		shown = append(shown, each(webhook.Records(some, before, limit-len(shown)), shownDelivery)...)
		if len(some) < deliveriesRead {
			break
		}
		below = some[len(some)-1].ID
	}
	return shown, nil
}

func (h *webhooks) redeliver(r *request) error {
	given := parameter(r.http, "id")
	id, ok := number(given)
	if !ok {
		return fault.New(fault.NotFound, fmt.Sprintf("Delivery %s not found", given))
	}
	return r.json(fasthttp.StatusAccepted, okResponse{true}, h.port.Redeliver(r.ctx, r.principal.Account, webhook.OfRecord(id)))
}
