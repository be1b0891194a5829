package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/http/client"
)

// TestLanesOfAgents: agents that share an inbox each get their own codes, by polls, waits and
// events, before and after a kill.
func TestLanesOfAgents(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := launch(t, data)
	u := s.signUp(t, "me@example.test")
	agent, address := client.New("http://"+s.http, u.key), u.inbox(t, "race")
	lane := func(n string) string { return strings.Replace(address, "@", "+agent"+n+"@", 1) }
	began := time.Now().Add(-time.Minute)
	got := make(chan string, 1)
	go func() {
		m, err := agent.Latest(t.Context(), lane("9"), client.LatestQuery{OTP: true, Wait: time.Minute})
		if err != nil || m == nil {
			got <- "none"
			return
		}
		got <- m.OTPCode
	}()
	for n, code := range map[string]string{"7": "777111", "8": "888222"} {
		if err := s.mail(lane(n), code); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.mail(lane("9"), "999333"); err != nil {
		t.Fatal(err)
	}
	if code := <-got; code != "999333" {
		t.Errorf("agent9 waited for %s", code)
	}
	look := func(agent *client.Client) {
		t.Helper()
		for n, code := range map[string]string{"7": "777111", "8": "888222"} {
			for range 3 {
				m, err := agent.Latest(t.Context(), lane(n), client.LatestQuery{})
				if err != nil || m == nil || m.OTPCode != code || m.EnvelopeTo != lane(n) {
					t.Fatalf("agent%s: %+v %v", n, m, err)
				}
			}
			by, err := agent.Latest(t.Context(), address, client.LatestQuery{To: lane(n), Since: began})
			if err != nil || by == nil || by.OTPCode != code {
				t.Errorf("to agent%s: %+v %v", n, by, err)
			}
			page, err := agent.Messages(t.Context(), lane(n), client.MessageQuery{})
			if err != nil || len(page.Emails) != 1 {
				t.Errorf("list of agent%s: %d %v", n, len(page.Emails), err)
			}
			events, err := agent.Events(t.Context(), client.EventQuery{Inbox: lane(n), Wait: 10 * time.Second})
			if err != nil || len(events.Events) != 1 || events.Events[0].OTP != code {
				t.Errorf("events of agent%s: %+v %v", n, events.Events, err)
			}
		}
		if m, err := agent.Latest(t.Context(), lane("none"), client.LatestQuery{}); m != nil || err != nil {
			t.Errorf("a tag without mail: %+v %v", m, err)
		}
		if m, err := agent.Latest(t.Context(), address, client.LatestQuery{New: true}); m != nil || err != nil {
			t.Errorf("after now: %+v %v", m, err)
		}
	}
	look(agent)
	s.kill()
	s = launch(t, data)
	look(client.New("http://"+s.http, u.key))
}
