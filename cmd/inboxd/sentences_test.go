package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpecifiedSentences compares the promised sentences (specification, Permissions;
// specification, Errors) over HTTP, word for word.
func TestSpecifiedSentences(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--default-plan", "free")
	u := s.signUp(t, "me@example.test")
	own := u.inbox(t, "own")
	u.inbox(t, "second")
	read := s.wants(t, 201, "POST", "/api/keys", bearer(u.session), nil).body["key"].(string)
	inboxKey := s.wants(t, 201, "POST", "/api/inboxes/"+own+"/key", bearer(u.session), map[string]any{"scopes": []string{"full"}}).body["api_key"].(string)
	u.inbox(t, "third")
	const agent = "/api/v1/inboxes"
	s.wants(t, 202, "POST", agent+"/"+own+"/calendar/events", map[string]string{"X-API-Key": u.key}, meetingWith("2027-03-01T15:00:00Z", "second@inbox.localhost"))
	for _, c := range []struct {
		method, path, key string
		body              any
		status            int
		code, field       string
		detail            string
	}{
		{"POST", agent, u.key, nil, 400, "plan_limit", "", "Free plan allows at most 3 agent inboxes. Delete an inbox or upgrade the plan. The operator of this server can raise it: inboxd admin account set-plan EMAIL paid"},
		{"GET", agent, "", nil, 401, "unauthorized", "", "A valid API key is required"},
		{"GET", agent, "svc_live_unknown", nil, 401, "unauthorized", "", "A valid API key is required"},
		{"GET", agent + "/nobody@inbox.localhost/latest", u.key, nil, 403, "no_inbox", "", "No inbox nobody@inbox.localhost for this API key"},
		{"GET", agent + "/second@inbox.localhost/latest", inboxKey, nil, 403, "no_inbox", "", "No inbox second@inbox.localhost for this API key"},
		{"POST", agent, read, nil, 403, "scope_missing", "", "This API key is missing the required scope: inbox:manage"},
		{"DELETE", agent + "/" + own + "/messages/1", read, nil, 403, "scope_missing", "", "This API key is missing the required scope: message:write"},
		{"GET", "/api/inboxes/" + own + "/emails", u.key, nil, 403, "credential_not_accepted", "", "An account key cannot make this call. Use a session or this inbox's own key"},
		{"GET", agent + "/" + own + "/messages/77", u.key, nil, 404, "not_found", "", "Message 77 not found in inbox " + own},
		{"POST", agent, u.key, map[string]any{"public_key": "age1"}, 422, "validation", "public_key", "Invalid request: 'public_key' is not a field of this request. Its fields are: prefix, subdomain, domain, label, retention_hours, keep_newest"},
		{"POST", agent, u.key, map[string]any{"label": strings.Repeat("é", 101)}, 422, "validation", "label", "Invalid request: 'label' is too long (101 characters). The limit is 100 characters"},
		{"POST", agent, u.key, map[string]any{"retention_hours": 0}, 422, "validation", "retention_hours", "Invalid request: 'retention_hours' is 0; it must be at least 1"},
		{"PATCH", agent + "/" + own, u.key, map[string]any{"label": "a\nb"}, 422, "validation", "label", "Invalid request: 'label' contains a line break, which is not allowed in a header field"},
		{"GET", agent + "/" + own + "/calendar/events/7", u.key, nil, 404, "not_found", "", "Meeting 7 not found in inbox " + own},
		{"POST", agent + "/" + own + "/calendar/events", u.key, meetingWith("2027-03-01T15:00", map[string]any{"email": "ann@far.test"}), 422, "validation", "start", "Invalid request: 'start' has no UTC offset, so 'timezone' is required"},
		{"POST", agent + "/" + own + "/calendar/events", u.key, meetingWith("2027-03-01T15:00:00Z", map[string]any{"email": "ann@far.test", "name": "A\nB"}), 422, "validation", "attendees[0].name", "Invalid request: 'attendees[0].name' contains a line break, which is not allowed in a header field"},
		{"POST", agent + "/" + own + "/calendar/events", u.key, meetingWith("2027-03-01T15:00:00Z", own), 422, "validation", "attendees", "Invalid request: 'attendees' must name at least one guest other than this inbox"},
		{"POST", agent + "/" + own + "/calendar/events/1/rsvp", u.key, map[string]any{"response": "accepted"}, 400, "refused", "", "Meeting 1 is organized by this inbox: change or cancel it instead of answering it"},
		{"PUT", agent + "/" + own + "/calendar/owner", inboxKey, map[string]any{"enabled": true}, 403, "credential_not_accepted", "", "An inbox key cannot make this call. Use an account key or a session"},
		{"GET", "/calendar/feeds/AAAA.ics", "", nil, 404, "not_found", "", "This calendar link is invalid or was turned off. Ask the calendar's owner for the current link"},
		{"PATCH", agent + "/" + own, u.key, map[string]any{"label": "a\x00b"}, 422, "validation", "label", "Invalid request: 'label' contains a NUL character, which cannot be stored"},
	} {
		a, err := s.call(c.method, c.path, map[string]string{"X-API-Key": c.key}, c.body)
		if err != nil || a.status != c.status || a.body["detail"] != c.detail || a.body["code"] != c.code || c.field != "" && a.body["field"] != c.field || c.field == "" && a.body["field"] != nil {
			t.Errorf("%s %s: %d %v %v, want %d %s %q %q", c.method, c.path, a.status, a.body, err, c.status, c.code, c.field, c.detail)
		}
	}
}

// meetingWith returns the body of an invitation.
func meetingWith(start string, guest any) map[string]any {
	return map[string]any{"title": "Review", "start": start, "attendees": []any{guest}}
}

// TestSecretsAreNowhere: a secret is only in the one response that issues it, and not in the log,
// metrics, lists, errors, or on the disk.
func TestSecretsAreNowhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, "--log-level", "debug")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	inboxKey := s.wants(t, 201, "POST", "/api/inboxes/"+address+"/key", bearer(u.session), nil).body["api_key"].(string)
	link, _, _ := strings.Cut(admin(t, dir, "account", "reset-link", "me@example.test"), "\n")
	_, reset, _ := strings.Cut(link, "#token=")
	feed := s.wants(t, 200, "GET", "/api/v1/inboxes/"+address+"/calendar/feed", map[string]string{"X-API-Key": u.key}, nil).body["feed_url"].(string)
	_, token, _ := strings.Cut(strings.TrimSuffix(feed, ".ics"), "/feeds/")
	if _, status := fetched(t, feed); status != 200 {
		t.Errorf("the link gives %d", status)
	}
	s.wants(t, 200, "POST", "/api/v1/inboxes/"+address+"/calendar/feed/rotate", map[string]string{"X-API-Key": u.key, "Idempotency-Key": "once"}, nil)
	secrets := []string{u.session, u.key, inboxKey, reset, token, "correct horse"}
	for _, secret := range secrets[:5] { // where a careless client may put a secret
		for _, path := range []string{"/api/v1/inboxes/" + secret, "/" + secret, "/api/v1/inboxes?cursor=" + secret, "/calendar/feeds/" + secret + "x.ics", "/api/keys/" + secret} {
			if _, err := s.call("GET", path, map[string]string{"X-API-Key": secret + "x"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.call("POST", "/api/v1/inboxes", map[string]string{"X-API-Key": u.key, "Idempotency-Key": secret}, map[string]any{"nonsense": secret}); err != nil {
			t.Fatal(err)
		}
	}
	said := ""
	metrics, err := http.Get("http://" + s.http + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(metrics.Body)
	metrics.Body.Close()
	if said = string(text); err != nil || !strings.Contains(said, "inboxd_") {
		t.Errorf("metrics: %v %.100s", err, said)
	}
	for _, path := range []string{"/api/keys", "/api/account", "/api/inboxes"} {
		a := s.wants(t, 200, "GET", path, bearer(u.session), nil)
		said += fmt.Sprint(a.header, a.body)
	}
	said += admin(t, dir, "account", "list") + admin(t, dir, "stats")
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	said += s.stderr.String()
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		said += string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			t.Errorf("%s is somewhere", secret)
		}
	}
}
