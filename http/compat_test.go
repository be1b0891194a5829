package http

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// Routes under compatPrefix have the same rulings as the routes that they stand for.
func init() {
	for call := range compatCalls {
		method, path, _ := strings.Cut(call, " ")
		rulings[method+" "+compatPrefix+"/api/v1"+path] = rulings[method+" /api/v1"+path]
	}
}

// TestEveryCompatCallIsRouted: without it, a call whose route was removed would disappear
// unnoticed.
func TestEveryCompatCallIsRouted(t *testing.T) {
	n := 0
	for _, rt := range prepare(t).server.routes {
		if rt.isCompat() {
			n++
		}
	}
	if n != len(compatCalls) {
		t.Errorf("%d routes for %d calls", n, len(compatCalls))
	}
}

// TestCompatMessages: the texts have the names that such clients read, also in lists, where they
// are not cut.
func TestCompatMessages(t *testing.T) {
	w, address, key, latest := lone(t)
	mail := full()
	mail.Content.Doc.Text = strings.Repeat("x", listBodyBytes+1)
	mail.Content.Doc.Headers = append([]message.Header{{Name: "Authentication-Results"}, {Name: "Return-Path", Value: "<b@shop.test>"}}, mail.Content.Doc.Headers...)
	for range 201 {
		w.deliver(address, mail)
	}
	own := compatPrefix + "/api/v1/inboxes/" + address
	list := w.expect(200, w.call(methodGet, own+"/messages?direction=in", key, "")).object(t, "emails").([]any)
	if len(list) != maxMessages {
		t.Errorf("a list of %d", len(list))
	}
	single := w.expect(200, w.call(methodGet, own+"/messages/201", key, "")).object(t, "email").(map[string]any)
	newest := w.expect(200, w.call(methodGet, own+"/latest?direction=in", key, "")).object(t, "email").(map[string]any)
	for _, m := range []map[string]any{list[0].(map[string]any), single, newest} {
		_, body := m["body"]
		_, html := m["html"]
		if body || html || len(m["body_text"].(string)) != listBodyBytes+1 || m["truncated_body"] != false || !strings.Contains(m["body_html"].(string), "<b>te\nxt</b>") || m["sender"] != "b@shop.test" || m["headers"] == nil || m["from"] == nil || m["id"] != 201.0 {
			t.Errorf("a message has %v", m)
		}
	}
	if plain := w.call(methodGet, latest, key, "").object(t, "email").(map[string]any); plain["body_text"] != nil || plain["body"] == nil {
		t.Errorf("on the agent surface: %v", plain)
	}
	tag := w.call(methodGet, own+"/latest", key, "").header.Get("ETag")
	w.expect(304, w.call(methodGet, own+"/latest", key, "", "If-None-Match", tag))
	for path, detail := range map[string]string{
		own + "/messages?fields=body": "'fields' contains the unknown field 'body'. The fields of a message are listed in /docs", latest + "?fields=body_text": "'fields' contains the unknown field 'body_text'. The fields of a message are listed in /docs",
		latest + "?include=body_html": "'include' contains the unknown value 'body_html'. Valid values: html, headers, link_texts, envelope", own + "/latest?include=html": "'include' contains the unknown value 'html'. Valid values: html, headers, link_texts, envelope",
	} {
		if r := w.expect(422, w.call(methodGet, path, key, "")); r.detail() != "Invalid request: "+detail {
			t.Errorf("%s: %s", path, r.detail())
		}
	}
	w.expect(200, w.call(methodPost, own+"/messages/1/read", key, `{}`))
	w.expect(200, w.call(methodDelete, own+"/messages/1", key, ""))
	w.expect(202, w.call(methodPost, own+"/send", key, `{"to":"a@b.test","subject":"","body":""}`))
	waits := w.waiting(own+"/latest?direction=in&after=201&wait=20", key)
	w.awaitWaiters(1)
	w.deliver(address, inbox.Receive{Subject: "late"})
	if r := <-waits; r.status != 200 || !strings.Contains(r.body, `"body_text":`) || strings.Contains(r.body, `"body":`) {
		t.Errorf("a wait: %d %s", r.status, r.body[max(0, len(r.body)-300):])
	}
	if burned := w.expect(200, w.call(methodPost, own+"/burn", key, `{}`)); burned.object(t, "burned") == 0.0 {
		t.Error(burned.body)
	}
}

