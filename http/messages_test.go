package http

import (
	"context"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"inboxd/http/search"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// full returns a message with a value in every field.
func full() inbox.Receive {
	return inbox.Receive{
		From: message.Mailbox{Email: "shop@example.com", Name: "Sh\"op <\u2028>"}, Subject: "Ihr Code <ü>\n\\", EnvelopeTo: "own+tag@inbox.test",
		Raw: []byte("raw bytes\r\n"),
		Content: &inbox.Content{
			Doc: message.ParsedMessage{
				To: []message.Mailbox{{Email: "own@inbox.test", Name: "Me"}, {Email: "b@example.com"}}, Cc: []message.Mailbox{{Email: "c@example.com"}},
				ReplyTo: []message.Mailbox{{Email: "r@example.com"}}, Date: time.Date(2026, 11, 20, 23, 0, 0, 0, time.FixedZone("", -3600)),
				MessageID: "a@b", InReplyTo: "c@d", References: []string{"e@f", "c@d"},
				Headers: []message.Header{{Name: "Received", Value: "one"}, {Name: "X-A", Value: "1"}, {Name: "received", Value: "two"}, {Name: "x-a", Value: "2"}, {Name: "Subject", Value: "s"}},
				Text:    "text", HTML: "<a href='https://example.com/?a=1&amp;b=2'><b>te\nxt</b></a>", HasHTML: true, TextFromHTML: true,
				Attachments: []message.Attachment{{ID: 1, Filename: "a.pdf", ContentType: "application/pdf", Size: 7}, {ID: 2, Filename: "b", ContentType: "x/y", Size: 8, Truncated: true, ContentID: "b@x"}}, AttachmentsOmitted: 3,
				Links: []string{"https://example.com/?a=1&b=2"},
			},
			OTP: inbox.OTP{Code: "123456", Confidence: 0.9700000000000001, Source: "subject", Candidates: []string{"999999"}, VerificationLink: "https://example.com/verify"},
			Auth: inbox.Auth{
				CheckingServer: "inbox.test", SPF: inbox.AuthResult{ResultKeyword: "softfail", Domain: "b.example.com"},
				DKIM: inbox.AuthResult{ResultKeyword: "pass", Domain: "example.com"}, DMARC: inbox.AuthResult{ResultKeyword: "none"},
				Signatures: []inbox.AuthSignature{{Word: "pass", Domain: "example.com", Selector: "s", Algorithm: "rsa-sha256"}, {Word: "permerror"}},
			},
		},
	}
}

const fullJSON = `{"id":1,"direction":"in","subject":"Ihr Code <ü>\n\\","from":{"email":"shop@example.com","name":"Sh\"op <` + "\u2028" + `>"},` +
	`"to":[{"email":"own@inbox.test","name":"Me"},{"email":"b@example.com","name":""}],"cc":[{"email":"c@example.com","name":""}],"reply_to":[{"email":"r@example.com","name":""}],` +
	`"date":"2026-11-21T00:00:00.000Z","received_at":"2026-11-21T12:00:00.000Z","expires_at":"2026-11-22T12:00:00.000Z","envelope_to":"own+tag@inbox.test","envelope_recipients":["own+tag@inbox.test"],"to_address":"own+tag@inbox.test","tag":"tag",` +
	`"internet_message_id":"a@b","in_reply_to":"c@d","references":["e@f","c@d"],` +
	`"otp_code":"123456","otp":{"code":"123456","confidence":0.97,"source":"subject","origin":null,"candidates":["999999"],"sender_verified":false},"verification_link":"https://example.com/verify",` +
	`"body":"text","body_from_html":true,"truncated_body":false,"degraded":false,"hidden_text":false,"html":"<a href='https://example.com/?a=1&amp;b=2'><b>te\nxt</b></a>","headers":{"Received":["one","two"],"X-A":["1","2"],"Subject":"s"},"sender":null,` +
	`"links":["https://example.com/?a=1&b=2"],"link_texts":[{"url":"https://example.com/?a=1&b=2","text":"te xt"}],"attachments":[{"id":1,"filename":"a.pdf","content_type":"application/pdf","size_bytes":7,"is_encrypted":false,"truncated":false,"content_id":null},` +
	`{"id":2,"filename":"b","content_type":"x/y","size_bytes":8,"is_encrypted":false,"truncated":true,"content_id":"b@x"}],"attachments_omitted":3,"calendar_event":null,"spam":null,"auth":` + fullAuthJSON + `,"is_read":false,"size_bytes":11,"encrypted":false,"is_encrypted":false}`

const fullAuthJSON = `{"spf":{"result":"softfail","domain":"b.example.com"},"dkim":{"result":"pass","domain":"example.com"},"dmarc":{"result":"none","domain":null},` +
	`"signatures":[{"result":"pass","domain":"example.com","selector":"s","algorithm":"rsa-sha256"},{"result":"permerror","domain":null,"selector":null,"algorithm":null}],"sender_verified":false}`

const bareJSON = `{"id":2,"direction":"in","subject":"","from":{"email":"","name":""},"to":[],"cc":[],"reply_to":[],"date":null,` +
	`"received_at":"2026-11-21T12:00:00.000Z","expires_at":"2026-11-22T12:00:00.000Z","envelope_to":"own@inbox.test","envelope_recipients":["own@inbox.test"],"to_address":"own@inbox.test","tag":null,"internet_message_id":null,"in_reply_to":null,"references":[],` +
	`"otp_code":null,"otp":null,"verification_link":null,"body":"","body_from_html":false,"truncated_body":false,"degraded":false,"hidden_text":false,"html":null,"headers":{},"sender":null,"links":[],"link_texts":[],"attachments":[],"attachments_omitted":0,` +
	`"calendar_event":null,"spam":null,"auth":null,"is_read":false,"size_bytes":0,"encrypted":false,"is_encrypted":false}`

// TestMessageObject pins the bytes of responses with all fields.
func TestMessageObject(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, full())
	want := `{"email":` + fullJSON + `}`
	if r := w.expect(200, w.call(methodGet, latest, key, "")); r.body != want {
		t.Errorf("latest:\n%s\nwant\n%s", r.body, want)
	}
	w.deliver(address, inbox.Receive{Content: &inbox.Content{}})
	for id, want := range map[int]string{1: fullJSON, 2: bareJSON} {
		r := w.expect(200, w.call(methodGet, fmt.Sprintf("/api/v1/inboxes/%s/messages/%d", address, id), key, ""))
		if r.body != `{"email":`+want+`}` {
			t.Errorf("message %d:\n%s\nwant\n%s", id, r.body, want)
		}
		var any map[string]any
		r.into(t, &any)
	}
}

