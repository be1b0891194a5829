package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"mime"
	"net/mail"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/bytebufferpool"
	"github.com/valyala/fasthttp"

	"inboxd/http/search"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/message/compose"
)

// MessageReader is what the handlers of messages need.
type MessageReader interface {
	// Do sends a command to the inbox and returns after its commit.
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.CommandOutcome, error)
	// MessageContent reads the document of a message. It returns nil if the message was deleted.
	MessageContent(ctx context.Context, address string, id int64) (*inbox.Content, error)
	// RawMessage opens the complete, undamaged message as received. It returns nil if the message was
	// deleted. If it is deleted before it was read to its end, a later read returns fs.ErrNotExist.
	RawMessage(ctx context.Context, address string, id int64) (*io.SectionReader, error)
	// AttachmentFile opens the envelope of an attachment of an encrypted message, like Raw.
	AttachmentFile(ctx context.Context, address string, id int64, file int) (*io.SectionReader, error)
}

// messageHandlers has the handlers that return messages and change their marks.
type messageHandlers struct {
	messageReader    MessageReader
	messageSimulator MessageSimulator
	textCache        *search.TextCache

	attachmentPlaces attachmentPlaces
}

func (m *messageHandlers) listRoutes() []routeSpec {
	const (
		list = agentInbox + "/messages"
		one  = list + "/{id}"
	)
	return []routeSpec{
		{methodGet, list, anyCredential, scopeRead, false, nil, m.listMessages},
		{methodGet, one, anyCredential, scopeRead, false, nil, m.showMessage},
		{methodDelete, one, anyCredential, scopeWrite, false, nil, m.deleteMessage},
		{methodGet, one + "/raw", anyCredential, scopeRead, false, nil, m.rawMessage},
		{methodPost, one + "/read", anyCredential, scopeRead, false, readShape, m.markRead},
		{methodGet, one + "/attachments/{aid}", anyCredential, scopeRead, false, nil, m.sendAttachment},
		{methodPost, simulatedMessages, anyCredential, scopeManage, false, simulatedShape, m.simulateMessage},
	}
}

const (
	defaultMessages = 50
	maxMessages     = 200
	listBodyBytes   = 16 << 10
	// maxListBytes ends a page early: the message that exceeds it is the last.
	maxListBytes = 8 << 20
	// maxContentBytes is about the most that is read of one message. Text, HTML and headers have
	// limits in internal/mail/message.
	maxContentBytes = 4 << 20
	// readingCost is how many octets of a large message can be read in the fixed time that reading
	// any message takes.
	readingCost = 10 << 10
)

// readSelection parses fields= and include=. absent is the default selection of the call.
func (q *queryReader) readSelection(absent fieldSet) fieldSet {
	set := absent
	if names := q.readList("fields"); names != nil {
		set = 0
		for _, name := range names {
			if fieldNamed(name)&q.responseForm.messageFields == 0 {
				q.rejectParameter("fields", "contains the unknown field '%s'. The fields of a message are listed in /docs", name)
			}
			set |= fieldNamed(name)
		}
	}
	for _, name := range q.readList("include") {
		switch {
		case name == "headers":
			set |= senderField
		case name == "sender", fieldNamed(name)&heavyFields&q.responseForm.messageFields == 0:
			q.rejectParameter("include", "contains the unknown value '%s'. Valid values: html, headers, link_texts, envelope", name)
		}
		set |= fieldNamed(name)
	}
	return set
}

// messageListing is a query for a list of messages.
type messageListing struct {
	pageLimit     int
	beforeID      int64
	to            string // envelope recipient; empty: any
	receivedSince time.Time
	direction     messageDirection
	unreadOnly    bool
	senderFilter  senderFilter
	verifiedOnly  bool   // only messages whose From is verified
	searchText    string // folded
	shownFields   fieldSet
}

func (r *apiRequest) readListing() (messageListing, error) {
	q := r.queryReader()
	l := messageListing{
		pageLimit:     int(q.readNumber("limit", q.responseForm.messageLimit, 1, maxMessages)),
		beforeID:      q.readNumber("before", math.MaxInt64, 1, math.MaxInt64),
		to:            q.readRecipient(r),
		receivedSince: q.readTime("since"),
		direction:     q.readDirection(),
		unreadOnly:    q.readFlag("unread"),
		senderFilter:  q.readSender("from"),
		verifiedOnly:  q.readFlag("verified"),
		searchText:    q.readFolded("q"),
		shownFields:   q.readSelection(q.responseForm.listedFields),
	}
	return l, q.firstErr
}

