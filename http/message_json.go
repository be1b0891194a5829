package http

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"inboxd/internal/base/address"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/message/html"
	"inboxd/internal/mail/sealed"
)

// messageJSON is a message in the form that the encoder below needs.
type messageJSON struct {
	messageMeta *inbox.Message
	content     *inbox.Content // may be nil if no selected field needs it
	// envelope is the envelope of an encrypted message. It is nil if no selected field needs it, or
	// if it is too large.
	envelope []byte
	bodyMax  int // bytes of the body; 0: no limit
}

// messageField is one member of a message object (specification, Messages). The names and their
// order are part of the public contract.
type messageField struct {
	name         string
	needsContent bool // requires the content
	// sealedName is the fixed value of the member in an encrypted message (specification, Encryption);
	// empty: the member has its normal value.
	sealedName  string
	appendValue func([]byte, *messageJSON) []byte
}

var messageFields = []messageField{
	{"id", false, "", func(b []byte, e *messageJSON) []byte { return strconv.AppendInt(b, e.messageMeta.ID, 10) }},
	{"direction", false, "", appendDirection},
	{"subject", false, "null", func(b []byte, e *messageJSON) []byte { return appendString(b, e.messageMeta.Subject) }},
	{"from", false, "", func(b []byte, e *messageJSON) []byte { return appendMailbox(b, e.messageMeta.From) }},
	{"to", true, "[]", func(b []byte, e *messageJSON) []byte { return appendMailboxes(b, e.content.Doc.To) }},
	{"bcc", false, "[]", appendBcc},
	{"cc", true, "[]", func(b []byte, e *messageJSON) []byte { return appendMailboxes(b, e.content.Doc.Cc) }},
	{"reply_to", true, "[]", func(b []byte, e *messageJSON) []byte { return appendMailboxes(b, e.content.Doc.ReplyTo) }},
	{"date", true, "null", func(b []byte, e *messageJSON) []byte { return appendTimeOrNull(b, e.content.Doc.Date) }},
	{"received_at", false, "", func(b []byte, e *messageJSON) []byte { return appendTimeOrNull(b, e.messageMeta.ReceivedAt) }},
	{"expires_at", false, "", func(b []byte, e *messageJSON) []byte { return appendTimeOrNull(b, e.messageMeta.ExpiresAt) }},
	{"envelope_to", false, "", func(b []byte, e *messageJSON) []byte { return appendString(b, e.messageMeta.EnvelopeTo) }},
	{"envelope_recipients", false, "", func(b []byte, e *messageJSON) []byte { return appendStrings(b, e.messageMeta.EnvelopeRecipients()) }},
	{"to_address", false, "", func(b []byte, e *messageJSON) []byte { return appendStringOrNull(b, e.addressedTo()) }},
	{"tag", false, "", func(b []byte, e *messageJSON) []byte { return appendStringOrNull(b, e.recipientTag()) }},
	{"internet_message_id", true, "null", func(b []byte, e *messageJSON) []byte { return appendStringOrNull(b, e.content.Doc.MessageID) }},
	{"in_reply_to", true, "null", func(b []byte, e *messageJSON) []byte { return appendStringOrNull(b, e.content.Doc.InReplyTo) }},
	{"references", true, "[]", func(b []byte, e *messageJSON) []byte { return appendStrings(b, e.content.Doc.References) }},
	{"otp_code", false, "null", func(b []byte, e *messageJSON) []byte { return appendStringOrNull(b, e.messageMeta.OTP) }},
	{"otp", true, "null", appendOTP},
	{"otp_candidates", true, "", appendOTPCandidates},
	{"verification_link", true, "null", func(b []byte, e *messageJSON) []byte { return appendStringOrNull(b, e.content.OTP.VerificationLink) }},
	{"body", true, "null", appendBody},
	{"body_from_html", true, "false", func(b []byte, e *messageJSON) []byte { return strconv.AppendBool(b, e.content.Doc.TextFromHTML) }},
	{"truncated_body", true, "", func(b []byte, e *messageJSON) []byte { return strconv.AppendBool(b, e.isTruncated()) }},
	{"degraded", true, "false", func(b []byte, e *messageJSON) []byte { return strconv.AppendBool(b, e.content.Doc.IsDegraded) }},
	{"hidden_text", true, "false", func(b []byte, e *messageJSON) []byte { return strconv.AppendBool(b, e.content.Doc.HiddenText) }},
	{"html", true, "null", appendHTML},
	{"headers", true, "null", func(b []byte, e *messageJSON) []byte { return appendHeaders(b, e.content.Doc.Headers) }},
	{"sender", true, "null", func(b []byte, e *messageJSON) []byte { return appendStringOrNull(b, e.envelopeSender()) }},
	{"links", true, "[]", func(b []byte, e *messageJSON) []byte { return appendStrings(b, e.content.Doc.Links) }},
	{"link_texts", true, "[]", appendLinkTexts},
	{"links_truncated", true, "", appendLinksTruncated},
	{"attachments", true, "", appendAttachments},
	{"attachments_omitted", true, "", func(b []byte, e *messageJSON) []byte {
		return strconv.AppendInt(b, int64(e.content.Doc.AttachmentsOmitted), 10)
	}},
	{"calendar_event", true, "null", func(b []byte, e *messageJSON) []byte { return webhook.AppendSaid(b, e.content.Calendar) }},
	{"calendar_events", true, "", appendCalendarEvents},
	{"spam", true, "", appendSpam},
	{"auth", true, "", appendAuth},
	{"simulated", true, "", appendSimulated},
	{"send_status", false, "", appendSendStatus},
	{"send_error", false, "", appendSendError},
	{"recipients", false, "", appendRecipients},
	{"is_read", false, "", func(b []byte, e *messageJSON) []byte { return strconv.AppendBool(b, e.messageMeta.IsRead) }},
	{"size_bytes", false, "", func(b []byte, e *messageJSON) []byte { return strconv.AppendInt(b, e.messageMeta.Size, 10) }},
	{"encrypted", false, "", appendEncrypted},
	{"is_encrypted", false, "", appendEncrypted},
	{"note", false, "", appendNote},
	{"envelope", true, "", appendEnvelope},
	{"body_text", true, "null", appendBody},
	{"body_html", true, "null", appendHTML},
}

