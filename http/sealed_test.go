package http

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
)

// sealedMail returns an encrypted message with a placeholder envelope: the API never looks into it.
func sealedMail(size int64, files ...string) inbox.Receive {
	mail := inbox.Receive{
		From: message.Mailbox{Email: "shop@example.com"}, Raw: []byte("the envelope"),
		Content: &inbox.Content{
			Auth: inbox.Auth{CheckingServer: "inbox.test", SPF: inbox.AuthResult{ResultKeyword: "pass", Domain: "example.com"}, DKIM: inbox.AuthResult{ResultKeyword: "none"}, DMARC: inbox.AuthResult{ResultKeyword: "none"}},
			Spam: &inbox.SpamVerdict{Score: 1.5, RequiredScore: 5, Rules: []inbox.SpamRule{{Name: "R_DATE", Weight: 1.5}}},
		},
		EncryptedParts: &inbox.EncryptedParts{PlainSize: size, RepeatDigest: inbox.MessageDigest{1}, HasMessageID: true},
	}
	doc := message.ParsedMessage{Subject: "never seen"}
	for i, f := range files {
		doc.Attachments = append(doc.Attachments, message.Attachment{ID: i + 1, Filename: "secret.pdf", ContentType: "application/pdf", Size: 7, Truncated: f == ""})
		if f != "" {
			mail.EncryptedParts.EncryptedFiles = append(mail.EncryptedParts.EncryptedFiles, sealed.FileEnvelope{ID: i + 1, Envelope: []byte(f)})
		}
	}
	mail.Content.Doc = sealed.UnencryptedFacts(&doc)
	return mail
}

func (w *world) encryptedInbox(session, prefix string) string {
	w.t.Helper()
	w.expect(200, w.call(methodPut, "/api/account/encryption", session, `{"public_key":"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}`))
	r := w.expect(201, w.call(methodPost, "/api/inboxes", session, `{"encrypted":true,"prefix":"`+prefix+`"}`))
	if r.object(w.t, "encrypted") != true {
		w.t.Errorf("created: %s", r.body)
	}
	return r.object(w.t, "address").(string)
}

const sealedJSON = `"direction":"in","subject":null,"from":{"email":"shop@example.com","name":""},"to":[],"bcc":[],"cc":[],"reply_to":[],"date":null,` +
	`"received_at":"2026-11-21T12:00:00.000Z","expires_at":"2026-11-22T12:00:00.000Z","envelope_to":"vault@inbox.test","envelope_recipients":["vault@inbox.test"],"to_address":"vault@inbox.test","tag":null,"internet_message_id":null,"in_reply_to":null,"references":[],` +
	`"otp_code":null,"otp":null,"verification_link":null,"body":null,"body_from_html":false,"truncated_body":false,"degraded":false,"hidden_text":false,"html":null,"headers":null,"sender":null,"links":[],"link_texts":[],` +
	`"attachments":[{"id":1,"filename":"encrypted-1.age","content_type":"application/age","size_bytes":7,"is_encrypted":true,"truncated":false,"content_id":null},` +
	`{"id":2,"filename":"encrypted-2.age","content_type":"application/age","size_bytes":7,"is_encrypted":true,"truncated":true,"content_id":null}],"attachments_omitted":0,"calendar_event":null,` +
	`"spam":{"score":1.5,"required":5,"is_spam":false,"rules":[{"name":"R_DATE","weight":1.5,"description":""}]},` +
	`"auth":{"spf":{"result":"pass","domain":"example.com"},"dkim":{"result":"none","domain":null},"dmarc":{"result":"none","domain":null},"signatures":[],"sender_verified":false},` +
	`"is_read":false,"size_bytes":2000,"encrypted":true,"is_encrypted":true,"note":"This inbox is end-to-end encrypted: body and otp_code are not available. Open envelope or /raw with the account's age key"`