// matchesMeta checks the facts in memory of a message, but not the search text.
func (l *messageListing) matchesMeta(m *inbox.Message) bool {
	switch {
	case m.ID >= l.beforeID:
		return false
	case m.IsDamaged:
		return true
	case !m.IsTo(l.to), !m.IsSince(l.receivedSince),
		!l.direction.matchesMessage(m),
		l.unreadOnly && (m.IsRead || m.Direction != inbox.In),
		l.verifiedOnly && !isProven(m),
		l.senderFilter != senderFilter{} && !l.senderFilter.matchesAddress(search.FoldText(m.From.Email)):
		return false
	}
	return true
}

func (m *messageHandlers) listMessages(r *apiRequest) error {
	l, err := r.readListing()
	if err != nil {
		return err
	}
	if err := l.reserveTurn(r); err != nil {
		return err
	}
	made := bytebufferpool.Get()
	defer bytebufferpool.Put(made)
	page, err := m.appendPage(append(made.B, `{"emails":[`...), r, &l)
	made.B = page.body
	if err != nil {
		return err
	}
	b := strconv.AppendBool(append(page.body, `],"has_more":`...), page.hasMore)
	if len(page.damagedIDs) > 0 {
		b = appendList(append(b, `,"damaged":`...), page.damagedIDs, func(b []byte, id int64) []byte { return strconv.AppendInt(b, id, 10) })
	}
	made.B = r.appendEnd(b)
	writeJSON(r.httpCtx, fasthttp.StatusOK, bytes.Clone(made.B)) // so that a response waiting for a slow reader holds no spare capacity
	return nil
}

// messagePage is one page of a list.
type messagePage struct {
	body       []byte  // the messages that can be read
	shownCount int     // number of messages in body
	hasMore    bool    // more messages follow
	damagedIDs []int64 // ids of messages in this page that cannot be read
}

// appendPage appends the messages of the listing, newest first. A message that is deleted in the
// meantime is omitted. A damaged message is always listed, because it is unknown whether it
// matches. Only one message's content is in memory at a time.
func (m *messageHandlers) appendPage(b []byte, r *apiRequest, l *messageListing) (page messagePage, err error) {
	page.body = b
	for _, meta := range slices.Backward(r.inboxView.Messages) {
		if meta.IsExpired(r.requestTime) || !l.matchesMeta(meta) {
			continue
		}
		e := messageJSON{messageMeta: meta, bodyMax: r.responseForm().maxText}
		found, err := m.matchesSearch(r, &e, l.searchText)
		if err == nil && !found {
			continue
		}
		if page.shownCount == l.pageLimit || len(page.body) >= maxListBytes {
			page.hasMore = true
			return page, nil
		}
		if err == nil {
			found, err = m.fillContent(r, &e, l.shownFields)
		}
		switch {
		case fault.Is(err, fault.DataDamaged):
			page.damagedIDs = append(page.damagedIDs, meta.ID)
		case err != nil:
			return page, err
		case found:
			page.addMessage(&e, l.shownFields)
		}
	}
	return page, nil
}

func (p *messagePage) addMessage(e *messageJSON, fields fieldSet) {
	if p.shownCount++; p.shownCount > 1 {
		p.body = append(p.body, ',')
	}
	p.body = appendMessage(p.body, e, fields)
}

// reserveTurn waits for the memory and the turn of a listing. A search takes its own kind of turn.
func (l *messageListing) reserveTurn(r *apiRequest) (err error) {
	held, messages := l.estimateBytes(r)
	if err = r.awaitCharge(held); err != nil {
		return err
	}
	if l.searchText != "" {
		r.endTurn, err = r.server.searchTurns.TakeTurn(r.ctx, r.principal.Account)
		return err
	}
	return r.awaitTurn(held + messages*readingCost)
}

// estimateBytes estimates the memory of a listing while it is rendered: the page, and the largest
// message that is read for it.
func (l *messageListing) estimateBytes(r *apiRequest) (held, messages int64) {
	if l.shownFields&contentFields == 0 && l.searchText == "" {
		return 0, 0
	}
	var page, largest int64
	left := l.pageLimit
	for _, meta := range slices.Backward(r.inboxView.Messages) {
		if left == 0 {
			break
		}
		if meta.IsExpired(r.requestTime) || !l.matchesMeta(meta) {
			continue
		}
		left--
		size := min(meta.Size, maxContentBytes)
		if largest = max(largest, size); l.shownFields&heavyFields == 0 {
			size = min(size, listBodyBytes)
		}
		page += size
	}
	return min(page, maxListBytes) + largest, int64(l.pageLimit - left)
}

