package toolserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"inboxd/http/client"
)

// maxEvent limits one meeting in a result, in bytes.
const maxEvent = 8 << 10

// meeting holds the fields of a meeting that are shown as text.
type meeting struct {
	ID        int64  `json:"id"`
	EventID   *int64 `json:"event_id"`
	Action    string `json:"action"`
	Title     string `json:"title"`
	Start     string `json:"start"`
	End       string `json:"end"`
	AllDay    bool   `json:"all_day"`
	Location  string `json:"location"`
	Status    string `json:"status"`
	Source    string `json:"source"`
	MyStatus  string `json:"my_status"`
	Recurring bool   `json:"recurring"`

	ZoneUnknown  bool   `json:"timezone_unknown"`
	Verified     bool   `json:"organizer_verified"`
	Transparency string `json:"transparency"`
	JoinURL      string `json:"join_url"`

	Organizer *struct {
		Email string `json:"email"`
	} `json:"organizer"`
	Attendees []struct {
		Email  string `json:"email"`
		Status string `json:"status"`
	} `json:"attendees"`

	hidden bool // invisible characters were removed
}

func (c *call) calendarPath(rest ...string) string {
	return client.InboxPath(c.address(), append([]string{"calendar"}, rest...)...)
}

func (c *call) eventPath(rest ...string) string {
	return c.calendarPath(append([]string{"events", fmt.Sprint(c.args.number("event_id"))}, rest...)...)
}

func (c *call) listEvents() (answer, error) {
	q := url.Values{"limit": {maxListed}, "include_cancelled": {fmt.Sprint(c.args.flag("include_cancelled"))}}
	b, err := c.api.Do(c.ctx, client.Request{Method: "GET", Path: c.calendarPath("events"), Query: q})
	if err != nil {
		return answer{}, err
	}
	var page struct {
		Events []json.RawMessage `json:"events"`
		Next   *string           `json:"next_cursor"`
	}
	if json.Unmarshal(b, &page) != nil || page.Events == nil {
		return answer{}, strange(b)
	}
	items, cutSome, mark := eventItems(page.Events)
	n := fitting(items, 2000)
	more := n < len(items) || page.Next != nil && *page.Next != ""
	structured, err := encode(struct {
		Events json.RawMessage `json:"events"`
		More   bool            `json:"more"`
	}{list(items[:n]), more})
	return answer{structured, c.eventsText(items[:n], more, cutSome, mark)}, err
}

// eventItems returns meetings as items with a common mark, and whether some were shortened.
func eventItems(events []json.RawMessage) (items []item, cutSome bool, mark string) {
	said := make([]string, len(events))
	for i, e := range events {
		short, gone := within(e, maxEvent)
		events[i], cutSome = short, cutSome || gone
		said[i] = meetingText(short)
	}
	f := newFence(drawn, said...)
	for i, e := range events {
		var m meeting
		_ = json.Unmarshal(e, &m) // fields that cannot be parsed stay empty
		m.hidden = hides(string(e))
		items = append(items, item{compactly(e), eventHeading(m) + f.around(said[i]) + "\n"})
	}
	return items, cutSome, f.mark
}

// compactly returns JSON of the API as encode writes it, with its texts cleaned by plain.
func compactly(raw json.RawMessage) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if bytes.Contains(raw, []byte(`\u`)) || plain(string(raw)) != string(raw) {
		if d.Decode(&v) == nil {
			if b, err := encode(plainly(v)); err == nil {
				return b
			}
		}
	}
	b, err := encode(raw)
	if err != nil {
		return raw
	}
	return b
}

