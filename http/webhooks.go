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
	ListWebhooks(ctx context.Context, id account.ID) ([]webhook.ListedWebhook, error)
	Webhook(ctx context.Context, id account.ID, hook int64) (webhook.ListedWebhook, error)
	// ChangeWebhook changes the values that are not nil.
	ChangeWebhook(ctx context.Context, id account.ID, hook int64, url, event *string) error
	RotateSecret(ctx context.Context, id account.ID, hook int64) (string, error)
	DropWebhook(ctx context.Context, id account.ID, hook int64) error
	// TestWebhook posts a sample and waits for the response.
	TestWebhook(ctx context.Context, id account.ID, hook int64) (webhook.ReceiverResponse, error)
	// DeliveryPage returns up to limit deliveries with ids below before (0: all), newest first. It
	// returns only those of one webhook unless hook is 0.
	DeliveryPage(ctx context.Context, id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error)
	// Redeliver retries a finished delivery. It returns Refused while attempts continue.
	Redeliver(ctx context.Context, id account.ID, delivery int64) error
}

var (
	webhookShape = bodyShape{
		{name: "url", valueKind: textField, isRequired: true, maxLength: webhook.MaxURL},
		{name: "event", valueKind: lineField, isRequired: true, maxLength: maxName},
		{name: "inbox", valueKind: lineField, maxLength: maxAddress},
	}
	webhookChangeShape = bodyShape{
		{name: "url", valueKind: textField, maxLength: webhook.MaxURL},
		{name: "event", valueKind: lineField, maxLength: maxName},
	}
)

// webhooks has the handlers that manage subscriptions and list deliveries.
type webhooks struct{ webhookManager Webhooks }

