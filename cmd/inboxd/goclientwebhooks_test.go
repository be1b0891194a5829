package main

import (
	"path/filepath"
	"testing"

	"inboxd/http/client"
)

// TestGoClientWebhooks makes every call about a webhook of a real receiver, with a key that may do
// only that.
func TestGoClientWebhooks(t *testing.T) {
	receiver := receiveHooks(t, "127.0.0.1:0", nil)
	s := launch(t, filepath.Join(t.TempDir(), "data"), allowLoopback...)
	u, ctx := s.signUp(t, "me@example.test"), t.Context()
	session := client.New("http://"+s.http, u.session)
	hooks := session.With(newKey(t, s, u, client.ScopeWebhooks)).Webhooks()
	w, secret, err := hooks.Create(ctx, client.WebhookOrder{URL: receiver.URL, Event: "*"})
	if err != nil || w.ID != 1 || w.Event != "*" || len(secret) != 6+44 {
		t.Fatalf("%+v %d %v", w, len(secret), err)
	}
	if r, err := hooks.Test(ctx, w.ID); err != nil || !r.OK || r.StatusCode != 200 {
		t.Errorf("test: %+v %v", r, err)
	}
	if calls := receiver.wait(t, 1); calls[0].header.Get("webhook-id") == "" {
		t.Errorf("%v", calls[0].header)
	}
	if next, err := hooks.RotateSecret(ctx, w.ID); err != nil || next == secret || len(next) != len(secret) {
		t.Errorf("rotation: %v", err)
	}
	if changed, err := hooks.Update(ctx, w.ID, client.WebhookChange{Event: "message.received"}); err != nil || changed.Event != "message.received" || changed.URL != w.URL {
		t.Errorf("change: %+v %v", changed, err)
	}
	address := u.inbox(t, "told")
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	receiver.wait(t, 2)
	u.delivery(t, settled)
	found, err := hooks.Deliveries(ctx, client.DeliveryQuery{WebhookID: w.ID, Limit: 5})
	if err != nil || len(found) != 1 || found[0].State != "succeeded" || found[0].StatusCode != 200 || found[0].Inbox != address {
		t.Fatalf("deliveries: %+v %v", found, err)
	}
	if err := hooks.Redeliver(ctx, found[0].ID); err != nil {
		t.Errorf("redelivery: %v", err)
	}
	receiver.wait(t, 3)
	if list, err := hooks.List(ctx); err != nil || len(list) != 1 || list[0].URL != w.URL {
		t.Errorf("list: %+v %v", list, err)
	}
	if err := hooks.Delete(ctx, w.ID); err != nil {
		t.Error(err)
	}
	if _, err := hooks.Get(ctx, w.ID); client.StatusOf(err) != 404 {
		t.Errorf("a deleted webhook: %v", err)
	}
	if _, err := session.IssueInboxKey(ctx, address, client.KeyOrder{Scopes: []string{client.ScopeWebhooks}}); client.StatusOf(err) != 422 {
		t.Errorf("an inbox key for webhooks: %v", err)
	}
}
