package client

import (
	"context"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Letter is a mail to send. To is one address; everybody in Bcc gets it and is named nowhere.
type Letter struct {
	To          string   `json:"to"`
	Subject     string   `json:"subject,omitempty"`
	Body        string   `json:"body,omitempty"`
	HTML        string   `json:"html,omitempty"`
	Cc          []string `json:"cc,omitempty"`
	Bcc         []string `json:"bcc,omitempty"`
	Attachments []File   `json:"attachments,omitempty"`
	InReplyTo   string   `json:"in_reply_to,omitempty"` // Message-ID that it answers
}

// File is an attachment to send.
type File struct {
	Filename    string `json:"filename"`
	Content     []byte `json:"content_b64"`
	ContentType string `json:"content_type,omitempty"`
}

// SendOptions go beside a letter; the zero value is fine.
type SendOptions struct {
	// IdempotencyKey makes a repeated send give the first answer again, for 24 hours,
	// instead of a second mail; empty: one is drawn for this call.
	IdempotencyKey string
}

// SendStatus is how far a sent mail, or its copy for one recipient, has come.
type SendStatus string

// The statuses of a message, and StatusBounced, which is of a recipient alone.
const (
	StatusQueued   SendStatus = "queued"   // nothing was tried yet
	StatusRetrying SendStatus = "retrying" // an attempt did not get through; more follow
	StatusSent     SendStatus = "sent"
	StatusUnsigned SendStatus = "unsigned" // taken, but it carried no DKIM signature
	StatusFailed   SendStatus = "failed"
	StatusBounced  SendStatus = "bounced" // taken, and came back later
)

// Final reports that nothing more is tried.
func (s SendStatus) Final() bool { return s != "" && s != StatusQueued && s != StatusRetrying }

// Delivered reports that every recipient's server took the mail.
func (s SendStatus) Delivered() bool { return s == StatusSent || s == StatusUnsigned }

// SentState is what a sent message carries beside the rest.
type SentState struct {
	SendStatus SendStatus  `json:"send_status"` // empty on a received message
	SendError  string      `json:"send_error"`  // what the last failed attempt, and a bounce, reported
	Recipients []Recipient `json:"recipients"`
	Bcc        []Mailbox   `json:"bcc"`
}

// Recipient is how far the copy for one recipient has come.
type Recipient struct {
	Email  string     `json:"email"`
	Status SendStatus `json:"status"`
	Error  string     `json:"error"`
	MX     string     `json:"mx"` // server that answered last
	At     *time.Time `json:"at"` // of the last report
}

// Send queues a letter and returns the id of its message: it was accepted, not delivered.
func (c *Client) Send(ctx context.Context, address string, letter Letter, opts SendOptions) (id int64, err error) {
	k := call{method: "POST", path: inboxPath(address, "send"), in: letter, member: "message_id"}.named(opts.IdempotencyKey)
	out, err := fetch[struct {
		ID int64 `json:"message_id"`
	}](ctx, c, k)
	return out.ID, err
}

// WaitUntilSent returns a sent message when its status is final. It looks at it, and again when an
// event tells of it; the events are those that follow its first look, so that none is missed. When ctx
// ends first, it returns the message as last seen with ctx's error: it is still queued, not
// lost, and must not be sent again.
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

// untagged is the inbox of a tagged address: what is sent comes from there.
func untagged(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}

func (p EventPage) tells(id int64) bool {
	return slices.ContainsFunc(p.Events, func(e Event) bool { return e.MessageID == id })
}

// betweenLooks is the least time between two looks that no event asked for.
const betweenLooks = 50 * time.Millisecond

// rest waits for a while, or until ctx ends.
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

// orOver prefers the end of ctx to what the call that it broke off says.
func orOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Suppression is an address that the account sends no mail to, because mail came back.
type Suppression struct {
	Email     string    `json:"email"`
	Inbox     string    `json:"inbox"` // that sent what came back
	MessageID int64     `json:"message_id"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
}

// Suppressions goes through them in the order of the addresses; it needs email:send, and the
// key of an inbox gets those of that inbox. It ends after an error.
func (c *Client) Suppressions(ctx context.Context) iter.Seq2[Suppression, error] {
	return listing[Suppression](ctx, c, "/api/v1/suppressions", "suppressions", nil, nil)
}

// DropSuppression allows mail to an address again; it needs email:send.
func (c *Client) DropSuppression(ctx context.Context, email string) error {
	return do(ctx, c, call{method: "DELETE", path: "/api/v1/suppressions/" + url.PathEscape(email), member: "ok"}, nil)
}
