package http

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// lanes is lone with messages 1 to +a, 2 to +b, 3 to +a and 4 to the inbox itself, a minute apart.
func lanes(t testing.TB) (w *world, address, key string) {
	w, address, key, _ = lone(t)
	for _, tag := range []string{"+a", "+b", "+a", ""} {
		to := strings.Replace(address, "@", tag+"@", 1)
		w.deliver(address, inbox.Receive{Subject: "to " + tag, EnvelopeTo: to, Content: &inbox.Content{OTP: inbox.OTP{Code: "111" + fmt.Sprint(len(tag))}}})
		w.advance(time.Minute)
	}
	return w, address, key
}

func inboxAt(address, tag string) string {
	return "/api/v1/inboxes/" + strings.Replace(address, "@", tag+"@", 1)
}

// ids returns the ids of a list, or of a latest message.
func (r reply) ids(t testing.TB) []int64 {
	t.Helper()
	var got struct {
		Emails []struct{ ID int64 }
		Email  *struct{ ID int64 }
	}
	r.into(t, &got)
	out := []int64{}
	for _, e := range got.Emails {
		out = append(out, e.ID)
	}
	if got.Email != nil {
		out = append(out, got.Email.ID)
	}
	return out
}

func TestTagsAndTimesNarrowReads(t *testing.T) {
	w, address, key := lanes(t)
	third := w.expect(200, w.call(methodGet, inboxAt(address, "")+"/messages/3", key, "")).object(t, "email", "received_at").(string)
	at, _ := time.Parse(time.RFC3339, third)
	to := func(tag string) string { return "to=" + url.QueryEscape(strings.Replace(address, "@", tag+"@", 1)) }
	typed := func(tag string) string { return "to=" + strings.Replace(address, "@", tag+"@", 1) }
	for _, c := range []struct {
		tag, call string
		want      []int64
	}{
		{"", "/latest", []int64{4}}, {"+a", "/latest", []int64{3}}, {"+A", "/latest", []int64{3}}, {"+b", "/latest", []int64{2}},
		{"+none", "/latest", nil}, {"", "/latest?" + to(""), []int64{4}}, {"", "/latest?" + to("+b"), []int64{2}}, {"", "/latest?" + to("+B"), []int64{2}},
		{"+a", "/latest?" + to("+b"), nil}, {"+a", "/latest?" + to("+a"), []int64{3}}, {"", "/latest?to=nonsense", nil},
		{"+a", "/latest?after=3", nil}, {"+a", "/latest?after=1", []int64{3}}, {"", "/latest?after=now", nil},
		{"+a", "/messages", []int64{3, 1}}, {"", "/messages?" + to("+a"), []int64{3, 1}}, {"", "/messages", []int64{4, 3, 2, 1}}, {"+a", "/messages?limit=1", []int64{3}},
		{"+a", "/messages?direction=all&q=to", []int64{3, 1}}, {"+c", "/messages", nil},
		{"", "/latest?" + typed("+b"), []int64{2}}, {"+b", "/latest?" + typed("+B"), []int64{2}}, {"+a", "/latest?" + typed("+b"), nil},
		{"", "/messages?" + typed("+a"), []int64{3, 1}}, {"", "/messages?limit=1.0&" + typed("+a"), []int64{3}}, {"", "/latest?wait=1.0&" + typed("+a"), []int64{3}},
		{"", "/messages?" + typed("+a+b"), nil}, {"", "/messages?" + typed("%20b"), []int64{2}},
		{"", "/messages?since=" + third, []int64{4, 3}}, {"+a", "/messages?since=" + third, []int64{3}},
		{"", "/messages?since=" + at.Add(time.Millisecond).Format(time.RFC3339Nano), []int64{4}},
		{"", "/messages?since=" + at.In(time.FixedZone("", 5400)).Format(time.RFC3339), []int64{4, 3}}, // its plus is not escaped
		{"", "/messages?since=" + at.Format(time.DateOnly), []int64{4, 3, 2, 1}}, {"", "/messages?since=" + at.Add(24*time.Hour).Format(time.DateOnly), nil},
		{"+a", "/latest?since=" + at.Add(time.Second).Format(time.RFC3339), nil}, {"", "/latest?since=" + third, []int64{4}},
		{"+b", "/messages/3", []int64{3}}, {"+B", "/messages/4", []int64{4}},
	} {
		for range 2 { // rendered, then cached
			r := w.expect(200, w.call(methodGet, inboxAt(address, c.tag)+c.call, key, ""))
			if got := r.ids(t); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("%s %s: %v, want %v", c.tag, c.call, got, c.want)
			}
		}
	}
	for _, call := range []string{"/latest?since=yesterday", "/messages?since=2026-11-22T10:00:00"} {
		r := w.expect(422, w.call(methodGet, inboxAt(address, "")+call, key, ""))
		if r.detail() != "Invalid request: 'since' must be an ISO 8601 time with an offset, like 2026-11-22T09:30:00Z, or a date" {
			t.Error(r.detail())
		}
	}
}

