package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// Event is an event as webhooks receive it. Name determines which fields are set. Raw has all
// fields, including those that later versions of the service add.
type Event struct {
	Name       string    `json:"event"` // message.received, message.delivered, ...
	Inbox      string    `json:"inbox"`
	From       string    `json:"from"`
	ReceivedAt time.Time `json:"received_at"`
	Subject    string    `json:"subject"`
	OTP        string    `json:"otp"` // empty: no code
	Encrypted  bool      `json:"encrypted"`
	MessageID  int64     `json:"message_id"`
	To         []string  `json:"to"`
	SendStatus string    `json:"send_status"`
	SendError  string    `json:"send_error"`
	At         time.Time `json:"at"`
	// Recipients holds the status of each recipient, in message.delivered and message.failed.
	Recipients []Recipient `json:"recipients"`
	// Meeting is the meeting after a calendar event; Attendee is the guest who responded.
	Meeting  *Meeting  `json:"calendar_event"`
	Attendee *Attendee `json:"attendee"`

	Raw json.RawMessage `json:"-"`
	// Cursor is the position after this event. Store it to resume without missing events. In a
	// stream it is exact. In a poll it may be the position before other events of the same
	// response, which are then returned again.
	Cursor string `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Event) UnmarshalJSON(b []byte) error {
	type fields Event
	if err := json.Unmarshal(b, (*fields)(e)); err != nil {
		return err
	}
	e.Raw = append(json.RawMessage(nil), b...)
	return nil
}

// Now is the cursor for the current position: only events from now on.
const Now = "now"

// EventQuery selects events. The zero value selects the oldest 100 that are kept, of all inboxes
// that the credential can access.
type EventQuery struct {
	Inbox string        // only events of this inbox; with a tag, only of messages to that tag
	To    string        // only of messages to this envelope recipient
	After string        // a cursor, or Now; empty: from the oldest event kept
	Wait  time.Duration // up to 60 s, in whole seconds: wait for an event
	Limit int           // at most 500; 0: 100
}

func (q EventQuery) buildPath() string {
	if q.Inbox == "" {
		return "/api/v1/events"
	}
	return inboxPath(q.Inbox, "events")
}

func (q EventQuery) queryValues() url.Values {
	v := url.Values{}
	setValue(v, "to", q.To)
	setValue(v, "after", q.After)
	if q.Wait > 0 {
		v.Set("wait", strconv.Itoa(int(q.Wait.Seconds())))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// EventPage is the response to one poll.
type EventPage struct {
	Events []Event `json:"events"`   // oldest first; may be empty although Next has changed
	Next   string  `json:"next"`     // the cursor to continue from
	More   bool    `json:"has_more"` // the page is full; more events may be available
	Gap    bool    `json:"gap"`      // events after the given cursor are no longer kept
}

// Events returns the events after a cursor: immediately, or by a long poll.
func (c *Client) Events(ctx context.Context, q EventQuery) (EventPage, error) {
	page, err := fetchJSON[EventPage](ctx, c, apiCall{method: "GET", path: q.buildPath(), queryValues: q.queryValues(), requiredMember: "next"})
	for i := range page.Events {
		page.Events[i].Cursor = q.After
		if i == len(page.Events)-1 {
			page.Events[i].Cursor = page.Next
		}
	}
	return page, err
}

// PollEvents iterates over events as they happen, by successive long polls, for networks where no
// connection may stay open for long. It ends after an error, such as the end of ctx.
func (c *Client) PollEvents(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	q.Wait = longestWait
	return func(yield func(Event, error) bool) {
		for q := q; ; {
			page, err := c.Events(ctx, q)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			q.After = page.Next
		}
	}
}
