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
	sendShape = bodyShape{
		{name: "to", valueKind: lineField, isRequired: true, maxLength: maxAddress},
		{name: "subject", valueKind: lineField, maxLength: maxSubject},
		{name: "body", valueKind: textField, maxLength: maxBody},
		{name: "html", valueKind: textField, maxLength: maxHTML},
		{name: "cc", valueKind: namesField, maxLength: maxCopies, maxEntry: maxAddress},
		{name: "bcc", valueKind: namesField, maxLength: maxCopies, maxEntry: maxAddress},
		{name: "attachments", valueKind: filesField, maxLength: maxFiles},
		{name: "in_reply_to", valueKind: lineField, maxLength: compose.MaxMessageID},
	}
	// fileShape is one attachment. The size of the body bounds its content.
	fileShape = bodyShape{
		{name: "filename", valueKind: lineField, isRequired: true, maxLength: maxFilename},
		{name: "content_b64", valueKind: textField, isRequired: true, maxLength: 64 << 20},
		{name: "content_type", valueKind: lineField, maxLength: maxFilename},
	}
)

// readFiles parses the attachments.
func (d bodyDecoder) readFiles(f *fieldRule) ([]bodyValues, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginArray {
		return nil, d.wrongType(f, kind)
	}
	d.ReadToken()
	out := []bodyValues{}
	for d.PeekKind() != jsontext.KindEndArray {
		if kind := d.PeekKind(); kind != jsontext.KindBeginObject {
			return nil, d.wrongType(f, kind)
		}
		one := bodyValues{}
		if err := (bodyDecoder{d.Decoder, fileShape}).readMembers(one); err != nil {
			return nil, err
		}
		if err := fileShape.checkRequired(one); err != nil {
			return nil, err
		}
		if out = append(out, one); len(out) > f.maxLength {
			return nil, f.checkCount(len(out))
		}
	}
	_, err := d.ReadToken()
	return out, malformedValue(f, err)
}

// MessageSender is what the handlers of sending need.
type MessageSender interface {
	// SendMessage queues a message and returns its id when it is durable. A Refused fault names the
	// violated limit of the plan, or the suppressed recipients.
	SendMessage(ctx context.Context, address string, letter inbox.SendRequest) (int64, error)
	// SendOnce is Send for a request with an idempotency key. encode makes the response, now and for
	// a repeat, and must use only its argument.
	SendOnce(ctx context.Context, address string, letter inbox.SendRequest, req idempotency.Request, encode func(inbox.CommandOutcome) []byte) (idempotency.FirstResult, error)
	// Suppressions pages through the suppressed addresses that follow after. If inboxOnly is not
	// empty, it returns only those that bounced messages of that inbox.
	Suppressions(ctx context.Context, id account.ID, inboxOnly, after string, limit int) ([]account.Suppression, error)
	// DropSuppression permits messages to an address again. It returns NotFound if the address is
	// not suppressed, or if inboxOnly is set and another inbox's message bounced.
	DropSuppression(ctx context.Context, id account.ID, inboxOnly, email string) error
}

// sendingHandlers has the handlers that queue messages, and list and remove suppressions.
type sendingHandlers struct{ messageSender MessageSender }

func (s *sendingHandlers) listRoutes() []routeSpec {
	return []routeSpec{
		{methodPost, agentInbox + "/send", anyCredential, account.ScopeSend, false, sendShape, s.sendMessage},
		{methodGet, "/api/v1/suppressions", anyCredential, account.ScopeSend, false, nil, s.listSuppressions},
		{methodDelete, "/api/v1/suppressions/{email}", anyCredential, account.ScopeSend, false, nil, s.dropSuppression},
	}
}

// sendMessage queues a message. 202 means that the queue entry is durable.
func (s *sendingHandlers) sendMessage(r *apiRequest) error {
	letter, err := r.bodyValues.readLetter()
	if err != nil {
		return err
	}
	req, err := r.idempotencyRequest()
	if err != nil {
		return err
	}
	if req.IsRepeatable() {
		sent, err := s.messageSender.SendOnce(r.ctx, r.inboxAddress, letter, req, func(a inbox.CommandOutcome) []byte { return queuedBody(a.ID) })
		if err != nil {
			return err
		}
		writeJSON(r.httpCtx, fasthttp.StatusAccepted, sent.EncodedResponse)
		return nil
	}
	id, err := s.messageSender.SendMessage(r.ctx, r.inboxAddress, letter)
	if err != nil {
		return err
	}
	writeJSON(r.httpCtx, fasthttp.StatusAccepted, queuedBody(id))
	return nil
}

// queuedBody returns the response for a queued message.
func queuedBody(id int64) []byte {
	return append(strconv.AppendInt([]byte(`{"ok":true,"queued":true,"message_id":`), id, 10), '}')
}

