package main

import (
	"path/filepath"
	"strings"
	"testing"

	"inboxd/http/client"
)

// TestGoClientAccount tests the list of keys, and a new password by the operator's link.
func TestGoClientAccount(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, "--default-plan=free")
	u := s.signUp(t, "me@example.test")
	ctx, anonymous := t.Context(), client.New("http://"+s.http, "")
	owner := anonymous.With(u.session)
	address := u.inbox(t, "robot")
	if _, err := owner.IssueInboxKey(ctx, address, client.KeyOrder{ExpiresInDays: 365}); err != nil {
		t.Fatal(err)
	}
	var list []client.Key
	for k, err := range owner.Keys(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, k)
	}
	if len(list) != 2 || list[0].Kind != "account" || list[0].Label != "test" || list[0].Inbox != nil || list[0].LastUsedAt == nil ||
		list[1].Kind != "inbox" || *list[1].Inbox != address || list[1].ExpiresAt == nil || list[1].Scopes != client.ScopeRead {
		t.Errorf("the inventory is %+v", list)
	}
	a, err := owner.Account(ctx)
	if err != nil || a.Limits.Inboxes != 3 || a.Limits.MaxRetentionHours != 72 || a.Limits.MaxMessages != 10_000 || a.Limits.MaxBytes != 500<<20 || a.Limits.Subdomains || a.Usage != (client.Usage{Inboxes: 1, Keys: 2}) || a.Encryption.Enabled {
		t.Errorf("account: %+v %v", a, err)
	}

	for _, email := range []string{"me@example.test", "nobody@example.test"} {
		if err := anonymous.RequestPasswordReset(ctx, email); err != nil {
			t.Errorf("%s: %v", email, err)
		}
	}
	_, token, _ := strings.Cut(admin(t, dir, "account", "reset-link", "me@example.test"), "#token=")
	token, _, _ = strings.Cut(token, "\n")
	if ended, err := anonymous.ResetPassword(ctx, token, "another horse"); err != nil || ended.Sessions != 1 || ended.Keys != 2 {
		t.Fatal(ended, err)
	}
	if _, err := anonymous.ResetPassword(ctx, token, "another horse"); client.StatusOf(err) != 400 {
		t.Errorf("a used link: %v", err)
	}
	if _, err := owner.Account(ctx); client.StatusOf(err) != 401 {
		t.Errorf("a session from before: %v", err)
	}
	if _, err := anonymous.LogIn(ctx, "me@example.test", "another horse"); err != nil {
		t.Error(err)
	}
	for _, err := range owner.Keys(ctx) {
		if client.StatusOf(err) != 401 {
			t.Errorf("the inventory without a session: %v", err)
		}
	}
}
