package toolserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"inboxd/http/client"
	"inboxd/internal/core/tools"
)

// asSent returns a result in the SDK's longest form: with escapes for HTML.
func asSent(t *testing.T, r *mcp.CallToolResult) []byte {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func withinBudget(t *testing.T, r *mcp.CallToolResult) {
	t.Helper()
	b := asSent(t, r)
	if len(b) > maxResult {
		t.Errorf("%d bytes", len(b))
	}
	if !json.Valid(b) || !utf8.Valid(b) {
		t.Error("no JSON in UTF-8")
	}
}

// newestFirst returns n equal messages.
func newestFirst(n int, m apiMessage) messagePage {
	p := messagePage{}
	for i := range n {
		m.ID = int64(n - i)
		m.ReceivedAt = time.Unix(1e9, 0)
		p.Emails = append(p.Emails, m)
	}
	return p
}

func read(c *toolCall, p messagePage) (*mcp.CallToolResult, []int64) {
	views := make([]*messageView, len(p.Emails))
	for i := range p.Emails {
		views[i] = newMessageView(&p.Emails[i])
	}
	a, err := c.messagesAnswer(views, p)
	if err != nil {
		panic(err)
	}
	var out struct{ Messages []messageView }
	if err := json.Unmarshal(a.structuredJSON, &out); err != nil {
		panic(err)
	}
	var ids []int64
	for _, m := range out.Messages {
		ids = append(ids, m.ID)
	}
	return a.callResult(), ids
}

// TestToolsListIsSmall: every conversation of a model begins with this response.
func TestToolsListIsSmall(t *testing.T) {
	const limit = 24 << 10
	line := converse(t, filled().server(), "2025-06-18").ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if len(line) > limit || !strings.Contains(line, `"rotate_calendar_feed"`) {
		t.Errorf("%d bytes, the limit is %d", len(line), limit)
	}
}

// TestNewestMessagesStay: older messages are omitted until the rest fits, and the result says so.
func TestNewestMessagesStay(t *testing.T) {
	c := &toolCall{args: arguments{"address": inboxOfTests, "direction": "in"}}
	for name, m := range map[string]client.Message{
		"small":          {Body: "hi"},
		"long":           {Body: strings.Repeat("word ", 200_000)},
		"escaped":        {Body: strings.Repeat("<&>\"\\\n", 4000), Subject: strings.Repeat("<", 5000)},
		"other scripts":  {Body: strings.Repeat("文字🙂", 4000)},
		"many links":     {Links: strings.Fields(strings.Repeat("https://x.test/"+strings.Repeat("&", 1500)+" ", 1000))},
		"many addresses": {To: make([]client.Mailbox, 5000)},
		"controls":       {Body: strings.Repeat("\x1b\x00\u2028", 4000)},
	} {
		r, ids := read(c, newestFirst(maxShown, apiMessage{Message: m}))
		withinBudget(t, r)
		if len(ids) == 0 || ids[0] != maxShown {
			t.Errorf("%s: shows %v", name, ids)
		}
		text := textOf(r)
		if cut := len(ids) < maxShown; cut != strings.Contains(text, "The list is truncated") || cut != strings.Contains(text, "before=") {
			t.Errorf("%s: shows %d: %s", name, len(ids), text[len(text)-300:])
		}
		if name == "small" && (len(ids) != maxShown || strings.Contains(text, "truncated")) {
			t.Errorf("small ones are cut: %v", ids)
		}
		if name == "long" && (!strings.Contains(text, "body truncated") || !strings.Contains(text, "GET /api/v1/inboxes/") || len(ids) < 5) {
			t.Errorf("long ones: %d shown", len(ids))
		}
	}
}

// TestALongListIsCut: lists are truncated to what fits, also one of ten thousand inboxes.
func TestALongListIsCut(t *testing.T) {
	service := newService()
	s := service.server()
	var all []object
	for i := range 500 {
		all = append(all, object{"address": fmt.Sprintf("some-long-name-%d@some-namespace.inbox.test", i), "label": strings.Repeat("<l>", 33), "unread_count": 1, "message_count": 2, "last_message_at": nil, "encrypted": false})
	}
	body, _ := json.Marshal(object{"inboxes": all, "next_cursor": "more"})
	service.scripted(200, body)
	r := s.called(t.Context(), "list_inboxes", nil)
	withinBudget(t, r)
	var out struct {
		Inboxes []listedInbox
		More    bool
	}
	if err := json.Unmarshal(r.StructuredContent.(json.RawMessage), &out); err != nil || !out.More || len(out.Inboxes) < 50 || !strings.Contains(textOf(r), "The list is truncated") {
		t.Errorf("%d inboxes, more %v, %v", len(out.Inboxes), out.More, err)
	}
}

// TestALongMeetingIsCut: the shortened meeting still matches its schema.
func TestALongMeetingIsCut(t *testing.T) {
	_, plainEvent, _ := calendarOfTests(httpRequest("POST"), []string{"events"})
	event := plainEvent.(object)["event"].(object)
	event["description"] = strings.Repeat("<b>", 20_000)
	guests := []any{}
	for i := range 500 {
		guests = append(guests, object{"email": fmt.Sprintf("guest%d@far.test", i), "name": strings.Repeat("ü", 200), "role": "req-participant", "status": "needs-action"})
	}
	event["attendees"] = guests
	service := newService()
	s := service.server()
	for name, body := range map[string]any{
		"update_calendar_event": object{"ok": true, "event": event, "message_id": 3, "send_status": "queued"},
		"list_calendar_events":  object{"events": []any{event, event, event, event, event, event, event, event, event, event}, "next_cursor": nil},
	} {
		b, _ := json.Marshal(body)
		service.scripted(200, b)
		r := s.called(t.Context(), name, map[string]any{"address": inboxOfTests, "event_id": 5.0})
		withinBudget(t, r)
		if r.IsError || !strings.Contains(textOf(r), "truncated") {
			t.Errorf("%s: %.300s", name, textOf(r))
		}
		tool, _ := tools.Find(name)
		fitsSchema(t, tool, r.StructuredContent)
	}
}

// TestManyRecipientsAreCut: a hundred recipients with long names and long errors.
func TestManyRecipientsAreCut(t *testing.T) {
	m := &client.Message{ID: 7, Direction: "out", SentState: client.SentState{SendStatus: client.StatusFailed, SendError: strings.Repeat("<", 5000)}}
	for i := range 100 {
		m.Recipients = append(m.Recipients, client.Recipient{Email: fmt.Sprintf("%s%d@far.test", strings.Repeat("x", 240), i), Status: client.StatusFailed, Error: strings.Repeat("<ü>", 500), MX: strings.Repeat("m", 250)})
	}
	a, err := (&toolCall{args: arguments{"address": inboxOfTests}}).outcomeResult(m)
	if err != nil {
		t.Fatal(err)
	}
	r := a.callResult()
	withinBudget(t, r)
	tool, _ := tools.Find("wait_until_sent")
	fitsSchema(t, tool, r.StructuredContent)
	if !strings.Contains(textOf(r), "truncated") {
		t.Error(textOf(r))
	}
}

// TestControlsGo: control characters are also removed from what the API returns about a meeting.
func TestControlsGo(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":5,"title":"a\u001b[31m\u0007b"}`: `{"id":5,"title":"a[31mb"}`,
		"{\"z\":1,\"a\":\"x\u202ey\"}":          `{"a":"xy","z":1}`,
		`{"z":12345678901234567890, "a":"<b>"}`: `{"z":12345678901234567890,"a":"<b>"}`,
	} {
		if got := string(compactJSON(json.RawMessage(in))); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// FuzzBudget: whatever a message contains, a result is JSON in UTF-8 of at most 64 KB, and not
// empty.
func FuzzBudget(f *testing.F) {
	f.Add("subject", "body", "name", "https://x.test/", uint8(3), uint16(100), `{"title":"x","start":"2026","attendees":[1,2]}`)
	f.Add("<<<>>>", strings.Repeat("\u2028&", 3000), "\xff\xfe", "\x1b[31m", uint8(20), uint16(5000), `[[[["`+strings.Repeat("x", 9000)+`"]]]]`)
	f.Fuzz(func(t *testing.T, subject, body, name, link string, n uint8, times uint16, event string) {
		m := apiMessage{Message: client.Message{
			Subject: strings.Repeat(subject, int(times)%50), Body: strings.Repeat(body, int(times)), From: client.Mailbox{Email: name, Name: subject}, SentState: client.SentState{SendError: body},
			OTPCode: name, VerificationLink: link, Direction: "in",
		}}
		for range times % 2000 {
			m.Links = append(m.Links, link)
			m.To = append(m.To, client.Mailbox{Email: name, Name: link})
		}
		for range 10 {
			m.Attachments = append(m.Attachments, client.Attachment{Filename: subject, ContentType: body, ContentID: link})
		}
		m.AttachmentsOmitted = int(n)
		if len(event) < 1<<20 && json.Valid([]byte(event)) && utf8.ValidString(event) {
			m.CalendarEvent = json.RawMessage(event)
		}
		if len(m.Body) > 1<<22 {
			t.Skip("longer than the API gives")
		}
		c := &toolCall{args: arguments{"address": inboxOfTests, "direction": "in"}}
		p := newestFirst(int(n)%maxShown+1, m)
		r, ids := read(c, p)
		withinBudget(t, r)
		if len(ids) == 0 || ids[0] != p.Emails[0].ID {
			t.Errorf("shows %v of %d", ids, len(p.Emails))
		}
		if len(ids) < len(p.Emails) && !strings.Contains(textOf(r), "The list is truncated") {
			t.Error("it does not say that it is cut")
		}
	})
}

// FuzzWithin: a shortened object is still JSON with the same fields.
func FuzzWithin(f *testing.F) {
	f.Add(`{"a":"`+strings.Repeat("x", 500)+`","b":[1,2,3],"c":{"d":null}}`, uint16(300))
	f.Fuzz(func(t *testing.T, doc string, max uint16) {
		var v map[string]any
		if json.Unmarshal([]byte(doc), &v) != nil || v == nil {
			t.Skip("no object")
		}
		got, gone := truncateObject(json.RawMessage(doc), int(max))
		var out map[string]any
		if err := json.Unmarshal(got, &out); err != nil {
			t.Fatal(err)
		}
		if escapedLength(got) > int(max) && string(got) != "{}" {
			t.Errorf("%d bytes of %d", escapedLength(got), max)
		}
		if !gone && string(got) != doc {
			t.Error("changed, and does not say so")
		}
		if string(got) != "{}" && len(out) != len(v) {
			t.Errorf("%d members of %d", len(out), len(v))
		}
	})
}

func TestOmittedAttachmentsAreReported(t *testing.T) {
	v := newMessageView(&apiMessage{Message: client.Message{ID: 7, Direction: "in", Attachments: []client.Attachment{{ID: 1, ContentID: "logo@x"}}, AttachmentsOmitted: 3}})
	it := v.toItem(fence{"x"})
	if !strings.Contains(string(it.structuredJSON), `"content_id":"logo@x"}],"attachments_omitted":3,`) || !strings.Contains(it.text, ", 3 more attachments not recorded") {
		t.Errorf("%s\n%s", it.structuredJSON, it.text)
	}
}
