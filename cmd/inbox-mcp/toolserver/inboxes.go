package toolserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"inboxd/http/client"
)

// maxListed is the number of items requested for a list; more do not fit a result.
const maxListed = "500"

func (c *call) createInbox() (answer, error) {
	made, err := c.order("POST", "/api/v1/inboxes", c.args.but())
	if err != nil {
		return answer{}, err
	}
	var in client.Inbox
	if err := json.Unmarshal(made, &in); err != nil || in.Address == "" {
		return answer{}, strange(made)
	}
	text := fmt.Sprintf("Created the inbox %s. Messages are kept for %d hours. Call wait_for_otp or wait_for_message with this address to wait for mail.", in.Address, in.RetentionHours)
	if in.Note != "" {
		text += "\n" + line(in.Note)
	}
	return answer{made, text}, nil
}

// order makes a request with an idempotency key, which its retry repeats.
func (c *call) order(method, path string, in any) (json.RawMessage, error) {
	r := client.Request{Method: method, Path: path, In: in, IdempotencyKey: drawn()}
	return once(c.ctx, func() (json.RawMessage, error) { return c.api.Do(c.ctx, r) })
}

// strange returns the error for a response that is JSON but not from the service.
func strange(body []byte) error {
	return &client.Error{Status: 200, Detail: fmt.Sprintf("unexpected content %.200q", body), Foreign: true}
}

// listed is an inbox in the result of list_inboxes.
type listed struct {
	Address       string     `json:"address"`
	Label         string     `json:"label"`
	UnreadCount   int        `json:"unread_count"`
	MessageCount  int        `json:"message_count"`
	LastMessageAt *time.Time `json:"last_message_at"`
	Encrypted     bool       `json:"encrypted"`
}

func (c *call) listInboxes() (answer, error) {
	b, err := c.api.Do(c.ctx, client.Request{Method: "GET", Path: "/api/v1/inboxes", Query: url.Values{"limit": {maxListed}}})
	if err != nil {
		return answer{}, err
	}
	var page struct {
		Inboxes []listed `json:"inboxes"`
		Next    *string  `json:"next_cursor"`
	}
	if json.Unmarshal(b, &page) != nil || page.Inboxes == nil {
		return answer{}, strange(b)
	}
	items := make([]item, 0, len(page.Inboxes))
	for _, in := range page.Inboxes {
		it, err := in.item()
		if err != nil {
			return answer{}, err
		}
		items = append(items, it)
	}
	n := fitting(items, 1000)
	more := n < len(items) || page.Next != nil && *page.Next != ""
	structured, err := encode(struct {
		Inboxes json.RawMessage `json:"inboxes"`
		More    bool            `json:"more"`
	}{list(items[:n]), more})
	return answer{structured, inboxesText(items[:n], more)}, err
}

func (in listed) item() (item, error) {
	b, err := encode(in)
	var t strings.Builder
	fmt.Fprintf(&t, "%s: %d unread of %d", in.Address, in.UnreadCount, in.MessageCount)
	if in.LastMessageAt != nil {
		fmt.Fprintf(&t, ", last %s", stamp(*in.LastMessageAt))
	}
	if in.Label != "" {
		fmt.Fprintf(&t, ", label %q", line(in.Label))
	}
	if in.Encrypted {
		t.WriteString(", encrypted")
	}
	return item{b, t.String() + "\n"}, err
}

func inboxesText(items []item, more bool) string {
	var t strings.Builder
	switch {
	case len(items) == 0:
		return "No inbox exists yet. Call create_inbox."
	case len(items) == 1 && !more:
		t.WriteString("1 inbox.\n")
	default:
		fmt.Fprintf(&t, "%d inboxes, newest first.\n", len(items))
	}
	for _, it := range items {
		t.WriteString(it.text)
	}
	if more {
		t.WriteString("The list is truncated: older inboxes are omitted. The other tools accept any address that you know; GET /api/v1/inboxes returns the whole list.\n")
	}
	return t.String()
}

func (c *call) address() string { return c.args.text("address") }

// plainly makes a request and returns its response unchanged, with a sentence for models.
func (c *call) plainly(method, path string, in any, text string) (answer, error) {
	b, err := c.api.Do(c.ctx, client.Request{Method: method, Path: path, In: in})
	if err != nil {
		return answer{}, err
	}
	var said struct{ OK bool }
	if json.Unmarshal(b, &said) != nil || !said.OK {
		return answer{}, strange(b)
	}
	return answer{b, text}, nil
}

func (c *call) burnInbox() (answer, error) {
	a, err := c.plainly("POST", client.InboxPath(c.address(), "burn"), nil, "")
	var said struct{ Deleted int }
	if err == nil && json.Unmarshal(a.structured, &said) == nil {
		a.text = fmt.Sprintf("Deleted %d messages of %s. The address continues to receive mail.", said.Deleted, c.address())
	}
	return a, err
}

func (c *call) deleteInbox() (answer, error) {
	return c.plainly("DELETE", client.InboxPath(c.address()), nil, fmt.Sprintf("Deleted the inbox %s with all its messages.", c.address()))
}

func (c *call) messagePath(rest ...string) string {
	return client.InboxPath(c.address(), append([]string{"messages", fmt.Sprint(c.args.number("message_id"))}, rest...)...)
}

func (c *call) markRead() (answer, error) {
	return c.plainly("POST", c.messagePath("read"), nil, fmt.Sprintf("Message %d is marked as read.", c.args.number("message_id")))
}

func (c *call) deleteMessage() (answer, error) {
	return c.plainly("DELETE", c.messagePath(), nil, fmt.Sprintf("Deleted message %d.", c.args.number("message_id")))
}