// fieldSet selects message fields, one bit each in the order of messageFields.
type fieldSet uint64

func fieldsNamed(names ...string) (set fieldSet) {
	for _, name := range names {
		set |= fieldNamed(name)
	}
	return set
}

// fieldNamed returns 0 for an unknown name.
func fieldNamed(name string) fieldSet {
	for i := range messageFields {
		if messageFields[i].name == name {
			return 1 << i
		}
	}
	return 0
}

// allFields are the fields of a single message and of the latest one; listFields are those of
// lists.
var (
	allFields     = (fieldSet(1)<<len(messageFields) - 1) &^ compatTexts
	heavyFields   = fieldsNamed("html", "headers", "sender", "link_texts", "envelope")
	senderField   = fieldNamed("sender") // selected together with the headers
	envelopeField = fieldNamed("envelope")
	listFields    = allFields &^ heavyFields
	contentFields = func() (set fieldSet) {
		for i := range messageFields {
			if messageFields[i].needsContent {
				set |= 1 << i
			}
		}
		return set
	}()
)

// appendMessage appends the message object with the selected fields.
func appendMessage(b []byte, e *messageJSON, set fieldSet) []byte {
	b = append(b, '{')
	for i := range messageFields {
		if set&(1<<i) == 0 {
			continue
		}
		before := len(b)
		if b[before-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), messageFields[i].name...), '"', ':')
		named := len(b)
		if secret := messageFields[i].sealedName; secret != "" && e.messageMeta.EncryptedState != nil {
			b = append(b, secret...)
		} else {
			b = messageFields[i].appendValue(b, e)
		}
		if len(b) == named {
			b = b[:before] // this message does not have the member
		}
	}
	return append(b, '}')
}

// appendLinkTexts appends each URL of links with its text in the HTML.
func appendLinkTexts(b []byte, e *messageJSON) []byte {
	return appendList(b, html.LinkTexts(e.content.Doc.HTML, e.content.Doc.Links), func(b []byte, l html.LinkText) []byte {
		b = appendString(append(b, `{"url":`...), l.URL)
		return append(appendString(append(b, `,"text":`...), l.Text), '}')
	})
}

// appendLinksTruncated says that the message had more links than links contains. It omits the
// member for other messages, and for encrypted ones, which have no links.
func appendLinksTruncated(b []byte, e *messageJSON) []byte {
	if e.messageMeta.EncryptedState != nil || !e.content.Doc.LinksCut {
		return b
	}
	return append(b, "true"...)
}

// appendSimulated omits the member unless the message was simulated.
func appendSimulated(b []byte, e *messageJSON) []byte {
	if !e.content.Simulated {
		return b
	}
	return append(b, "true"...)
}

// appendCalendarEvents omits the member unless the message contains several meetings.
func appendCalendarEvents(b []byte, e *messageJSON) []byte {
	if e.messageMeta.EncryptedState != nil {
		return b
	}
	return webhook.AppendAllSaid(b, e.content.Calendar, e.content.MoreCalendar)
}

// estimateBytes estimates the memory needed to read and render the message.
func (e *messageJSON) estimateBytes(set fieldSet) int64 {
	if set&contentFields == 0 {
		return 0
	}
	return 2 * min(e.messageMeta.Size, maxContentBytes)
}