// TestWhereItCameFromAndWhereItWent: the envelope sender comes only from the header field that this
// server added first.
func TestWhereItCameFromAndWhereItWent(t *testing.T) {
	w, address, key, _ := lone(t)
	path := func(line ...message.Header) inbox.Receive {
		return inbox.Receive{EnvelopeTo: "own+a+b@inbox.test", Content: &inbox.Content{Doc: message.ParsedMessage{Headers: line}}}
	}
	checked := path(message.Header{Name: "Authentication-Results", Value: "inbox.test; spf=none"}, message.Header{Name: "Return-Path", Value: "<b@shop.test>"})
	checked.Content.Auth.CheckingServer = "inbox.test"
	top, forged := message.Header{Name: "Return-Path", Value: "<bounces+1@shop.test>"}, message.Header{Name: "Return-Path", Value: "<boss@bank.test>"}
	for _, c := range []struct {
		mail inbox.Receive
		want string
	}{
		{path(top, forged), `{"to_address":"own+a+b@inbox.test","tag":"a+b","sender":"bounces+1@shop.test"}`},
		{checked, `{"to_address":"own+a+b@inbox.test","tag":"a+b","sender":"b@shop.test"}`},
		{path(message.Header{Name: "Return-Path", Value: "<>"}), `{"to_address":"own+a+b@inbox.test","tag":"a+b","sender":null}`},
		{path(message.Header{Name: "Subject", Value: "s"}, forged), `{"to_address":"own+a+b@inbox.test","tag":"a+b","sender":null}`},
	} {
		id := w.deliver(address, c.mail)
		if r := w.call(methodGet, fmt.Sprintf("/api/v1/inboxes/%s/messages/%d?fields=to_address,tag,sender", address, id), key, ""); r.body != `{"email":`+c.want+`}` {
			t.Errorf("%s, want %s", r.body, c.want)
		}
	}
	w.expect(202, w.call(methodPost, "/api/v1/inboxes/"+address+"/send", key, `{"to":"c+d@e.test","cc":["f@g.test"]}`))
	if r := w.call(methodGet, "/api/v1/inboxes/"+address+"/messages/5?fields=to_address,tag,sender", key, ""); r.body != `{"email":{"to_address":"c+d@e.test","tag":null,"sender":"own@inbox.test"}}` {
		t.Error(r.body)
	}
}

