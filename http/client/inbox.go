package client

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
)

// InboxOrder describes a new inbox; all fields are optional.
type InboxOrder struct {
	Prefix         string `json:"prefix,omitempty"`
	Subdomain      string `json:"subdomain,omitempty"` // paid plans
	Domain         string `json:"domain,omitempty"`    // a verified domain of the account
	Label          string `json:"label,omitempty"`     // paid plans
	RetentionHours int    `json:"retention_hours,omitempty"`
	KeepNewest     bool   `json:"keep_newest,omitempty"` // when full, delete the oldest received messages

	// IdempotencyKey makes a repeated call return the first response again, for 24 hours. Empty:
	// one is generated for this call.
	IdempotencyKey string `json:"-"`
}

// Inbox is one inbox. A new one has no counts yet.
type Inbox struct {
	Address        string     `json:"address"`
	Label          string     `json:"label"`
	RetentionHours int        `json:"retention_hours"`
	CreatedAt      time.Time  `json:"created_at"`
	Encrypted      bool       `json:"encrypted"`
	HasKey         bool       `json:"has_key"`
	MessageCount   int        `json:"message_count"`
	UnreadCount    int        `json:"unread_count"`
	LastMessageAt  *time.Time `json:"last_message_at"`
	KeepNewest     bool       `json:"keep_newest"`
	Full           bool       `json:"full"` // the next message would be refused

	// Ignored lists the fields of the order that the plan does not include; Note explains why.
	Ignored []string `json:"ignored_fields"`
	Note    string   `json:"note"`

	Damaged bool `json:"-"` // lost to damage on the service's disk: only its address is known
}

// CreateEncryptedInbox creates an end-to-end encrypted inbox. The account must have a public key.
// It needs a session.
func (c *Client) CreateEncryptedInbox(ctx context.Context, order InboxOrder) (Inbox, error) {
	in := struct {
		InboxOrder
		Encrypted bool `json:"encrypted"`
	}{order, true}
	return fetchJSON[Inbox](ctx, c, apiCall{method: "POST", path: "/api/inboxes", in: in, requiredMember: "address"}.withName(order.IdempotencyKey))
}

// CreateInbox creates an inbox.
func (c *Client) CreateInbox(ctx context.Context, order InboxOrder) (Inbox, error) {
	return fetchJSON[Inbox](ctx, c, apiCall{method: "POST", path: "/api/v1/inboxes", in: order, requiredMember: "address"}.withName(order.IdempotencyKey))
}

// Creation is the result for one order of a batch.
type Creation struct {
	Status int    `json:"status"` // 201, or that of the error
	Inbox  Inbox  `json:"inbox"`  // only if Status is 201
	Detail string `json:"detail"` // of an error, as are Code and Field
	Code   string `json:"code"`
	Field  string `json:"field"`
}

// CreateInboxes creates up to 1,000 inboxes in one call. The results are in the order of orders.
// name is an idempotency key: a repeated call returns the same inboxes again, for 24 hours. Empty:
// one is generated.
func (c *Client) CreateInboxes(ctx context.Context, orders []InboxOrder, name string) ([]Creation, error) {
	in := struct {
		Inboxes []InboxOrder `json:"inboxes"`
	}{orders}
	out, err := fetchJSON[struct{ Results []Creation }](ctx, c, apiCall{method: "POST", path: "/api/v1/inboxes/batch", in: in, requiredMember: "results"}.withName(name))
	return out.Results, err
}

// Inboxes iterates over all inboxes that the credential can access, newest first. Damaged ones come
// last in their page. It ends after an error.
func (c *Client) Inboxes(ctx context.Context) iter.Seq2[Inbox, error] {
	return listItems(ctx, c, "/api/v1/inboxes", "inboxes", func(name json.RawMessage) (in Inbox, err error) {
		in.Damaged = true
		return in, json.Unmarshal(name, &in.Address)
	}, nil)
}

// Tagged returns the address of an inbox with a tag, user+tag@host. Lists, latest, waits and events
// of it include only messages to that address.
func Tagged(address, tag string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	return address[:at] + "+" + tag + address[at:]
}

// Inbox returns one inbox.
func (c *Client) Inbox(ctx context.Context, address string) (Inbox, error) {
	out, err := fetchJSON[struct{ Inbox Inbox }](ctx, c, apiCall{method: "GET", path: inboxPath(address), requiredMember: "inbox"})
	return out.Inbox, err
}

// InboxChange is a change for UpdateInbox; nil leaves a field unchanged.
type InboxChange struct {
	Label          *string `json:"label,omitempty"`
	RetentionHours *int    `json:"retention_hours,omitempty"`
	KeepNewest     *bool   `json:"keep_newest,omitempty"`
}

// UpdateInbox changes an inbox and returns it.
func (c *Client) UpdateInbox(ctx context.Context, address string, change InboxChange) (Inbox, error) {
	var out struct {
		Inbox   Inbox
		Ignored []string `json:"ignored_fields"`
		Note    string
	}
	err := do(ctx, c, apiCall{method: "PATCH", path: inboxPath(address), in: change, requiredMember: "inbox", isRepeatable: true}, &out)
	out.Inbox.Ignored, out.Inbox.Note = out.Ignored, out.Note
	return out.Inbox, err
}

// DeleteInbox permanently deletes an inbox with its messages.
func (c *Client) DeleteInbox(ctx context.Context, address string) error {
	return do(ctx, c, apiCall{method: "DELETE", path: inboxPath(address), requiredMember: "ok"}, nil)
}

// BurnInbox deletes all messages, keeps the address, and returns how many messages it deleted.
func (c *Client) BurnInbox(ctx context.Context, address string) (deleted int, err error) {
	out, err := fetchJSON[struct{ Deleted int }](ctx, c, apiCall{method: "POST", path: inboxPath(address, "burn"), requiredMember: "deleted"})
	return out.Deleted, err
}
