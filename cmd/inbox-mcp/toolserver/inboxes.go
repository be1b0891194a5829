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

func (c *toolCall) createInbox() (toolResult, error) {
	made, err := c.sendOrder("POST", "/api/v1/inboxes", c.args.exceptNames())
	if err != nil {
		return toolResult{}, err
	}
	var in client.Inbox
	if err := json.Unmarshal(made, &in); err != nil || in.Address == "" {
		return toolResult{}, malformedResponse(made)
	}
	text := fmt.Sprintf("Created the inbox %s. Messages are kept for %d hours. Call wait_for_otp or wait_for_message with this address to wait for mail.", in.Address, in.RetentionHours)
	if in.Note != "" {
		text += "\n" + singleLine(in.Note)
	}
	return toolResult{made, text}, nil
}

// sendOrder makes a request with an idempotency key, which its retry repeats.
func (c *toolCall) sendOrder(method, path string, in any) (json.RawMessage, error) {
	r := client.Request{Method: method, Path: path, In: in, IdempotencyKey: drawMark()}
	return callIdempotently(c.ctx, func() (json.RawMessage, error) { return c.apiClient.Do(c.ctx, r) })
}

// malformedResponse returns the error for a response that is JSON but not from the service.
func malformedResponse(body []byte) error {
	return &client.Error{Status: 200, Detail: fmt.Sprintf("unexpected content %.200q", body), Foreign: true}
}

// listedInbox is an inbox in the result of list_inboxes.
type listedInbox struct {
	Address       string     `json:"address"`
	Label         string     `json:"label"`
	UnreadCount   int        `json:"unread_count"`
	MessageCount  int        `json:"message_count"`
	LastMessageAt *time.Time `json:"last_message_at"`
	IsEncrypted   bool       `json:"encrypted"`
}

func (c *toolCall) listInboxes() (toolResult, error) {
	b, err := c.apiClient.Do(c.ctx, client.Request{Method: "GET", Path: "/api/v1/inboxes", Query: url.Values{"limit": {maxListed}}})
	if err != nil {
		return toolResult{}, err
	}
	var page struct {
		Inboxes []listedInbox `json:"inboxes"`
		Next    *string       `json:"next_cursor"`
	}
	if json.Unmarshal(b, &page) != nil || page.Inboxes == nil {
		return toolResult{}, malformedResponse(b)
	}
	items := make([]listItem, 0, len(page.Inboxes))
	for _, in := range page.Inboxes {
		it, err := in.toItem()
		if err != nil {
			return toolResult{}, err
		}
		items = append(items, it)
	}
	n := countFitting(items, 1000)
	more := n < len(items) || page.Next != nil && *page.Next != ""
	structured, err := encodeJSON(struct {
		Inboxes json.RawMessage `json:"inboxes"`
		More    bool            `json:"more"`
	}{joinItems(items[:n]), more})
	return toolResult{structured, inboxesText(items[:n], more)}, err
}

func (in listedInbox) toItem() (listItem, error) {
	b, err := encodeJSON(in)
	var t strings.Builder
	fmt.Fprintf(&t, "%s: %d unread of %d", in.Address, in.UnreadCount, in.MessageCount)
	if in.LastMessageAt != nil {
		fmt.Fprintf(&t, ", last %s", formatTime(*in.LastMessageAt))
	}
	if in.Label != "" {
		fmt.Fprintf(&t, ", label %q", singleLine(in.Label))
	}
	if in.IsEncrypted {
		t.WriteString(", encrypted")
	}
	return listItem{b, t.String() + "\n"}, err
}

func inboxesText(items []listItem, more bool) string {
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

func (c *toolCall) inboxAddress() string { return c.args.getText("address") }

// passThrough makes a request and returns its response unchanged, with a sentence for models.
func (c *toolCall) passThrough(method, path string, in any, text string) (toolResult, error) {
	b, err := c.apiClient.Do(c.ctx, client.Request{Method: method, Path: path, In: in})
	if err != nil {
		return toolResult{}, err
	}
	var said struct{ OK bool }
	if json.Unmarshal(b, &said) != nil || !said.OK {
		return toolResult{}, malformedResponse(b)
	}
	return toolResult{b, text}, nil
}

func (c *toolCall) burnInbox() (toolResult, error) {
	a, err := c.passThrough("POST", client.InboxPath(c.inboxAddress(), "burn"), nil, "")
	var said struct{ Deleted int }
	if err == nil && json.Unmarshal(a.structuredJSON, &said) == nil {
		a.text = fmt.Sprintf("Deleted %d messages of %s. The address continues to receive mail.", said.Deleted, c.inboxAddress())
	}
	return a, err
}

func (c *toolCall) deleteInbox() (toolResult, error) {
	return c.passThrough("DELETE", client.InboxPath(c.inboxAddress()), nil, fmt.Sprintf("Deleted the inbox %s with all its messages.", c.inboxAddress()))
}

func (c *toolCall) messagePath(rest ...string) string {
	return client.InboxPath(c.inboxAddress(), append([]string{"messages", fmt.Sprint(c.args.getNumber("message_id"))}, rest...)...)
}

func (c *toolCall) markRead() (toolResult, error) {
	return c.passThrough("POST", c.messagePath("read"), nil, fmt.Sprintf("Message %d is marked as read.", c.args.getNumber("message_id")))
}

func (c *toolCall) deleteMessage() (toolResult, error) {
	return c.passThrough("DELETE", c.messagePath(), nil, fmt.Sprintf("Deleted message %d.", c.args.getNumber("message_id")))
}
