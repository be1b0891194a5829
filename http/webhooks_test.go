package http

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// fakeWebhooks holds the deliveries of fakeAccounts. The webhooks themselves are in the states of
// the accounts, by the real rules.
type fakeWebhooks struct {
	log    []webhook.Delivery
	answer webhook.ReceiverResponse // returned by every test request
	last   map[int64]webhook.DeliveryAttempt
	checks error // returned by a check of a URL
}

func (f *fakeAccounts) AddWebhook(ctx context.Context, by *account.Principal, url, event, address string) (account.Webhook, error) {
	if address != "" {
		if _, err := f.inboxes.ViewFor(ctx, by.Account, address); err != nil {
			return account.Webhook{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.checks != nil {
		return account.Webhook{}, f.checks
	}
	w := account.Webhook{URL: url, EventFilter: event, InboxFilter: address, Secret: f.secret()}
	if err := f.decide(by.Account, account.AddWebhook{Webhook: w}); err != nil {
		return account.Webhook{}, err
	}
	return *f.byID[by.Account].Webhooks[f.byID[by.Account].LastWebhook], nil
}

func (f *fakeAccounts) secret() string {
	f.minted++
	return string(webhook.MintSecret([32]byte{byte(f.minted)}))
}

func (f *fakeAccounts) ListWebhooks(_ context.Context, id account.ID) (out []webhook.ListedWebhook, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.byID[id].WebhookList() {
		out = append(out, webhook.ListedWebhook{Webhook: w, LastAt: f.last[w.ID].At, LastStatus: f.last[w.ID].Status})
	}
	return out, nil
}

func (f *fakeAccounts) Webhook(ctx context.Context, id account.ID, hook int64) (webhook.ListedWebhook, error) {
	all, _ := f.ListWebhooks(ctx, id)
	if i := slices.IndexFunc(all, func(w webhook.ListedWebhook) bool { return w.ID == hook }); i >= 0 {
		return all[i], nil
	}
	return webhook.ListedWebhook{}, account.NoWebhook(fmt.Sprint(hook))
}

func (f *fakeAccounts) describe(id account.ID, cmd account.Command) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decide(id, cmd)
}

func (f *fakeAccounts) ChangeWebhook(_ context.Context, id account.ID, hook int64, url, event *string) error {
	return f.describe(id, account.ChangeWebhook{ID: hook, URL: url, EventFilter: event})
}

func (f *fakeAccounts) RotateSecret(_ context.Context, id account.ID, hook int64) (string, error) {
	f.mu.Lock()
	secret := f.secret()
	f.mu.Unlock()
	return secret, f.describe(id, account.RotateSecret{ID: hook, Secret: secret, OverlapPeriod: webhook.SecretOverlap})
}

func (f *fakeAccounts) DropWebhook(_ context.Context, id account.ID, hook int64) error {
	return f.describe(id, account.DropWebhook{ID: hook})
}

func (f *fakeAccounts) TestWebhook(ctx context.Context, id account.ID, hook int64) (webhook.ReceiverResponse, error) {
	_, err := f.Webhook(ctx, id, hook)
	return f.answer, err
}

func (f *fakeAccounts) DeliveryPage(_ context.Context, id account.ID, hook, before int64, limit int) (out []webhook.Delivery, _ error) {
	for _, d := range slices.Backward(f.log) {
		if d.Account == id && (hook == 0 || d.Webhook == hook) && (before == 0 || d.ID < before) && len(out) < limit {
			out = append(out, d)
		}
	}
	return out, nil
}

func (f *fakeAccounts) Redeliver(_ context.Context, id account.ID, delivery int64) error {
	for _, d := range f.log {
		switch {
		case d.Account != id || d.ID != delivery:
		case d.State == webhook.StateRetrying:
			return fault.New(fault.Refused, "Delivery is still in progress. Wait until it has succeeded or failed")
		default:
			return nil
		}
	}
	return fault.New(fault.NotFound, fmt.Sprintf("Delivery %d not found", delivery))
}

// eachSurface runs a test under /api with sessions, and under /api/v1 with account keys that have
// only scope. Alice and Bob have accounts.
func eachSurface(t *testing.T, scope account.ScopeSet, test func(t *testing.T, w *world, prefix string, credential func(email string) string)) {
	t.Helper()
	for prefix, credential := range map[string]func(w *world, email string) string{
		"/api":    (*world).signUpSession,
		"/api/v1": func(w *world, email string) string { return w.key(email, scope) },
	} {
		t.Run(prefix, func(t *testing.T) {
			w := start(t)
			w.signUp(alice)
			w.signUp(bob)
			test(t, w, prefix, func(email string) string { return credential(w, email) })
		})
	}
}

// withHook runs a test about a webhook of Alice on each surface. hooks is the path of webhooks.
func withHook(t *testing.T, test func(t *testing.T, w *world, hooks, token, secret string)) {
	t.Helper()
	eachSurface(t, account.ScopeWebhooks, func(t *testing.T, w *world, prefix string, credential func(string) string) {
		hooks, token := prefix+"/webhooks", credential(alice)
		r := w.expect(201, w.call(methodPost, hooks, token, `{"url":"https://Example.com/hook","event":"message.received"}`))
		test(t, w, hooks, token, r.object(t, "secret").(string))
	})
}

func TestWebhooksAreManaged(t *testing.T) {
	withHook(t, func(t *testing.T, w *world, hooks, token, secret string) {
		own := w.newInbox(alice, "own")
		if !strings.HasPrefix(secret, "whsec_") {
			t.Errorf("the secret is %q", secret)
		}
		w.accounts.last = map[int64]webhook.DeliveryAttempt{1: {At: begin.Add(time.Second), ReceiverResponse: webhook.ReceiverResponse{Status: 204}}}
		const first = `{"id":1,"url":"https://example.com/hook","event":"message.received","inbox":null,"created_at":"2026-11-21T12:00:00.000Z","last_delivery_at":"2026-11-21T12:00:01.000Z","last_status_code":204}`
		if r := w.expect(200, w.call(methodGet, hooks, token, "")); r.body != `{"webhooks":[`+first+`]}` {
			t.Errorf("listed as %s", r.body)
		}
		if r := w.expect(200, w.call(methodGet, hooks+"/1", token, "")); r.body != `{"webhook":`+first+`}` {
			t.Errorf("shown as %s", r.body)
		}
		r := w.expect(200, w.call(methodPatch, hooks+"/1", token, `{"event":"*"}`))
		if r.object(t, "webhook", "event") != "*" || r.object(t, "webhook", "url") != "https://example.com/hook" {
			t.Errorf("changed to %s", r.body)
		}
		r = w.expect(200, w.call(methodPost, hooks+"/1/rotate-secret", token, ""))
		if next := r.object(t, "secret"); next == secret || !strings.HasPrefix(next.(string), "whsec_") {
			t.Errorf("rotated to %v", next)
		}
		r = w.expect(201, w.call(methodPost, hooks, token, `{"url":"https://example.com/","event":"calendar.*","inbox":"Own+tag@inbox.test"}`))
		if r.object(t, "webhook", "inbox") != own {
			t.Errorf("narrowed to %s", r.body)
		}
		w.accounts.answer = webhook.ReceiverResponse{Status: 500, Duration: 12 * time.Millisecond, Error: "The receiver responded with status 500"}
		if r := w.expect(200, w.call(methodPost, hooks+"/1/test", token, "")); r.body != `{"ok":false,"status_code":500,"duration_ms":12,"error":"The receiver responded with status 500"}` {
			t.Errorf("tested: %s", r.body)
		}
		w.accounts.answer = webhook.ReceiverResponse{Status: 204}
		if r := w.expect(200, w.call(methodPost, hooks+"/1/test", token, "{}")); r.body != `{"ok":true,"status_code":204,"duration_ms":0,"error":null}` {
			t.Errorf("tested: %s", r.body)
		}
		if r := w.expect(200, w.call(methodDelete, hooks+"/1", token, "")); r.body != `{"ok":true}` {
			t.Errorf("deleted: %s", r.body)
		}
		for _, c := range [][2]string{{methodGet, ""}, {methodDelete, ""}, {methodPatch, ""}, {methodPost, "/test"}, {methodPost, "/rotate-secret"}} {
			for _, id := range []string{"1", "99", "x", "01"} {
				r := w.expect(404, w.call(c[0], hooks+"/"+id+c[1], token, ""))
				if r.detail() != "Webhook "+id+" not found" {
					t.Errorf("%s %s%s: %s", c[0], id, c[1], r.detail())
				}
			}
		}
	})
}

func TestWebhooksAreOfTheirAccount(t *testing.T) {
	withHook(t, func(t *testing.T, w *world, hooks, token, secret string) {
		other := w.key(bob, account.ScopeWebhooks)
		if strings.HasPrefix(hooks, hooks) {
			other = w.signUpSession(bob)
		}
		w.accounts.log = []webhook.Delivery{{Account: w.idOf(alice), ID: 1, State: webhook.StateFailed}}
		for _, c := range [][2]string{{methodGet, "/1"}, {methodDelete, "/1"}, {methodPatch, "/1"}, {methodPost, "/1/test"}, {methodPost, "/1/rotate-secret"}, {methodPost, "/deliveries/1/redeliver"}} {
			w.expect(404, w.call(c[0], hooks+c[1], other, ""))
		}
		for _, path := range []string{"", "/deliveries"} {
			if r := w.expect(200, w.call(methodGet, hooks+path, other, "")); !strings.HasSuffix(r.body, `:[]}`) {
				t.Errorf("%s shows another account's: %s", path, r.body)
			}
		}
	})
}

func TestBadWebhooksAreRefused(t *testing.T) {
	withHook(t, func(t *testing.T, w *world, hooks, token, secret string) {
		w.newInbox(bob, "foreign")
		const events = "message.received, message.delivered, message.failed, message.bounced, calendar.event.created, calendar.event.updated, calendar.event.cancelled, calendar.attendee.responded, calendar.*, *"
		for body, want := range map[string]string{
			`{"event":"*"}`:                                                             "422 Invalid request: 'url' is required",
			`{"url":"https://a.example"}`:                                               "422 Invalid request: 'event' is required",
			`{"url":"https://a.example","event":"message.sent"}`:                        "422 Invalid request: 'event' is not a valid event. Valid events: " + events,
			`{"url":"ftp://a.example","event":"*"}`:                                     "422 Invalid request: 'url' must begin with http:// or https://",
			`{"url":"https://a.example:22/","event":"*"}`:                               "422 Invalid request: 'url' must use port 80, port 443, or a port from 1024 on",
			`{"url":"https://a.example","event":"*","secret":"x"}`:                      "422 Invalid request: 'secret' is not a field of this request. Its fields are: url, event, inbox",
			`{"url":"https://a.example/` + strings.Repeat("x", 2048) + `","event":"*"}`: "422 Invalid request: 'url' is too long (2066 characters). The limit is 2048 characters",
			`{"url":"https://a.example","event":"*","inbox":"foreign@inbox.test"}`:      "403 No inbox foreign@inbox.test for this API key",
			`{"url":"https://a.example","event":"*","inbox":"nobody@inbox.test"}`:       "403 No inbox nobody@inbox.test for this API key",
			`{"url":"https://a.example","event":"*","inbox":"no address"}`:              "403 No inbox no address for this API key",
		} {
			if r := w.call(methodPost, hooks, token, body); fmt.Sprint(r.status, " ", r.detail()) != want {
				t.Errorf("%s: %d %s, want %s", body, r.status, r.detail(), want)
			}
		}
		if r := w.call(methodPatch, hooks+"/1", token, `{"event":"x"}`); r.status != 422 {
			t.Errorf("a change to no event: %d", r.status)
		}
		if r := w.call(methodPatch, hooks+"/1", token, `{"inbox":"x"}`); r.status != 422 {
			t.Errorf("a change of the inbox: %d", r.status)
		}
	})
}

// TestTheEleventhWebhook is refused, however many requests are concurrent.
func TestTheEleventhWebhook(t *testing.T) {
	withHook(t, func(t *testing.T, w *world, hooks, token, secret string) {
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[int]int{}
		for range 50 {
			all.Go(func() {
				r, err := w.try(methodPost, hooks, token, `{"url":"https://example.com/","event":"*"}`)
				mu.Lock()
				defer mu.Unlock()
				if got[r.status]++; err != nil || r.status == 400 && r.detail() != "Free plan allows at most 10 webhooks. Delete a webhook first" {
					t.Errorf("%v %s", err, r.body)
				}
			})
		}
		all.Wait()
		if got[201] != 9 || got[400] != 41 {
			t.Errorf("statuses %v", got)
		}
	})
}

func TestDeliveriesAreListed(t *testing.T) {
	withHook(t, func(t *testing.T, w *world, hooks, token, secret string) {
		id := w.idOf(alice)
		w.accounts.log = []webhook.Delivery{
			{Account: id, ID: 1, Webhook: 1, EventID: "evt_a", Event: "message.received", Inbox: "own@inbox.test", URL: "https://example.com/hook", At: begin, State: webhook.StateRetrying, NextAt: begin},
			{Account: id, ID: 2, Webhook: 2, EventID: "evt_b", Event: "message.received", Inbox: "own@inbox.test", URL: "https://example.com/hook", At: begin, State: webhook.StateRetrying, NextAt: begin.Add(time.Minute), AttemptCount: 2,
				PastAttempts: []webhook.StoredAttempt{{DeliveryAttempt: webhook.DeliveryAttempt{At: begin, ReceiverResponse: webhook.ReceiverResponse{Status: 500}}, URL: "https://example.com/old", State: webhook.StateRetrying, NextAt: begin.Add(time.Second)}},
				LastAttempt:  webhook.DeliveryAttempt{At: begin.Add(time.Second), ReceiverResponse: webhook.ReceiverResponse{Status: 503, Duration: 7 * time.Millisecond, Error: "The receiver responded with status 503", BodyExcerpt: "busy"}}},
			{Account: id, ID: 3, Webhook: 1, State: webhook.StateDelivered},
		}
		const first = `{"id":1001,"webhook_id":1,"event_id":"evt_a","event":"message.received","inbox":"own@inbox.test","url":"https://example.com/hook","attempt":0,"status_code":null,"error":null,"duration_ms":null,"at":"2026-11-21T12:00:00.000Z","next_attempt_at":"2026-11-21T12:00:00.000Z","state":"retrying","response":null}`
		const second = `{"id":2002,"webhook_id":2,"event_id":"evt_b","event":"message.received","inbox":"own@inbox.test","url":"https://example.com/hook","attempt":2,"status_code":503,"error":"The receiver responded with status 503","duration_ms":7,"at":"2026-11-21T12:00:01.000Z","next_attempt_at":"2026-11-21T12:01:00.000Z","state":"retrying","response":"busy"}`
		const before = `{"id":2001,"webhook_id":2,"event_id":"evt_b","event":"message.received","inbox":"own@inbox.test","url":"https://example.com/old","attempt":1,"status_code":500,"error":null,"duration_ms":0,"at":"2026-11-21T12:00:00.000Z","next_attempt_at":"2026-11-21T12:00:01.000Z","state":"retrying","response":null}`
		for query, want := range map[string]string{
			"?before=3000": second + "," + before + "," + first, "?before=3000&limit=1": second, "?before=2002&limit=2": before + "," + first,
			"?before=2001": first, "?webhook_id=1&before=3000": first, "?webhook_id=9": "",
		} {
			if r := w.expect(200, w.call(methodGet, hooks+"/deliveries"+query, token, "")); r.body != `{"deliveries":[`+want+`]}` {
				t.Errorf("%s: %s", query, r.body)
			}
		}
		for _, query := range []string{"?limit=0", "?limit=1001", "?before=x", "?webhook_id=-1"} {
			w.expect(422, w.call(methodGet, hooks+"/deliveries"+query, token, ""))
		}
		if r := w.expect(202, w.call(methodPost, hooks+"/deliveries/3001/redeliver", token, "")); r.body != `{"ok":true}` {
			t.Errorf("redelivered: %s", r.body)
		}
		w.expect(400, w.call(methodPost, hooks+"/deliveries/1001/redeliver", token, ""))
		w.expect(404, w.call(methodPost, hooks+"/deliveries/9001/redeliver", token, ""))
		w.expect(404, w.call(methodPost, hooks+"/deliveries/x/redeliver", token, ""))
	})
}

// TestNoAnswerTellsASecret: only the responses that create a secret contain it, and no log line
// does.
func TestNoAnswerTellsASecret(t *testing.T) {
	withHook(t, func(t *testing.T, w *world, hooks, token, secret string) {
		for i := range w.server.routes {
			rt := &w.server.routes[i]
			if !strings.HasPrefix(rt.pathPattern, hooks) || strings.HasSuffix(rt.pathPattern, "rotate-secret") {
				continue
			}
			if r := w.call(rt.method, strings.ReplaceAll(rt.pathPattern, "{id}", "1"), token, ""); strings.Contains(r.body, secret[6:]) {
				t.Errorf("%s tells the secret: %s", rt.routeName(), r.body)
			}
		}
		if strings.Contains(w.log.String(), secret[6:]) {
			t.Error("the secret is in the log")
		}
	})
}
