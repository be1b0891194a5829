package http

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message/compose"
)

func TestSendTakesALetter(t *testing.T) {
	w, address, key, latest := lone(t)
	path := "/api/v1/inboxes/" + address + "/send"
	r := w.expect(202, w.call(methodPost, path, key, `{"to":"Bob@Ex\u00e4mple.org","subject":"S","body":"line\nline","html":"<p>","cc":["c@d.test"],"bcc":["e@f.test"],
		"attachments":[{"filename":"a.txt","content_b64":"YWJj","content_type":"text/plain"}],"in_reply_to":" <m@x> "}`))
	if r.body != `{"ok":true,"queued":true,"message_id":1}` {
		t.Error(r.body)
	}
	want := inbox.SendRequest{
		To: "Bob@xn--exmple-cua.org", Cc: []string{"c@d.test"}, Bcc: []string{"e@f.test"}, Subject: "S", Text: "line\nline", HTML: "<p>",
		AttachedFiles: []compose.DraftAttachment{{Filename: "a.txt", ContentType: "text/plain", Bytes: []byte("abc")}}, InReplyTo: "m@x",
	}
	if got := w.inboxes.letters[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	m := w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+address+"/messages/1?fields=send_status,send_error,recipients,bcc,direction", key, ""))
	if m.body != `{"email":{"direction":"out","bcc":[{"email":"e@f.test","name":""}],"send_status":"queued","recipients":[`+
		`{"email":"Bob@xn--exmple-cua.org","status":"queued","error":null,"mx":null,"at":null},{"email":"c@d.test","status":"queued","error":null,"mx":null,"at":null},`+
		`{"email":"e@f.test","status":"queued","error":null,"mx":null,"at":null}]}}` {
		t.Error(m.body)
	}
	if r := w.call(methodGet, latest, key, ""); r.body != `{"email":null}` {
		t.Errorf("latest shows a sent mail: %s", r.body)
	}
}

// TestSentMembersAreOnSentMailOnly also shows an error and a recipient with all its fields.
func TestSentMembersAreOnSentMailOnly(t *testing.T) {
	w, address, key, _ := lone(t)
	w.deliver(address, mailOf(mailWithFile, inbox.OTP{}))
	list := "/api/v1/inboxes/" + address + "/messages?direction=all&fields=id,bcc,send_status,send_error,recipients"
	w.expect(202, w.call(methodPost, "/api/inboxes/"+address+"/send", w.signUpSession(alice), `{"to":"a@b.test"}`))
	for _, cmd := range []inbox.Command{
		inbox.BeginAttempt{ID: 2, SigningResult: inbox.MessageSigned},
		inbox.ReportAttempt{ID: 2, AttemptNumber: 1, IsDone: true, NextAttempt: begin.AddDate(0, 0, 1), Reports: []inbox.AttemptReport{{Email: "a@b.test", Outcome: delivery.OutcomeTemporary, Error: "451 later", MX: "mx.b.test"}}},
	} {
		if _, err := w.inboxes.Do(t.Context(), address, cmd); err != nil {
			t.Fatal(err)
		}
	}
	r := w.expect(200, w.call(methodGet, list, key, ""))
	if r.body != `{"emails":[{"id":2,"bcc":[],"send_status":"retrying","send_error":"a@b.test: 451 later","recipients":[{"email":"a@b.test","status":"retrying","error":"451 later","mx":"mx.b.test","at":"2026-11-21T12:00:00.000Z"}]},{"id":1}],"has_more":false}` {
		t.Error(r.body)
	}
}