// TestTextThatIsNotUTF8IsRepaired: the encoder never writes bytes that are invalid in JSON.
func TestTextThatIsNotUTF8IsRepaired(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "a\xffb\x00", From: message.Mailbox{Name: "\xed\xa0\x80"}, Content: &inbox.Content{Doc: message.ParsedMessage{Text: "\xc3"}}})
	r := w.expect(200, w.call(methodGet, latest, key, ""))
	if !json.Valid([]byte(r.body)) || r.object(t, "email", "subject") != "a\ufffdb\x00" {
		t.Errorf("answer %q", r.body)
	}
}

func ids(t *testing.T, r reply) (out []int) {
	for _, m := range r.object(t, "emails").([]any) {
		out = append(out, int(m.(map[string]any)["id"].(float64)))
	}
	return out
}

func TestListOfMessages(t *testing.T) {
	w, address, key, _ := lone(t)
	for n := 1; n <= 7; n++ {
		w.deliver(address, inbox.Receive{
			Subject: fmt.Sprintf("Mail %d", n), From: message.Mailbox{Email: fmt.Sprintf("sender%d@example.com", n%2), Name: "ΣΊΣΥΦΟΣ"},
			Content: &inbox.Content{Doc: message.ParsedMessage{Text: fmt.Sprintf("body of %d: Ärger", n)}, OTP: inbox.OTP{Code: strings.Repeat("1", n)}},
		})
	}
	w.inboxes.Do(context.Background(), address, inbox.MarkRead{ID: 6, Read: true})
	list := "/api/v1/inboxes/" + address + "/messages"
	for query, want := range map[string]struct {
		ids  []int
		more bool
	}{
		"": {[]int{7, 6, 5, 4, 3, 2, 1}, false}, "limit=3": {[]int{7, 6, 5}, true}, "limit=7": {[]int{7, 6, 5, 4, 3, 2, 1}, false},
		"limit=3&before=5": {[]int{4, 3, 2}, true}, "before=2": {[]int{1}, false}, "before=1": {nil, false},
		"unread=true&limit=2": {[]int{7, 5}, true}, "direction=out": {nil, false}, "direction=all&limit=1": {[]int{7}, true},
		"q=MAIL+3": {[]int{3}, false}, "q=SENDER1&limit=2": {[]int{7, 5}, true}, "q=%C3%84RGER&limit=1": {[]int{7}, true}, "q=body+of+4": {[]int{4}, false},
		"q=%CF%83%CE%AF%CF%83%CF%85%CF%86%CE%BF%CF%82&limit=1": {[]int{7}, true}, "q=nowhere": {nil, false}, "q=": {[]int{7, 6, 5, 4, 3, 2, 1}, false},
	} {
		r := w.expect(200, w.call(methodGet, list+"?"+query, key, ""))
		if got := ids(t, r); !slices.Equal(got, want.ids) || r.object(t, "has_more") != want.more {
			t.Errorf("%s: %v %v, want %v", query, got, r.object(t, "has_more"), want)
		}
	}
	for query, detail := range map[string]string{
		"limit=0": "'limit' must be between 1 and 200", "limit=201": "'limit' must be between 1 and 200", "limit=a": "'limit' must be a whole number",
		"before=0": "'before' must be between 1 and 9223372036854775807", "direction=up": "'direction' must be one of in, out, all",
		"unread=maybe": "'unread' must be true or false", "include=body": "'include' contains the unknown value 'body'. Valid values: html, headers, link_texts, envelope", "fields=,": "'fields' contains the unknown field ''. The fields of a message are listed in /docs",
	} {
		if r := w.expect(422, w.call(methodGet, list+"?"+query, key, "")); r.detail() != "Invalid request: "+detail {
			t.Errorf("%s: %s", query, r.detail())
		}
	}
	w.advance(25 * time.Hour)
	if r := w.call(methodGet, list, key, ""); r.body != `{"emails":[],"has_more":false}` {
		t.Errorf("after expiry: %s", r.body)
	}
}