// matchesSearch reports whether e contains the folded text: in subject or sender, or in the body,
// which it reads if it is not cached.
func (m *messageHandlers) matchesSearch(r *apiRequest, e *messageJSON, folded string) (bool, error) {
	if folded == "" {
		return true, nil
	}
	meta := e.messageMeta
	if meta.IsDamaged {
		return m.fillContent(r, e, 0)
	}
	at := search.TextKey{InboxAddress: r.inboxView.Address, ID: meta.ID, At: meta.ReceivedAt.UnixMilli()}
	text, kept := m.textCache.Of(at)
	if !kept {
		text = search.JoinParts(search.FoldText(meta.Subject), search.FoldText(meta.From.Email), search.FoldText(meta.From.Name))
		if strings.Contains(text, folded) {
			return true, nil
		}
		runtime.Gosched() // reading a message takes long enough to let a poll run first
		if here, err := m.fillContent(r, e, contentFields); err != nil || !here {
			return false, err
		}
		text = search.JoinParts(text, search.FoldText(e.content.Doc.Text))
		m.textCache.KeepText(at, text)
	}
	return strings.Contains(text, folded), nil
}

// fillContent reads the content of e if a selected field needs it. False means that the message was
// deleted.
func (m *messageHandlers) fillContent(r *apiRequest, e *messageJSON, set fieldSet) (bool, error) {
	if e.messageMeta.IsDamaged {
		return false, inbox.DamagedMessage(e.messageMeta.ID, r.inboxAddress, nil)
	}
	if set&contentFields == 0 || e.content != nil {
		return true, nil
	}
	if e.content = r.inboxView.NewestContent.Of(e.messageMeta.ID); e.content == nil {
		content, err := m.messageReader.MessageContent(r.ctx, r.inboxAddress, e.messageMeta.ID)
		if e.content = content; content == nil || err != nil {
			return false, err
		}
	}
	if set&envelopeField == 0 || e.messageMeta.EncryptedState == nil || !e.showsEnvelope() {
		return true, nil
	}
	return m.fillEnvelope(r, e)
}

// fillEnvelope reads the envelope of an encrypted message.
func (m *messageHandlers) fillEnvelope(r *apiRequest, e *messageJSON) (here bool, err error) {
	raw, err := m.messageReader.RawMessage(r.ctx, r.inboxAddress, e.messageMeta.ID)
	if raw == nil || err != nil {
		return false, err
	}
	envelope := make([]byte, raw.Size())
	if _, err = io.ReadFull(raw, envelope); errors.Is(err, fs.ErrNotExist) { // deleted in the meantime
		return false, nil
	}
	e.envelope = envelope
	return err == nil, err
}

// findMessage returns the message in the path from the view, with the content that the fields of set
// need.
func (m *messageHandlers) findMessage(r *apiRequest, set fieldSet) (messageJSON, error) {
	given := pathParameter(r.httpCtx, "id")
	id, ok := parseID(given)
	if !ok {
		return messageJSON{}, fault.New(fault.NotFound, fmt.Sprintf("Message %s not found in inbox %s", given, r.inboxAddress))
	}
	e := messageJSON{messageMeta: r.inboxView.Message(id, r.requestTime)}
	if e.messageMeta == nil {
		return e, inbox.NoMessage(id, r.inboxAddress)
	}
	if err := r.reserveBytes(e.estimateBytes(set)); err != nil {
		return e, err
	}
	here, err := m.fillContent(r, &e, set)
	if err == nil && !here {
		err = inbox.NoMessage(id, r.inboxAddress)
	}
	return e, err
}

func (m *messageHandlers) showMessage(r *apiRequest) error {
	q := r.queryReader()
	set := q.readSelection(q.responseForm.messageFields)
	if q.firstErr != nil {
		return q.firstErr
	}
	e, err := m.findMessage(r, set)
	if err != nil {
		return err
	}
	b := appendMessage(append([]byte(nil), `{"email":`...), &e, set)
	writeJSON(r.httpCtx, fasthttp.StatusOK, r.appendEnd(b))
	return nil
}

func (m *messageHandlers) markRead(r *apiRequest) error {
	e, err := m.findMessage(r, 0)
	if err != nil {
		return err
	}
	read, claim := r.bodyValues.flagOr("read", true), r.bodyValues.flagOr("claim", false)
	if claim && !read {
		return fault.InvalidField("claim", "cannot be combined with 'read': false")
	}
	outcome, err := m.messageReader.Do(r.ctx, r.inboxAddress, inbox.MarkRead{ID: e.messageMeta.ID, Read: read})
	if claim {
		return r.json(fasthttp.StatusOK, claimResponse{OK: true, Claimed: outcome.MarkChanged}, err)
	}
	return r.ok(err)
}

