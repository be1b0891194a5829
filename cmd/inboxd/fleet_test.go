package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/http/client"
)

// TestAFleetInOneCall creates a thousand inboxes in one call, gets the same ones by its retry after
// a kill, lists their messages together, and clears old messages.
func TestAFleetInOneCall(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := launch(t, data, "--default-plan=paid")
	u := s.signUp(t, "me@example.test")
	agent := client.New("http://"+s.http, u.key)
	orders := make([]client.InboxOrder, 1000)
	for i := range orders {
		orders[i] = client.InboxOrder{Prefix: fmt.Sprint("robot", i), Label: fmt.Sprint("Lane ", i%10)}
	}
	began := time.Now()
	made, err := agent.CreateInboxes(t.Context(), orders, "fleet-1")
	if err != nil || len(made) != len(orders) {
		t.Fatalf("%d made, %v", len(made), err)
	}
	t.Logf("1,000 inboxes in %v", time.Since(began))
	for i, c := range made {
		if c.Status != 201 || !strings.HasPrefix(c.Inbox.Address, fmt.Sprint("robot", i, "@")) {
			t.Fatalf("entry %d: %+v", i, c)
		}
	}
	for i := range 3 {
		if err := s.mail(made[i].Inbox.Address, fmt.Sprint(100100+i)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // times have whole milliseconds
	}
	s.kill()
	s = launch(t, data, "--default-plan=paid")
	agent = client.New("http://"+s.http, u.key)
	again, err := agent.CreateInboxes(t.Context(), orders, "fleet-1")
	if err != nil || len(again) != len(made) {
		t.Fatalf("%d again, %v", len(again), err)
	}
	for i := range again {
		if again[i].Inbox.Address != made[i].Inbox.Address {
			t.Fatalf("entry %d is %+v, was %+v", i, again[i], made[i])
		}
	}
	if _, err := agent.CreateInboxes(t.Context(), orders[:2], "fleet-1"); client.StatusOf(err) != 422 {
		t.Errorf("the name for another batch: %v", err)
	}
	page, err := agent.AllMessages(t.Context(), client.AllQuery{OTP: true, Limit: 2})
	if err != nil || len(page.Emails) != 2 || page.Emails[0].Inbox != made[2].Inbox.Address || page.Emails[0].OTPCode != "100102" {
		t.Fatalf("all: %+v %v", page, err)
	}
	page, err = agent.AllMessages(t.Context(), client.AllQuery{OTP: true, Limit: 2, Cursor: page.NextCursor})
	if err != nil || len(page.Emails) != 1 || page.Emails[0].Inbox != made[0].Inbox.Address || page.NextCursor != "" {
		t.Fatalf("the rest: %+v %v", page, err)
	}
	page, err = agent.AllMessages(t.Context(), client.AllQuery{Label: "lane 1", Search: "sign-in"})
	if err != nil || len(page.Emails) != 1 || page.Emails[0].Inbox != made[1].Inbox.Address {
		t.Fatalf("of one label: %+v %v", page, err)
	}
	if n, err := agent.ClearBefore(t.Context(), made[0].Inbox.Address, 2); n != 1 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
	if n, err := agent.ClearOlder(t.Context(), made[1].Inbox.Address, 1); n != 0 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
}
