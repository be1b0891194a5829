package main

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"inboxd/http/client"
)

// TestGoClientEvents follows an account by a stream that a kill interrupts, and by polls.
func TestGoClientEvents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	address, other := u.inbox(t, "robot"), u.inbox(t, "other")
	agent := client.New("http://"+s.http, u.key)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	start, err := agent.Events(ctx, client.EventQuery{After: client.Now})
	if err != nil || len(start.Events) != 0 || start.Next == "" {
		t.Fatalf("%+v %v", start, err)
	}
	codes := make(chan string)
	go func() {
		defer close(codes)
		for e, err := range agent.StreamEvents(ctx, client.EventQuery{After: start.Next}) {
			if err != nil {
				codes <- fmt.Sprint(client.StatusOf(err))
				return
			}
			codes <- e.OTP
		}
	}()
	expect := func(want string) {
		t.Helper()
		if got := <-codes; got != want {
			t.Fatalf("the stream says %q, want %q", got, want)
		}
	}
	mail := func(to, code string) {
		t.Helper()
		if err := s.mail(to, code); err != nil {
			t.Fatal(err)
		}
	}
	mail(address, "111111")
	expect("111111")
	s.kill()
	s = launch(t, dir, "--http", s.http)
	u.server = s
	mail(other, "222222")
	mail(address, "333333")
	expect("222222")
	expect("333333")

	var polled []string
	last := ""
	for e, err := range agent.PollEvents(ctx, client.EventQuery{Inbox: address, After: start.Next}) {
		if err != nil || e.Inbox != address {
			t.Fatalf("%+v %v", e, err)
		}
		if polled, last = append(polled, e.OTP), e.Cursor; len(polled) == 2 {
			break
		}
	}
	if polled[0] != "111111" || polled[1] != "333333" {
		t.Errorf("polled %v", polled)
	}
	if rest, err := agent.Events(ctx, client.EventQuery{After: last}); err != nil || len(rest.Events) != 0 {
		t.Errorf("behind the last event: %+v %v", rest, err)
	}

	a := u.asSession(t, 200, "GET", "/api/keys", nil)
	id := a["keys"].([]any)[0].(map[string]any)["id"].(float64)
	if err := agent.With(u.session).RevokeKey(ctx, int64(id)); err != nil {
		t.Fatal(err)
	}
	expect("401")
}
