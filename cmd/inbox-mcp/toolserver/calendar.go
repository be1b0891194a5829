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

// meetingView holds the fields of a meeting that are shown as text.
type meetingView struct {
	ID          int64  `json:"id"`
	EventID     *int64 `json:"event_id"`
	Action      string `json:"action"`
	Title       string `json:"title"`
	Start       string `json:"start"`
	End         string `json:"end"`
	AllDay      bool   `json:"all_day"`
	Location    string `json:"location"`
	Status      string `json:"status"`
	Source      string `json:"source"`
	MyStatus    string `json:"my_status"`
	IsRecurring bool   `json:"recurring"`

	ZoneUnknown       bool   `json:"timezone_unknown"`
	OrganizerVerified bool   `json:"organizer_verified"`
	Transparency      string `json:"transparency"`
	JoinURL           string `json:"join_url"`

	Organizer *struct {
		Email string `json:"email"`
	} `json:"organizer"`
	Attendees []struct {
		Email  string `json:"email"`
		Status string `json:"status"`
	} `json:"attendees"`

	hasHidden bool // invisible characters were removed
}

func (c *toolCall) calendarPath(rest ...string) string {
	return client.InboxPath(c.inboxAddress(), append([]string{"calendar"}, rest...)...)
}

func (c *toolCall) eventPath(rest ...string) string {
	return c.calendarPath(append([]string{"events", fmt.Sprint(c.args.getNumber("event_id"))}, rest...)...)
}

func (c *toolCall) listEvents() (toolResult, error) {
	q := url.Values{"limit": {maxListed}, "include_cancelled": {fmt.Sprint(c.args.getFlag("include_cancelled"))}}
	b, err := c.apiClient.Do(c.ctx, client.Request{Method: "GET", Path: c.calendarPath("events"), Query: q})
	if err != nil {
		return toolResult{}, err
	}
	var page struct {
		Events []json.RawMessage `json:"events"`
		Next   *string           `json:"next_cursor"`
	}
	if json.Unmarshal(b, &page) != nil || page.Events == nil {
		return toolResult{}, malformedResponse(b)
	}
	items, cutSome, mark := eventItems(page.Events)
	n := countFitting(items, 2000)
	more := n < len(items) || page.Next != nil && *page.Next != ""
	structured, err := encodeJSON(struct {
		Events json.RawMessage `json:"events"`
		More   bool            `json:"more"`
	}{joinItems(items[:n]), more})
	return toolResult{structured, c.eventsText(items[:n], more, cutSome, mark)}, err
}

// eventItems returns meetings as items with a common mark, and whether some were shortened.
func eventItems(events []json.RawMessage) (items []listItem, cutSome bool, mark string) {
	said := make([]string, len(events))
	for i, e := range events {
		short, gone := truncateObject(e, maxEvent)
		events[i], cutSome = short, cutSome || gone
		said[i] = meetingText(short)
	}
	f := newFence(drawMark, said...)
	for i, e := range events {
		var m meetingView
		_ = json.Unmarshal(e, &m) // fields that cannot be parsed stay empty
		m.hasHidden = hasHiddenText(string(e))
		items = append(items, listItem{compactJSON(e), eventHeading(m) + f.wrapText(said[i]) + "\n"})
	}
	return items, cutSome, f.mark
}

// compactJSON returns JSON of the API as encode writes it, with its texts cleaned by plain.
func compactJSON(raw json.RawMessage) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if bytes.Contains(raw, []byte(`\u`)) || plainText(string(raw)) != string(raw) {
		if d.Decode(&v) == nil {
			if b, err := encodeJSON(plainValues(v)); err == nil {
				return b
			}
		}
	}
	b, err := encodeJSON(raw)
	if err != nil {
		return raw
	}
	return b
}

