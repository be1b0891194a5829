package webhook

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestDeliveriesOfEvents(t *testing.T) {
	id := account.ID{7}
	hooks := []account.Webhook{{ID: 1, URL: "https://a/", EventFilter: "*"}, {ID: 2, URL: "https://b/", EventFilter: MessageReceived, InboxFilter: "x@b.test"}, {ID: 3, EventFilter: AllCalendar}}
	events := []inbox.PublicEvent{
		{SequenceNumber: 1, EventName: MessageReceived, Account: id, Address: "x@b.test"},
		{SequenceNumber: 1, EventName: MessageReceived, Account: id, Address: "y@b.test"},
		{SequenceNumber: 2, EventName: CalendarCreated, Account: id, Address: "y@b.test"},
	}
	got := DeliveriesFor(id, 10, hooks, events, DefaultSchedule(), noon)
	want := [][3]int64{{10, 1, 0}, {11, 2, 0}, {12, 1, 1}, {13, 1, 2}, {14, 3, 2}}
	if len(got) != len(want) {
		t.Fatalf("%d deliveries, want %d", len(got), len(want))
	}
	for i, w := range want {
		d, e := got[i], events[w[2]]
		if d.ID != w[0] || d.Webhook != w[1] || d.EventID != EventID(&e) || string(d.Body) != string(Payload(e)) || d.Inbox != e.Address || !d.NextAt.Equal(noon) || d.State != StateRetrying {
			t.Errorf("delivery %d is %+v", i, d)
		}
	}
	if got[0].EventID != got[1].EventID || got[0].EventID == got[2].EventID || got[2].EventID == got[3].EventID {
		t.Error("an event has one id, and no two events have the same")
	}
}

// TestTheLifeOfADelivery lists the responses to each attempt, and the delivery's state afterwards.
func TestTheLifeOfADelivery(t *testing.T) {
	for story, want := range map[string]string{
		"200":                 "1 succeeded",
		"299":                 "1 succeeded",
		"500":                 "1 retrying 30s",
		"301":                 "1 retrying 30s",
		"none":                "1 retrying 30s",
		"500 204":             "2 succeeded",
		"500 500":             "2 retrying 5m0s",
		"500 500 200":         "3 succeeded",
		"500 none 500":        "3 failed",
		"500 none 500 again":  "3 retrying 0s",
		"200 again 500":       "2 retrying 30s",
		"200 again 500 0 404": "4 failed",
		"500 gone":            "1 failed",
	} {
		d := Delivery{At: noon, State: StateRetrying, NextAt: noon}
		for _, step := range strings.Fields(story) {
			switch step {
			case "again":
				d.RestartSchedule(noon)
			case "gone":
				d.Cancel(WebhookGone)
			default:
				status := map[string]int{"200": 200, "204": 204, "299": 299, "301": 301, "404": 404, "500": 500}[step]
				d.RecordAttempt("https://a/", DeliveryAttempt{At: noon.Add(-time.Second), ReceiverResponse: ReceiverResponse{Status: status, Duration: time.Second}}, DefaultSchedule())
			}
		}
		got := strings.TrimSpace(strings.Join([]string{string(rune('0' + d.AttemptCount)), d.State.WireName()}, " "))
		if !d.NextAt.IsZero() {
			got += " " + d.NextAt.Sub(noon).String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", story, got, want)
		}
		if (d.State == StateRetrying) == d.NextAt.IsZero() {
			t.Errorf("%s: %s, and next at %v", story, d.State.WireName(), d.NextAt)
		}
	}
}

func TestSamplesHaveTheShapeOfTheirEvent(t *testing.T) {
	for subscription, name := range map[string]string{
		AllEvents: MessageReceived, AllCalendar: CalendarCreated, MessageReceived: MessageReceived, MessageDelivered: MessageDelivered,
		MessageFailed: MessageFailed, MessageBounced: MessageBounced, CalendarCreated: CalendarCreated, CalendarUpdated: CalendarUpdated,
		CalendarCancelled: CalendarCancelled, CalendarResponded: CalendarResponded,
	} {
		var body map[string]any
		e := SampleEvent(subscription, "x@b.test", noon)
		if err := json.Unmarshal(Payload(e), &body); err != nil || e.EventName != name || body["event"] != name || body["inbox"] != "x@b.test" {
			t.Errorf("%s: %s, %v, %v", subscription, e.EventName, body, err)
		}
	}
}

// TestForget checks that a delivery whose message is deleted has the body that its event has then,
// and that forgetting it again changes nothing.
func TestForget(t *testing.T) {
	for name, e := range facts() {
		if name == "unknown" {
			continue
		}
		d := Delivery{Event: e.EventName, Inbox: e.Address, Body: Payload(e), MessageID: omittedMessageID(&e), LastAttempt: DeliveryAttempt{ReceiverResponse: ReceiverResponse{Status: 200, BodyExcerpt: "thanks for 482913"}}}
		d.PastAttempts = []StoredAttempt{{}, {DeliveryAttempt: d.LastAttempt}}
		if id, gone := d.AboutMessage(); id != e.MessageID || gone != e.MessageDeleted {
			t.Errorf("%s: about %d, gone %v", name, id, gone)
		}
		e.RedactDeleted()
		for range 2 {
			if d.RedactDeleted(); string(d.Body) != string(Payload(e)) || d.StoresResponse() {
				t.Errorf("%s:\n got %s %q\nwant %s", name, d.Body, d.LastAttempt.BodyExcerpt, Payload(e))
			}
		}
	}
	d := Delivery{Event: "x", Inbox: "a@x", Body: []byte(`{"from":"secret`)}
	if d.RedactDeleted(); string(d.Body) != `{"event":"x","inbox":"a@x","gone":true}` {
		t.Errorf("of a damaged body %s is left", d.Body)
	}
}