// TestDamagedMessages: readable messages are shown; damaged ones are listed. Reading a single
// damaged one is an error with its own sentence, which is logged where the damage is found and not
// for each request.
func TestDamagedMessages(t *testing.T) {
	w, address, key, latest := lone(t)
	for n := range 6 {
		w.deliver(address, inbox.Receive{Subject: fmt.Sprint("Mail ", n+1), Raw: []byte("Subject: x\r\n\r\nhello")})
	}
	w.inboxes.spoil(address, 2, true)
	w.inboxes.spoil(address, 5, false)
	list := "/api/v1/inboxes/" + address + "/messages"
	for query, want := range map[string]string{
		"fields=id":                  `{"emails":[{"id":6},{"id":5},{"id":4},{"id":3},{"id":1}],"has_more":false,"damaged":[2]}`,
		"fields=id,body&limit=2":     `{"emails":[{"id":6,"body":"hello"},{"id":4,"body":"hello"}],"has_more":true,"damaged":[5]}`,
		"fields=id&before=4&limit=1": `{"emails":[{"id":3}],"has_more":true}`,
		"fields=id&before=3":         `{"emails":[{"id":1}],"has_more":false,"damaged":[2]}`,
		"fields=id&direction=out":    `{"emails":[],"has_more":false,"damaged":[2]}`,
		"fields=id&unread=true&q=4":  `{"emails":[{"id":4}],"has_more":false,"damaged":[5,2]}`,
	} {
		if r := w.expect(200, w.call(methodGet, list+"?"+query, key, "")); r.body != want {
			t.Errorf("%s: %s, want %s", query, r.body, want)
		}
	}
	const sentence = "Message %d in inbox own@inbox.test is damaged on the disk of this service and cannot be read"
	damaged := func(method, path string, id int) {
		t.Helper()
		if r := w.expect(500, w.call(method, path, key, "")); r.detail() != fmt.Sprintf(sentence, id) {
			t.Errorf("%s %s: %s", method, path, r.detail())
		}
	}
	damaged(methodGet, list+"/5", 5)
	damaged(methodGet, list+"/2", 2)
	damaged(methodGet, list+"/2?fields=id", 2)
	damaged(methodPost, list+"/2/read", 2)
	w.expect(200, w.call(methodGet, list+"/2/raw", key, ""))
	w.expect(200, w.call(methodGet, list+"/5?fields=subject", key, ""))
	w.expect(200, w.call(methodGet, latest, key, ""))
	w.expect(200, w.call(methodGet, latest+"?after=1&subject=mail+6", key, ""))
	damaged(methodGet, latest+"?subject=nowhere", 2)
	w.inboxes.spoil(address, 6, false)
	damaged(methodGet, latest, 6)
	damaged(methodGet, latest+"?after=5&wait=60", 6)
	if strings.Contains(w.log.String(), "damaged") {
		t.Errorf("logged at each request: %s", w.log)
	}
	for _, id := range []int{2, 5, 6} {
		w.expect(200, w.call(methodDelete, fmt.Sprint(list, "/", id), key, ""))
	}
	if r := w.call(methodGet, list+"?fields=id", key, ""); r.body != `{"emails":[{"id":4},{"id":3},{"id":1}],"has_more":false}` {
		t.Errorf("after their deletion: %s", r.body)
	}
}

// TestCandidatesWithoutACode: a message without a certain code says what could be one.
func TestCandidatesWithoutACode(t *testing.T) {
	w, address, key, latest := lone(t)
	mail := full()
	mail.Content.OTP.Code = ""
	w.deliver(address, mail)
	if got := w.call(methodGet, latest+"?fields=otp,otp_candidates", key, "").body; got != `{"email":{"otp":null,"otp_candidates":["999999"]}}` {
		t.Error(got)
	}
}