// TestTheWireAnswersTags: after the first rendering, a plain poll of a tag reads neither the inbox
// nor the content. It never returns another tag's message, whichever poll came before.
func TestTheWireAnswersTags(t *testing.T) {
	w, address, key := lanes(t)
	poll := func(tag string) string {
		return "GET " + inboxAt(address, tag) + "/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n\r\n"
	}
	s := w.speak(t)
	want := map[string]string{"": `"id":4`, "+a": `"id":3`, "+b": `"id":2`, "+none": `{"email":null}`}
	for range 3 {
		for tag, part := range want {
			if resp, body := s.ask(poll(tag)); resp.StatusCode != 200 || !strings.Contains(body, part) {
				t.Fatalf("%q: %d %s", tag, resp.StatusCode, body)
			}
		}
	}
	reads := w.inboxes.reads
	for tag := range want {
		s.ask(poll(tag))
	}
	if w.inboxes.reads != reads {
		t.Errorf("%d reads for answers that are kept", w.inboxes.reads-reads)
	}
	id := w.deliver(address, inbox.Receive{Subject: "new", EnvelopeTo: strings.Replace(address, "@", "+b@", 1)})
	want["+b"], want[""] = fmt.Sprintf(`"id":%d`, id), fmt.Sprintf(`"id":%d`, id)
	for tag, part := range want {
		if _, body := s.ask(poll(tag)); !strings.Contains(body, part) {
			t.Errorf("%q after a mail to +b: %s", tag, body)
		}
	}
	w.advance(25 * time.Hour)
	for tag := range want {
		if _, body := s.ask(poll(tag)); body != `{"email":null}` {
			t.Errorf("%q after its mail's time: %s", tag, body)
		}
	}
	if w.accounts.DeleteInbox(context.Background(), w.idOf(alice), address); true {
		for tag := range want {
			if resp, body := s.ask(poll(tag)); resp.StatusCode != 403 {
				t.Errorf("%q of an inbox that is gone: %s", tag, body)
			}
		}
	}
}