// plainValues applies plain to every text in v.
func plainValues(v any) any {
	switch v := v.(type) {
	case string:
		return plainText(v)
	case []any:
		for i := range v {
			v[i] = plainValues(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainValues(v[name])
		}
	}
	return v
}

func (c *toolCall) eventsText(items []listItem, more, cutSome bool, mark string) string {
	if len(items) == 0 && !more {
		return fmt.Sprintf("There are no meetings in the calendar of %s.", c.inboxAddress())
	}
	var t strings.Builder
	fmt.Fprintf(&t, "%s in the calendar of %s, soonest first. "+outsideNotice+"\n\n", countNoun(len(items), "meeting"), c.inboxAddress(), mark)
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

func eventHeading(m meetingView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "event_id %d, %s to %s, %s", m.ID, singleLine(m.Start), singleLine(m.End), singleLine(m.Status))
	if m.IsRecurring {
		b.WriteString(", recurring")
	}
	switch {
	case m.MyStatus != "":
		fmt.Fprintf(&b, ", my_status %s", singleLine(m.MyStatus))
	case m.Source == "outbound":
		b.WriteString(", organized by this inbox")
	}
	for _, warning := range []struct {
		holds bool
		text  string
	}{
		{m.Source == "inbound" && !m.OrganizerVerified, "organizer not verified"},
		{m.ZoneUnknown, "time zone unknown, check the time"},
		{m.Transparency == "transparent", "shown as free"},
		{m.hasHidden, "invisible characters removed"},
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
	var m meetingView
	_ = json.Unmarshal(raw, &m) // as in eventItems
	var b strings.Builder
	fmt.Fprintf(&b, "Title: %s\n", singleLine(m.Title))
	if m.Location != "" {
		fmt.Fprintf(&b, "Location: %s\n", singleLine(m.Location))
	}
	if m.JoinURL != "" {
		fmt.Fprintf(&b, "Join: %s\n", singleLine(m.JoinURL))
	}
	if m.Organizer != nil {
		fmt.Fprintf(&b, "Organizer: %s\n", singleLine(m.Organizer.Email))
	}
	for i, a := range m.Attendees {
		if i == maxBoxes {
			fmt.Fprintf(&b, "and %d more guests\n", len(m.Attendees)-i)
			break
		}
		fmt.Fprintf(&b, "Guest: %s (%s)\n", singleLine(a.Email), singleLine(a.Status))
	}
	return b.String()
}

// meetingLine returns the invitation in a message as one line.
func meetingLine(raw json.RawMessage) string {
	var m meetingView
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	id := "no event_id"
	if m.EventID != nil {
		id = fmt.Sprintf("event_id %d", *m.EventID)
	}
	text := fmt.Sprintf("Meeting (%s, %s): %s, %s to %s\n", id, singleLine(m.Action), singleLine(m.Title), singleLine(m.Start), singleLine(m.End))
	if m.JoinURL != "" {
		text += "Join: " + singleLine(m.JoinURL) + "\n"
	}
	return text
}

// meetingResult returns the result for the API's response to a request about a meeting.
func (c *toolCall) meetingResult(b json.RawMessage, err error, done string) (toolResult, error) {
	if err != nil {
		return toolResult{}, err
	}
	var out struct {
		Event     json.RawMessage `json:"event"`
		MessageID *int64          `json:"message_id"`
	}
	var m meetingView
	if json.Unmarshal(b, &out) != nil || json.Unmarshal(out.Event, &m) != nil || m.ID == 0 {
		return toolResult{}, malformedResponse(b)
	}
	var t strings.Builder
	fmt.Fprintf(&t, "%s event_id %d, %s to %s.", done, m.ID, singleLine(m.Start), singleLine(m.End))
	if out.MessageID != nil {
		fmt.Fprintf(&t, " The notification is queued as message_id %d; wait_until_sent returns its final status.", *out.MessageID)
	} else {
		t.WriteString(" No notification was needed.")
	}
	structured, gone := truncateObject(b, resultBudget/2)
	if gone {
		fmt.Fprintf(&t, " The meeting is truncated here; the whole of it is at GET %s.", c.calendarPath("events", fmt.Sprint(m.ID)))
	}
	return toolResult{compactJSON(structured), t.String()}, nil
}

func (c *toolCall) answerInvite() (toolResult, error) {
	b, err := c.sendOrder("POST", c.eventPath("rsvp"), c.args.exceptNames("address", "event_id"))
	return c.meetingResult(b, err, fmt.Sprintf("Answered %s:", c.args.getText("response")))
}

func (c *toolCall) createEvent() (toolResult, error) {
	meeting := c.args.exceptNames("address", "optional_attendees")
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
	b, err := c.sendOrder("POST", c.calendarPath("events"), meeting)
	return c.meetingResult(b, err, "Set up")
}

func (c *toolCall) updateEvent() (toolResult, error) {
	// PATCH takes no idempotency key, so a retry could notify the guests twice.
	b, err := c.apiClient.Do(c.ctx, client.Request{Method: "PATCH", Path: c.eventPath(), In: c.args.exceptNames("address", "event_id")})
	return c.meetingResult(b, err, "Changed")
}

func (c *toolCall) cancelEvent() (toolResult, error) {
	b, err := c.sendOrder("POST", c.eventPath("cancel"), c.args.exceptNames("address", "event_id"))
	return c.meetingResult(b, err, "Cancelled")
}

func (c *toolCall) getFeed() (toolResult, error) {
	b, err := c.apiClient.Do(c.ctx, client.Request{Method: "GET", Path: c.calendarPath("feed")})
	return feedAnswer(b, err, "Calendar programs can subscribe to the calendar of %s at %s. Anyone with this link can read its meetings, guests and responses.", c.inboxAddress())
}

func (c *toolCall) rotateFeed() (toolResult, error) {
	b, err := c.sendOrder("POST", c.calendarPath("feed", "rotate"), nil)
	return feedAnswer(b, err, "The old link no longer works. Calendar programs can subscribe to the calendar of %s at %s from now on.", c.inboxAddress())
}

func feedAnswer(b json.RawMessage, err error, says, address string) (toolResult, error) {
	if err != nil {
		return toolResult{}, err
	}
	var out struct {
		URL string `json:"feed_url"`
	}
	if json.Unmarshal(b, &out) != nil || out.URL == "" {
		return toolResult{}, malformedResponse(b)
	}
	return toolResult{compactJSON(b), fmt.Sprintf(says, address, out.URL)}, nil
}