// readLetter checks what the shape cannot express.
func (v bodyValues) readLetter() (l inbox.SendRequest, err error) {
	l = inbox.SendRequest{Subject: v.stringOf("subject"), Text: v.stringOf("body"), HTML: v.stringOf("html")}
	if l.To, err = inbox.CheckRecipient("to", v.stringOf("to")); err != nil {
		return l, err
	}
	if l.Cc, err = checkRecipients("cc", v.listOf("cc")); err != nil {
		return l, err
	}
	if l.Bcc, err = checkRecipients("bcc", v.listOf("bcc")); err != nil {
		return l, err
	}
	if l.InReplyTo, err = messageID(v.stringOf("in_reply_to")); err != nil {
		return l, err
	}
	l.AttachedFiles, err = v.readAttachments()
	return l, err
}

func (v bodyValues) readAttachments() (files []compose.DraftAttachment, err error) {
	attached, _ := v["attachments"].([]bodyValues)
	for _, a := range attached {
		file, err := a.readFile()
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func checkRecipients(name string, list []string) ([]string, error) {
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
		return "", fault.InvalidField("in_reply_to", "must be one Message-ID: <left@right> in ASCII, of at most %d octets", compose.MaxMessageID)
	}
	return id, nil
}

// readFile decodes an attachment strictly: standard base64 with padding, without line breaks or a data:
// prefix.
func (v bodyValues) readFile() (f compose.DraftAttachment, err error) {
	f.Filename, f.ContentType = v.stringOf("filename"), v.stringOf("content_type")
	content := v.stringOf("content_b64")
	if f.Filename == "" {
		return f, fault.InvalidField("filename", "is empty")
	}
	if strings.ContainsAny(content, "\r\n") { // the decoder would skip them
		return f, fault.InvalidField("content_b64", "must be standard base64 with padding, without line breaks or a data: prefix")
	}
	if f.Bytes, err = base64.StdEncoding.Strict().DecodeString(content); err != nil {
		return f, fault.InvalidField("content_b64", "must be standard base64 with padding, without line breaks or a data: prefix")
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
func (s *sendingHandlers) listSuppressions(r *apiRequest) error {
	q := r.queryReader()
	limit := int(q.readNumber("limit", defaultSuppressions, 1, maxSuppressions))
	cursor := plusSigns(q.rawValue("cursor"))
	if cursor != "" && !strings.Contains(cursor, "@") {
		q.rejectParameter("cursor", notACursor)
	}
	if q.firstErr != nil {
		return q.firstErr
	}
	list, err := s.messageSender.Suppressions(r.ctx, r.principal.Account, r.principal.Inbox, cursor, limit+1)
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
	}{mapEach(list, suppressionOf), stringOrNull(next)}, nil)
}

func suppressionOf(s *account.Suppression) suppressionResponse {
	return suppressionResponse{s.Email, s.Inbox, s.Message, s.Reason, wireTime(s.At)}
}

func (s *sendingHandlers) dropSuppression(r *apiRequest) error {
	return r.ok(s.messageSender.DropSuppression(r.ctx, r.principal.Account, r.principal.Inbox, pathParameter(r.httpCtx, "email")))
}

// Only sent messages have the following members. For other messages these functions append nothing,
// which omits the member.

func appendBcc(b []byte, e *messageJSON) []byte {
	if e.messageMeta.OutgoingDelivery == nil {
		return b
	}
	var blind []message.Mailbox
	for _, r := range e.messageMeta.OutgoingDelivery.Recipients {
		if r.Bcc {
			blind = append(blind, message.Mailbox{Email: r.Email})
		}
	}
	return appendMailboxes(b, blind)
}

func appendSendStatus(b []byte, e *messageJSON) []byte {
	if e.messageMeta.OutgoingDelivery == nil {
		return b
	}
	return appendString(b, e.messageMeta.OutgoingDelivery.Status.String())
}

func appendSendError(b []byte, e *messageJSON) []byte {
	if e.messageMeta.OutgoingDelivery == nil {
		return b
	}
	why := e.messageMeta.OutgoingDelivery.LastFailure()
	if why == "" {
		return b
	}
	return appendString(b, why)
}

func appendRecipients(b []byte, e *messageJSON) []byte {
	if e.messageMeta.OutgoingDelivery == nil {
		return b
	}
	return appendList(b, e.messageMeta.OutgoingDelivery.Recipients, func(b []byte, r inbox.OutgoingRecipient) []byte {
		b = appendString(append(b, `{"email":`...), r.Email)
		b = appendString(append(b, `,"status":`...), r.Status.String())
		b = appendStringOrNull(append(b, `,"error":`...), r.Error)
		b = appendStringOrNull(append(b, `,"mx":`...), r.MX)
		b = appendTimeOrNull(append(b, `,"at":`...), r.At)
		return append(b, '}')
	})
}
