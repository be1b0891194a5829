package main

import (
	"errors"
	"fmt"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFullInboxes tests an inbox that refuses messages when full and one that keeps the newest,
// with limits from the config file, across a kill and a change of the plan.
func TestFullInboxes(t *testing.T) {
	dir := t.TempDir()
	config, data := filepath.Join(dir, "inboxd.toml"), filepath.Join(dir, "data")
	if err := os.WriteFile(config, []byte("[plans.free]\nmax_messages = 3\n[plans.paid]\nmax_messages = 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *server {
		return launch(t, data, "--config", config, "--retry-schedule", "100ms", "--default-plan", "free")
	}
	s := start()
	u := s.signUp(t, "me@example.test")
	refuses := u.inbox(t, "refuses")
	made := u.do(t, 201, "POST", "/inboxes", map[string]any{"prefix": "keeps", "keep_newest": true})
	keeps := made["address"].(string)
	if made["keep_newest"] != true || made["full"] != false {
		t.Errorf("made: %v", made)
	}
	codes := func(address string) (all []string) {
		t.Helper()
		for _, m := range u.do(t, 200, "GET", "/inboxes/"+address+"/messages", nil)["emails"].([]any) {
			all = append(all, m.(map[string]any)["otp_code"].(string))
		}
		slices.Reverse(all)
		return all
	}
	shown := func(address string) string {
		t.Helper()
		in := u.do(t, 200, "GET", "/inboxes/"+address, nil)["inbox"].(map[string]any)
		return fmt.Sprint(in["keep_newest"], in["full"], in["message_count"])
	}
	offer := func(address string, from, to int) (taken int) {
		t.Helper()
		for n := from; n <= to; n++ {
			err := s.mail(address, fmt.Sprintf("%06d", 111111*n))
			var reply *textproto.Error
			if err == nil {
				taken++
			} else if !errors.As(err, &reply) || reply.Code != 452 || reply.Msg != "4.2.2 Inbox is full" {
				t.Fatalf("mail %d: %v", n, err)
			}
		}
		return taken
	}
	look := func() {
		t.Helper()
		if got := codes(refuses); !slices.Equal(got, []string{"111111", "222222", "333333"}) || shown(refuses) != "false true 3" {
			t.Errorf("the one that refuses holds %v: %s", got, shown(refuses))
		}
		if got := codes(keeps); !slices.Equal(got, []string{"333333", "444444", "555555"}) || shown(keeps) != "true false 3" {
			t.Errorf("the one that keeps the newest holds %v: %s", got, shown(keeps))
		}
		if n := offer(refuses, 9, 9); n != 0 {
			t.Error("a full one took a mail")
		}
		for _, e := range u.do(t, 200, "GET", "/inboxes/"+keeps+"/events", nil)["events"].([]any) {
			e := e.(map[string]any)
			if old := e["message_id"].(float64) <= 2; old != (e["gone"] == true) || old != (e["otp"] == nil) {
				t.Errorf("event: %v", e)
			}
		}
		u.do(t, 404, "GET", "/inboxes/"+keeps+"/messages/2", nil)
	}
	if n := offer(refuses, 1, 5); n != 3 {
		t.Errorf("%d were taken", n)
	}
	if n := offer(keeps, 1, 5); n != 5 {
		t.Errorf("%d were taken", n)
	}
	look()
	s.kill()
	s = start()
	u.server = s
	look()

	// A message from this node waits until there is room, as one from outside would.
	writer := u.inbox(t, "writer")
	id := u.send(t, writer, map[string]any{"to": refuses, "subject": "waits", "body": "Your code is 777777"})
	for u.message(t, writer, id)["send_status"] != "retrying" {
	}
	u.do(t, 200, "DELETE", "/inboxes/"+refuses+"/messages/1", nil)
	if m := u.latest(t, refuses, "?wait=30&subject=waits"); m == nil || m["otp_code"] != "777777" {
		t.Errorf("after one was deleted came %v", m)
	}
	if n := offer(refuses, 8, 8); n != 0 {
		t.Error("a full one took a mail")
	}

	admin(t, data, "account", "set-plan", "me@example.test", "paid")
	limits := u.account(t, 200, "GET", "/account", nil)["account"].(map[string]any)["limits"].(map[string]any)
	if limits["max_messages"] != 4.0 || limits["max_bytes"] != float64(500<<20) || shown(refuses) != "false false 3" {
		t.Errorf("on the other plan: %v, %s", limits, shown(refuses))
	}
	if n := offer(refuses, 6, 7); n != 1 {
		t.Errorf("%d were taken by the other plan", n)
	}
	admin(t, data, "account", "set-plan", "me@example.test", "free")
	changed := u.do(t, 200, "PATCH", "/inboxes/"+refuses, map[string]any{"keep_newest": true})["inbox"].(map[string]any)
	if changed["keep_newest"] != true || changed["full"] != false {
		t.Errorf("changed: %v", changed)
	}
	if n := offer(refuses, 8, 8); n != 1 || !slices.Equal(codes(refuses), []string{"777777", "666666", "888888"}) {
		t.Errorf("after the change it took %d and holds %v", n, codes(refuses))
	}
}