func TestSendRefusesWhatCantBeSent(t *testing.T) {
	w, address, key, _ := lone(t)
	path := "/api/v1/inboxes/" + address + "/send"
	const notMessageID = "Invalid request: 'in_reply_to' must be one Message-ID: <left@right> in ASCII, of at most 250 octets"
	for body, detail := range map[string]string{
		`{"to":""}`:                                         "Invalid request: 'to' contains an e-mail address that is not of the form name@domain",
		`{"to":"a"}`:                                        "Invalid request: 'to' contains an e-mail address that is not of the form name@domain",
		`{"to":"a@b.test, c@d.test"}`:                       "Invalid request: 'to' contains an e-mail address that is not of the form name@domain",
		`{"to":"<a@b.test>"}`:                               "Invalid request: 'to' contains an e-mail address that is not of the form name@domain",
		`{"to":"a b@c.test"}`:                               "Invalid request: 'to' contains an e-mail address that is not of the form name@domain",
		`{"to":"a@[127.0.0.1]"}`:                            "Invalid request: 'to' contains an e-mail address without a valid domain",
		`{"to":"a@127.0.0.1"}`:                              "Invalid request: 'to' contains an e-mail address without a valid domain",
		`{"to":"a@b..test"}`:                                "Invalid request: 'to' contains an e-mail address without a valid domain",
		`{"to":"a@b.test","cc":["x"]}`:                      "Invalid request: 'cc' contains an e-mail address that is not of the form name@domain",
		`{"to":"a@b.test","bcc":["x@-"]}`:                   "Invalid request: 'bcc' contains an e-mail address without a valid domain",
		`{"to":"a@b.test","in_reply_to":"a b"}`:             notMessageID,
		`{"to":"a@b.test","in_reply_to":"<a> <b>"}`:         notMessageID,
		`{"to":"` + strings.Repeat("a", 244) + `@bü.test"}`: "Invalid request: 'to' contains an e-mail address that is too long once its domain is in ASCII",
	} {
		if r := w.call(methodPost, path, key, body); r.status != 422 || r.detail() != detail {
			t.Errorf("%s: %d %s", body, r.status, r.detail())
		}
	}
	for _, id := range []string{"<>", "x", "<x>", "<@x>", "<x@>", "<ü@x>", "<a@b", "a@b>", "<a@b> <c@d>", "<a@b>,", "<=?x@b>", "<a@b\u007f>", strings.Repeat("a", 247) + "@b", "<" + strings.Repeat("a", 247) + "@b>"} {
		if r := w.call(methodPost, path, key, fmt.Sprintf(`{"to":"a@b.test","in_reply_to":"%s"}`, id)); r.status != 422 || !strings.HasPrefix(r.detail(), "Invalid request: 'in_reply_to' ") {
			t.Errorf("%s: %d %s", id, r.status, r.detail())
		}
	}
	for _, content := range []string{"YQ", "YQ=", "YR==", "Y Q==", "YQ==\\n", "data:;base64,YQ==", "YQ-_", "YQ==YQ=="} {
		body := fmt.Sprintf(`{"to":"a@b.test","attachments":[{"filename":"f","content_b64":"%s"}]}`, content)
		if r := w.call(methodPost, path, key, body); r.status != 422 || !strings.HasPrefix(r.detail(), "Invalid request: 'content_b64' must be standard base64") {
			t.Errorf("%s: %d %s", content, r.status, r.detail())
		}
	}
	if n := len(w.inboxes.letters); n != 0 {
		t.Errorf("%d letters were queued", n)
	}
	if r := w.call(methodPost, path, key, `{"to":"a@b.test","attachments":[{"filename":"f","content_b64":"`+base64.StdEncoding.EncodeToString(make([]byte, 25<<20))+`"}]}`); r.status != 413 {
		t.Errorf("above 32 MB: %d %s", r.status, r.detail())
	}
}

// TestSendAnswersByMessageID with and without brackets, up to the maximum length.
func TestSendAnswersByMessageID(t *testing.T) {
	w, address, key, _ := lone(t)
	longest := strings.Repeat("a", 246) + "@b"
	for given, kept := range map[string]string{"": "", "a@b": "a@b", "<a@b>": "a@b", longest: longest, "<" + longest + ">": longest} {
		w.expect(202, w.call(methodPost, "/api/v1/inboxes/"+address+"/send", key, `{"to":"a@b.test","in_reply_to":"`+given+`"}`))
		if got := w.inboxes.letters[len(w.inboxes.letters)-1].InReplyTo; got != kept {
			t.Errorf("%s is kept as %s", given, got)
		}
	}
}