// addressedTo returns the recipient of the message, with its tag. For a sent message, it returns the
// first recipient.
func (e *messageJSON) addressedTo() string {
	if e.messageMeta.OutgoingDelivery != nil && len(e.messageMeta.OutgoingDelivery.Recipients) > 0 {
		return e.messageMeta.OutgoingDelivery.Recipients[0].Email
	}
	return e.messageMeta.EnvelopeTo
}

// recipientTag returns the tag of the recipient of a received message.
func (e *messageJSON) recipientTag() string {
	local, _ := address.Split(e.messageMeta.EnvelopeTo)
	_, tag, _ := strings.Cut(local, "+")
	return tag
}

// envelopeSender returns the envelope sender, empty for the null sender. The receiving server wrote
// it into the first header field (RFC 5321 section 4.4).
func (e *messageJSON) envelopeSender() string {
	if e.messageMeta.Direction == inbox.Out {
		return e.messageMeta.From.Email
	}
	headers := e.content.Doc.Headers
	if len(headers) > 0 && e.content.Auth.CheckingServer != "" { // our Authentication-Results precede it
		headers = headers[1:]
	}
	if len(headers) == 0 || headers[0].Name != "Return-Path" {
		return ""
	}
	return strings.Trim(headers[0].Value, "<>")
}

// bodyText returns the text, cut at a character boundary.
func (e *messageJSON) bodyText() string {
	text := e.content.Doc.Text
	if e.bodyMax == 0 || len(text) <= e.bodyMax {
		return text
	}
	end := e.bodyMax
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func (e *messageJSON) isTruncated() bool {
	if e.messageMeta.EncryptedState != nil {
		return !e.showsEnvelope()
	}
	return e.content.Doc.TextCut || len(e.bodyText()) < len(e.content.Doc.Text)
}

// maxEnvelope is the largest envelope in JSON. A larger one must be downloaded.
const maxEnvelope = 1 << 20

func (e *messageJSON) showsEnvelope() bool {
	return sealed.EnvelopeSize(e.messageMeta.Size) <= maxEnvelope
}

// appendEnd appends the end of the response to a read of the inbox. For an encrypted inbox it
// always says so, so that a client that waits for a code can give up.
func (r *apiRequest) appendEnd(b []byte) []byte {
	if r.inboxView.Encrypted {
		b = appendString(append(b, `,"encrypted":true,"note":`...), sealedNote)
	}
	return append(b, '}')
}

const sealedNote = "This inbox is end-to-end encrypted: body and otp_code are not available. Open envelope or /raw with the account's age key"

// appendNote and appendEnvelope omit their members unless the message is encrypted.
func appendNote(b []byte, e *messageJSON) []byte {
	if e.messageMeta.EncryptedState == nil {
		return b
	}
	return appendString(b, sealedNote)
}

func appendEnvelope(b []byte, e *messageJSON) []byte {
	switch {
	case e.messageMeta.EncryptedState == nil:
		return b
	case e.envelope == nil:
		return append(b, "null"...)
	}
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), e.envelope), '"')
}

func appendDirection(b []byte, e *messageJSON) []byte {
	if e.messageMeta.Direction == inbox.Out {
		return append(b, `"out"`...)
	}
	return append(b, `"in"`...)
}

func appendEncrypted(b []byte, e *messageJSON) []byte {
	return strconv.AppendBool(b, e.messageMeta.EncryptedState != nil)
}

func appendBody(b []byte, e *messageJSON) []byte { return appendString(b, e.bodyText()) }

func appendHTML(b []byte, e *messageJSON) []byte {
	if !e.content.Doc.HasHTML {
		return append(b, "null"...)
	}
	return appendString(b, e.content.Doc.HTML)
}

func appendOTP(b []byte, e *messageJSON) []byte {
	o := &e.content.OTP
	if o.Code == "" {
		return append(b, "null"...)
	}
	b = appendString(append(b, `{"code":`...), o.Code)
	b = strconv.AppendFloat(append(b, `,"confidence":`...), math.Round(100*o.Confidence)/100, 'f', -1, 64)
	b = appendString(append(b, `,"source":`...), o.Source)
	b = appendStringOrNull(append(b, `,"origin":`...), o.Origin)
	b = appendStrings(append(b, `,"candidates":`...), o.Candidates)
	b = strconv.AppendBool(append(b, `,"sender_verified":`...), e.content.Auth.FromVerified)
	return append(b, '}')
}

// appendOTPCandidates reports what the search found in a message without a certain code, for people
// who wait for one. It omits the member for other messages.
func appendOTPCandidates(b []byte, e *messageJSON) []byte {
	if o := &e.content.OTP; o.Code == "" && o.Candidates != nil {
		b = appendStrings(b, o.Candidates)
	}
	return b
}

func appendStringOrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

func appendTimeOrNull(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	return append(t.UTC().AppendFormat(append(b, '"'), timeFormat), '"')
}

// appendList appends an array, never null.
func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, ']')
}

func appendStrings(b []byte, list []string) []byte { return appendList(b, list, appendString) }

func appendMailbox(b []byte, m message.Mailbox) []byte {
	b = appendString(append(b, `{"email":`...), m.Email)
	b = appendString(append(b, `,"name":`...), m.Name)
	return append(b, '}')
}

func appendMailboxes(b []byte, list []message.Mailbox) []byte {
	return appendList(b, list, appendMailbox)
}

func appendAttachments(b []byte, e *messageJSON) []byte {
	return appendList(b, e.content.Doc.Attachments, func(b []byte, a message.Attachment) []byte {
		b = strconv.AppendInt(append(b, `{"id":`...), int64(a.ID), 10)
		b = appendString(append(b, `,"filename":`...), a.Filename)
		b = appendString(append(b, `,"content_type":`...), a.ContentType)
		b = strconv.AppendInt(append(b, `,"size_bytes":`...), a.Size, 10)
		b = strconv.AppendBool(append(b, `,"is_encrypted":`...), e.messageMeta.EncryptedState != nil)
		b = strconv.AppendBool(append(b, `,"truncated":`...), a.Truncated)
		b = appendStringOrNull(append(b, `,"content_id":`...), a.ContentID)
		return append(b, '}')
	})
}

// appendHeaders appends an object of the header fields. A repeated field, in any letter case,
// becomes an array under its first name.
func appendHeaders(b []byte, headers []message.Header) []byte {
	values := make(map[string][]string, len(headers))
	for _, h := range headers {
		key := strings.ToLower(h.Name)
		values[key] = append(values[key], h.Value)
	}
	b = append(b, '{')
	for _, h := range headers {
		key := strings.ToLower(h.Name)
		list := values[key]
		if list == nil {
			continue // already written at its first occurrence
		}
		delete(values, key)
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(appendString(b, h.Name), ':')
		if len(list) == 1 {
			b = appendString(b, list[0])
		} else {
			b = appendStrings(b, list)
		}
	}
	return append(b, '}')
}

// appendAuth appends the results of sender authentication (specification, Messages), or null if the
// message was not checked.
func appendAuth(b []byte, e *messageJSON) []byte {
	a := &e.content.Auth
	if a.CheckingServer == "" {
		return append(b, "null"...)
	}
	b = appendAuthResult(append(b, `{"spf":`...), a.SPF)
	b = appendAuthResult(append(b, `,"dkim":`...), a.DKIM)
	b = appendAuthResult(append(b, `,"dmarc":`...), a.DMARC)
	b = appendList(append(b, `,"signatures":`...), a.Signatures, func(b []byte, s inbox.AuthSignature) []byte {
		b = appendString(append(b, `{"result":`...), s.Word)
		b = appendStringOrNull(append(b, `,"domain":`...), s.Domain)
		b = appendStringOrNull(append(b, `,"selector":`...), s.Selector)
		b = appendStringOrNull(append(b, `,"algorithm":`...), s.Algorithm)
		return append(b, '}')
	})
	b = strconv.AppendBool(append(b, `,"sender_verified":`...), a.FromVerified)
	return append(b, '}')
}

func appendAuthResult(b []byte, r inbox.AuthResult) []byte {
	b = appendString(append(b, `{"result":`...), r.ResultKeyword)
	b = appendStringOrNull(append(b, `,"domain":`...), r.Domain)
	return append(b, '}')
}

// appendSpam appends the verdict of the spam scanner (specification, Spam), or null if the message
// was not scanned.
func appendSpam(b []byte, e *messageJSON) []byte {
	s := e.content.Spam
	if s == nil {
		return append(b, "null"...)
	}
	b = strconv.AppendFloat(append(b, `{"score":`...), s.Score, 'f', -1, 64)
	b = strconv.AppendFloat(append(b, `,"required":`...), s.RequiredScore, 'f', -1, 64)
	b = strconv.AppendBool(append(b, `,"is_spam":`...), s.IsSpam)
	b = appendList(append(b, `,"rules":`...), s.Rules, func(b []byte, r inbox.SpamRule) []byte {
		b = appendString(append(b, `{"name":`...), r.Name)
		b = strconv.AppendFloat(append(b, `,"weight":`...), r.Weight, 'f', -1, 64)
		b = appendString(append(b, `,"description":`...), r.Description)
		return append(b, '}')
	})
	return append(b, '}')
}