// TestListFields: html and headers only on request, bodies cut, and no disk access for facts in
// memory.
func TestListFields(t *testing.T) {
	w, address, key, latest := lone(t)
	mail := full()
	mail.Content.Doc.Text = strings.Repeat("x", listBodyBytes-1) + "é" // the é is at the cut
	mail.Content.Doc.LinksCut = true
	w.deliver(address, mail)
	list := "/api/v1/inboxes/" + address + "/messages"
	first := func(query string) map[string]any {
		return w.expect(200, w.call(methodGet, list+query, key, "")).object(t, "emails").([]any)[0].(map[string]any)
	}
	m := first("")
	if _, there := m["html"]; there || m["headers"] != nil || len(m) != len(messageFields)-4-4-2-1-3-1 { // one without a code, four more on sent messages, two on encrypted ones, one with several meetings, one on simulated ones
		t.Errorf("members of a list item: %v", m)
	}
	if m["links_truncated"] != true {
		t.Errorf("links_truncated: %v", m["links_truncated"])
	}
	if body := m["body"].(string); len(body) != listBodyBytes-1 || m["truncated_body"] != true {
		t.Errorf("body of %d bytes, truncated %v", len(body), m["truncated_body"])
	}
	if single := w.call(methodGet, latest, key, "").object(t, "email").(map[string]any); single["truncated_body"] != false || len(single["body"].(string)) != listBodyBytes+1 {
		t.Error("the latest is cut")
	}
	m = first("?include=html,headers")
	if _, there := m["sender"]; !there || !strings.Contains(m["html"].(string), "<b>te\nxt</b>") || m["headers"] == nil {
		t.Errorf("include: %v", m)
	}
	if m := first("?include=link_texts"); fmt.Sprint(m["link_texts"]) != "[map[text:te xt url:https://example.com/?a=1&b=2]]" || m["html"] != nil {
		t.Errorf("include: %v", m)
	}
	if m := first("?fields=id&include=html"); len(m) != 2 {
		t.Errorf("fields and include: %v", m)
	}
	w.inboxes.unload(address)
	reads := w.inboxes.reads
	for _, path := range []string{list, list + "/1", latest} {
		r := w.expect(200, w.call(methodGet, path+"?fields=id,subject,otp_code", key, ""))
		if !strings.Contains(r.body, `{"id":1,"subject":"Ihr Code <ü>\n\\","otp_code":"123456"}`) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	if w.inboxes.reads != reads {
		t.Error("the disk was read for fields in memory")
	}
}

func TestReadMarksAndDeletion(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "one"})
	one := "/api/v1/inboxes/" + address + "/messages/1"
	isRead := func() any { return w.call(methodGet, one, key, "").object(t, "email", "is_read") }
	for _, step := range []struct {
		body string
		want bool
	}{{"", true}, {`{"read":false}`, false}, {`{}`, true}, {`{"read":true}`, true}} {
		if r := w.expect(200, w.call(methodPost, one+"/read", key, step.body)); r.body != `{"ok":true}` || isRead() != step.want {
			t.Errorf("%s: %s, read %v", step.body, r.body, isRead())
		}
	}
	w.expect(422, w.call(methodPost, one+"/read", key, `{"unread":true}`))
	w.expect(404, w.call(methodPost, strings.TrimSuffix(one, "1")+"9/read", key, ""))
	if r := w.expect(200, w.call(methodDelete, one, key, "")); r.body != `{"ok":true}` {
		t.Errorf("delete: %s", r.body)
	}
	for _, method := range []string{methodGet, methodDelete} {
		if r := w.expect(404, w.call(method, one, key, "")); r.detail() != "Message 1 not found in inbox own@inbox.test" {
			t.Errorf("%s: %s", method, r.detail())
		}
	}
	if r := w.call(methodGet, latest, key, ""); r.body != `{"email":null}` {
		t.Errorf("latest: %s", r.body)
	}
}