// TestSuppressions on the account's surface and on the agent surface.
func TestSuppressions(t *testing.T) {
	w, own, _, _ := lone(t)
	session, sender := w.signUpSession(alice), w.key(alice, account.ScopeSend)
	for prefix, token := range map[string]string{"/api": session, "/api/v1": sender} {
		w.accounts.suppressed[w.idOf(alice)] = []account.Suppression{
			{Email: "a@b.test", Inbox: own, Message: 7, Reason: "5.1.1 gone", At: begin}, {Email: "c+d@e.test", Inbox: own, Message: 8, At: begin},
		}
		testSuppressions(t, w, prefix, token)
	}
	// An inbox key sees and removes the suppressions of its own inbox.
	w.accounts.suppressed[w.idOf(alice)] = []account.Suppression{{Email: "a@b.test", Inbox: own, At: begin}, {Email: "c@d.test", Inbox: "other@inbox.test", At: begin}}
	inner := w.keyFor(alice, own, account.ScopeSend)
	if r := w.expect(200, w.call(methodGet, "/api/v1/suppressions", inner, "")); !strings.Contains(r.body, "a@b.test") || strings.Contains(r.body, "c@d.test") {
		t.Error(r.body)
	}
	w.expect(404, w.call(methodDelete, "/api/v1/suppressions/c@d.test", inner, ""))
	// Other inboxes' suppressions neither shorten its pages nor appear as cursors.
	w.accounts.suppressed[w.idOf(alice)] = []account.Suppression{
		{Email: "a@b.test", Inbox: own, At: begin}, {Email: "b@b.test", Inbox: "other@inbox.test", At: begin},
		{Email: "c@b.test", Inbox: "other@inbox.test", At: begin}, {Email: "d@b.test", Inbox: own, At: begin},
	}
	for cursor, want := range map[string]string{"": `"next_cursor":"a@b.test"`, "&cursor=a@b.test": `"next_cursor":null`} {
		r := w.expect(200, w.call(methodGet, "/api/v1/suppressions?limit=1"+cursor, inner, ""))
		if !strings.Contains(r.body, want) || strings.Count(r.body, `"email"`) != 1 || strings.Contains(r.body, "b@b.test") || strings.Contains(r.body, "c@b.test") {
			t.Errorf("%q: %s", cursor, r.body)
		}
	}
	w.expect(200, w.call(methodDelete, "/api/v1/suppressions/a@b.test", inner, ""))
	w.expect(403, w.call(methodGet, "/api/v1/suppressions", w.key(alice, account.ScopeRead), ""))
}

func testSuppressions(t *testing.T, w *world, prefix, session string) {
	t.Helper()
	r := w.expect(200, w.call(methodGet, prefix+"/suppressions?limit=1", session, ""))
	if r.body != `{"suppressions":[{"email":"a@b.test","inbox":"own@inbox.test","message_id":7,"reason":"5.1.1 gone","at":"2026-11-21T12:00:00.000Z"}],"next_cursor":"a@b.test"}` {
		t.Error(r.body)
	}
	if r := w.call(methodGet, prefix+"/suppressions?cursor=a@b.test", session, ""); !strings.Contains(r.body, "c+d@e.test") || !strings.Contains(r.body, `"next_cursor":null`) {
		t.Error(r.body)
	}
	w.expect(200, w.call(methodDelete, prefix+"/suppressions/"+url.PathEscape("c+d@e.test"), session, ""))
	w.expect(404, w.call(methodDelete, prefix+"/suppressions/"+url.PathEscape("c+d@e.test"), session, ""))
}