// TestAMessageToSeveralTags is one message that each of them shows, and it ends the waits of each.
func TestAMessageToSeveralTags(t *testing.T) {
	w, address, key := lanes(t)
	s := w.speak(t)
	tagged := func(tag string) string { return strings.Replace(address, "@", tag+"@", 1) }
	poll := func(tag string) string {
		return "GET " + inboxAt(address, tag) + "/latest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n\r\n"
	}
	for _, tag := range []string{"", "+a", "+b", "+c", "+d"} {
		s.ask(poll(tag)) // so that there are cached responses
	}
	waits := map[string]<-chan reply{}
	for _, tag := range []string{"+c", "+d"} {
		waits[tag] = w.waiting(inboxAt(address, tag)+"/latest?wait=60&after=now", key)
	}
	events := w.waiting(inboxAt(address, "+d")+"/events?wait=60&after=now", key)
	w.awaitWaiters(3)
	named := []string{tagged("+c"), tagged("+d"), address}
	id := w.deliver(address, inbox.Receive{Subject: "for three", EnvelopeTo: named[0], NamedRecipients: named, Content: &inbox.Content{}})
	for tag, got := range waits {
		if subject := w.answer(got).object(t, "email", "subject"); subject != "for three" {
			t.Errorf("%s woke for %v", tag, subject)
		}
	}
	var h happened
	w.answer(events).into(t, &h)
	if !slices.Equal(h.subjects(), []string{"for three"}) {
		t.Errorf("events of +d: %v", h.subjects())
	}
	want := fmt.Sprintf(`"envelope_to":%q,"envelope_recipients":[%q,%q,%q]`, named[0], named[0], named[1], named[2])
	for tag, list := range map[string][]int64{"": {id, 4, 3, 2, 1}, "+a": {3, 1}, "+b": {2}, "+c": {id}, "+d": {id}} {
		if got := w.expect(200, w.call(methodGet, inboxAt(address, tag)+"/messages", key, "")).ids(t); !slices.Equal(got, list) {
			t.Errorf("%q lists %v", tag, got)
		}
		for range 2 { // rendered, then cached
			_, body := s.ask(poll(tag))
			if shown := strings.Contains(body, want); shown != (list[0] == id) || !strings.Contains(body, fmt.Sprintf(`"id":%d,`, list[0])) {
				t.Errorf("%q polls %s", tag, body)
			}
		}
	}
	to := "/messages?to=" + url.QueryEscape(address)
	if got := w.expect(200, w.call(methodGet, inboxAt(address, "")+to, key, "")).ids(t); !slices.Equal(got, []int64{id, 4}) {
		t.Errorf("%s: %v", to, got)
	}
	if got := w.expect(200, w.call(methodGet, inboxAt(address, "+d")+"/messages?unread=true", key, "")).ids(t); !slices.Equal(got, []int64{id}) {
		t.Errorf("unread of +d: %v", got)
	}
	w.expect(200, w.call("POST", fmt.Sprintf("%s/messages/%d/read", inboxAt(address, "+c"), id), key, ""))
	for _, tag := range []string{"+c", "+d"} {
		if _, body := s.ask(poll(tag)); !strings.Contains(body, `"is_read":true`) {
			t.Errorf("%s after a read: %s", tag, body)
		}
	}
}

// TestAWaitOnATagWakesForItsMail only.
func TestAWaitOnATagWakesForItsMail(t *testing.T) {
	w, address, key := lanes(t)
	got := w.waiting(inboxAt(address, "+c")+"/latest?wait=60", key)
	now := w.waiting(inboxAt(address, "+a")+"/latest?wait=60&after=now", key)
	events := w.waiting(inboxAt(address, "+c")+"/events?wait=60&after=now", key)
	w.awaitWaiters(3)
	for _, tag := range []string{"+b", "+c", "+a"} {
		w.deliver(address, inbox.Receive{Subject: "for " + tag, EnvelopeTo: strings.Replace(address, "@", tag+"@", 1)})
	}
	for name, answer := range map[string]reply{"+c": w.answer(got), "+a": w.answer(now)} {
		if subject := answer.object(t, "email", "subject"); subject != "for "+name {
			t.Errorf("%s woke for %v", name, subject)
		}
	}
	var h happened
	w.answer(events).into(t, &h)
	if !slices.Equal(h.subjects(), []string{"for +c"}) {
		t.Errorf("events of +c: %v", h.subjects())
	}
}

func TestTagsNarrowEvents(t *testing.T) {
	w, address, key := lanes(t)
	for path, want := range map[string][]string{
		inboxAt(address, "+a") + "/events": {"to +a", "to +a"}, inboxAt(address, "+none") + "/events": nil,
		inboxAt(address, "") + "/events": {"to +a", "to +b", "to +a", "to "},
	} {
		if h := w.events(path, key, ""); !slices.Equal(h.subjects(), want) {
			t.Errorf("%s: %v", path, h.subjects())
		}
	}
	to := "to=" + url.QueryEscape(strings.Replace(address, "@", "+B@", 1))
	for _, path := range []string{eventsPath, inboxAt(address, "") + "/events"} {
		if h := w.events(path, key, to); !slices.Equal(h.subjects(), []string{"to +b"}) {
			t.Errorf("%s %s: %v", path, to, h.subjects())
		}
	}
}

