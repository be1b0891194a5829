package http

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
)

// bothSurfaces runs a test with an inbox key, on the agent surface and on the per-inbox surface.
func bothSurfaces(t *testing.T, test func(t *testing.T, w *world, address, calendar, key string)) {
	for _, surface := range []string{"/api/v1/inboxes/", "/api/inboxes/"} {
		t.Run(surface, func(t *testing.T) {
			w := start(t, withBase)
			w.signUp(alice)
			address := w.newInbox(alice, "own")
			test(t, w, address, surface+address+"/calendar", w.keyFor(alice, address, account.ScopeFull))
		})
	}
}

func withBase(o *Options) { o.BaseURL = "http://service.test" }

// TestAMeetingIsArranged follows the life of a meeting: each step is 202, with the meeting and the
// message about it.
func TestAMeetingIsArranged(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		made := w.expect(202, w.call(methodPost, calendar+"/events", key, `{"title":"Review","start":"2026-12-01T15:00","timezone":"Europe/Berlin","location":"Room 2",
			"attendees":["ann@far.test",{"email":"ben@far.test","name":"Ben","optional":true}],"message":"Come.","in_reply_to":"<a@b.test>"}`))
		for _, part := range []string{
			`{"ok":true,"event":{"id":1,`, `"start":"2026-12-01T14:00:00.000Z","end":"2026-12-01T14:30:00.000Z","all_day":false,"timezone":"Europe/Berlin"`,
			`{"email":"ben@far.test","name":"Ben","role":"opt-participant","status":"needs-action"}`,
			`"source":"outbound","sequence":0,"recurring":false,"my_status":null`, `"last_message_id":null,"responded_at":null},"message_id":1,"send_status":"queued"}`,
		} {
			if !strings.Contains(made.body, part) {
				t.Errorf("the answer lacks %s: %s", part, made.body)
			}
		}
		one := w.expect(200, w.call(methodGet, calendar+"/events/1", key, ""))
		bare := strings.TrimSuffix(strings.TrimPrefix(made.body, `{"ok":true,"event":`), `},"message_id":1,"send_status":"queued"}`) + `,"conflicts":[]}`
		if want := `{"event":` + bare + "," + bare[1:]; one.body != want {
			t.Errorf("read as %s\nwant %s", one.body, want)
		}
		moved := w.expect(202, w.call(methodPatch, calendar+"/events/1", key, `{"start":"2026-12-02T15:00:00Z"}`))
		if end := moved.object(t, "event", "end"); end != "2026-12-02T15:30:00.000Z" {
			t.Errorf("the length changed: %v", end)
		}
		same := w.expect(202, w.call(methodPatch, calendar+"/events/1", key, `{"title":"Review"}`))
		if same.object(t, "message_id") != nil || same.object(t, "event", "sequence") != moved.object(t, "event", "sequence") {
			t.Errorf("nothing changed, and yet: %s", same.body)
		}
		gone := w.expect(202, w.call(methodPost, calendar+"/events/1/cancel", key, ""))
		if gone.object(t, "event", "status") != "cancelled" {
			t.Error(gone.body)
		}
		if r := w.expect(400, w.call(methodPost, calendar+"/events/1/cancel", key, `{"message":"Again"}`)); r.detail() != "Meeting 1 is cancelled and can no longer be changed or answered" {
			t.Error(r.detail())
		}
	})
}

// TestMeetingsAreRemoved from lists and reads, with the response ok.
func TestMeetingsAreRemoved(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		w.diary.keep(address, organized(address, "Own", begin), invited(address, "Theirs", begin))
		if r := w.expect(200, w.call(methodDelete, calendar+"/events/2", key, "")); r.body != `{"ok":true}` {
			t.Error(r.body)
		}
		w.expect(404, w.call(methodGet, calendar+"/events/2", key, ""))
		w.expect(404, w.call(methodDelete, calendar+"/events/2", key, ""))
		if r := w.expect(200, w.call(methodGet, calendar+"/events?include_cancelled=true", key, "")); strings.TrimSpace(titles(t, r)) != "Own" {
			t.Error(r.body)
		}
	})
}