// TestSealedMessages: every form in which an encrypted message is read.
func TestSealedMessages(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	w.expect(400, w.call(methodPost, "/api/inboxes", session, `{"encrypted":true}`))
	address := w.encryptedInbox(session, "vault")
	own := "/api/v1/inboxes/" + address
	w.deliver(address, sealedMail(2000, "first file", ""))
	envelope := `,"envelope":"` + base64.StdEncoding.EncodeToString([]byte("the envelope")) + `"`
	end := `,"encrypted":true,"note":` + noteJSON() + `}`
	one := `{"email":{"id":1,` + sealedJSON + envelope + `}` + end
	for _, path := range []string{own + "/latest", own + "/messages/1", "/api/inboxes/" + address + "/emails/1", own + "/latest?from=SHOP", own + "/latest?fields=" + everyField()} {
		if r := w.expect(200, w.call(methodGet, path, session, "")); r.body != one {
			t.Errorf("%s:\n%s\nwant\n%s", path, r.body, one)
		}
	}
	listed := strings.NewReplacer(`"html":null,"headers":null,"sender":null,`, "", `"link_texts":[],`, "").Replace(`{"id":1,` + sealedJSON + `}`)
	for path, want := range map[string]string{
		own + "/messages":                                    `{"emails":[` + listed + `],"has_more":false` + end,
		own + "/messages?q=shop@":                            `{"emails":[` + listed + `],"has_more":false` + end,
		own + "/messages?q=never":                            `{"emails":[],"has_more":false` + end,
		own + "/messages?q=envelope":                         `{"emails":[],"has_more":false` + end,
		own + "/messages?include=envelope":                   `{"emails":[` + strings.TrimSuffix(listed, "}") + envelope + `}],"has_more":false` + end,
		own + "/messages?fields=id&include=envelope":         `{"emails":[{"id":1` + envelope + `}],"has_more":false` + end,
		own + "/latest?fields=subject,encrypted,note":        `{"email":{"subject":null,"encrypted":true,"note":` + noteJSON() + `}` + end,
		own + "/latest?otp=true":                             `{"email":null` + end,
		own + "/latest?subject=never":                        `{"email":null` + end,
		"/api/v1/messages":                                   `{"emails":[{"inbox":"` + address + `",` + listed[1:] + `],"next_cursor":null}`,
		"/api/v1/messages?otp=true":                          `{"emails":[],"next_cursor":null}`,
		"/api/v1/messages?subject=n":                         `{"emails":[],"next_cursor":null}`,
		"/api/v1/messages?fields=id&include=envelope&from=s": `{"emails":[{"inbox":"` + address + `","id":1` + envelope + `}],"next_cursor":null}`,
	} {
		if r := w.expect(200, w.call(methodGet, path, session, "")); r.body != want {
			t.Errorf("%s:\n%s\nwant\n%s", path, r.body, want)
		}
	}
	for path, want := range map[string]string{
		"/messages/1/raw":           `the envelope attachment; filename="message-1.eml.age"; filename*=UTF-8''message-1.eml.age`,
		"/messages/1/attachments/1": `first file attachment; filename="encrypted-1.age"; filename*=UTF-8''encrypted-1.age`,
	} {
		r := w.expect(200, w.call(methodGet, own+path, session, ""))
		if r.body+" "+r.header.Get("Content-Disposition") != want || r.header.Get("Content-Type") != "application/age" || r.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %q, %v", path, r.body, r.header)
		}
	}
	w.expect(400, w.call(methodGet, own+"/messages/1/attachments/2", session, ""))
	w.expect(404, w.call(methodGet, own+"/messages/1/attachments/3", session, ""))
	tag := w.expect(200, w.call(methodGet, own+"/latest", session, "")).header.Get("ETag")
	w.expect(304, w.call(methodGet, own+"/latest", session, "", "If-None-Match", tag))
	w.expect(200, w.call(methodPost, own+"/messages/1/read", session, ""))
	if r := w.expect(200, w.call(methodGet, own+"/latest?fields=is_read", session, "", "If-None-Match", tag)); r.body != `{"email":{"is_read":true}`+end {
		t.Errorf("read: %s", r.body)
	}
	for path, member := range map[string]string{own: "inbox"} {
		if r := w.expect(200, w.call(methodGet, path, session, "")); r.object(t, member, "encrypted") != true {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	w.expect(422, w.call(methodPatch, own, session, `{"encrypted":false}`))
	w.expect(422, w.call(methodPost, "/api/v1/inboxes", session, `{"encrypted":true}`))
	w.expect(400, w.call(methodDelete, "/api/account/encryption", session, `{"password":"correct horse"}`))
}

func everyField() string {
	var names []string
	for i := range messageFields {
		if allFields&(1<<i) != 0 {
			names = append(names, messageFields[i].name)
		}
	}
	return strings.Join(names, ",")
}

func noteJSON() string { return string(appendString(nil, sealedNote)) }

// TestLongEnvelopes are not in the JSON, but can be downloaded.
func TestLongEnvelopes(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	own := "/api/v1/inboxes/" + w.encryptedInbox(session, "vault")
	for size, shown := range map[int64]bool{maxEnvelope - 16*17 - 184: true, maxEnvelope: false, 20 << 20: false} {
		mail := sealedMail(size)
		mail.Raw = bytes.Repeat([]byte("x"), int(min(size, 2<<20)))
		w.deliver("vault@inbox.test", mail)
		r := w.expect(200, w.call(methodGet, own+"/latest?fields=envelope,truncated_body", session, ""))
		if got := r.object(t, "email", "envelope") != nil; got != shown || r.object(t, "email", "truncated_body") != !shown {
			t.Errorf("%d bytes: shown %v, %.80s", size, got, r.body)
		}
		w.expect(200, w.call(methodGet, own+"/messages/1/raw", session, ""))
	}
}

// TestNoCalendarOfAnEncryptedInbox: its list is empty, the owner's setting is off, and everything
// else is refused.
func TestNoCalendarOfAnEncryptedInbox(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	address := w.encryptedInbox(session, "vault")
	calendar := "/api/v1/inboxes/" + address + "/calendar"
	if r := w.expect(200, w.call(methodGet, calendar+"/events", session, "")); r.body != `{"events":[],"next_cursor":null}` {
		t.Errorf("events: %s", r.body)
	}
	if r := w.expect(200, w.call(methodGet, calendar+"/owner", session, "")); r.object(t, "enabled") != false {
		t.Errorf("owner: %s", r.body)
	}
	refused := 0
	for _, rt := range w.server.routes {
		if !strings.Contains(rt.pathPattern, "{addr}/calendar") || rt.method == methodGet && (strings.HasSuffix(rt.pathPattern, "/events") || strings.HasSuffix(rt.pathPattern, "/owner")) {
			continue
		}
		path := strings.NewReplacer("{addr}", address, "{id}", "1").Replace(rt.pathPattern)
		body := ""
		switch {
		case rt.bodyShape.findField("response") != nil:
			body = `{"response":"accepted"}`
		case rt.bodyShape.findField("enabled") != nil:
			body = `{"enabled":true}`
		case rt.method == methodPost && strings.HasSuffix(path, "/events"):
			body = `{"title":"x","start":"2027-03-01T15:00:00Z","attendees":["a@b.test"]}`
		}
		if r := w.expect(400, w.call(rt.method, path, session, body)); r.detail() != "This inbox is end-to-end encrypted, so it has no calendar" {
			t.Errorf("%s: %s", rt.routeName(), r.body)
		}
		refused++
	}
	if refused < 16 {
		t.Errorf("%d calls were refused", refused)
	}
}