// TestAWaitWithATagOfTheAnswer (an ETag) waits until the response differs.
func TestAWaitWithATagOfTheAnswer(t *testing.T) {
	w, address, key := lanes(t)
	latest := inboxAt(address, "+a") + "/latest"
	etag := w.expect(200, w.call(methodGet, latest, key, "")).header.Get("ETag")
	same := w.expect(304, w.call(methodGet, latest+"?wait=1", key, "", "If-None-Match", etag))
	if same.header.Get("ETag") != etag || same.body != "" {
		t.Errorf("%v %s", same.header, same.body)
	}
	w.expect(200, w.call(methodGet, latest+"?wait=60", key, "", "If-None-Match", `"0"`))
	for name, c := range map[string]struct {
		tag, known string
		change     inbox.Command
		want       string
	}{
		"read":    {"+a", etag, inbox.MarkRead{ID: 3, Read: true}, `"3-read"`},
		"deleted": {"+b", `"2-new"`, inbox.DeleteMessage{ID: 2}, `"0"`},
		"came":    {"+new", `"0"`, inbox.Receive{Subject: "x", EnvelopeTo: strings.Replace(address, "@", "+new@", 1), Content: &inbox.Content{}}, `"5-new"`},
	} {
		got := make(chan reply, 1)
		go func() {
			r, _ := w.try(methodGet, inboxAt(address, c.tag)+"/latest?wait=60", key, "", "If-None-Match", c.known)
			got <- r
		}()
		w.awaitWaiters(1)
		w.deliver(address, inbox.Receive{Subject: "of others"})
		w.inboxes.Do(context.Background(), address, c.change)
		if r := w.answer(got); r.status != 200 || r.header.Get("ETag") != c.want && name != "came" {
			t.Errorf("%s: %d %s", name, r.status, r.header.Get("ETag"))
		}
	}
}

// TestPlusInQueries: an unescaped + is the plus of an address, in each parameter that accepts one.
func TestPlusInQueries(t *testing.T) {
	w, address, key := lanes(t)
	id := w.deliver(address, inbox.Receive{From: message.Mailbox{Email: "news+box@shop.test", Name: "Ann Lee"}, Subject: "from a tag"})
	to := "to=" + strings.Replace(address, "@", "+a@", 1)
	for call, want := range map[string][]int64{
		"/api/v1/messages?" + to:                                       {3, 1},
		"/api/v1/messages?limit=1.000&" + to:                           {3},
		"/api/v1/messages?from=news+box@shop.test":                     {id},
		"/api/v1/messages?from=News+Box":                               {id},
		"/api/v1/messages?from=news%2Bbox@shop.test":                   {id},
		"/api/v1/messages?from=Ann+Lee":                                {}, // a name is not an address
		"/api/v1/messages?from=news+box@other.test":                    {},
		inboxAt(address, "") + "/latest?from=news+box@shop.test":       {id},
		inboxAt(address, "") + "/latest?from=news+bo@shop.test&wait=0": {},
	} {
		if got := w.expect(200, w.call(methodGet, call, key, "")).ids(t); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", call, got, want)
		}
	}
	events := w.events("/api/v1/events", key, to)
	if len(events.Events) != 2 {
		t.Errorf("%d events of a tag", len(events.Events))
	}
	w.accounts.suppressed[w.idOf(alice)] = []account.Suppression{{Email: "a!b@far.test", Inbox: address, At: begin}, {Email: "a+b@far.test", Inbox: address, At: begin}, {Email: "a-b@far.test", Inbox: address, At: begin}}
	r := w.expect(200, w.call(methodGet, "/api/v1/suppressions?cursor=a+b@far.test", w.key(alice, account.ScopeSend), ""))
	if strings.Contains(r.body, "a+b@") || !strings.Contains(r.body, "a-b@") {
		t.Errorf("behind a cursor: %s", r.body)
	}
}
