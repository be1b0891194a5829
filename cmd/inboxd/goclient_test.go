package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"inboxd/http/client"
)

// TestGoClient uses the public Go client as an agent's programmer would.
func TestGoClient(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--default-plan=paid")
	ctx, anonymous := t.Context(), client.New("http://"+s.http+"/", "")
	session, err := anonymous.SignUp(ctx, "me@example.test", "correct horse")
	if err != nil || session.Account.Plan != "paid" || session.ExpiresAt.Before(time.Now()) {
		t.Fatalf("sign-up: %+v %v", session, err)
	}
	owner := anonymous.With(session.Token)
	if a, err := owner.Account(ctx); err != nil || a.Email != "me@example.test" {
		t.Fatalf("account: %+v %v", a, err)
	}
	key, err := owner.IssueKey(ctx, client.KeyOrder{Label: "ci", Scopes: []string{client.ScopeFull}, ExpiresInDays: 30})
	if err != nil || key.Key == "" || key.ExpiresAt == nil || key.Scopes != "full" {
		t.Fatalf("key: %+v %v", key, err)
	}
	agent := anonymous.With(key.Key)
	in, err := agent.CreateInbox(ctx, client.InboxOrder{Prefix: "robot", Label: "Robot"})
	if err != nil || in.Label != "Robot" {
		t.Fatalf("inbox: %+v %v", in, err)
	}
	readMail(t, s, agent, in.Address)
	manage(t, owner, agent, in.Address)
	if err := owner.RevokeKey(ctx, key.ID); err != nil {
		t.Error(err)
	}
	if _, err := agent.Inbox(ctx, in.Address); client.StatusOf(err) != 401 {
		t.Errorf("after revocation: %v", err)
	}
	if err := owner.LogOut(ctx); err != nil {
		t.Error(err)
	}
	if again, err := anonymous.LogIn(ctx, "me@example.test", "correct horse"); err != nil || again.Token == session.Token {
		t.Errorf("login: %v", err)
	}
}

func readMail(t *testing.T, s *server, agent *client.Client, address string) {
	t.Helper()
	ctx := t.Context()
	if m, err := agent.Latest(ctx, address, client.LatestQuery{}); m != nil || err != nil {
		t.Errorf("an empty inbox holds %+v %v", m, err)
	}
	sent := make(chan error, 1)
	go func() { sent <- s.mail(address, "482913") }()
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	m, err := agent.WaitForOTP(bounded, address, 0)
	if err != nil || m.OTPCode != "482913" || m.OTP == nil || m.Headers["From"] == nil {
		t.Fatalf("wait: %+v %v", m, err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if page, err := agent.Messages(ctx, address, client.MessageQuery{Unread: true, Search: "SIGN-IN", Fields: []string{"id", "subject"}}); err != nil || page.HasMore || len(page.Emails) != 1 || page.Emails[0].Body != "" {
		t.Errorf("list: %+v %v", page, err)
	}
	if err := agent.MarkRead(ctx, address, m.ID, true); err != nil {
		t.Error(err)
	}
	if again, err := agent.Message(ctx, address, m.ID); err != nil || !again.IsRead {
		t.Errorf("message: %+v %v", again, err)
	}
	if raw, err := agent.Raw(ctx, address, m.ID); err != nil || int64(len(raw)) != m.SizeBytes {
		t.Errorf("raw: %d of %d bytes, %v", len(raw), m.SizeBytes, err)
	}
	if _, err := agent.Attachment(ctx, address, m.ID, 1); client.StatusOf(err) != 404 {
		t.Errorf("attachment: %v", err)
	}
	if err := agent.DeleteMessage(ctx, address, m.ID); err != nil {
		t.Error(err)
	}
	if n, err := agent.BurnInbox(ctx, address); n != 0 || err != nil {
		t.Errorf("burn: %d %v", n, err)
	}
}

func manage(t *testing.T, owner, agent *client.Client, address string) {
	t.Helper()
	ctx, hours := t.Context(), 48
	if in, err := agent.UpdateInbox(ctx, address, client.InboxChange{RetentionHours: &hours}); err != nil || in.RetentionHours != 48 {
		t.Errorf("update: %+v %v", in, err)
	}
	own, err := owner.IssueInboxKey(ctx, address, client.KeyOrder{Scopes: []string{client.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.With(own.Key).CreateInbox(ctx, client.InboxOrder{}); client.StatusOf(err) != 403 {
		t.Errorf("an inbox key creates: %v", err)
	}
	if err := owner.RevokeInboxKey(ctx, address); err != nil {
		t.Error(err)
	}
	other, err := agent.CreateInbox(ctx, client.InboxOrder{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for in, err := range agent.Inboxes(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		seen[in.Address] = true
	}
	if len(seen) != 2 || !seen[address] || !seen[other.Address] {
		t.Errorf("the list holds %v", seen)
	}
	if err := agent.DeleteInbox(ctx, other.Address); err != nil {
		t.Error(err)
	}
	if _, err := agent.Inbox(ctx, other.Address); client.StatusOf(err) != 403 {
		t.Errorf("a deleted inbox: %v", err)
	}
}

// TestGoClientSends uses the Go client as a program that sends messages would.
func TestGoClientSends(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", nil)
	s := postal(t, filepath.Join(t.TempDir(), "data"), farZone(t), far.port)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	owner := client.New("http://"+s.http, u.session)
	agent := owner.With(u.key)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	letter := client.Letter{To: "bob@far.test", Subject: "Grüße", Body: "x", Attachments: []client.File{{Filename: "a.txt", Content: []byte("hi")}}}
	var ids [2]int64
	for i := range ids {
		var err error
		if ids[i], err = agent.Send(ctx, address, letter, client.SendOptions{IdempotencyKey: "once"}); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] != ids[1] {
		t.Errorf("a repeated send gave %v", ids)
	}
	m, err := agent.WaitUntilSent(ctx, address, ids[0])
	if err != nil || m.SendStatus != client.StatusSent || len(m.Recipients) != 1 || m.Recipients[0].MX != "mx.far.test" || m.Recipients[0].At == nil {
		t.Errorf("%+v %v", m, err)
	}
	if _, err := agent.Send(ctx, address, client.Letter{To: "not an address"}, client.SendOptions{}); client.StatusOf(err) != 422 {
		t.Errorf("to no address: %v", err)
	}
	for sup, err := range owner.Suppressions(ctx) {
		t.Errorf("suppressions: %v %v", sup, err)
	}
	if err := owner.DropSuppression(ctx, "bob@far.test"); client.StatusOf(err) != 404 {
		t.Errorf("a suppression that is not there: %v", err)
	}
}
