package client

import (
	"context"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Letter is a message to send. To is one address. Recipients in Bcc are not visible to others.
type Letter struct {
	To          string   `json:"to"`
	Subject     string   `json:"subject,omitempty"`
	Body        string   `json:"body,omitempty"`
	HTML        string   `json:"html,omitempty"`
	Cc          []string `json:"cc,omitempty"`
	Bcc         []string `json:"bcc,omitempty"`
	Attachments []File   `json:"attachments,omitempty"`
	InReplyTo   string   `json:"in_reply_to,omitempty"` // Message-ID that it replies to
}

// File is an attachment to send.
type File struct {
	Filename    string `json:"filename"`
	Content     []byte `json:"content_b64"`
	ContentType string `json:"content_type,omitempty"`
}

// SendOptions are options of Send; the zero value is valid.
type SendOptions struct {
	// IdempotencyKey makes a repeated send return the first response again, for 24 hours, instead
	// of sending a second message. Empty: one is generated for this call.
	IdempotencyKey string
}

// SendStatus is the status of a sent message, or of its copy for one recipient.
type SendStatus string

// The statuses of a message. StatusBounced is a status of recipients only.
const (
	StatusQueued   SendStatus = "queued"   // no attempt was made yet
	StatusRetrying SendStatus = "retrying" // an attempt failed temporarily; more follow
	StatusSent     SendStatus = "sent"
	StatusUnsigned SendStatus = "unsigned" // accepted, but without a DKIM signature
	StatusFailed   SendStatus = "failed"
	StatusBounced  SendStatus = "bounced" // accepted, but returned later
)

// Final reports whether the status is final: no more attempts follow.
func (s SendStatus) Final() bool { return s != "" && s != StatusQueued && s != StatusRetrying }

// Delivered reports whether every recipient's server accepted the message.
func (s SendStatus) Delivered() bool { return s == StatusSent || s == StatusUnsigned }

// SentState holds the additional fields of a sent message.
type SentState struct {
	SendStatus SendStatus  `json:"send_status"` // empty on a received message
	SendError  string      `json:"send_error"`  // reported by the latest failed attempt, or by a bounce
	Recipients []Recipient `json:"recipients"`
	Bcc        []Mailbox   `json:"bcc"`
}

// Recipient is the status of the copy for one recipient.
type Recipient struct {
	Email  string     `json:"email"`
	Status SendStatus `json:"status"`
	Error  string     `json:"error"`
	MX     string     `json:"mx"` // server that replied last
	At     *time.Time `json:"at"` // time of the latest report
}

// Send queues a letter and returns the id of its message. The message is accepted, not yet
// delivered.
func (c *Client) Send(ctx context.Context, address string, letter Letter, opts SendOptions) (id int64, err error) {
	k := apiCall{method: "POST", path: inboxPath(address, "send"), in: letter, requiredMember: "message_id"}.withName(opts.IdempotencyKey)
	out, err := fetchJSON[struct {
		ID int64 `json:"message_id"`
	}](ctx, c, k)
	return out.ID, err
}

// WaitUntilSent returns a sent message when its status is final. It reads the message at the start
// and whenever an event reports a change. The events begin before the first read, so that none is
// missed. If ctx ends first, it returns the message as last seen, with ctx's error: the message is
// still queued and must not be sent again.
func (c *Client) WaitUntilSent(ctx context.Context, address string, id int64) (*Message, error) {
	events := EventQuery{Inbox: untagged(address), After: Now}
	var seen *Message
	for {
		page, err := c.Events(ctx, events)
		if err != nil {
			return seen, orOver(ctx, err)
		}
		if seen == nil || events.Wait == 0 || page.Gap || len(page.Events) == 0 || page.hasMessage(id) {
			m, err := c.Message(ctx, address, id)
			if err != nil {
				return seen, orOver(ctx, err)
			}
			if seen = m; m.Direction == "in" || m.SendStatus.Final() {
				return m, nil
			}
		}
		if events.Wait > 0 && len(page.Events) == 0 {
			if err := sleepFor(ctx, betweenLooks); err != nil {
				return seen, err
			}
		}
		events.After, events.Wait = page.Next, longestWait
	}
}

// untagged returns the address without its tag: messages are sent from there.
func untagged(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}

func (p EventPage) hasMessage(id int64) bool {
	return slices.ContainsFunc(p.Events, func(e Event) bool { return e.MessageID == id })
}

// betweenLooks is the minimum time between two reads that no event caused.
const betweenLooks = 50 * time.Millisecond

// sleepFor waits for d, or until ctx ends.
func sleepFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// orOver returns ctx's error if ctx has ended, else err.
func orOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Suppression is an address to which the account sends no messages, because a message was returned.
type Suppression struct {
	Email     string    `json:"email"`
	Inbox     string    `json:"inbox"` // that sent the returned message
	MessageID int64     `json:"message_id"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
}

// Suppressions iterates over the suppressions, sorted by address. It needs email:send. An inbox key
// gets those of its inbox. It ends after an error.
func (c *Client) Suppressions(ctx context.Context) iter.Seq2[Suppression, error] {
	return listItems[Suppression](ctx, c, "/api/v1/suppressions", "suppressions", nil, nil)
}

// DropSuppression allows messages to an address again. It needs email:send.
func (c *Client) DropSuppression(ctx context.Context, email string) error {
	return do(ctx, c, apiCall{method: "DELETE", path: "/api/v1/suppressions/" + url.PathEscape(email), requiredMember: "ok"}, nil)
}
