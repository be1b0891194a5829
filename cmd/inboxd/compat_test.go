package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	netsmtp "net/smtp"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// foreignClient makes calls as clients of the original API do. They retry safe calls twice on 429,
// 502, 503 and 504, and treat a successful response with a true error field at the top level as a
// failure.
type foreignClient struct {
	t       *testing.T
	base    string // ends in /compat, or not
	key     string
	replays int
}

// answers makes one call and requires the status of its response. Safe calls are made three times,
// as if two responses had been lost.
func (c *foreignClient) answers(status int, method, path, body string) (got map[string]any) {
	c.t.Helper()
	c.replays++
	times := 1
	if method == "GET" || strings.HasSuffix(path, "/read") || strings.HasSuffix(path, "/burn") || strings.HasSuffix(path, "/rotate") {
		times = 3
	}
	for range times {
		a, err := (&server{http: strings.TrimPrefix(c.base, "http://")}).call(method, "/api/v1"+path, map[string]string{"X-API-Key": c.key, "User-Agent": "foreign/1", "Content-Type": "application/json"}, rawBody(body))
		if err != nil {
			c.t.Fatal(err)
		}
		if failed := a.body["error"]; a.status != status || a.status < 300 && failed != nil && failed != "" && failed != false {
			c.t.Fatalf("%s %s: %d, want %d, %v", method, path, a.status, status, a.body)
		}
		if a.status >= 400 && a.body["detail"] == nil {
			c.t.Errorf("%s %s: no sentence in %v", method, path, a.body)
		}
		got = a.body
	}
	return got
}

// rawBody is a body as it is sent; empty: none.
func rawBody(s string) any {
	if s == "" {
		return nil
	}
	return rawJSON(s)
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// has reports fields that differ from the wanted ones: nil is null or absent, "*" is any value that
// is true in such clients.
func (c *foreignClient) has(what string, got any, want map[string]any) {
	c.t.Helper()
	m, _ := got.(map[string]any)
	for name, value := range want {
		truthy := m[name] != nil && m[name] != "" && m[name] != false && m[name] != 0.0
		if value == "*" && !truthy || value != "*" && fmt.Sprint(m[name]) != fmt.Sprint(value) {
			c.t.Errorf("%s: %s is %v, want %v", what, name, m[name], value)
		}
	}
}

// until repeats a call until its response is as wanted.
func (c *foreignClient) until(path string, done func(map[string]any) bool) map[string]any {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c.replays--
		if got := c.answers(200, "GET", path, ""); done(got) {
			c.replays++
			return got
		} else if time.Now().After(end) {
			c.t.Fatalf("%s stays %v", path, got)
		}
	}
}

// TestReplaysOfForeignClients makes the calls of clients of the original API and checks the fields
// they read. With /compat in the base URL, everything works; without it, everything except the
// texts, JSON files and complete lists.
func TestReplaysOfForeignClients(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--namespace", "plain")
	u := s.signUp(t, "me@example.test")
	u.account(t, 200, "PUT", "/account/encryption", map[string]any{"public_key": "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"})
	for path, compat := range map[string]bool{"/compat": true, "": false} {
		t.Run("base"+path, func(t *testing.T) {
			c := &foreignClient{t: t, base: "http://" + s.http + path, key: u.key}
			vault := u.vault(t, fmt.Sprintf("vault%d", len(path)))
			box := c.mail(s, compat)
			peer := c.sends(box, compat)
			c.meets(box, peer, compat)
			c.encrypted(s, vault, compat)
			c.ends(box, peer)
			if c.replays < 40 {
				t.Errorf("%d replays", c.replays)
			}
		})
	}
}

