package main

import (
	"path/filepath"
	"testing"
)

// TestInboxKey uses the key of one inbox on both APIs, across a kill.
func TestInboxKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	address, other := u.inbox(t, "agent"), u.inbox(t, "other")
	session := map[string]string{"Authorization": "Bearer " + u.session}
	a, err := s.call("POST", "/api/inboxes/"+address+"/key", session, map[string]any{"scopes": []string{"inbox:read", "message:write"}})
	if err != nil || a.status != 201 || a.body["scopes"] != "inbox:read,message:write" {
		t.Fatalf("key: %v %v", a, err)
	}
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	s.kill()
	s = launch(t, dir)
	u.server = s
	own := map[string]string{"X-API-Key": a.body["api_key"].(string)}
	for _, c := range []struct {
		method, path string
		header       map[string]string
		status       int
	}{
		{"GET", "/api/v1/inboxes/" + address + "/latest", own, 200},
		{"GET", "/api/inboxes/" + address + "/emails", own, 200},
		{"GET", "/api/inboxes/" + address + "/emails/1", session, 200},
		{"GET", "/api/inboxes/" + address + "/emails", map[string]string{"X-API-Key": u.key}, 403},
		{"GET", "/api/v1/inboxes/" + other + "/latest", own, 403},
		{"POST", "/api/v1/inboxes", own, 403},
		{"POST", "/api/v1/inboxes/" + address + "/burn", own, 403},
		{"POST", "/api/inboxes/" + address + "/key", session, 400},
		{"POST", "/api/inboxes/" + address + "/key", own, 403},
		{"DELETE", "/api/inboxes/" + address + "/emails/1", own, 200},
		{"DELETE", "/api/inboxes/" + address + "/key", session, 200},
		{"GET", "/api/v1/inboxes/" + address + "/latest", own, 401},
		{"POST", "/api/inboxes/" + address + "/key", session, 201},
	} {
		if a, err := s.call(c.method, c.path, c.header, nil); err != nil || a.status != c.status {
			t.Errorf("%s %s: %d %v %v, want %d", c.method, c.path, a.status, a.body, err, c.status)
		}
		if c.path == "/api/v1/inboxes/"+address+"/latest" && c.status == 200 {
			list, err := s.call("GET", "/api/v1/inboxes", own, nil)
			if inboxes, _ := list.body["inboxes"].([]any); err != nil || len(inboxes) != 1 || inboxes[0].(map[string]any)["has_key"] != true {
				t.Errorf("an inbox key sees %v %v", list, err)
			}
		}
	}
}
