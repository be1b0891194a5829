package http

import (
	"strings"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

func withSimulation(o *Options) { o.Simulate = true }

// TestSimulatedMessage: the body is JSON or the message itself, and the response is that of a read.
func TestSimulatedMessage(t *testing.T) {
	w := start(t, withSimulation)
	session := w.signUp(alice)
	own := w.newInbox(alice, "own")
	messages := "/api/v1/inboxes/" + own + "/messages"
	key := w.key(alice, account.ScopeManage|account.ScopeRead)

	r := w.expect(201, w.call(methodPost, messages, key,
		`{"from":"Bänk <no-reply@bank.example>","subject":"Grüße","text":"Your code is 482913","html":"<p>482913</p>","attachments":[{"filename":"a.txt","content_b64":"aGk="}]}`))
	for _, want := range []string{
		`"simulated":true`, `"from":{"email":"no-reply@bank.example","name":"Bänk"}`, `"subject":"Grüße"`, `"sender":"no-reply@bank.example"`,
		`"html":"<p>482913</p>`, `"filename":"a.txt"`, `"auth":null`, `"envelope_to":"` + own + `"`,
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("%s lacks %s", r.body, want)
		}
	}
	if read := w.expect(200, w.call(methodGet, messages+"/1", key, "")); read.body != r.body {
		t.Errorf("the response is\n%s\nand a read is\n%s", r.body, read.body)
	}

	w.unbound = true // the validating library does not know message/rfc822
	tagged := strings.Replace(messages, "@", "+tag@", 1)
	raw := "From: shop@example.com\nSubject: raw\n\nLines end in LF.\n"
	r = w.expect(201, w.call(methodPost, tagged, session, raw, "Content-Type", "message/rfc822; charset=utf-8"))
	if !strings.Contains(r.body, `"tag":"tag"`) || !strings.Contains(r.body, `"subject":"raw"`) || !strings.Contains(r.body, `"sender":"shop@example.com"`) {
		t.Error(r.body)
	}
	if got := w.call(methodGet, messages+"/2/raw", key, "").body; !strings.HasSuffix(got, "\r\n\r\nLines end in LF.\r\n") {
		t.Errorf("stored: %q", got)
	}
	w.deliver(own, mailOf("From: a@example.com\r\n\r\nreal", inbox.OTP{}))
	if got := w.call(methodGet, messages+"/3", key, "").body; strings.Contains(got, "simulated") {
		t.Errorf("a message that was not simulated: %s", got)
	}
}

// TestSimulationRefuses what is not a message, with a sentence.
func TestSimulationRefuses(t *testing.T) {
	w := start(t, withSimulation)
	session := w.signUp(alice)
	own := w.newInbox(alice, "own")
	messages := "/api/v1/inboxes/" + own + "/messages"
	for body, want := range map[string]string{
		`{"subject":"x"}`:                     "'from' is required",
		`{"from":"nobody"}`:                   "'from' must be an e-mail address, or a name and an address",
		`{"from":"a@example.com","body":"x"}`: "'body' is not a field of this request",
		`{"from":"a@example.com","attachments":[{"filename":"a","content_b64":"?"}]}`: "'content_b64' must be standard base64",
		`{`: "the body is not valid JSON",
	} {
		if r := w.expect(422, w.call(methodPost, messages, session, body)); !strings.Contains(r.detail(), want) {
			t.Errorf("%s: %s", body, r.detail())
		}
	}
	w.expect(415, w.call(methodPost, messages, session, `{}`, "Content-Encoding", "gzip"))
	w.expect(413, w.call(methodPost, messages, session, `{"from":"`+strings.Repeat("x", 33<<20)+`"}`))
	w.expect(401, w.call(methodPost, messages, "", `{}`))
	w.inboxes.refuses = fault.New(fault.InboxFull, "The inbox is full")
	w.expect(400, w.call(methodPost, messages, session, `{"from":"a@example.com"}`))
	off := start(t)
	other := off.signUp(alice)
	if r := off.expect(404, off.call(methodPost, "/api/v1/inboxes/"+off.newInbox(alice, "own")+"/messages", other, `{"from":"a@example.com"}`)); !strings.Contains(r.detail(), "--simulate") {
		t.Error(r.detail())
	}
	if r := w.expect(422, w.call(methodPost, messages, session, "", "Content-Type", "message/rfc822")); !strings.Contains(r.detail(), "the body is empty") {
		t.Error(r.detail())
	}
	w.expect(403, w.call(methodPost, messages, w.key(alice, account.ScopeRead|account.ScopeWrite), `{"from":"a@example.com"}`))
}
