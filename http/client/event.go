package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// Event is what a webhook is told of something that happened. Which fields are set depends
// on Name; all of them are in Raw, those of later versions of the service too.
type Event struct {
	Name       string    `json:"event"` // message.received, message.delivered, ...
	Inbox      string    `json:"inbox"`
	From       string    `json:"from"`
	ReceivedAt time.Time `json:"received_at"`
	Subject    string    `json:"subject"`
	OTP        string    `json:"otp"` // empty: none
	Encrypted  bool      `json:"encrypted"`
	MessageID  int64     `json:"message_id"`
	To         []string  `json:"to"`
	SendStatus string    `json:"send_status"`
	SendError  string    `json:"send_error"`
	At         time.Time `json:"at"`
	// Recipients says of each what became of it: of message.delivered and message.failed.
	Recipients []Recipient `json:"recipients"`
	// Meeting is what the mail of a calendar event made of it, Attendee who answered.
	Meeting  *Meeting  `json:"calendar_event"`
	Attendee *Attendee `json:"attendee"`

	Raw json.RawMessage `json:"-"`
	// Cursor is where to go on after this event, kept by who must miss none. Of a stream it
	// is exact; of a poll it may stand before other events of the same answer, which then
	// come again.
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

// Now is the cursor of the present: only what happens from now on.
const Now = "now"

// EventQuery says which events; its zero value is the oldest 100 that are kept, of all
// inboxes that the credential reaches.
type EventQuery struct {
	Inbox string        // only of this one; with a tag only of mail to that tag
	To    string        // only of mail that came to this envelope recipient
	After string        // a cursor, or Now; empty: from the oldest that is kept
	Wait  time.Duration // up to 60 s, in whole seconds: wait for an event
	Limit int           // at most 500; 0: 100
}

func (q EventQuery) path() string {
	if q.Inbox == "" {
		return "/api/v1/events"
	}
	return inboxPath(q.Inbox, "events")
}

func (q EventQuery) values() url.Values {
	v := url.Values{}
	set(v, "to", q.To)
	set(v, "after", q.After)
	if q.Wait > 0 {
		v.Set("wait", strconv.Itoa(int(q.Wait.Seconds())))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// EventPage is the answer of one poll.
type EventPage struct {
	Events []Event `json:"events"`   // oldest first; may be empty although Next moved
	Next   string  `json:"next"`     // the cursor to go on from
	More   bool    `json:"has_more"` // the page ended at a bound: others may follow at once
	Gap    bool    `json:"gap"`      // events behind the given cursor are no longer kept
}

// Events returns what happened behind a cursor: at once, or by a long poll.
func (c *Client) Events(ctx context.Context, q EventQuery) (EventPage, error) {
	page, err := fetch[EventPage](ctx, c, call{method: "GET", path: q.path(), query: q.values(), member: "next"})
	for i := range page.Events {
		page.Events[i].Cursor = q.After
		if i == len(page.Events)-1 {
			page.Events[i].Cursor = page.Next
		}
	}
	return page, err
}

// PollEvents goes through events as they come, by long polls one after another: for where
// no connection may stay open for long. It ends after an error; the end of ctx is one.
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