// TestCalendarRefusals pins the error messages of calendar calls (specification, Calendar).
func TestCalendarRefusals(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		w.diary.keep(address, organized(address, "Own", begin), invited(address, "Theirs", begin), invited("other@far.test", "Not ours", begin))
		plain := `"start":"2026-12-01T15:00:00Z","attendees":["ann@far.test"]`
		for _, c := range []struct {
			method, path, body string
			status             int
			detail             string
		}{
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z"}`, 422, "Invalid request: 'attendees' is required"},
			{methodPost, "/events", `{"title":"","` + plain[1:] + `}`, 422, "Invalid request: 'title' is empty"},
			{methodPost, "/events", `{"title":"a\nb","` + plain[1:] + `}`, 422, "Invalid request: 'title' contains a line break, which is not allowed in a header field"},
			{methodPost, "/events", `{"title":"` + strings.Repeat("é", 301) + `",` + plain + `}`, 422, "Invalid request: 'title' is too long (301 characters). The limit is 300 characters"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":[]}`, 422, "Invalid request: 'attendees' must have at least one entry"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":"ann@far.test"}`, 422, "Invalid request: 'attendees' must be an array of addresses, or of objects with an 'email'"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":["ann@far.test",7]}`, 422, "Invalid request: 'attendees[1]' must be an e-mail address, or an object with an 'email' member"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":[{"name":"Ann"}]}`, 422, "Invalid request: 'attendees[0].email' is required"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":[{"email":"ann@far.test","name":"A\nnn"}]}`, 422, "Invalid request: 'attendees[0].name' contains a line break, which is not allowed in a header field"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":[{"email":"ann@far.test","name":"` + strings.Repeat("n", 201) + `"}]}`, 422, "Invalid request: 'attendees[0].name' is too long (201 characters). The limit is 200 characters"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":[{"email":"ann@far.test","optional":"no"}]}`, 422, "Invalid request: 'attendees[0].optional' must be true or false"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":[{"email":"ann@far.test","email":"b@far.test"}]}`, 422, "Invalid request: 'attendees[0].email' is given twice"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":[{"email":"ann@far.test","phone":"1"}]}`, 422, "Invalid request: 'attendees[0].phone' is not a field of this request. Its fields are: attendees[0].email, attendees[0].name, attendees[0].optional"},
			{methodPost, "/events", `{"title":"a",` + plain + `,"in_reply_to":"nonsense"}`, 422, "Invalid request: 'in_reply_to' must be one Message-ID: <left@right> in ASCII, of at most 250 octets"},
			{methodPost, "/events", `{"title":"a",` + plain + `,"colour":"red"}`, 422, "Invalid request: 'colour' is not a field of this request. Its fields are: title, start, end, duration_minutes, timezone, all_day, location, description, attendees, message, in_reply_to"},
			{methodPost, "/events", `{"title":"a","start":"2026-12-01T15:00:00Z","attendees":["gone@far.test"]}`, 400, "Mail to gone@far.test came back"},
			{methodPatch, "/events/1", `{"in_reply_to":"<a@b.test>"}`, 422, "Invalid request: 'in_reply_to' is not a field of this request. Its fields are: title, start, end, duration_minutes, timezone, all_day, location, description, attendees, message"},
			{methodPatch, "/events/1", `{"message":"a\u0000b"}`, 422, "Invalid request: 'message' contains a NUL character, which cannot be stored"},
			{methodPatch, "/events/1", `{"attendees":["gone@far.test"]}`, 400, "Mail to gone@far.test came back"},
			{methodPatch, "/events/2", `{"title":"Mine now"}`, 403, "Meeting 2 was organized by boss@org.test, and only the organizer can change or cancel it. Answer it with rsvp"},
			{methodPost, "/events/2/cancel", ``, 403, "Meeting 2 was organized by boss@org.test, and only the organizer can change or cancel it. Answer it with rsvp"},
			{methodPost, "/events/1/rsvp", `{"response":"accepted"}`, 400, "Meeting 1 is organized by this inbox: change or cancel it instead of answering it"},
			{methodPost, "/events/3/rsvp", `{"response":"accepted"}`, 400, address + " is not among the attendees of meeting 3, so there is nothing to answer"},
			{methodPost, "/events/2/rsvp", `{"response":"maybe"}`, 422, "Invalid request: 'response' must be accepted, declined or tentative"},
			{methodPost, "/events/2/rsvp", ``, 422, "Invalid request: 'response' is required"},
			{methodPost, "/events/1/cancel", `{"comment":"x"}`, 422, "Invalid request: 'comment' is not a field of this request. Its fields are: message"},
			{methodGet, "/events/7", ``, 404, "Meeting 7 not found in inbox " + address},
			{methodGet, "/events/01", ``, 404, "Meeting 01 not found in inbox " + address},
			{methodPatch, "/events/7", `{}`, 404, "Meeting 7 not found in inbox " + address},
			{methodPost, "/events/7/rsvp", `{"response":"accepted"}`, 404, "Meeting 7 not found in inbox " + address},
			{methodPost, "/events/7/cancel", ``, 404, "Meeting 7 not found in inbox " + address},
			{methodDelete, "/events/7", ``, 404, "Meeting 7 not found in inbox " + address},
			{methodGet, "/events?limit=0", ``, 422, "Invalid request: 'limit' must be between 1 and 1000"},
			{methodGet, "/events?from=yesterday", ``, 422, "Invalid request: 'from' must be an ISO 8601 time with an offset, like 2026-11-22T09:30:00Z, or a date"},
			{methodGet, "/events?from=2026-12-02&to=2026-12-01", ``, 422, "Invalid request: 'to' must be after 'from'"},
			{methodGet, "/events?include_cancelled=yes", ``, 422, "Invalid request: 'include_cancelled' must be true or false"},
			{methodGet, "/freebusy?from=2026-12-01", ``, 422, "Invalid request: 'to' is required"},
			{methodGet, "/freebusy?from=2026-12-01&to=2027-03-04", ``, 422, "Invalid request: 'to' must be within 92 days of 'from'"},
			{methodPost, "/feed/rotate", `{"now":true}`, 422, "Invalid request: 'now' is not a field of this request, which has no fields"},
		} {
			r := w.call(c.method, calendar+c.path, key, c.body)
			if r.status != c.status || r.detail() != c.detail {
				t.Errorf("%s %s %s: %d %q, want %d %q", c.method, c.path, c.body, r.status, r.detail(), c.status, c.detail)
			}
		}
	})
}

