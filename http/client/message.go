package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Mailbox is a name and an address.
type Mailbox struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

// OTP is the one-time code of a message, with the evidence for it.
type OTP struct {
	Code       string   `json:"code"`
	Confidence float64  `json:"confidence"`
	Source     string   `json:"source"`
	Origin     *string  `json:"origin"`
	Candidates []string `json:"candidates"`
	// SenderVerified reports whether the message comes from the domain in its From.
	SenderVerified bool `json:"sender_verified"`
}

// Attachment describes an attached file of a message.
type Attachment struct {
	ID          int64  `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	SizeBytes   int64  `json:"size_bytes"`
	IsEncrypted bool   `json:"is_encrypted"`
	Truncated   bool   `json:"truncated"`            // too large: its content was not stored
	ContentID   string `json:"content_id,omitempty"` // target of cid: links in the HTML; empty: none
}

// LinkText is a link of a message with its visible text in the HTML, at most 500 bytes; empty: none.
// The sender chooses the text, so it can differ from where the URL leads.
type LinkText struct {
	URL  string `json:"url"`
	Text string `json:"text"`
}

// Message is one message. Lists omit HTML and Headers unless they are requested.
type Message struct {
	ID                 int64             `json:"id"`
	Direction          string            `json:"direction"` // in, out
	Subject            string            `json:"subject"`
	From               Mailbox           `json:"from"`
	To                 []Mailbox         `json:"to"`
	Cc                 []Mailbox         `json:"cc"`
	ReplyTo            []Mailbox         `json:"reply_to"`
	Date               *time.Time        `json:"date"`
	ReceivedAt         time.Time         `json:"received_at"`
	ExpiresAt          time.Time         `json:"expires_at"`
	EnvelopeTo         string            `json:"envelope_to"`
	EnvelopeRecipients []string          `json:"envelope_recipients"` // all that are addresses of this inbox; none for a sent message
	ToAddress          string            `json:"to_address"`          // EnvelopeTo; for a sent message, the first recipient
	Tag                string            `json:"tag"`                 // tag of the recipient of a received message; empty: none
	Sender             string            `json:"sender"`              // envelope sender, present with Headers; empty: the null sender
	InternetMessageID  string            `json:"internet_message_id"`
	InReplyTo          string            `json:"in_reply_to"`
	References         []string          `json:"references"`
	OTPCode            string            `json:"otp_code"` // empty: no code
	OTP                *OTP              `json:"otp"`
	OTPCandidates      []string          `json:"otp_candidates"` // without a code: what could be one, most likely first
	VerificationLink   string            `json:"verification_link"`
	Body               string            `json:"body"`
	BodyFromHTML       bool              `json:"body_from_html"`
	TruncatedBody      bool              `json:"truncated_body"`
	Degraded           bool              `json:"degraded"`
	HiddenText         bool              `json:"hidden_text"` // the HTML hides text from people; Body omits it
	HTML               string            `json:"html"`
	Headers            map[string]Values `json:"headers"`
	Links              []string          `json:"links"`
	LinkTexts          []LinkText        `json:"link_texts"`      // the same URLs with their texts; in lists only on request
	LinksTruncated     bool              `json:"links_truncated"` // there were more
	Simulated          bool              `json:"simulated"`       // a client wrote it for a test
	Attachments        []Attachment      `json:"attachments"`
	CalendarEvent      *Said             `json:"calendar_event"`  // nil: the message is not about a meeting
	CalendarEvents     []Said            `json:"calendar_events"` // all meetings of a message with several
	Spam               json.RawMessage   `json:"spam"`
	Auth               json.RawMessage   `json:"auth"`
	IsRead             bool              `json:"is_read"`
	SizeBytes          int64             `json:"size_bytes"`
	Encrypted          bool              `json:"encrypted"`           // the content is only in Envelope
	Note               string            `json:"note"`                // explains an encrypted inbox
	Envelope           []byte            `json:"envelope"`            // the whole message as an age file; nil: Raw returns it
	AttachmentsOmitted int               `json:"attachments_omitted"` // number of files that Attachments omits
	SentState
}

// Values are the values of a header field, in order. Most fields have one value.
type Values []string

// UnmarshalJSON implements json.Unmarshaler: a single value is a JSON string, not an array.
func (v *Values) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*v = Values{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(v))
}

// LatestQuery restricts Latest. The zero value selects the newest received message.
type LatestQuery struct {
	Direction string        // in, out, all; empty: in
	After     int64         // only a message with a higher id
	New       bool          // only a message newer than those that exist now; After is ignored
	To        string        // only what came to this envelope recipient; a tag in the address means the same
	Since     time.Time     // only what was received then or after
	Wait      time.Duration // up to 60 s, in whole seconds: wait for a message that fits
	OTP       bool          // only a message with a code
	From      string        // an address, @domain, or a part of an address; never a display name
	Verified  bool          // only a message whose sender is verified
	Subject   string        // substring of the subject
	Fields    []string      // only these fields of the message
}

func (q LatestQuery) queryValues() url.Values {
	v := url.Values{}
	if q.After > 0 {
		v.Set("after", formatID(q.After))
	}
	if q.New {
		v.Set("after", Now)
	}
	setValue(v, "direction", q.Direction)
	setValue(v, "to", q.To)
	setTime(v, "since", q.Since)
	if q.Wait > 0 {
		v.Set("wait", strconv.Itoa(int(q.Wait.Seconds())))
	}
	if q.OTP {
		v.Set("otp", "true")
	}
	if q.Verified {
		v.Set("verified", "true")
	}
	setValue(v, "from", q.From)
	setValue(v, "subject", q.Subject)
	setValue(v, "fields", strings.Join(q.Fields, ","))
	return v
}

func setValue(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func setTime(v url.Values, name string, at time.Time) {
	if !at.IsZero() {
		v.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}

// Latest returns the newest matching message, or nil if there is none. If a code is required and
// the inbox is encrypted, the error is ErrEncrypted.
func (c *Client) Latest(ctx context.Context, address string, q LatestQuery) (*Message, error) {
	out, err := fetchJSON[struct {
		Email     *Message
		Encrypted bool
	}](ctx, c, apiCall{method: "GET", path: inboxPath(address, "latest"), queryValues: q.queryValues(), requiredMember: "email"})
	if err == nil && q.OTP && out.Encrypted {
		err = ErrEncrypted
	}
	return out.Email, err
}

// MessageQuery restricts Messages. The zero value selects the newest 50 received messages.
type MessageQuery struct {
	Limit     int    // at most 200; 0: 50
	Before    int64  // only lower ids: the last id of the previous page
	To        string // only what came to this envelope recipient; a tag in the address means the same
	Since     time.Time
	Direction string // in, out, all; empty: in
	Unread    bool
	From      string   // an address, @domain, or part of an address
	Verified  bool     // only messages whose sender is verified
	Search    string   // substring of subject, sender or body
	Include   []string // html, headers, link_texts
	Fields    []string
}

func (q MessageQuery) queryValues() url.Values {
	v := url.Values{}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Before > 0 {
		v.Set("before", formatID(q.Before))
	}
	if q.Unread {
		v.Set("unread", "true")
	}
	if q.Verified {
		v.Set("verified", "true")
	}
	setValue(v, "from", q.From)
	setValue(v, "to", q.To)
	setTime(v, "since", q.Since)
	setValue(v, "direction", q.Direction)
	setValue(v, "q", q.Search)
	setValue(v, "include", strings.Join(q.Include, ","))
	setValue(v, "fields", strings.Join(q.Fields, ","))
	return v
}

// MessagePage is one page of a list, newest first.
type MessagePage struct {
	Emails  []Message `json:"emails"`
	HasMore bool      `json:"has_more"`
	Damaged []int64   `json:"damaged"` // ids of messages of this page that were lost to damage on the service's disk
}

// Messages returns one page of messages.
func (c *Client) Messages(ctx context.Context, address string, q MessageQuery) (MessagePage, error) {
	return fetchJSON[MessagePage](ctx, c, apiCall{method: "GET", path: inboxPath(address, "messages"), queryValues: q.queryValues(), requiredMember: "emails"})
}

// AllQuery restricts AllMessages. The zero value selects the newest 100 received messages.
type AllQuery struct {
	To, From, Subject string
	Search            string // substring of subject, sender or body
	Label             string // substring of the inbox's label
	Since             time.Time
	Unread, OTP       bool
	Verified          bool   // only messages whose sender is verified
	Direction         string // in, out, all; empty: in
	Limit             int    // at most 1000; 0: 100
	Cursor            string // NextCursor of the previous page
	Fields            []string
}

func (q AllQuery) queryValues() url.Values {
	v := MessageQuery{Limit: q.Limit, To: q.To, From: q.From, Verified: q.Verified, Since: q.Since, Direction: q.Direction, Unread: q.Unread, Search: q.Search, Fields: q.Fields}.queryValues()
	if q.OTP {
		v.Set("otp", "true")
	}
	setValue(v, "subject", q.Subject)
	setValue(v, "label", q.Label)
	setValue(v, "cursor", q.Cursor)
	return v
}

// AllPage is one page of the messages of all inboxes, newest first.
type AllPage struct {
	Emails     []InboxMessage `json:"emails"`
	NextCursor string         `json:"next_cursor"` // empty on the last page
	Damaged    []Lost         `json:"damaged"`     // messages lost to damage on the service's disk
}

// Lost is a message that was lost to damage on the service's disk; without an id, all messages of
// an inbox.
type Lost struct {
	Inbox string `json:"inbox"`
	ID    int64  `json:"id"`
}

// InboxMessage is a message with the address of its inbox.
type InboxMessage struct {
	Inbox string `json:"inbox"`
	Message
}

// AllMessages returns one page of the messages of all inboxes of the account.
func (c *Client) AllMessages(ctx context.Context, q AllQuery) (AllPage, error) {
	return fetchJSON[AllPage](ctx, c, apiCall{method: "GET", path: "/api/v1/messages", queryValues: q.queryValues(), requiredMember: "emails"})
}

// ClearBefore deletes the messages with lower ids and returns how many it deleted. If address has a
// tag, it deletes only messages to that tag.
func (c *Client) ClearBefore(ctx context.Context, address string, id int64) (deleted int, err error) {
	return clearMessages(ctx, c, address, "before", id)
}

// ClearOlder is ClearBefore for messages received more than hours ago.
func (c *Client) ClearOlder(ctx context.Context, address string, hours int) (deleted int, err error) {
	return clearMessages(ctx, c, address, "older_than", int64(hours))
}

func clearMessages(ctx context.Context, c *Client, address, by string, n int64) (int, error) {
	out, err := fetchJSON[struct{ Deleted int }](ctx, c, apiCall{method: "DELETE", path: inboxPath(address, "messages"), queryValues: url.Values{by: {formatID(n)}}, requiredMember: "deleted"})
	return out.Deleted, err
}

// Message returns one message.
func (c *Client) Message(ctx context.Context, address string, id int64) (*Message, error) {
	out, err := fetchJSON[struct{ Email *Message }](ctx, c, apiCall{method: "GET", path: inboxPath(address, "messages", formatID(id)), requiredMember: "email"})
	return out.Email, err
}

// Raw returns a message as it was received.
func (c *Client) Raw(ctx context.Context, address string, id int64) ([]byte, error) {
	return downloadBytes(ctx, c, inboxPath(address, "messages", formatID(id), "raw"))
}

// Attachment returns the bytes of an attachment.
func (c *Client) Attachment(ctx context.Context, address string, id, attachment int64) ([]byte, error) {
	return downloadBytes(ctx, c, inboxPath(address, "messages", formatID(id), "attachments", formatID(attachment)))
}

func downloadBytes(ctx context.Context, c *Client, path string) (content []byte, err error) {
	err = attemptCall(ctx, c, apiCall{method: "GET", path: path}, func(resp *http.Response) error {
		content, err = io.ReadAll(resp.Body)
		return err
	})
	return content, err
}

// MarkRead marks a message as read or unread.
func (c *Client) MarkRead(ctx context.Context, address string, id int64, read bool) error {
	in := struct {
		Read bool `json:"read"`
	}{read}
	return do(ctx, c, apiCall{method: "POST", path: inboxPath(address, "messages", formatID(id), "read"), in: in, requiredMember: "ok", isRepeatable: true}, nil)
}

// DeleteMessage deletes one message.
func (c *Client) DeleteMessage(ctx context.Context, address string, id int64) error {
	return do(ctx, c, apiCall{method: "DELETE", path: inboxPath(address, "messages", formatID(id)), requiredMember: "ok"}, nil)
}

// Claim marks a message as read and reports whether it was unread before. If several clients claim
// it, only one gets true.
func (c *Client) Claim(ctx context.Context, address string, id int64) (bool, error) {
	in := struct {
		Claim bool `json:"claim"`
	}{true}
	out, err := fetchJSON[struct{ Claimed bool }](ctx, c, apiCall{method: "POST", path: inboxPath(address, "messages", formatID(id), "read"), in: in, requiredMember: "claimed"})
	return out.Claimed, err
}
