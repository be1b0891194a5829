package client

import (
	"strings"
	"testing"
	"time"
)

// TestCalendarCallsAreWellFormed checks method, path, body and idempotency key of each call.
func TestCalendarCallsAreWellFormed(t *testing.T) {
	start, none := "2026-12-02T15:00", ""
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		want string
		call func(*Client) error
	}{
		{`POST /events named {"title":"Review","start":"2026-12-01T15:00","timezone":"Europe/Berlin","attendees":[{"email":"ann@far.test"},{"email":"ben@far.test","name":"Ben","optional":true}]}`, func(c *Client) error {
			_, err := c.Calendar("a@b.test").Schedule(t.Context(), MeetingOrder{Title: "Review", Start: "2026-12-01T15:00", Timezone: "Europe/Berlin",
				Attendees: []Guest{{Email: "ann@far.test"}, {"ben@far.test", "Ben", true}}, IdempotencyKey: "named"})
			return err
		}},
		{`PATCH /events/3  {"start":"2026-12-02T15:00","location":""}`, func(c *Client) error {
			_, err := c.Calendar("a@b.test").Update(t.Context(), 3, MeetingChange{Start: &start, Location: &none})
			return err
		}},
		{`POST /events/3/cancel named {"message":"Sorry."}`, func(c *Client) error {
			_, err := c.Calendar("a@b.test").Cancel(t.Context(), 3, "Sorry.", "named")
			return err
		}},
		{`POST /events/3/rsvp  {"response":"accepted"}`, func(c *Client) error {
			_, err := c.Calendar("a@b.test").Answer(t.Context(), 3, "accepted", "", "")
			return err
		}},
		{`GET /freebusy?from=2026-12-01T00%3A00%3A00Z&to=2026-12-02T00%3A00%3A00Z  `, func(c *Client) error {
			_, err := c.Calendar("a@b.test").FreeBusy(t.Context(), at, at.AddDate(0, 0, 1))
			return err
		}},
		{`GET /feed  `, func(c *Client) error { _, err := c.Calendar("a@b.test").Feed(t.Context()); return err }},
		{`POST /feed/rotate named `, func(c *Client) error {
			_, err := c.Calendar("a@b.test").RotateFeed(t.Context(), "named")
			return err
		}},
		{`DELETE /events/3  `, func(c *Client) error { return c.Calendar("a@b.test").Remove(t.Context(), 3) }},
		{`DELETE /feed  `, func(c *Client) error { return c.Calendar("a@b.test").HideFeed(t.Context()) }},
		{`GET /owner  `, func(c *Client) error { _, err := c.Calendar("a@b.test").OwnerCopies(t.Context()); return err }},
		{`PUT /owner  {"enabled":true}`, func(c *Client) error { _, err := c.Calendar("a@b.test").SetOwnerCopies(t.Context(), true); return err }},
	} {
		client, got := scripted(t, 200, nil, `{"event":{},"busy":[],"feed_url":"","enabled":false}`)
		err := c.call(client)
		path, ok := strings.CutPrefix(got.RequestURI, "/api/v1/inboxes/a@b.test/calendar")
		if said := strings.Join([]string{got.Method, path, got.Header.Get("Idempotency-Key"), got.Form.Get("body")}, " "); said != c.want || !ok || err != nil {
			t.Errorf("%s, want %s (%v)", said, c.want, err)
		}
	}
}

const dated = `{"id":3,"title":"Fair","start":"2026-12-01","end":"2026-12-03","all_day":true,"timezone":null,"organizer":null,
	"attendees":[{"email":"ann@far.test","name":null,"role":"opt-participant","status":"declined"}],"my_status":null,
	"recurrence":{"rrule":null,"exdates":[],"rdates":["2027-01-01"],"overrides":[{"recurrence_id":"2027-01-01","start":"2027-01-02","end":"2027-01-03","title":"Fair","location":"","status":"cancelled"}]}}`

// TestMeetingsAreRead: dates, nulls, and a list with several pages.
func TestMeetingsAreRead(t *testing.T) {
	c, got := scripted(t, 200, nil, `{"events":[`+dated+`],"next_cursor":null}`)
	n := 0
	for m, err := range c.Calendar("a@b.test").Meetings(t.Context(), MeetingQuery{From: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Cancelled: true}) {
		n++
		day := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
		if err != nil || !m.Start.Equal(day) || !m.AllDay || m.Timezone != "" || m.Organizer != nil || m.Attendees[0].Status != "declined" || m.Attendees[0].Email != "ann@far.test" || len(m.Recurrence.Overrides) != 1 {
			t.Errorf("%+v %v", m, err)
		}
	}
	if n != 1 || got.URL.Query().Get("include_cancelled") != "true" || got.URL.Query().Get("from") != "2026-12-01T00:00:00Z" || got.URL.Query().Get("limit") != "1000" {
		t.Errorf("%d, %v", n, got.URL)
	}
	c, _ = scripted(t, 200, nil, `{"email":{"id":1,"calendar_event":`+strings.TrimSuffix(dated, "}")+`,"action":"updated","event_id":3}}}`)
	m, err := c.Message(t.Context(), "a@b.test", 1)
	if err != nil || m.CalendarEvent.Action != "updated" || *m.CalendarEvent.EventID != 3 || m.CalendarEvent.Title != "Fair" {
		t.Errorf("%+v %v", m, err)
	}
	c, _ = scripted(t, 200, nil, `{"events":[{"event":"calendar.attendee.responded","calendar_event":`+dated+`,"attendee":{"email":"ann@far.test","name":null,"status":"declined"}}],"next":"n"}`)
	page, err := c.Events(t.Context(), EventQuery{})
	if err != nil || page.Events[0].Meeting.ID != 3 || page.Events[0].Attendee.Status != "declined" {
		t.Errorf("%+v %v", page, err)
	}
}