// TestAnInvitationIsAnswered: the response shows in my_status and among the attendees.
func TestAnInvitationIsAnswered(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		w.diary.keep(address, invited(address, "Theirs", begin.Add(time.Hour)))
		r := w.expect(202, w.call(methodPost, calendar+"/events/1/rsvp", key, `{"response":"tentative","comment":"Perhaps."}`))
		if r.object(t, "event", "my_status") != "tentative" || !strings.Contains(r.body, `"role":"req-participant","status":"tentative"`) {
			t.Error(r.body)
		}
		r = w.expect(200, w.call(methodGet, calendar+"/freebusy?from=2026-11-21&to=2026-11-22", key, ""))
		if r.body != `{"busy":[{"start":"2026-11-21T13:00:00.000Z","end":"2026-11-21T14:00:00.000Z","event_id":1,"status":"tentative"}]}` {
			t.Error(r.body)
		}
	})
}

// TestARepeatedOrderIsDoneOnce: with an Idempotency-Key, separately for each meeting.
func TestARepeatedOrderIsDoneOnce(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		first := w.expect(202, w.call(methodPost, calendar+"/events", key, aMeeting, "Idempotency-Key", "k"))
		if again := w.expect(202, w.call(methodPost, calendar+"/events", key, aMeeting, "Idempotency-Key", "k")); again.body != first.body {
			t.Errorf("%s, at first %s", again.body, first.body)
		}
		w.expect(422, w.call(methodPost, calendar+"/events", key, strings.Replace(aMeeting, "Review", "Other", 1), "Idempotency-Key", "k"))
		w.diary.keep(address, invited(address, "b", begin), invited(address, "c", begin))
		for id := 2; id <= 3; id++ {
			r := w.expect(202, w.call(methodPost, fmt.Sprintf("%s/events/%d/rsvp", calendar, id), key, `{"response":"accepted"}`, "Idempotency-Key", "k"))
			if r.object(t, "event", "id") != float64(id) {
				t.Errorf("the answer to %d was taken for a repeat: %s", id, r.body)
			}
		}
		rotated := w.expect(200, w.call(methodPost, calendar+"/feed/rotate", key, "", "Idempotency-Key", "k"))
		if again := w.expect(200, w.call(methodPost, calendar+"/feed/rotate", key, "", "Idempotency-Key", "k")); again.body != rotated.body {
			t.Errorf("%s, at first %s", again.body, rotated.body)
		}
	})
}

