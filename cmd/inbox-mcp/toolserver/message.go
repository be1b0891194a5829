package toolserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"inboxd/http/client"
)

// Limits of what is shown of one message, in characters unless stated otherwise.
const (
	maxBody     = 4000
	maxHeading  = 300  // of a subject or a name
	maxLinks    = 8000 // bytes of all links together
	maxOneLink  = 2000
	maxBoxes    = 20
	maxMeeting  = 6 << 10 // bytes of an invitation
	maxMeetings = 10      // in one message; together they may have maxMeeting bytes in addition
	maxFileName = 255
)

// shownFields are the fields that tools need of a message. HTML is not among them: a model would
// read in it what a person does not see.
const shownFields = "id,direction,from,to,reply_to,subject,received_at,internet_message_id,otp_code,verification_link,body,truncated_body,hidden_text,links,attachments,calendar_event,calendar_events,auth,is_read,send_status,send_error,encrypted,note"

// apiMessage is a message as the API returns it, with its invitation unparsed.
type apiMessage struct {
	client.Message
	CalendarEvent  json.RawMessage   `json:"calendar_event"`
	CalendarEvents []json.RawMessage `json:"calendar_events"`
	LinksTruncated bool              `json:"links_truncated"`
	Auth           *authVerdict      `json:"auth"`
}

// authVerdict is the authentication result of a message.
type authVerdict struct {
	SenderVerified bool `json:"sender_verified"`
	DMARC          struct {
		Result string `json:"result"`
	} `json:"dmarc"`
}

