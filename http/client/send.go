package client

import (
	"context"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Letter is a message to send. To is one address. Recipients in Bcc are not listed in the message.
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

// SendOptions are options of Send. The zero value is valid.
type SendOptions struct {
	// IdempotencyKey makes a repeated send return the first response for 24 hours, instead of
	// sending a second message. If it is empty, the call draws one.
	IdempotencyKey string
}

// SendStatus is the delivery status of a sent message, or of its copy for one recipient.
type SendStatus string

// These are the statuses of a message; StatusBounced applies only to a recipient.
const (
	StatusQueued   SendStatus = "queued"   // no attempt yet
	StatusRetrying SendStatus = "retrying" // an attempt failed; more follow
	StatusSent     SendStatus = "sent"
	StatusUnsigned SendStatus = "unsigned" // accepted by the recipient's server, but without a DKIM signature
	StatusFailed   SendStatus = "failed"
	StatusBounced  SendStatus = "bounced" // accepted, and bounced later
)

// Final reports whether no more attempts follow.
func (s SendStatus) Final() bool { return s != "" && s != StatusQueued && s != StatusRetrying }

// Delivered reports whether every recipient's server accepted the message.
func (s SendStatus) Delivered() bool { return s == StatusSent || s == StatusUnsigned }

// SentState holds the additional fields of a sent message.
type SentState struct {
	SendStatus SendStatus  `json:"send_status"` // empty on a received message
	SendError  string      `json:"send_error"`  // reported by the last failed attempt, or by a bounce
	Recipients []Recipient `json:"recipients"`
	Bcc        []Mailbox   `json:"bcc"`
}

// Recipient is the delivery status of one recipient's copy.
type Recipient struct {
	Email  string     `json:"email"`
	Status SendStatus `json:"status"`
	Error  string     `json:"error"`
	MX     string     `json:"mx"` // server that replied last
	At     *time.Time `json:"at"` // time of the last report
}

// Send queues a message and returns its id. The message is accepted, not yet delivered.
func (c *Client) Send(ctx context.Context, address string, letter Letter, opts SendOptions) (id int64, err error) {
	k := call{method: "POST", path: inboxPath(address, "send"), in: letter, member: "message_id"}.named(opts.IdempotencyKey)
	out, err := fetch[struct {
		ID int64 `json:"message_id"`
	}](ctx, c, k)
	return out.ID, err
}

// WaitUntilSent waits for the final status of a sent message. It reads the message, and again after
// each event about it. The events start before the first read, so none is missed. If ctx ends
// first, it returns the message as last read together with the error of ctx. The message is then
// still queued, not lost, and must not be sent again.
func (c *Client) WaitUntilSent(ctx context.Context, address string, id int64) (*Message, error) {
	events := EventQuery{Inbox: untagged(address), After: Now}
	var seen *Message
	for {
		page, err := c.Events(ctx, events)
		if err != nil {
			return seen, orOver(ctx, err)
		}
		if seen == nil || events.Wait == 0 || page.Gap || len(page.Events) == 0 || page.tells(id) {
			m, err := c.Message(ctx, address, id)
			if err != nil {
				return seen, orOver(ctx, err)
			}
			if seen = m; m.Direction == "in" || m.SendStatus.Final() {
				return m, nil
			}
		}
		if events.Wait > 0 && len(page.Events) == 0 {
			if err := rest(ctx, betweenLooks); err != nil {
				return seen, err
			}
		}
		events.After, events.Wait = page.Next, longestWait
	}
}

// untagged returns the inbox of a tagged address, because sent messages belong to the inbox.
func untagged(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}

func (p EventPage) tells(id int64) bool {
	return slices.ContainsFunc(p.Events, func(e Event) bool { return e.MessageID == id })
}

// betweenLooks is the minimum time between two reads that no event triggered.
const betweenLooks = 50 * time.Millisecond

// rest sleeps for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// orOver returns the error of ctx if it ended, because the interrupted call's own error says less.
func orOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Suppression is an address to which the account sends no messages, because one bounced.
type Suppression struct {
	Email     string    `json:"email"`
	Inbox     string    `json:"inbox"` // inbox that sent the bounced message
	MessageID int64     `json:"message_id"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
}

// Suppressions iterates over the suppressions in the order of their addresses. It needs email:send;
// an inbox key gets only those of its inbox. It stops after an error.
func (c *Client) Suppressions(ctx context.Context) iter.Seq2[Suppression, error] {
	return listing[Suppression](ctx, c, "/api/v1/suppressions", "suppressions", nil, nil)
}

// DropSuppression permits messages to an address again. It needs email:send.
func (c *Client) DropSuppression(ctx context.Context, email string) error {
	return do(ctx, c, call{method: "DELETE", path: "/api/v1/suppressions/" + url.PathEscape(email), member: "ok"}, nil)
}