func TestCompatInboxes(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	path := compatPrefix + "/api/v1/inboxes"
	made := w.expect(201, w.call(methodPost, path, key, `{"prefix":"own"}`, headerOnce, "once")).object(t, "address").(string)
	if again := w.expect(201, w.call(methodPost, "/api/v1/inboxes", key, `{"prefix":"own"}`, headerOnce, "once")); again.object(t, "address") != made {
		t.Errorf("the same request by the other path made another: %s", again.body)
	}
	w.newInbox(alice, "second")
	if all := w.expect(200, w.call(methodGet, path, key, "")).object(t, "inboxes").([]any); len(all) != 2 {
		t.Errorf("%v", all)
	}
	w.expect(200, w.call(methodDelete, path+"/"+made, key, ""))
	if compatForm.inboxLimit != 1000 || compatForm.meetingLimit != 1000 {
		t.Errorf("%+v", compatForm)
	}
}

// TestCompatCalendar: only under compatPrefix has an inbox accepted the meetings that it organizes.
func TestCompatCalendar(t *testing.T) {
	w, address, key, _ := lone(t, withBase)
	calendar := "/api/v1/inboxes/" + address + "/calendar"
	compat := compatPrefix + calendar
	const accepted, open = `"my_status":"accepted"`, `"my_status":null`
	is := func(r reply, want string) {
		t.Helper()
		if !strings.Contains(r.body, want) || strings.Count(r.body, `"my_status"`) != strings.Count(r.body, want) {
			t.Errorf("%s, want %s", r.body, want)
		}
	}
	is(w.expect(202, w.call(methodPost, compat+"/events", key, aMeeting)), accepted)
	is(w.expect(202, w.call(methodPost, compat+"/events", key, aMeeting, headerOnce, "once")), accepted)
	for range 2 { // rendered, then cached
		is(w.expect(200, w.call(methodGet, calendar+"/events", key, "")), open)
		is(w.expect(200, w.call(methodGet, compat+"/events?include_cancelled=false", key, "")), accepted)
	}
	is(w.expect(200, w.call(methodGet, compat+"/events/1", key, "")), accepted)
	is(w.expect(200, w.call(methodGet, calendar+"/events/1", key, "")), open)
	is(w.expect(202, w.call(methodPatch, compat+"/events/1", key, `{"title":"Other"}`)), accepted)
	is(w.expect(202, w.call(methodPost, compat+"/events/1/cancel", key, `{}`)), accepted)
	w.diary.keep(address, invited(address, "theirs", begin.Add(time.Hour)))
	is(w.expect(202, w.call(methodPost, compat+"/events/3/rsvp", key, `{"response":"declined"}`)), `"my_status":"declined"`)
	link := w.expect(200, w.call(methodGet, compat+"/feed", key, "")).object(t, "feed_url")
	if rotated := w.expect(200, w.call(methodPost, compat+"/feed/rotate", key, `{}`)).object(t, "feed_url"); rotated == link {
		t.Errorf("%v stays", link)
	}
	w.expect(200, w.call(methodDelete, compat+"/feed", key, ""))
}

// TestCompatAttachments: JSON always means an envelope.
func TestCompatAttachments(t *testing.T) {
	w, address, key, _ := lone(t)
	for _, c := range []struct{ declared, own, compat string }{
		{"application/json", "application/json", "application/octet-stream"}, {"text/html", "application/octet-stream", "application/octet-stream"}, {"application/pdf", "application/pdf", "application/pdf"},
	} {
		id := w.deliver(address, mailOf(strings.Replace(mailWithFile, "text/html", c.declared, 1), inbox.OTP{}))
		path := fmt.Sprintf("/api/v1/inboxes/%s/messages/%d/attachments/1", address, id)
		for path, want := range map[string]string{path: c.own, compatPrefix + path: c.compat} {
			if r := w.expect(200, w.call(methodGet, path, key, "")); r.header.Get("Content-Type") != want || r.body == "" {
				t.Errorf("%s of %s is sent as %s, want %s", path, c.declared, r.header.Get("Content-Type"), want)
			}
		}
	}
	session := w.signUpSession(alice)
	vault := compatPrefix + "/api/v1/inboxes/" + w.encryptedInbox(session, "vault")
	if r := w.expect(200, w.call(methodGet, vault+"/latest?direction=in", session, "")); r.body != `{"email":null,"encrypted":true,"note":`+noteJSON()+`}` {
		t.Error(r.body)
	}
	w.deliver("vault@inbox.test", sealedMail(2000, "first file", ""))
	r := w.expect(200, w.call(methodGet, vault+"/messages/1/attachments/1", session, ""))
	if want := `{"envelope":"` + base64.StdEncoding.EncodeToString([]byte("first file")) + `","encrypted":true,"note":` + noteJSON() + `}`; r.body != want || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s, want %s", r.header.Get("Content-Type"), r.body, want)
	}
}