// claimResponse says whether this call marked the message as read. Of several concurrent calls
// exactly one did.
type claimResponse struct {
	OK      bool `json:"ok"`
	Claimed bool `json:"claimed"`
}

func (m *messageHandlers) deleteMessage(r *apiRequest) error {
	e, err := m.findMessage(r, 0)
	if err != nil && !fault.Is(err, fault.DataDamaged) {
		return err
	}
	_, err = m.messageReader.Do(r.ctx, r.inboxAddress, inbox.DeleteMessage{ID: e.messageMeta.ID})
	return r.ok(err)
}

// MessageSimulator is what the call that simulates a message needs.
type MessageSimulator interface {
	// ReceiveSimulated stores a message for a recipient, which may have a tag, and returns its id.
	// Errors: InboxFull, StorageFull, TooLarge, TemporarilyUnavailable.
	ReceiveSimulated(ctx context.Context, rcpt, mailFrom string, raw []byte) (id int64, err error)
}

const simulatedMessages = agentInbox + "/messages"

var simulatedShape = bodyShape{
	{name: "from", valueKind: lineField, isRequired: true, maxLength: maxAddress + maxLabel},
	{name: "subject", valueKind: lineField, maxLength: maxSubject},
	{name: "text", valueKind: textField, maxLength: maxBody},
	{name: "html", valueKind: textField, maxLength: maxHTML},
	{name: "attachments", valueKind: filesField, maxLength: maxFiles},
}

// simulateMessage stores the message in the body as if it had arrived, for tests. The body is the
// message itself (message/rfc822), or JSON that describes it.
func (m *messageHandlers) simulateMessage(r *apiRequest) error {
	if !r.server.opts.Simulate {
		return fault.New(fault.NotFound, "This server does not simulate messages. Its operator can start it with --simulate")
	}
	rcpt := cmp.Or(r.taggedAddress, r.inboxAddress)
	from, raw, err := r.readSimulated(rcpt)
	if err != nil {
		return err
	}
	id, err := m.messageSimulator.ReceiveSimulated(r.ctx, rcpt, from, raw)
	if err == nil {
		err = r.refreshView()
	}
	if err != nil {
		return err
	}
	e := messageJSON{messageMeta: r.inboxView.Message(id, r.requestTime)}
	if e.messageMeta == nil {
		return inbox.NoMessage(id, r.inboxAddress)
	}
	if here, err := m.fillContent(r, &e, allFields); err != nil || !here {
		return cmp.Or(err, inbox.NoMessage(id, r.inboxAddress))
	}
	b := appendMessage(append([]byte(nil), `{"email":`...), &e, allFields)
	writeJSON(r.httpCtx, fasthttp.StatusCreated, r.appendEnd(b))
	return nil
}

// hasRawMessage reports whether the body is a message and not JSON.
func (r *apiRequest) hasRawMessage() bool {
	kind, _, err := mime.ParseMediaType(string(r.httpCtx.Request.Header.ContentType()))
	return err == nil && kind == "message/rfc822" && r.route.pathPattern == simulatedMessages
}

// readSimulated returns the envelope sender and the bytes of the message in the body. Lines may end
// in LF, as in files; over SMTP they end in CRLF.
func (r *apiRequest) readSimulated(rcpt string) (from string, raw []byte, err error) {
	if r.hasRawMessage() {
		raw := bytes.ReplaceAll(bytes.ReplaceAll(r.httpCtx.PostBody(), []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		if len(raw) == 0 {
			return "", nil, invalidFault("the body is empty; it must be the message")
		}
		if senders := message.MailboxesIn(raw, "From"); len(senders) > 0 {
			from, _ = inbox.CheckRecipient("from", senders[0]) // the null sender if it is not an address
		}
		return from, raw, nil
	}
	given := r.bodyValues
	sender, bad := mail.ParseAddress(given.stringOf("from"))
	if bad != nil {
		return "", nil, fault.InvalidField("from", "must be an e-mail address, or a name and an address: Shop <shop@example.com>")
	}
	if from, err = inbox.CheckRecipient("from", sender.Address); err != nil {
		return "", nil, err
	}
	d := compose.Draft{
		From: message.Mailbox{Email: from, Name: sender.Name}, To: []message.Mailbox{{Email: rcpt}}, Date: r.requestTime,
		Subject: given.stringOf("subject"), Text: given.stringOf("text"), HTML: given.stringOf("html"), MessageID: rand.Text() + "@simulation.invalid",
	}
	copy(d.BoundarySeed[:], d.MessageID)
	if d.Attachments, err = given.readAttachments(); err != nil {
		return "", nil, err
	}
	raw, err = compose.WriteMessage(d)
	return from, raw, err
}