// TestMeetingsArePaged: earliest first, and a page of long meetings ends early with the cursor
// after it.
func TestMeetingsArePaged(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		w.diary.keep(address, invited(address, "c", begin.Add(3*time.Hour)), invited(address, "a", begin.Add(time.Hour)), invited(address, "b", begin.Add(2*time.Hour)))
		if r := w.expect(200, w.call(methodGet, calendar+"/events?from=2026-11-21T12:30:00Z&to=2026-11-21T14:30:00Z", key, "")); titles(t, r) != "a b" || r.object(t, "next_cursor") != nil {
			t.Error(r.body)
		}
		seen, cursor := "", ""
		for range 3 {
			r := w.expect(200, w.call(methodGet, calendar+"/events?limit=1&cursor="+cursor, key, ""))
			seen += titles(t, r)
			cursor, _ = r.object(t, "next_cursor").(string)
		}
		if seen != "abc" || cursor != "" {
			t.Errorf("%q, then %q", seen, cursor)
		}
		if r := w.expect(422, w.call(methodGet, calendar+"/events?cursor=nonsense", key, "")); !strings.HasPrefix(r.detail(), "Invalid request: 'cursor' ") {
			t.Error(r.detail())
		}
	})
}

// TestAListIsOfNow: repeated lists show every change and every removal.
func TestAListIsOfNow(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		list := func() reply { return w.expect(200, w.call(methodGet, calendar+"/events", key, "")) }
		empty := list()
		w.diary.keep(address, invited(address, "a", begin))
		one := list()
		if again := list(); titles(t, empty) != "" || titles(t, one) != "a" || again.body != one.body {
			t.Errorf("%s, then %s, then %s", empty.body, one.body, again.body)
		}
		w.expect(202, w.call(methodPost, calendar+"/events", key, `{"title":"b","start":"2026-12-01T15:00:00Z","attendees":["ann@far.test"]}`))
		if r := list(); titles(t, r) != "a b" {
			t.Error(r.body)
		}
		w.expect(202, w.call(methodPatch, calendar+"/events/2", key, `{"title":"c"}`))
		if r := list(); titles(t, r) != "a c" {
			t.Error(r.body)
		}
		w.expect(202, w.call(methodPost, calendar+"/events/2/cancel", key, ""))
		if r := list(); titles(t, r) != "a" || titles(t, w.call(methodGet, calendar+"/events?include_cancelled=true", key, "")) != "a c" {
			t.Error(r.body)
		}
	})
}

func titles(t *testing.T, r reply) string {
	var list []string
	for _, e := range r.object(t, "events").([]any) {
		list = append(list, e.(map[string]any)["title"].(string))
	}
	return strings.Join(list, " ")
}

// TestDamagedMeetings: readable meetings are shown; the damaged ones are listed on the first page.
// Reading or changing a damaged one is an error with its own sentence.
func TestDamagedMeetings(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		w.diary.keep(address, organized(address, "a", begin), organized(address, "b", begin), organized(address, "c", begin))
		list := func(query string) reply { return w.expect(200, w.call(methodGet, calendar+"/events"+query, key, "")) }
		list("")
		w.diary.spoil(address, 2)
		for _, query := range []string{"", "?limit=1", "?from=2026-01-01&to=2026-01-02"} {
			if r := list(query); !strings.HasSuffix(r.body, `,"damaged":[2]}`) {
				t.Errorf("%s: %s", query, r.body)
			}
		}
		if r := list(""); titles(t, r) != "a c" {
			t.Error(r.body)
		}
		next, _ := list("?limit=1").object(t, "next_cursor").(string)
		if r := list("?cursor=" + next); titles(t, r) != "c" || strings.Contains(r.body, "damaged") {
			t.Error(r.body)
		}
		const sentence = "Meeting 2 in inbox own@inbox.test is damaged on the disk of this service and cannot be read"
		for _, c := range [][3]string{{methodGet, "", ""}, {methodPatch, "", `{"title":"x"}`}, {methodPost, "/cancel", ""}, {methodPost, "/rsvp", `{"response":"accepted"}`}} {
			if r := w.expect(500, w.call(c[0], calendar+"/events/2"+c[1], key, c[2])); r.detail() != sentence {
				t.Errorf("%v: %s", c, r.detail())
			}
		}
	})
}

func TestALargeListOfMeetingsEndsEarly(t *testing.T) {
	w := start(t)
	w.unbound = true // avoids validating megabytes
	w.signUp(alice)
	address := w.newInbox(alice, "own")
	var long []calendar.Meeting
	for i := range 600 {
		m := invited(address, fmt.Sprint(i), begin.Add(time.Duration(i)*time.Minute))
		m.Description = strings.Repeat("x", 20_000)
		long = append(long, m)
	}
	w.diary.keep(address, long...)
	key, events := w.key(alice, account.ScopeRead), "/api/v1/inboxes/"+address+"/calendar/events?limit=1000"
	first := w.expect(200, w.call(methodGet, events, key, ""))
	next, _ := first.object(t, "next_cursor").(string)
	if n := len(first.body); n < maxListBytes || n > maxListBytes+30_000 || next == "" {
		t.Fatalf("%d octets, then %q", n, next)
	}
	second := w.expect(200, w.call(methodGet, events+"&cursor="+next, key, ""))
	if all := strings.Fields(titles(t, first) + " " + titles(t, second)); len(all) != 600 || all[599] != "599" || second.object(t, "next_cursor") != nil {
		t.Errorf("%d in both", len(all))
	}
}

