package http

import (
	"strings"
	"testing"

	"inboxd/internal/core/account"
)

// TestIdempotencyKeyOfASend on both surfaces.
func TestIdempotencyKeyOfASend(t *testing.T) {
	w, address, key, _ := lone(t)
	const letter = `{"to":"bob@far.test"}`
	path := "/api/v1/inboxes/" + address + "/send"
	for _, c := range []struct {
		body, name string
		status     int
		answer     string
	}{
		{letter, "order-1", 202, `{"ok":true,"queued":true,"message_id":1}`},
		{letter, "order-1", 202, `{"ok":true,"queued":true,"message_id":1}`},
		{letter, "order-2", 202, `{"ok":true,"queued":true,"message_id":2}`},
		{`{"to":"eve@far.test"}`, "order-1", 422, `{"detail":"Invalid request: 'Idempotency-Key' was already used with another request. Use a new key","code":"idempotency_key_reused","field":"Idempotency-Key"}`},
		{letter, "a b", 422, `{"detail":"Invalid request: 'Idempotency-Key' must be 1 to 255 visible ASCII characters","code":"validation","field":"Idempotency-Key"}`},
	} {
		if r := w.call(methodPost, path, key, c.body, "Idempotency-Key", c.name); r.status != c.status || r.body != c.answer {
			t.Errorf("%s %s: %d %s", c.name, c.body, r.status, r.body)
		}
	}
	tagged, _, _ := strings.Cut(address, "@")
	for _, other := range []string{"/api/inboxes/" + address + "/send", "/api/v1/inboxes/" + strings.ToUpper(address) + "/send", "/api/v1/inboxes/" + tagged + "%2Btag%40inbox.test/send"} {
		token := key
		if strings.HasPrefix(other, "/api/inboxes") {
			token = w.signUpSession(alice)
		}
		if r := w.call(methodPost, other, token, letter, "Idempotency-Key", "order-1"); r.status != 202 || !strings.Contains(r.body, `"message_id":1}`) {
			t.Errorf("by %s: %d %s", other, r.status, r.body)
		}
	}
	if n := len(w.inboxes.letters); n != 2 {
		t.Errorf("%d letters", n)
	}
}

// TestAnOperationIsTheSameOnEverySurface, and different operations have different names.
func TestAnOperationIsTheSameOnEverySurface(t *testing.T) {
	s := New(Options{}, Ports{})
	seen := map[string]string{}
	for i := range s.routes {
		rt := &s.routes[i]
		seen[rt.pathPattern+" "+rt.method] = rt.operationName()
	}
	for _, c := range [][2]string{{"/api/v1/inboxes POST", "/api/inboxes POST"}, {"/api/v1/inboxes/{addr}/send POST", "/api/inboxes/{addr}/send POST"}} {
		if a, b := seen[c[0]], seen[c[1]]; a == "" || a != b {
			t.Errorf("%s is %q, %s is %q", c[0], a, c[1], b)
		}
	}
	if seen["/api/v1/inboxes POST"] == seen["/api/v1/inboxes/{addr}/send POST"] {
		t.Error("a creation is a send")
	}
}

// TestIdempotencyKey on both creations: the same bytes again, 422 for a different request.
func TestIdempotencyKey(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	const agent, own = "/api/v1/inboxes", "/api/inboxes"
	first := w.expect(201, w.call(methodPost, agent, key, `{"label":"x"}`, "Idempotency-Key", "order-1"))
	again := w.expect(201, w.call(methodPost, agent, key, `{"label":"x"}`, "Idempotency-Key", "order-1"))
	if again.body != first.body || again.header.Get("Location") != first.header.Get("Location") || first.header.Get("Location") == "" {
		t.Errorf("first %s, again %s", first.body, again.body)
	}
	const used = "Invalid request: 'Idempotency-Key' was already used with another request. Use a new key"
	const bad = "Invalid request: 'Idempotency-Key' must be 1 to 255 visible ASCII characters"
	for _, c := range []struct {
		path, token, body, name string
		status                  int
		detail                  string
	}{
		{agent, key, `{"label": "x"}`, "order-1", 422, used},
		{own, session, `{"label":"x"}`, "order-1", 201, ""},
		{own, session, `{"prefix":"second"}`, "order-2", 201, ""},
		{own, session, `{"prefix":"second"}`, "order-2", 201, ""},
		{agent, key, `{"prefix":"second"}`, "order-3", 400, "The address second@inbox.test is taken"},
		{agent, key, `{}`, "a b", 422, bad},
		{own, session, `{"encrypted":true}`, "a b", 422, bad},
		{agent, key, `{}`, "ü", 422, bad},
		{agent, key, `{}`, strings.Repeat("k", 256), 422, bad},
		{agent, key, `{}`, strings.Repeat("k", 255), 201, ""},
		{agent, key, `{}`, "order-4", 400, "Free plan allows at most 3 agent inboxes. Delete an inbox or upgrade the plan"},
		{agent, "", `{}`, "a b", 401, "A valid API key is required"},
		{agent, w.key(alice, account.ScopeRead), `{}`, "a b", 403, "This API key is missing the required scope: inbox:manage"},
	} {
		if r := w.call(methodPost, c.path, c.token, c.body, "Idempotency-Key", c.name); r.status != c.status || r.detail() != c.detail {
			t.Errorf("%s %s %.20s: %d %s, want %d %s", c.path, c.body, c.name, r.status, r.body, c.status, c.detail)
		}
	}
	for _, header := range []string{"Idempotency-Key: \r\n", "Idempotency-Key: a\r\nidempotency-key: a\r\n"} {
		got := w.raw("POST " + agent + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n" + header + "Content-Length: 2\r\n\r\n{}")
		if !strings.HasPrefix(got, "HTTP/1.1 422 ") || !strings.Contains(got, "'Idempotency-Key'") {
			t.Errorf("%q: %s", header, got)
		}
	}
	if n := len(w.call(methodGet, agent, key, "").object(t, "inboxes").([]any)); n != 3 {
		t.Errorf("%d inboxes", n)
	}
}