func TestRawAndAttachments(t *testing.T) {
	w, address, key, _ := lone(t)
	w.deliver(address, mailOf(mailWithFile, inbox.OTP{}))
	mail := full()
	w.deliver(address, mail)
	base := "/api/v1/inboxes/" + address + "/messages/"

	r := w.expect(200, w.call(methodGet, base+"1/raw", key, ""))
	if r.body != mailWithFile || r.header.Get("Content-Type") != "message/rfc822" {
		t.Errorf("raw: %v %q", r.header, r.body)
	}
	first := w.expect(200, w.call(methodGet, base+"1/attachments/1", key, ""))
	r = w.expect(200, w.call(methodGet, base+"1/attachments/1", key, "")) // its place is cached by now
	if r.body != "<p>hi</p>" || r.body != first.body || r.header.Get("Content-Type") != "application/octet-stream" || r.header.Get("X-Content-Type-Options") != "nosniff" ||
		r.header.Get("Content-Disposition") != `attachment; filename="a.html"; filename*=UTF-8''a.html` {
		t.Errorf("attachment: %v %q", r.header, r.body)
	}
	r = w.expect(400, w.call(methodGet, base+"2/attachments/2", key, ""))
	if !strings.HasPrefix(r.detail(), "Attachment was too large to store") {
		t.Errorf("truncated: %s", r.detail())
	}
	for _, path := range []string{"1/attachments/2", "1/attachments/0", "1/attachments/x", "1/attachments/01", "9/attachments/1", "9/raw", "2/attachments/1"} {
		w.expect(404, w.call(methodGet, base+path, key, ""))
	}
	w.expect(403, w.call(methodGet, base+"1/raw", w.key(alice, account.ScopeSend), ""))
	w.expect(200, w.call(methodDelete, base+"1", key, ""))
	w.expect(404, w.call(methodGet, base+"1/attachments/1", key, ""))
}

// TestFilesBehindImages: a file after more images than are recorded is listed under its position in
// the message, even if the list was stored by other rules.
func TestFilesBehindImages(t *testing.T) {
	w, address, key, latest := lone(t)
	raw := "Subject: files\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n"
	var images string
	for i := range 12 {
		raw += fmt.Sprintf("<img src=cid:%d@x>", i)
		images += fmt.Sprintf("\r\n--b\r\nContent-Type: image/png\r\nContent-ID: <%d@x>\r\n\r\nimage %d", i, i)
	}
	mail := mailOf(raw+images+"\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\ninvoice\r\n--b--\r\n", inbox.OTP{})
	w.deliver(address, mail)
	r := w.expect(200, w.call(methodGet, latest+"?fields=attachments,attachments_omitted", key, ""))
	for _, want := range []string{`{"email":{"attachments":[{"id":13,"filename":"a.pdf",`, `"content_id":null},{"id":1,`, `"content_id":"8@x"}],"attachments_omitted":3}}`} {
		if !strings.Contains(r.body, want) {
			t.Errorf("%s: no %s", r.body, want)
		}
	}
	stored := mail
	content := *mail.Content
	content.Doc.Attachments = []message.Attachment{{ID: 10, Filename: "i9.png", ContentType: "image/png", Size: 7}}
	stored.Content = &content
	w.deliver(address, stored)
	base := "/api/v1/inboxes/" + address + "/messages/"
	for path, want := range map[string]string{"1/attachments/13": "invoice", "1/attachments/9": "image 8", "2/attachments/10": "image 9"} {
		if r := w.expect(200, w.call(methodGet, base+path, key, "")); r.body != want {
			t.Errorf("%s: %q, want %q", path, r.body, want)
		}
	}
	w.expect(404, w.call(methodGet, base+"1/attachments/10", key, ""))
}

// TestAttachmentsAreToldApart: attachments of one message, and of messages with the same id in two
// inboxes, before and after their places are cached.
func TestAttachmentsAreToldApart(t *testing.T) {
	w, own, key, _ := lone(t)
	second := w.newInbox(alice, "second")
	for _, address := range []string{own, second} {
		file := func(name string) string {
			return "--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=" + name + "\r\n\r\n" + name + " of " + address + "\r\n"
		}
		w.deliver(address, mailOf("Subject: files\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"+file("1")+file("2")+"--b--\r\n", inbox.OTP{}))
	}
	for range 2 {
		for _, address := range []string{own, second} {
			for _, id := range []string{"1", "2"} {
				r := w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+address+"/messages/1/attachments/"+id, key, ""))
				if want := id + " of " + address; r.body != want {
					t.Errorf("%q, want %q", r.body, want)
				}
			}
		}
	}
}

