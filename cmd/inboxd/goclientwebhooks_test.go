package main

import (
	"path/filepath"
	"testing"

	"inboxd/http/client"
)

// TestGoClientWebhooks creates, tests, rotates and deletes a webhook of a real receiver.
func TestGoClientWebhooks(t *testing.T) {
	hook := receiveHooks(t, "127.0.0.1:0", nil)
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--webhook-allow", "127.0.0.0/8")
	ctx := t.Context()
	session, err := client.New("http://"+s.http, "").SignUp(ctx, "me@example.test", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	owner := client.New("http://"+s.http, session.Token)
	w, secret, err := owner.CreateWebhook(ctx, client.WebhookOrder{URL: hook.URL, Event: "*"})
	if err != nil || w.ID != 1 || w.Event != "*" || len(secret) != 6+44 {
		t.Fatalf("%+v %d %v", w, len(secret), err)
	}
	if r, err := owner.TestWebhook(ctx, w.ID); err != nil || !r.OK || r.StatusCode != 200 {
		t.Errorf("test: %+v %v", r, err)
	}
	if calls := hook.wait(t, 1); calls[0].header.Get("webhook-id") == "" {
		t.Errorf("%v", calls[0].header)
	}
	if next, err := owner.RotateSecret(ctx, w.ID); err != nil || next == secret || len(next) != len(secret) {
		t.Errorf("rotation: %v", err)
	}
	if list, err := owner.Webhooks(ctx); err != nil || len(list) != 1 || list[0].URL != w.URL {
		t.Errorf("list: %+v %v", list, err)
	}
	if err := owner.DeleteWebhook(ctx, w.ID); err != nil {
		t.Error(err)
	}
	if err := owner.DeleteWebhook(ctx, w.ID); client.StatusOf(err) != 404 {
		t.Errorf("deleted twice: %v", err)
	}
}
