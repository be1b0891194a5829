package toolserver

import (
	"encoding/json"
	"strings"
	"testing"

	"inboxd/http/client"
)

// TestMeetingsSayWhatToMind: warnings about a meeting are outside of the fence, and the link to
// join it is inside.
func TestMeetingsSayWhatToMind(t *testing.T) {
	for _, row := range []struct{ event, heading, text string }{
		{`{"id":1,"source":"inbound","organizer_verified":true,"transparency":"opaque","join_url":null}`, "event_id 1,  to , \n", ""},
		{`{"id":1,"source":"inbound","organizer_verified":false}`, ", organizer not verified\n", ""},
		{`{"id":1,"source":"outbound","organizer_verified":true,"timezone_unknown":true,"transparency":"transparent"}`,
			", organized by this inbox, time zone unknown, check the time, shown as free\n", ""},
		{`{"id":1,"organizer_verified":true,"join_url":"https://meet.test/1"}`, "event_id 1", "Join: https://meet.test/1\n"},
	} {
		var m meetingView
		if err := json.Unmarshal([]byte(row.event), &m); err != nil {
			t.Fatal(err)
		}
		if got := eventHeading(m); !strings.Contains(got, row.heading) {
			t.Errorf("%s: %q", row.event, got)
		}
		if got := meetingText(json.RawMessage(row.event)); !strings.Contains(got, row.text) {
			t.Errorf("%s: %q", row.event, got)
		}
	}
}

// TestSeveralMeetingsOfAMessage: all of them are returned, as many as fit.
func TestSeveralMeetingsOfAMessage(t *testing.T) {
	one := json.RawMessage(`{"id":1,"event_id":1,"action":"created","title":"Leg","join_url":"https://meet.test/1"}`)
	m := apiMessage{Message: client.Message{ID: 7}, CalendarEvent: one}
	for range 12 {
		m.CalendarEvents = append(m.CalendarEvents, one)
	}
	v := newMessageView(&m)
	if n := strings.Count(v.outsideText(), "Meeting (event_id 1, created): Leg"); n != maxMeetings || len(v.CalendarEvents) != maxMeetings {
		t.Errorf("%d meetings in the text, %d in the content", n, len(v.CalendarEvents))
	}
	if !strings.Contains(v.ownHeading(), "the meetings (12 in all)") || !strings.Contains(v.outsideText(), "Join: https://meet.test/1") {
		t.Errorf("%s%s", v.ownHeading(), v.outsideText())
	}
	m.CalendarEvents = nil
	if v := newMessageView(&m); strings.Count(v.outsideText(), "Meeting (") != 1 || v.CalendarEvents != nil {
		t.Errorf("%s", v.outsideText())
	}
}