// messageView is a message as a tool returns it.
type messageView struct {
	ID                 int64               `json:"id"`
	Direction          string              `json:"direction"`
	From               client.Mailbox      `json:"from"`
	To                 []client.Mailbox    `json:"to"`
	Subject            *string             `json:"subject"`
	ReceivedAt         string              `json:"received_at"`
	OTPCode            *string             `json:"otp_code"`
	VerificationLink   *string             `json:"verification_link"`
	Body               *string             `json:"body"`
	TruncatedBody      bool                `json:"truncated_body"`
	HiddenText         bool                `json:"hidden_text,omitempty"`
	Links              []string            `json:"links"`
	LinksTruncated     bool                `json:"links_truncated,omitempty"`
	Attachments        []client.Attachment `json:"attachments"`
	OmittedAttachments int                 `json:"attachments_omitted,omitempty"`
	CalendarEvent      json.RawMessage     `json:"calendar_event"`
	CalendarEvents     []json.RawMessage   `json:"calendar_events,omitempty"` // all of them, if a message has several
	SenderVerified     *bool               `json:"sender_verified,omitempty"` // nil for sent messages
	IsRead             bool                `json:"is_read"`
	SendStatus         *string             `json:"send_status"`
	SendError          *string             `json:"send_error"`
	IsEncrypted        bool                `json:"encrypted,omitempty"`
	Note               string              `json:"note,omitempty"`

	dmarcFails bool
	hasHidden  bool     // invisible characters were removed
	cutParts   []string // what else was shortened, for the text
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// newMessageView shortens a message to a size that a model can process.
func newMessageView(m *apiMessage) *messageView {
	v := &messageView{
		ID: m.ID, Direction: m.Direction, ReceivedAt: formatTime(m.ReceivedAt), IsRead: m.IsRead, IsEncrypted: m.Encrypted, Note: m.Note, HiddenText: m.HiddenText,
		OTPCode: orNull(plainText(m.OTPCode)), SendStatus: orNull(string(m.SendStatus)), CalendarEvent: json.RawMessage("null"),
		From: plainBox(m.From), Links: []string{}, Attachments: []client.Attachment{}, To: []client.Mailbox{},
	}
	if m.SendError != "" {
		text, _ := truncateText(singleLine(m.SendError), 1000)
		v.SendError = &text
	}
	if !m.Encrypted {
		subject, _ := truncateText(singleLine(m.Subject), maxHeading)
		body, gone := truncateText(plainText(m.Body), maxBody)
		v.Subject, v.Body, v.TruncatedBody = &subject, &body, gone || m.TruncatedBody
	}
	if len(m.VerificationLink) <= maxLinks {
		v.VerificationLink = orNull(singleLine(m.VerificationLink))
	}
	if m.Direction == "in" {
		v.SenderVerified = new(m.Auth != nil && m.Auth.SenderVerified)
		v.dmarcFails = m.Auth != nil && m.Auth.DMARC.Result == "fail"
	}
	v.hasHidden = m.hidesText()
	v.setRecipients(m.To)
	v.setLinks(m)
	v.setFiles(m.Attachments)
	v.OmittedAttachments = m.AttachmentsOmitted
	if len(m.CalendarEvent) > 0 {
		event, gone := truncateObject(m.CalendarEvent, maxMeeting)
		v.CalendarEvent = compactJSON(event)
		v.noteCut(gone, "the invitation")
	}
	for _, one := range m.CalendarEvents[:min(len(m.CalendarEvents), maxMeetings)] {
		event, _ := truncateObject(one, maxMeeting/maxMeetings)
		v.CalendarEvents = append(v.CalendarEvents, compactJSON(event))
	}
	v.noteCut(len(m.CalendarEvents) > maxMeetings, fmt.Sprintf("the meetings (%d in all)", len(m.CalendarEvents)))
	return v
}

// hidesText reports whether plain removes invisible characters from the message.
func (m *apiMessage) hidesText() bool {
	texts := []string{m.Subject, m.Body, m.OTPCode, m.VerificationLink, m.SendError, m.From.Name, m.From.Email, string(m.CalendarEvent)}
	for _, to := range m.To {
		texts = append(texts, to.Name, to.Email)
	}
	for _, f := range m.Attachments {
		texts = append(texts, f.Filename, f.ContentType, f.ContentID)
	}
	for _, event := range m.CalendarEvents {
		texts = append(texts, string(event))
	}
	return hasHiddenText(append(texts, m.Links...)...)
}

func plainBox(b client.Mailbox) client.Mailbox {
	name, _ := truncateText(singleLine(b.Name), maxHeading)
	email, _ := truncateText(singleLine(b.Email), maxHeading)
	return client.Mailbox{Email: email, Name: name}
}

func (v *messageView) noteCut(gone bool, what string) {
	if gone {
		v.cutParts = append(v.cutParts, what)
	}
}

func (v *messageView) setRecipients(to []client.Mailbox) {
	for _, b := range to[:min(len(to), maxBoxes)] {
		v.To = append(v.To, plainBox(b))
	}
	v.noteCut(len(to) > maxBoxes, fmt.Sprintf("the recipients (%d in all)", len(to)))
}

func (v *messageView) setLinks(m *apiMessage) {
	left := maxLinks
	for _, l := range m.Links {
		if len(l) > maxOneLink || len(l) > left {
			continue // a shortened link would not work
		}
		left -= len(l) + len(`"",`)
		v.Links = append(v.Links, singleLine(l))
	}
	v.LinksTruncated = len(v.Links) < len(m.Links) || m.LinksTruncated
	v.noteCut(v.LinksTruncated, "the links")
}

func (v *messageView) setFiles(files []client.Attachment) {
	for _, f := range files {
		f.Filename, _ = truncateText(singleLine(f.Filename), maxFileName)
		f.ContentType, _ = truncateText(singleLine(f.ContentType), maxFileName)
		f.ContentID, _ = truncateText(singleLine(f.ContentID), maxFileName)
		v.Attachments = append(v.Attachments, f)
	}
}

// shortenTo halves the longest parts until the message has at most max bytes, counted both as
// structured content and as text.
func (v *messageView) shortenTo(max int) {
	for limit := maxBody / 2; v.toItem(fence{"x"}).encodedSize() > max && limit > 50; limit /= 2 {
		if v.Body != nil {
			body, gone := truncateText(*v.Body, limit)
			v.Body, v.TruncatedBody = &body, v.TruncatedBody || gone
		}
		if n := len(v.Links) / 2; n < len(v.Links) {
			v.noteCut(!v.LinksTruncated, "the links")
			v.Links, v.LinksTruncated = v.Links[:n], true
		}
		if limit < 500 {
			v.CalendarEvent, _ = truncateObject(v.CalendarEvent, maxMeeting/4)
			v.CalendarEvents = nil
			v.To = v.To[:min(len(v.To), 3)]
			v.noteCut(limit > 200, "its header and invitation")
		}
	}
}

func (it listItem) encodedSize() int { return escapedLength(it.structuredJSON) + quotedLength(it.text) }

// toItem returns the message as an item of a list.
func (v *messageView) toItem(f fence) listItem {
	b, err := encodeJSON(v)
	if err != nil {
		panic(err) // cannot happen: every field can be encoded
	}
	return listItem{b, v.ownHeading() + f.wrapText(v.outsideText()) + "\n"}
}

// ownHeading returns what the tool server itself knows about the message.
func (v *messageView) ownHeading() string {
	var b strings.Builder
	fmt.Fprintf(&b, "message_id %d, ", v.ID)
	switch {
	case v.Direction == "out":
		fmt.Fprintf(&b, "sent %s", v.ReceivedAt)
		if v.SendStatus != nil {
			fmt.Fprintf(&b, ", send_status %s", *v.SendStatus)
		}
	case v.IsRead:
		fmt.Fprintf(&b, "received %s, read", v.ReceivedAt)
	default:
		fmt.Fprintf(&b, "received %s, unread", v.ReceivedAt)
	}
	if v.SenderVerified != nil {
		fmt.Fprintf(&b, ", sender_verified %t", *v.SenderVerified)
	}
	if v.dmarcFails {
		b.WriteString(" (DMARC fails: the address in From is probably forged)")
	}
	if v.IsEncrypted {
		b.WriteString(", encrypted")
	}
	if v.TruncatedBody {
		b.WriteString(", body truncated")
	}
	if v.HiddenText {
		b.WriteString(", its HTML hides text from people")
	}
	if v.hasHidden {
		b.WriteString(", invisible characters removed")
	}
	if v.OmittedAttachments > 0 {
		fmt.Fprintf(&b, ", %d more attachments not recorded", v.OmittedAttachments)
	}
	if len(v.cutParts) > 0 {
		fmt.Fprintf(&b, ", truncated: %s", strings.Join(v.cutParts, ", "))
	}
	b.WriteByte('\n')
	if v.Note != "" {
		b.WriteString(singleLine(v.Note) + "\n")
	}
	return b.String()
}

// outsideText returns the parts of the message that strangers could have written.
func (v *messageView) outsideText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "From: %s\n", formatMailbox(v.From))
	if len(v.To) > 0 {
		fmt.Fprintf(&b, "To: %s\n", formatMailboxes(v.To))
	}
	if v.Subject != nil {
		fmt.Fprintf(&b, "Subject: %s\n", *v.Subject)
	}
	writeField(&b, "Code", v.OTPCode)
	writeField(&b, "Link to confirm or sign in", v.VerificationLink)
	writeField(&b, "Delivery", v.SendError)
	for _, f := range v.Attachments {
		fmt.Fprintf(&b, "Attachment: %s (%s, %d bytes)\n", f.Filename, f.ContentType, f.SizeBytes)
	}
	switch {
	case len(v.CalendarEvents) > 0:
		for _, event := range v.CalendarEvents {
			b.WriteString(meetingLine(event))
		}
	case string(v.CalendarEvent) != "null":
		b.WriteString(meetingLine(v.CalendarEvent))
	}
	if v.Body != nil {
		fmt.Fprintf(&b, "\n%s\n", *v.Body)
	}
	return b.String()
}

func writeField(b *strings.Builder, name string, value *string) {
	if value != nil {
		fmt.Fprintf(b, "%s: %s\n", name, *value)
	}
}

func formatMailbox(m client.Mailbox) string {
	if m.Name == "" {
		return m.Email
	}
	return m.Name + " <" + m.Email + ">"
}

func formatMailboxes(all []client.Mailbox) string {
	var out []string
	for _, m := range all {
		out = append(out, formatMailbox(m))
	}
	return strings.Join(out, ", ")
}

// restNotice returns a sentence about where the complete message can be read.
func restNotice(address string, id int64) string {
	return fmt.Sprintf("The whole of a truncated message is at GET %s", client.InboxPath(address, "messages", fmt.Sprint(id)))
}