// mail creates an inbox and reads its messages.
func (c *foreignClient) mail(s *server, compat bool) (box string) {
	made := c.answers(201, "POST", "/inboxes", `{"label":"Tests","retention_hours":24}`)
	c.has("a new inbox", made, map[string]any{"address": "*", "name": "Tests", "api_key": nil, "retention_hours": 24, "encrypted": false, "created_at": "*"})
	box = made["address"].(string)
	at := "/inboxes/" + box
	for _, i := range c.answers(200, "GET", "/inboxes", "")["inboxes"].([]any) {
		if i := i.(map[string]any); i["address"] == box {
			c.has("a listed inbox", i, map[string]any{"name": "Tests", "retention_hours": 24, "encrypted": false})
		}
	}
	for _, way := range []string{"in", "out", "all"} {
		c.has("no message", c.answers(200, "GET", at+"/latest?direction="+way, ""), map[string]any{"email": nil, "encrypted": nil, "error": nil})
		c.has("no messages", c.answers(200, "GET", at+"/messages?direction="+way, ""), map[string]any{"emails": []any{}})
	}
	tagged := strings.Replace(box, "@", "+shop@", 1)
	raw := "From: Shop <no-reply@shop.test>\r\nTo: " + tagged + "\r\nSubject: Your code\r\nMessage-ID: <m1@shop.test>\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nYour code is 482913 https://shop.test/x\r\n" +
		"--b\r\nContent-Type: text/html\r\n\r\n<p>Your code is <b>482913</b></p>\r\n--b--\r\n"
	if err := netsmtp.SendMail(s.smtp, nil, "bounces@shop.test", []string{tagged}, []byte(raw)); err != nil {
		c.t.Fatal(err)
	}
	always := map[string]any{
		"id": 1, "subject": "Your code", "otp_code": "482913", "direction": "in", "to_address": tagged, "tag": "shop", "is_encrypted": false, "is_read": false,
		"received_at": "*", "links": []any{"https://shop.test/x"}, "attachments": []any{}, "spam": nil, "send_status": nil, "send_error": nil, "calendar_event": nil,
	}
	single := map[string]any{"sender": "bounces@shop.test", "headers": "*"}
	texts := map[string]any{"body_text": "Your code is 482913 https://shop.test/x\n", "body_html": "<p>Your code is <b>482913</b></p>\n", "body": nil, "html": nil}
	latest := c.answers(200, "GET", at+"/latest?direction=in", "")["email"]
	listed := c.answers(200, "GET", at+"/messages?direction=in", "")["emails"].([]any)[0]
	one := c.answers(200, "GET", at+"/messages/1", "")["email"]
	for what, m := range map[string]any{"latest": latest, "listed": listed, "one": one} {
		c.has(what, m, always)
		if compat || what != "listed" {
			c.has(what, m, single)
			if id := m.(map[string]any)["headers"].(map[string]any)["Message-ID"]; id != "<m1@shop.test>" {
				c.t.Errorf("%s: Message-ID %v", what, id)
			}
		}
		if compat {
			got := m.(map[string]any)
			for name, want := range texts {
				text, _ := got[name].(string)
				wanted, _ := want.(string)
				if strings.TrimSpace(text) != strings.TrimSpace(wanted) {
					c.t.Errorf("%s: %s is %q", what, name, text)
				}
			}
		}
	}
	c.has("read", c.answers(200, "POST", at+"/messages/1/read", `{}`), map[string]any{"ok": true})
	c.has("marked", c.answers(200, "GET", at+"/messages/1", "")["email"], map[string]any{"is_read": true})
	return box
}

