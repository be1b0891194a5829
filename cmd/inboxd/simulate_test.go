package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSimulatedMessagesAreReceived like others, but never count as authenticated.
func TestSimulatedMessagesAreReceived(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, "--simulate")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	other := u.inbox(t, "other")
	got := u.do(t, 201, "POST", "/inboxes/"+address+"/messages", map[string]any{"from": "Other <" + other + ">", "subject": "Sign in", "text": "Your code is 482913"})
	m := got["email"].(map[string]any)
	if m["otp_code"] != "482913" || m["simulated"] != true || m["auth"] != nil || m["otp"].(map[string]any)["sender_verified"] != false {
		t.Errorf("simulated: %v", m)
	}
	if latest := u.latest(t, address, ""); fmt.Sprint(latest) != fmt.Sprint(m) {
		t.Errorf("latest is\n%v\nand the response was\n%v", latest, m)
	}
	if verified := u.do(t, 200, "GET", "/inboxes/"+address+"/messages?verified=true", nil)["emails"].([]any); len(verified) != 0 {
		t.Errorf("a simulated message is verified: %v", verified)
	}
	if events := u.do(t, 200, "GET", "/events?wait=10", nil)["events"].([]any); len(events) != 1 || events[0].(map[string]any)["event"] != "message.received" {
		t.Errorf("events: %v", events)
	}
	invited := u.do(t, 201, "POST", "/inboxes/"+address+"/messages", map[string]any{"from": "boss@example.com", "attachments": []any{map[string]any{
		"filename": "invite.ics", "content_type": "text/calendar",
		"content_b64": "QkVHSU46VkNBTEVOREFSDQpNRVRIT0Q6UkVRVUVTVA0KQkVHSU46VkVWRU5UDQpVSUQ6MQ0KT1JHQU5JWkVSOm1haWx0bzpib3NzQGV4YW1wbGUuY29tDQpEVFNUQVJUOjIwOTkwMTAxVDEwMDAwMFoNClNVTU1BUlk6UGxhbg0KRU5EOlZFVkVOVA0KRU5EOlZDQUxFTkRBUg0K",
	}}})["email"].(map[string]any)
	if said, _ := invited["calendar_event"].(map[string]any); said["action"] != "created" || said["organizer_verified"] == true {
		t.Errorf("invitation: %v", said)
	}
	s.terminate(t)
	s = launch(t, dir)
	u.server = s
	if again := u.message(t, address, 1); again["simulated"] != true || again["otp_code"] != "482913" {
		t.Errorf("after a restart: %v", again)
	}
	u.do(t, 404, "POST", "/inboxes/"+address+"/messages", map[string]any{"from": "a@example.com"})
	id := u.send(t, address, map[string]any{"to": "bounced@simulate.inbox.localhost", "body": "x"})
	if m := u.until(t, address, id, "failed"); !strings.Contains(m["send_error"].(string), "No such inbox") {
		t.Errorf("without --simulate: %v", m)
	}
}

// TestSimulatedRecipients bounce, defer, wait and reject, again and again.
func TestSimulatedRecipients(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--simulate", "--retry-schedule", "50ms", "--log-level", "info")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	to := func(role string) int64 {
		return u.send(t, address, map[string]any{"to": role + "@simulate.inbox.localhost", "body": "x"})
	}
	slow := to("slow")
	for range 2 {
		id := to("bounced+tag")
		for end := time.Now().Add(30 * time.Second); ; {
			r := u.message(t, address, id)["recipients"].([]any)[0].(map[string]any)
			if r["status"] == "bounced" && strings.Contains(r["error"].(string), "Simulated: the message was accepted and then returned") {
				break
			}
			if time.Sleep(5 * time.Millisecond); time.Now().After(end) {
				t.Fatalf("no bounce: %v\n%s", r, s.stderr)
			}
		}
	}
	if m := u.until(t, address, to("rejected"), "failed"); !strings.HasSuffix(m["send_error"].(string), "550 5.1.1 Simulated: no such mailbox") {
		t.Errorf("rejected: %v", m)
	}
	u.until(t, address, to("deferred"), "sent")
	m := u.until(t, address, slow, "sent")
	accepted, _ := time.Parse(time.RFC3339, m["received_at"].(string))
	if at, err := time.Parse(time.RFC3339, m["recipients"].([]any)[0].(map[string]any)["at"].(string)); err != nil || at.Sub(accepted) < 5*time.Second {
		t.Errorf("slow took from %v to %v", accepted, at)
	}
	if list := u.do(t, 200, "GET", "/suppressions", nil)["suppressions"].([]any); len(list) != 0 {
		t.Errorf("suppressed: %v", list)
	}
	s.terminate(t)
	if n := strings.Count(s.stderr.String(), "451 4.7.1 Simulated"); n != 2 {
		t.Errorf("%d attempts were deferred:\n%s", n, s.stderr)
	}
}