// TestADownloadIsWidenedForWhoReads: when the client has read more than can be buffered for one
// that does not read.
func TestADownloadIsWidenedForWhoReads(t *testing.T) {
	widened := 0
	p := &pieceReader{bodySource: strings.NewReader(strings.Repeat("x", 2*readPieces*pieceBytes)), searchTurns: search.NewTurns(), widenWindow: func() { widened++ }}
	piece := make([]byte, pieceBytes)
	for n := 1; n <= 2*readPieces; n++ {
		if _, err := p.Read(piece); err != nil {
			t.Fatal(err)
		}
		if want := n / readPieces; widened != min(want, 1) {
			t.Fatalf("widened %d times after %d pieces", widened, n)
		}
	}
}

func TestDisposition(t *testing.T) {
	for name, want := range map[string]string{
		"":                    `attachment; filename="attachment"; filename*=UTF-8''attachment`,
		"a b.txt":             `attachment; filename="a b.txt"; filename*=UTF-8''a%20b.txt`,
		"résumé €.pdf":        `attachment; filename="r_sum_ _.pdf"; filename*=UTF-8''r%C3%A9sum%C3%A9%20%E2%82%AC.pdf`,
		"a\"; filename=x.exe": `attachment; filename="a__ filename=x.exe"; filename*=UTF-8''a%22%3B%20filename%3Dx.exe`,
		"a\r\nSet-Cookie: b":  `attachment; filename="a__Set-Cookie: b"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20b`,
		"%2e%2e\\x/../y":      `attachment; filename="_2e_2e_x_.._y"; filename*=UTF-8''%252e%252e%5Cx%2F..%2Fy`,
	} {
		if got := contentDisposition(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	for declared, want := range map[string]string{
		"application/pdf": "application/pdf", "image/png": "image/png", "image/svg+xml": "application/octet-stream",
		"text/html": "application/octet-stream", "application/xhtml+xml": "application/octet-stream", "text/javascript": "application/octet-stream", "": "application/octet-stream",
	} {
		if got := inertType(declared); got != want {
			t.Errorf("%s is sent as %s", declared, got)
		}
	}
}

// TestHeadersOfAnAnswer checks the header fields that every response has.
func TestHeadersOfAnAnswer(t *testing.T) {
	w, _, key, latest := lone(t)
	r := w.call(methodGet, latest, key, "")
	if r.header.Get("Server") != "" || r.header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("headers %v", r.header)
	}
	a, b := r.header.Get("X-Request-Id"), w.call(methodGet, latest, key, "").header.Get("X-Request-Id")
	if a == "" || a == b {
		t.Errorf("request ids %q and %q", a, b)
	}
	if r := w.call(methodGet, "/api/account", key, ""); r.header.Get("Cache-Control") != "no-store" || r.status != nethttp.StatusForbidden {
		t.Errorf("%d %v", r.status, r.header)
	}
	if r := w.call(methodGet, latest, "", ""); r.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("headers of a 401: %v", r.header)
	}
}

// TestClaim: of several clients that claim a message, exactly one succeeds.
func TestClaim(t *testing.T) {
	w, address, key, _ := lone(t)
	w.deliver(address, inbox.Receive{Subject: "One", Content: &inbox.Content{}})
	read := "/api/v1/inboxes/" + address + "/messages/1/read"
	for _, step := range []struct {
		body, answer string
		status       int
	}{
		{`{"claim":true}`, `{"ok":true,"claimed":true}`, 200},
		{`{"claim":true,"read":true}`, `{"ok":true,"claimed":false}`, 200},
		{`{"claim":true,"read":false}`, `{"detail":"Invalid request: 'claim' cannot be combined with 'read': false","code":"validation","field":"claim"}`, 422},
		{`{"read":false}`, `{"ok":true}`, 200},
		{`{"claim":true}`, `{"ok":true,"claimed":true}`, 200},
	} {
		if got := w.expect(step.status, w.call(methodPost, read, key, step.body)); string(got.body) != step.answer {
			t.Errorf("%s: %s", step.body, got.body)
		}
	}
}