// TestAMailShowsWhatItSaid: calendar_event appears in lists, single reads and polls.
func TestAMailShowsWhatItSaid(t *testing.T) {
	w, address, key, _ := lone(t)
	theirs := invited(address, "Theirs", begin)
	theirs.ID, theirs.Recurrence = 4, &icalendar.Recurrence{Rule: "FREQ=WEEKLY"}
	mail := mailOf("From: boss@org.test\r\nSubject: Invitation\r\n\r\nhello\r\n", inbox.OTP{})
	mail.Content.Calendar = &calendar.MessageEvent{Meeting: theirs, Action: calendar.ActionCreated, Method: "REQUEST"}
	w.deliver(address, mail)
	for path, at := range map[string][]string{"/latest": {"email"}, "/messages/1": {"email"}, "/latest?fields=calendar_event": {"email"}} {
		r := w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+address+path, key, ""))
		event, _ := r.object(t, append(at, "calendar_event")...).(map[string]any)
		if event["action"] != "created" || event["event_id"] != 4. || event["title"] != "Theirs" || event["recurrence"] == nil {
			t.Errorf("%s: %v", path, event)
		}
	}
	if r := w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+address+"/messages", key, "")); !strings.Contains(r.body, `"action":"created","event_id":4,"method":"REQUEST","reason":null}`) {
		t.Error(r.body)
	}
	other := theirs
	other.ID, other.Title = 5, "Another"
	mail.Content.MoreCalendar = []*calendar.MessageEvent{{Meeting: other, Action: calendar.ActionCreated}}
	w.deliver(address, mail)
	r := w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+address+"/latest", key, ""))
	all, _ := r.object(t, "email", "calendar_events").([]any)
	if len(all) != 2 || all[0].(map[string]any)["title"] != "Theirs" || all[1].(map[string]any)["event_id"] != 5. || r.object(t, "email", "calendar_event", "title") != "Theirs" {
		t.Error(r.body)
	}
	w.deliver(address, inbox.Receive{})
	if r := w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+address+"/latest", key, "")); r.object(t, "email", "calendar_event") != nil || strings.Contains(r.body, "calendar_events") {
		t.Error(r.body)
	}
}

// TestMeetingsTakeATurn: requests that expand recurrence rules or render many meetings wait while a
// search has the only turn, so that polls find a free processor. A short list does not wait.
func TestMeetingsTakeATurn(t *testing.T) {
	w, address, key, _ := lone(t, withBase)
	recurring := invited(address, "Weekly", begin)
	recurring.Recurrence = &icalendar.Recurrence{Rule: "FREQ=WEEKLY"}
	all := []calendar.Meeting{recurring}
	for i := range quickMeetings {
		all = append(all, invited(address, fmt.Sprint(i), begin))
	}
	w.diary.keep(address, all...)
	events := "/api/v1/inboxes/" + address + "/calendar/"
	feed := strings.TrimPrefix(w.expect(200, w.call(methodGet, events+"feed", key, "")).object(t, "feed_url").(string), "http://service.test")
	free := sync.OnceFunc(w.takeTurns())
	defer free()
	w.expect(200, w.call(methodGet, events+"events?limit=20", key, ""))
	window := "?from=2026-11-01T00:00:00Z&to=2026-12-31T00:00:00Z"
	paths := []string{"events/1", "events" + window, "freebusy" + window, "events?limit=1000"}
	answers := make(chan reply, len(paths)+1)
	for _, path := range paths {
		go func() { answers <- w.call(methodGet, events+path, key, "") }()
	}
	go func() { answers <- w.call(methodGet, feed, "", "") }()
	select {
	case r := <-answers:
		t.Fatalf("answered while no turn was free: %d %s", r.status, r.body)
	case <-time.After(100 * time.Millisecond): // a slow machine can make this pass wrongly, but never fail wrongly
	}
	free()
	for range len(paths) + 1 {
		w.expect(200, <-answers)
	}
}
