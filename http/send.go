package http

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/message/compose"
)

// These are the limits of a send (specification, Sending), in code points. The plan has lower
// limits for counts; the ones here only bound how much is parsed.
const (
	maxSubject  = 200
	maxBody     = 1_000_000
	maxHTML     = 2_000_000
	maxFilename = 255
	maxCopies   = 1000
	maxFiles    = 1000
)

var (
	sendShape = shape{
		{name: "to", kind: line, required: true, max: maxAddress},
		{name: "subject", kind: line, max: maxSubject},
		{name: "body", kind: text, max: maxBody},
		{name: "html", kind: text, max: maxHTML},
		{name: "cc", kind: names, max: maxCopies, each: maxAddress},
		{name: "bcc", kind: names, max: maxCopies, each: maxAddress},
		{name: "attachments", kind: files, max: maxFiles},
		{name: "in_reply_to", kind: line, max: compose.MaxMessageID},
	}
	// fileShape is one attachment. The size of the body bounds its content.
	fileShape = shape{
		{name: "filename", kind: line, required: true, max: maxFilename},
		{name: "content_b64", kind: text, required: true, max: 64 << 20},
		{name: "content_type", kind: line, max: maxFilename},
	}
)

// files parses the attachments.
func (d decoder) files(f *field) ([]values, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginArray {
		return nil, d.other(f, kind)
	}
	d.ReadToken()
	out := []values{}
	for d.PeekKind() != jsontext.KindEndArray {
		if kind := d.PeekKind(); kind != jsontext.KindBeginObject {
			return nil, d.other(f, kind)
		}
		one := values{}
		if err := (decoder{d.Decoder, fileShape}).members(one); err != nil {
			return nil, err
		}
		if err := fileShape.complete(one); err != nil {
			return nil, err
		}
		if out = append(out, one); len(out) > f.max {
			return nil, f.checkCount(len(out))
		}
	}
	_, err := d.ReadToken()
	return out, malformed(f, err)
}

// Sending is what the handlers of sending need.
type Sending interface {
	// Send queues a message and returns its id when it is durable. A Refused fault names the
	// violated limit of the plan, or the suppressed recipients.
	Send(ctx context.Context, address string, letter inbox.Letter) (int64, error)
	// SendOnce is Send for a request with an idempotency key. tell makes the response, now and for
	// a repeat, and must use only its argument.
	SendOnce(ctx context.Context, address string, letter inbox.Letter, req idempotency.Request, tell func(inbox.Outcome) []byte) (idempotency.Result, error)
	// Suppressions pages through the suppressed addresses that follow after. If inboxOnly is not
	// empty, it returns only those that bounced messages of that inbox.
	Suppressions(ctx context.Context, id account.ID, inboxOnly, after string, limit int) ([]account.Suppression, error)
	// DropSuppression permits messages to an address again. It returns NotFound if the address is
	// not suppressed, or if inboxOnly is set and another inbox's message bounced.
	DropSuppression(ctx context.Context, id account.ID, inboxOnly, email string) error
}

// sending has the handlers that queue messages, and list and remove suppressions.
type sending struct{ port Sending }

func (s *sending) routes() []route {
	return []route{
		{post, agentInbox + "/send", anyone, account.ScopeSend, false, sendShape, s.send},
		{post, perInbox + "/send", insiders, account.ScopeSend, false, sendShape, s.send},
		{get, "/api/suppressions", sessions, none, false, nil, s.listSuppressions},
		{remove, "/api/suppressions/{email}", sessions, none, false, nil, s.dropSuppression},
		{get, "/api/v1/suppressions", anyone, account.ScopeSend, false, nil, s.listSuppressions},
		{remove, "/api/v1/suppressions/{email}", anyone, account.ScopeSend, false, nil, s.dropSuppression},
	}
}

// send queues a message. 202 means that the queue entry is durable.
func (s *sending) send(r *request) error {
	letter, err := r.body.letter()
	if err != nil {
		return err
	}
	req, err := r.once()
	if err != nil {
		return err
	}
	if req.Repeatable() {
		sent, err := s.port.SendOnce(r.ctx, r.address, letter, req, func(a inbox.Outcome) []byte { return queued(a.ID) })
		if err != nil {
			return err
		}
		writeJSON(r.http, fasthttp.StatusAccepted, sent.Told)
		return nil
	}
	id, err := s.port.Send(r.ctx, r.address, letter)
	if err != nil {
		return err
	}
	writeJSON(r.http, fasthttp.StatusAccepted, queued(id))
	return nil
}

// queued returns the response for a queued message.
func queued(id int64) []byte {
	return append(strconv.AppendInt([]byte(`{"ok":true,"queued":true,"message_id":`), id, 10), '}')
}