func (h *webhooks) listRoutes() []routeSpec {
	const (
		all = "/api/v1/webhooks"
		one = all + "/{id}"
		log = all + "/deliveries"
	)
	return []routeSpec{
		{methodPost, all, accountCredentials, scopeWebhooks, false, webhookShape, h.addWebhook},
		{methodGet, all, accountCredentials, scopeWebhooks, false, nil, h.listWebhooks},
		{methodGet, one, accountCredentials, scopeWebhooks, false, nil, onWebhook(h.answerWebhook)},
		{methodPatch, one, accountCredentials, scopeWebhooks, false, webhookChangeShape, h.changeWebhook},
		{methodDelete, one, accountCredentials, scopeWebhooks, false, nil, onWebhook(h.dropWebhook)},
		{methodPost, one + "/rotate-secret", accountCredentials, scopeWebhooks, false, emptyShape, onWebhook(h.rotateSecret)},
		{methodPost, one + "/test", accountCredentials, scopeWebhooks, false, emptyShape, onWebhook(h.testWebhook)},
		{methodGet, log, accountCredentials, scopeWebhooks, false, nil, h.listDeliveries},
		{methodPost, log + "/{id}/redeliver", accountCredentials, scopeWebhooks, false, emptyShape, h.redeliver},
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

func shownWebhook(w *webhook.ListedWebhook) webhookResponse {
	return webhookResponse{w.ID, w.URL, w.EventFilter, stringOrNull(w.InboxFilter), wireTime(w.CreatedAt), wireTimeOrNull(w.LastAt), numberOrNull(w.LastStatus)}
}

func numberOrNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// readSubscription checks the URL and the event of a request, each if it is given.
func (r *apiRequest) readSubscription() (url, event *string, err error) {
	if given := r.bodyValues.textOf("url"); given != nil {
		canonical, err := webhook.CanonicalURL(*given)
		if err != nil {
			return nil, nil, err
		}
		url = &canonical
	}
	if event = r.bodyValues.textOf("event"); event != nil && !webhook.IsSubscription(*event) {
		return nil, nil, fault.InvalidField("event", "is not a valid event. Valid events: %s", strings.Join(webhook.Subscriptions(), ", "))
	}
	return url, event, nil
}

func (h *webhooks) addWebhook(r *apiRequest) error {
	url, event, err := r.readSubscription()
	if err != nil {
		return err
	}
	only, given := "", r.bodyValues.textOf("inbox")
	if given != nil {
		canonical, ok := address.CanonicalInbox(*given)
		if !ok {
			return noInbox(*given)
		}
		only = address.WithoutTag(canonical)
	}
	w, err := h.webhookManager.AddWebhook(r.ctx, r.principal, *url, *event, only)
	switch {
	case fault.Is(err, fault.NoInbox):
		return noInbox(only)
	case err != nil:
		return err
	}
	return r.json(fasthttp.StatusCreated, struct {
		Webhook webhookResponse `json:"webhook"`
		Secret  string          `json:"secret"`
	}{shownWebhook(&webhook.ListedWebhook{Webhook: w}), w.Secret}, nil)
}

func (h *webhooks) listWebhooks(r *apiRequest) error {
	all, err := h.webhookManager.ListWebhooks(r.ctx, r.principal.Account)
	return r.json(fasthttp.StatusOK, struct {
		Webhooks []webhookResponse `json:"webhooks"`
	}{mapEach(all, shownWebhook)}, err)
}

// webhookID returns the id in the path.
func (r *apiRequest) webhookID() (int64, error) {
	given := pathParameter(r.httpCtx, "id")
	id, ok := parseID(given)
	if !ok {
		return 0, account.NoWebhook(given)
	}
	return id, nil
}

// onWebhook passes the id in the path to a handler.
func onWebhook(handle func(*apiRequest, int64) error) func(*apiRequest) error {
	return func(r *apiRequest) error {
		id, err := r.webhookID()
		if err != nil {
			return err
		}
		return handle(r, id)
	}
}

func (h *webhooks) answerWebhook(r *apiRequest, id int64) error {
	w, err := h.webhookManager.Webhook(r.ctx, r.principal.Account, id)
	return r.json(fasthttp.StatusOK, struct {
		Webhook webhookResponse `json:"webhook"`
	}{shownWebhook(&w)}, err)
}

func (h *webhooks) changeWebhook(r *apiRequest) error {
	url, event, err := r.readSubscription()
	if err != nil {
		return err
	}
	id, err := r.webhookID()
	if err == nil {
		err = h.webhookManager.ChangeWebhook(r.ctx, r.principal.Account, id, url, event)
	}
	if err != nil {
		return err
	}
	return h.answerWebhook(r, id)
}

func (h *webhooks) dropWebhook(r *apiRequest, id int64) error {
	return r.ok(h.webhookManager.DropWebhook(r.ctx, r.principal.Account, id))
}

func (h *webhooks) rotateSecret(r *apiRequest, id int64) error {
	secret, err := h.webhookManager.RotateSecret(r.ctx, r.principal.Account, id)
	return r.json(fasthttp.StatusOK, struct {
		Secret string `json:"secret"`
	}{secret}, err)
}

func (h *webhooks) testWebhook(r *apiRequest, id int64) error {
	a, err := h.webhookManager.TestWebhook(r.ctx, r.principal.Account, id)
	return r.json(fasthttp.StatusOK, struct {
		OK       bool    `json:"ok"`
		Status   *int    `json:"status_code"`
		Duration int64   `json:"duration_ms"`
		Error    *string `json:"error"`
	}{webhook.IsSuccess(a.Status), numberOrNull(a.Status), a.Duration.Milliseconds(), stringOrNull(a.Error)}, err)
}

// deliveryResponse is one attempt to deliver one event to one webhook.
type deliveryResponse struct {
	ID              int64   `json:"id"`
	Webhook         int64   `json:"webhook_id"`
	EventID         string  `json:"event_id"`
	Event           string  `json:"event"`
	Inbox           string  `json:"inbox"`
	URL             string  `json:"url"`
	Attempt         int     `json:"attempt"` // 0: the next attempt, not made yet
	StatusCode      *int    `json:"status_code"`
	Error           *string `json:"error"`
	DurationMillis  *int64  `json:"duration_ms"`
	At              string  `json:"at"` // of the last attempt; without one, of the event
	NextAt          *string `json:"next_attempt_at"`
	State           string  `json:"state"`
	ResponseExcerpt *string `json:"response"` // first KiB of the response's body
	ContentGone     bool    `json:"gone,omitzero"`
}

func shownDelivery(r *webhook.AttemptRecord) deliveryResponse {
	d := r.Delivery
	a := deliveryResponse{
		ID: r.ID, Webhook: d.Webhook, EventID: d.EventID, Event: d.Event, Inbox: d.Inbox, URL: r.URL, Attempt: r.AttemptNumber,
		StatusCode: numberOrNull(r.Status), Error: stringOrNull(r.Error), At: wireTime(d.At),
		NextAt: wireTimeOrNull(r.NextAt), State: r.State.WireName(), ResponseExcerpt: stringOrNull(r.BodyExcerpt),
	}
	_, a.ContentGone = d.AboutMessage()
	if !r.At.IsZero() {
		took := r.Duration.Milliseconds()
		a.At, a.DurationMillis = wireTime(r.At), &took
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

func (h *webhooks) listDeliveries(r *apiRequest) error {
	q := r.queryReader()
	limit, hook, before := q.readNumber("limit", defaultDeliveries, 1, maxDeliveries), q.readNumber("webhook_id", 0, 1, maxID), q.readNumber("before", 0, 1, maxID)
	if q.firstErr != nil {
		return q.firstErr
	}
	if err := r.awaitCharge(limit * deliveryBytes); err != nil {
		return err
	}
	shown, err := h.deliveryPage(r, hook, before, int(limit))
	return r.json(fasthttp.StatusOK, struct {
		Deliveries []deliveryResponse `json:"deliveries"`
	}{shown}, err)
}

// deliveryPage returns up to limit records with ids below before (0: all), newest first.
func (h *webhooks) deliveryPage(r *apiRequest, hook, before int64, limit int) ([]deliveryResponse, error) {
	shown := []deliveryResponse{}
	for below := webhook.BehindRecord(before); len(shown) < limit; {
		some, err := h.webhookManager.DeliveryPage(r.ctx, r.principal.Account, hook, below, deliveriesRead)
		if err != nil {
			return nil, err
		}
		shown = append(shown, mapEach(webhook.NewestRecords(some, before, limit-len(shown)), shownDelivery)...)
		if len(some) < deliveriesRead {
			break
		}
		below = some[len(some)-1].ID
	}
	return shown, nil
}

func (h *webhooks) redeliver(r *apiRequest) error {
	given := pathParameter(r.httpCtx, "id")
	id, ok := parseID(given)
	if !ok {
		return fault.New(fault.NotFound, fmt.Sprintf("Delivery %s not found", given))
	}
	return r.json(fasthttp.StatusAccepted, okResponse{true}, h.webhookManager.Redeliver(r.ctx, r.principal.Account, webhook.OfRecord(id)))
}