// sends sends to another inbox of the same account, and checks both sides.
func (c *foreignClient) sends(box string, compat bool) (peer string) {
	at := "/inboxes/" + box
	peer = c.answers(201, "POST", "/inboxes", fmt.Sprintf(`{"prefix":"peer-%t"}`, compat))["address"].(string)
	file := base64.StdEncoding.EncodeToString([]byte(`{"a":1}`))
	sent := c.answers(202, "POST", at+"/send", fmt.Sprintf(`{"to":%q,"subject":"To a peer","body":"see","html":"<p>see</p>","cc":[%q],"attachments":[{"filename":"a.json","content_type":"application/json","content_b64":%q},{"filename":"a.pdf","content_type":"application/octet-stream","content_b64":"cGRm"}]}`, peer, box, file))
	c.has("a send", sent, map[string]any{"ok": true, "queued": true, "message_id": "*"})
	id := int(sent["message_id"].(float64))
	one := fmt.Sprintf("%s/messages/%d", at, id)
	c.until(one, func(a map[string]any) bool {
		status := a["email"].(map[string]any)["send_status"]
		return status == "sent" || status == "unsigned"
	})
	outgoing := map[string]any{"id": id, "direction": "out", "to_address": peer, "tag": nil, "send_status": "*", "is_read": true, "subject": "To a peer"}
	c.has("the newest sent", c.answers(200, "GET", at+"/latest?direction=out", "")["email"], outgoing)
	c.has("the newest received", c.answers(200, "GET", at+"/latest?direction=in", "")["email"], map[string]any{"direction": "in"})
	c.has("the newest of all", c.answers(200, "GET", at+"/latest?direction=all", "")["email"], map[string]any{"id": "*"})
	if all := c.answers(200, "GET", at+"/messages?direction=out", "")["emails"].([]any); len(all) != 1 {
		c.t.Errorf("sent: %v", all)
	}
	got := c.until("/inboxes/"+peer+"/latest?direction=in", func(a map[string]any) bool { return a["email"] != nil })["email"].(map[string]any)
	files := got["attachments"].([]any)
	c.has("a file", files[0], map[string]any{"id": 1, "filename": "a.json", "content_type": "application/json", "size_bytes": 7, "is_encrypted": false, "truncated": false})
	for i, want := range []string{`{"a":1}`, "pdf"} {
		kind, text := c.file(fmt.Sprintf("/inboxes/%s/messages/1/attachments/%d", peer, i+1))
		if text != want || (compat || i > 0) && strings.Contains(kind, "application/json") {
			c.t.Errorf("file %d: %s %q", i+1, kind, text)
		}
	}
	thanks := c.answers(202, "POST", "/inboxes/"+peer+"/send", fmt.Sprintf(`{"to":%q,"subject":"Re: To a peer","body":"thanks","in_reply_to":%q}`, box, got["headers"].(map[string]any)["Message-ID"]))
	c.has("a reply", thanks, map[string]any{"queued": true})
	c.answers(422, "POST", at+"/send", `{"to":"nonsense","subject":"","body":""}`)
	c.answers(422, "POST", "/inboxes", `{"public_key":"x"}`)
	c.answers(422, "GET", at+"/latest?direction=up", "")
	c.answers(404, "GET", at+"/messages/999", "")
	c.answers(403, "GET", "/inboxes/nobody@inbox.localhost/latest?direction=in", "")
	return peer
}

// file downloads an attachment.
func (c *foreignClient) file(path string) (kind, text string) {
	c.t.Helper()
	c.replays++
	req, err := http.NewRequest("GET", c.base+"/api/v1"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", c.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != 200 {
		c.t.Fatalf("%s: %s %v", path, resp.Status, err)
	}
	return resp.Header.Get("Content-Type"), string(b)
}