// letter checks what the shape cannot express.
func (v values) letter() (l inbox.Letter, err error) {
	l = inbox.Letter{Subject: v.string("subject"), Text: v.string("body"), HTML: v.string("html")}
	if l.To, err = inbox.CheckRecipient("to", v.string("to")); err != nil {
		return l, err
	}
	if l.Cc, err = recipients("cc", v.list("cc")); err != nil {
		return l, err
	}
	if l.Bcc, err = recipients("bcc", v.list("bcc")); err != nil {
		return l, err
	}
	if l.InReplyTo, err = messageID(v.string("in_reply_to")); err != nil {
		return l, err
	}
	attached, _ := v["attachments"].([]values)
	for _, a := range attached {
		file, err := a.file()
		if err != nil {
			return l, err
		}
		l.Files = append(l.Files, file)
	}
	return l, nil
}

func recipients(name string, list []string) ([]string, error) {
	out := make([]string, len(list))
	for i, email := range list {
		var err error
		if out[i], err = inbox.CheckRecipient(name, email); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// messageID parses the Message-ID of the message that is replied to. An empty text gives an empty
// id.
func messageID(s string) (string, error) {
	s = strings.TrimSpace(s)
	id, ok := compose.ReadMessageID(s)
	if s != "" && !ok {
		return "", fault.Field("in_reply_to", "must be one Message-ID: <left@right> in ASCII, of at most %d octets", compose.MaxMessageID)
	}
	return id, nil
}

// file decodes an attachment strictly: standard base64 with padding, without line breaks or a data:
// prefix.
func (v values) file() (f compose.File, err error) {
	f.Filename, f.ContentType = v.string("filename"), v.string("content_type")
	content := v.string("content_b64")
	if f.Filename == "" {
		return f, fault.Field("filename", "is empty")
	}
	if strings.ContainsAny(content, "\r\n") { // the decoder would skip them
		return f, fault.Field("content_b64", "must be standard base64 with padding, without line breaks or a data: prefix")
	}
	if f.Bytes, err = base64.StdEncoding.Strict().DecodeString(content); err != nil {
		return f, fault.Field("content_b64", "must be standard base64 with padding, without line breaks or a data: prefix")
	}
	return f, nil
}

const (
	defaultSuppressions = 100
	maxSuppressions     = 1000
)

type suppressionResponse struct {
	Email     string `json:"email"`
	Inbox     string `json:"inbox"`
	MessageID int64  `json:"message_id"`
	Reason    string `json:"reason"`
	At        string `json:"at"`
}

// listSuppressions pages through the suppressed addresses. The cursor is the last address shown. An
// inbox key sees only those that its own messages caused.
func (s *sending) listSuppressions(r *request) error {
	q := r.query()
	limit := int(q.number("limit", defaultSuppressions, 1, maxSuppressions))
	cursor := plusSigns(q.raw("cursor"))
	if cursor != "" && !strings.Contains(cursor, "@") {
		q.bad("cursor", notACursor)
	}
	if q.err != nil {
		return q.err
	}
	list, err := s.port.Suppressions(r.ctx, r.principal.Account, r.principal.Inbox, cursor, limit+1)
	if err != nil {
		return err
	}
	next := ""
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Email
	}
	return r.json(fasthttp.StatusOK, struct {
		Suppressions []suppressionResponse `json:"suppressions"`
		NextCursor   *string               `json:"next_cursor"`
	}{each(list, suppressionOf), stringOrNull(next)}, nil)
}

func suppressionOf(s *account.Suppression) suppressionResponse {
	return suppressionResponse{s.Email, s.Inbox, s.Message, s.Reason, wireTime(s.At)}
}

func (s *sending) dropSuppression(r *request) error {
	return r.ok(s.port.DropSuppression(r.ctx, r.principal.Account, r.principal.Inbox, parameter(r.http, "email")))
}

// Only sent messages have the following members. For other messages these functions append nothing,
// which omits the member.

func appendBcc(b []byte, e *messageJSON) []byte {
	if e.meta.Sending == nil {
		return b
	}
	var blind []message.Mailbox
	for _, r := range e.meta.Sending.Recipients {
		if r.Bcc {
			blind = append(blind, message.Mailbox{Email: r.Email})
		}
	}
	return appendMailboxes(b, blind)
}

func appendSendStatus(b []byte, e *messageJSON) []byte {
	if e.meta.Sending == nil {
		return b
	}
	return appendString(b, e.meta.Sending.Status.String())
}

func appendSendError(b []byte, e *messageJSON) []byte {
	if e.meta.Sending == nil {
		return b
	}
	why := e.meta.Sending.Reason()
	if why == "" {
		return b
	}
	return appendString(b, why)
}

func appendRecipients(b []byte, e *messageJSON) []byte {
	if e.meta.Sending == nil {
		return b
	}
	return appendList(b, e.meta.Sending.Recipients, func(b []byte, r inbox.Recipient) []byte {
		b = appendString(append(b, `{"email":`...), r.Email)
		b = appendString(append(b, `,"status":`...), r.Status.String())
		b = appendStringOrNull(append(b, `,"error":`...), r.Error)
		b = appendStringOrNull(append(b, `,"mx":`...), r.MX)
		b = appendTimeOrNull(append(b, `,"at":`...), r.At)
		return append(b, '}')
	})
}