// plainly applies plain to every text in v.
func plainly(v any) any {
	switch v := v.(type) {
	case string:
		return plain(v)
	case []any:
		for i := range v {
			v[i] = plainly(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainly(v[name])
		}
	}
	return v
}

func (c *call) eventsText(items []item, more, cutSome bool, mark string) string {
	if len(items) == 0 && !more {
		return fmt.Sprintf("There are no meetings in the calendar of %s.", c.address())
	}
	var t strings.Builder
	fmt.Fprintf(&t, "%s in the calendar of %s, soonest first. "+outside+"\n\n", counted(len(items), "meeting"), c.address(), mark)
	for _, it := range items {
		t.WriteString(it.text)
	}
	if cutSome {
		fmt.Fprintf(&t, "Some are truncated; the whole of one is at GET %s/{event_id}.\n", c.calendarPath("events"))
	}
	if more {
		fmt.Fprintf(&t, "The list is truncated: later meetings are omitted; GET %s returns all of them.\n", c.calendarPath("events"))
	}
	return t.String()
}

func eventHeading(m meeting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "event_id %d, %s to %s, %s", m.ID, line(m.Start), line(m.End), line(m.Status))
	if m.Recurring {
		b.WriteString(", recurring")
	}
	switch {
	case m.MyStatus != "":
		fmt.Fprintf(&b, ", my_status %s", line(m.MyStatus))
	case m.Source == "outbound":
		b.WriteString(", organized by this inbox")
	}
	for _, warning := range []struct {
		holds bool
		text  string
	}{
		{m.Source == "inbound" && !m.Verified, "organizer not verified"},
		{m.ZoneUnknown, "time zone unknown, check the time"},
		{m.Transparency == "transparent", "shown as free"},
		{m.hidden, "invisible characters removed"},
	} {
		if warning.holds {
			b.WriteString(", " + warning.text)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// meetingText returns the parts of a meeting that others could have written.
func meetingText(raw json.RawMessage) string {
	var m meeting
	_ = json.Unmarshal(raw, &m) // as in eventItems
	var b strings.Builder
	fmt.Fprintf(&b, "Title: %s\n", line(m.Title))
	if m.Location != "" {
		fmt.Fprintf(&b, "Location: %s\n", line(m.Location))
	}
	if m.JoinURL != "" {
		fmt.Fprintf(&b, "Join: %s\n", line(m.JoinURL))
	}
	if m.Organizer != nil {
		fmt.Fprintf(&b, "Organizer: %s\n", line(m.Organizer.Email))
	}
	for i, a := range m.Attendees {
		if i == maxBoxes {
			fmt.Fprintf(&b, "and %d more guests\n", len(m.Attendees)-i)
			break
		}
		fmt.Fprintf(&b, "Guest: %s (%s)\n", line(a.Email), line(a.Status))
	}
	return b.String()
}

// meetingLine returns the invitation in a message as one line.
func meetingLine(raw json.RawMessage) string {
	var m meeting
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	id := "no event_id"
	if m.EventID != nil {
		id = fmt.Sprintf("event_id %d", *m.EventID)
	}
	text := fmt.Sprintf("Meeting (%s, %s): %s, %s to %s\n", id, line(m.Action), line(m.Title), line(m.Start), line(m.End))
	if m.JoinURL != "" {
		text += "Join: " + line(m.JoinURL) + "\n"
	}
	return text
}

// arranged returns the result for the API's response to a request about a meeting.
func (c *call) arranged(b json.RawMessage, err error, done string) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	var out struct {
		Event     json.RawMessage `json:"event"`
		MessageID *int64          `json:"message_id"`
	}
	var m meeting
	if json.Unmarshal(b, &out) != nil || json.Unmarshal(out.Event, &m) != nil || m.ID == 0 {
		return answer{}, strange(b)
	}
	var t strings.Builder
	fmt.Fprintf(&t, "%s event_id %d, %s to %s.", done, m.ID, line(m.Start), line(m.End))
	if out.MessageID != nil {
		fmt.Fprintf(&t, " The notification is queued as message_id %d; wait_until_sent returns its final status.", *out.MessageID)
	} else {
		t.WriteString(" No notification was needed.")
	}
	structured, gone := within(b, budget/2)
	if gone {
		fmt.Fprintf(&t, " The meeting is truncated here; the whole of it is at GET %s.", c.calendarPath("events", fmt.Sprint(m.ID)))
	}
	return answer{compactly(structured), t.String()}, nil
}

func (c *call) answerInvite() (answer, error) {
	b, err := c.order("POST", c.eventPath("rsvp"), c.args.but("address", "event_id"))
	return c.arranged(b, err, fmt.Sprintf("Answered %s:", c.args.text("response")))
}

func (c *call) createEvent() (answer, error) {
	meeting := c.args.but("address", "optional_attendees")
	attendees, _ := meeting["attendees"].([]any)
	optional, _ := c.args["optional_attendees"].([]any)
	for _, guest := range optional {
		one, ok := guest.(map[string]any)
		if !ok {
			one = map[string]any{"email": guest}
		}
		one["optional"] = true
		attendees = append(attendees, one)
	}
	meeting["attendees"] = attendees
	b, err := c.order("POST", c.calendarPath("events"), meeting)
	return c.arranged(b, err, "Set up")
}

func (c *call) updateEvent() (answer, error) {
	// PATCH takes no idempotency key, so a retry could notify the guests twice.
	b, err := c.api.Do(c.ctx, client.Request{Method: "PATCH", Path: c.eventPath(), In: c.args.but("address", "event_id")})
	return c.arranged(b, err, "Changed")
}

func (c *call) cancelEvent() (answer, error) {
	b, err := c.order("POST", c.eventPath("cancel"), c.args.but("address", "event_id"))
	return c.arranged(b, err, "Cancelled")
}

func (c *call) feed() (answer, error) {
	b, err := c.api.Do(c.ctx, client.Request{Method: "GET", Path: c.calendarPath("feed")})
	return feedAnswer(b, err, "Calendar programs can subscribe to the calendar of %s at %s. Anyone with this link can read its meetings, guests and responses.", c.address())
}

func (c *call) rotateFeed() (answer, error) {
	b, err := c.order("POST", c.calendarPath("feed", "rotate"), nil)
	return feedAnswer(b, err, "The old link no longer works. Calendar programs can subscribe to the calendar of %s at %s from now on.", c.address())
}

func feedAnswer(b json.RawMessage, err error, says, address string) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	var out struct {
		URL string `json:"feed_url"`
	}
	if json.Unmarshal(b, &out) != nil || out.URL == "" {
		return answer{}, strange(b)
	}
	return answer{compactly(b), fmt.Sprintf(says, address, out.URL)}, nil
}