// meets arranges a meeting, which the peer accepts.
func (c *foreignClient) meets(box, peer string, compat bool) {
	at, there := "/inboxes/"+box+"/calendar", "/inboxes/"+peer+"/calendar"
	made := c.answers(202, "POST", at+"/events", fmt.Sprintf(`{"title":"Review","start":"2027-03-01T15:00","timezone":"Europe/Berlin","attendees":[%q,{"email":"c@far.invalid","optional":true}],"duration_minutes":45}`, peer))
	c.has("an order", made, map[string]any{"ok": true, "message_id": "*", "send_status": "queued"})
	own := map[string]any{"id": 1, "uid": "*", "title": "Review", "source": "outbound", "organizer_verified": true, "recurring": false, "last_message_id": made["message_id"], "responded_at": nil}
	if compat {
		own["my_status"] = "accepted"
	}
	c.has("the meeting", made["event"], own)
	c.has("one meeting", c.answers(200, "GET", at+"/events/1", ""), own)
	c.has("a listed meeting", c.answers(200, "GET", at+"/events?include_cancelled=false", "")["events"].([]any)[0], own)
	invited := c.until("/inboxes/"+peer+"/latest?direction=in", func(a map[string]any) bool { return a["email"].(map[string]any)["calendar_event"] != nil })
	said := invited["email"].(map[string]any)["calendar_event"].(map[string]any)
	c.has("the invitation", said, map[string]any{"uid": "*", "method": "REQUEST", "action": "created", "event_id": 1, "title": "Review", "attendees": "*"})
	answer := c.answers(202, "POST", there+"/events/1/rsvp", `{"response":"accepted","comment":"Yes"}`)
	c.has("an answer", answer, map[string]any{"ok": true, "message_id": "*", "send_status": "queued"})
	c.has("the answered meeting", answer["event"], map[string]any{"my_status": "accepted", "source": "inbound", "responded_at": "*", "last_message_id": answer["message_id"]})
	c.until(at+"/events/1", func(a map[string]any) bool { return a["attendees"].([]any)[0].(map[string]any)["status"] == "accepted" })
	c.has("a change", c.answers(202, "PATCH", at+"/events/1", `{"title":"Other"}`), map[string]any{"ok": true, "send_status": "queued"})
	c.has("a cancellation", c.answers(202, "POST", at+"/events/1/cancel", `{}`)["event"], map[string]any{"status": "cancelled"})
	c.has("what is left", c.answers(200, "GET", at+"/events?include_cancelled=false", ""), map[string]any{"events": []any{}})
	if all := c.answers(200, "GET", at+"/events?include_cancelled=true", "")["events"].([]any); len(all) != 1 {
		c.t.Errorf("with cancelled ones: %v", all)
	}
	feed := c.answers(200, "GET", at+"/feed", "")
	c.has("a link", feed, map[string]any{"enabled": true, "feed_url": "*", "webcal_url": "*", "subscribe_links": "*", "created_at": "*", "fetch_count": 0, "last_fetched_at": nil})
	rotated := c.answers(200, "POST", at+"/feed/rotate", `{}`)
	c.has("another link", rotated, map[string]any{"enabled": true, "created_at": "*", "fetch_count": 0})
	if rotated["feed_url"] == feed["feed_url"] {
		c.t.Error("the link stays")
	}
}

// encrypted waits at an encrypted inbox, empty and with a message: such clients stop immediately.
func (c *foreignClient) encrypted(s *server, vault string, compat bool) {
	at := "/inboxes/" + vault
	reported := map[string]any{"encrypted": true, "note": "*"}
	c.has("an empty encrypted inbox", c.answers(200, "GET", at+"/latest?direction=in", ""), reported)
	file := "From: a@shop.test\r\nSubject: Code 482913\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\nContent-Type: text/plain; name=a.txt\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\ny\r\n--b--\r\n"
	if err := netsmtp.SendMail(s.smtp, nil, "a@shop.test", []string{vault}, []byte(file)); err != nil {
		c.t.Fatal(err)
	}
	latest := c.answers(200, "GET", at+"/latest?direction=in", "")
	c.has("an encrypted inbox", latest, reported)
	c.has("an encrypted message", latest["email"], map[string]any{"is_encrypted": true, "otp_code": nil, "subject": nil, "body_text": nil, "headers": nil, "sender": nil})
	c.has("its list", c.answers(200, "GET", at+"/messages?direction=in", ""), reported)
	kind, text := c.file(at + "/messages/1/attachments/1")
	if compat != (kind == "application/json" && strings.Contains(text, `"envelope":"`)) {
		c.t.Errorf("its file: %s %.60s", kind, text)
	}
}

// ends deletes messages and inboxes.
func (c *foreignClient) ends(box, peer string) {
	c.has("a deletion", c.answers(200, "DELETE", "/inboxes/"+box+"/messages/1", ""), map[string]any{"ok": true})
	c.answers(404, "GET", "/inboxes/"+box+"/messages/1", "")
	c.has("a burnt inbox", c.answers(200, "POST", "/inboxes/"+peer+"/burn", `{}`), map[string]any{"ok": true, "burned": 0}) // of the third call
	c.has("its messages", c.answers(200, "GET", "/inboxes/"+peer+"/messages?direction=all", ""), map[string]any{"emails": []any{}})
	for _, address := range []string{box, peer} {
		c.has("a deleted inbox", c.answers(200, "DELETE", "/inboxes/"+address, ""), map[string]any{"ok": true})
		c.answers(403, "GET", "/inboxes/"+address+"/latest?direction=in", "")
	}
	key := c.key
	c.key = "foreign_live_key"
	c.answers(401, "GET", "/inboxes", "")
	c.key = key
}
