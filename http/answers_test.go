package http

import (
	"strings"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// mailWithLargeFile returns a message with a file above the receiving limit (specification,
// Attachments).
func mailWithLargeFile() string {
	return strings.Replace(mailWithFile, "<p>hi</p>", strings.Repeat(strings.Repeat("x", 70)+"\r\n", (5<<20)/72+1), 1)
}

// TestEveryRefusalOfEverySurface makes the requests whose documented responses no other test of
// this package causes. Each response is compared with the contract.
func TestEveryRefusalOfEverySurface(t *testing.T) {
	m := newMatrix(t)
	session := m.signUpSession(alice)
	inside, agent := "/api/inboxes/"+m.own, "/api/v1/inboxes/"+m.own
	large := m.deliver(m.own, mailOf(mailWithLargeFile(), inbox.OTP{}))
	if large != 2 {
		t.Fatalf("the second message has id %d", large)
	}
	latest := m.expect(200, m.call(methodGet, inside+"/latest", session, ""))
	for _, c := range []struct {
		method, path, body string
		status             int
		header             []string
	}{
		{methodGet, inside + "/latest", "", 304, []string{"If-None-Match", latest.header.Get("ETag")}},
		{methodGet, inside + "/latest?wait=61", "", 422, nil},
		{methodGet, inside + "/emails?limit=0", "", 422, nil},
		{methodGet, inside + "/emails/1?fields=nonsense", "", 422, nil},
		{methodGet, agent + "/messages/1?fields=nonsense", "", 422, nil},
		{methodGet, inside + "/emails/77", "", 404, nil},
		{methodGet, inside + "/emails/77/raw", "", 404, nil},
		{methodGet, inside + "/emails/77/attachments/1", "", 404, nil},
		{methodGet, inside + "/emails/1/attachments/9", "", 404, nil},
		{methodGet, inside + "/emails/2/attachments/1", "", 400, nil},
		{methodDelete, inside + "/emails/77", "", 404, nil},
		{methodPost, inside + "/emails/77/read", "", 404, nil},
		{methodPost, inside + "/emails/1/read", `{"read": 1}`, 422, nil},
		{methodGet, "/api/inboxes?limit=x", "", 422, nil},
		{methodGet, "/api/suppressions?limit=0", "", 422, nil}, {methodGet, "/api/v1/suppressions?limit=0", "", 422, nil}, {methodGet, "/api/v1/suppressions?cursor=nonsense", "", 422, nil},
		{methodPost, inside + "/send", `{"to": "nobody"}`, 422, nil},
		{methodGet, inside + "/events?limit=0", "", 422, nil},
		{methodGet, agent + "/events?wait=61", "", 422, nil},
		{methodPost, "/api/inboxes", `{"retention_hours": 0}`, 422, nil},
		{methodPost, inside + "/key", `{"scopes": ["everything"]}`, 422, nil},
		{methodPost, inside + "/key", `{"scopes": ["inbox:read"]}`, 201, nil},
		{methodPost, inside + "/key", "", 400, nil},
		{methodDelete, inside + "/key", "", 200, nil},
		{methodDelete, inside + "/key", "", 404, nil},
	} {
		if r := m.call(c.method, c.path, session, c.body, c.header...); r.status != c.status {
			t.Errorf("%s %s: status %d, want %d: %s", c.method, c.path, r.status, c.status, r.body)
		}
	}
}

// TestAPlanRefusesASend with the plan's own sentence.
func TestAPlanRefusesASend(t *testing.T) {
	w, address, _, _ := lone(t)
	const why = "Free plan allows at most 1 attachment per message; this one has 2"
	w.inboxes.refuses = fault.New(fault.Refused, why)
	session := w.signUpSession(alice)
	for _, surface := range []string{"/api/v1/inboxes/", "/api/inboxes/"} {
		if r := w.expect(400, w.call(methodPost, surface+address+"/send", session, `{"to": "bob@far.test"}`)); r.detail() != why {
			t.Error(r.detail())
		}
	}
}

// TestADomainWithInboxesStays: the error contains the number of inboxes.
func TestADomainWithInboxesStays(t *testing.T) {
	eachSurface(t, account.ScopeDomains, func(t *testing.T, w *world, prefix string, credential func(string) string) {
		own := credential(alice)
		w.expect(201, w.call(methodPost, prefix+"/domains", own, `{"domain": "example.com"}`))
		w.accounts.mu.Lock()
		w.accounts.domains["example.com"].InboxCount = 2
		w.accounts.mu.Unlock()
		r := w.expect(400, w.call(methodDelete, prefix+"/domains/example.com", own, ""))
		if !strings.Contains(r.detail(), "2 inboxes") {
			t.Error(r.detail())
		}
	})
}

// TestAnAccountHoldsSoManyKeys creates keys up to the limit.
func TestAnAccountHoldsSoManyKeys(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	for range 999 {
		if err := w.accounts.decide(w.idOf(alice), account.IssueKey{Key: account.APIKey{Kind: account.KindAccountKey}}); err != nil {
			t.Fatal(err)
		}
	}
	w.expect(201, w.call(methodPost, "/api/keys", session, ""))
	if r := w.expect(400, w.call(methodPost, "/api/keys", session, "")); r.detail() != "An account can have at most 1000 API keys. Revoke one first" {
		t.Error(r.detail())
	}
}
