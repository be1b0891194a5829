package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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
)

// Messages is what the handlers of messages need.
type Messages interface {
	// Do sends a command to the inbox and returns after its commit.
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
	// Content reads the document of a message. It returns nil if the message was deleted.
	Content(ctx context.Context, address string, id int64) (*inbox.Content, error)
	// Raw opens the complete, undamaged message as received. It returns nil if the message was
	// deleted. If it is deleted before it was read to its end, a later read returns fs.ErrNotExist.
	Raw(ctx context.Context, address string, id int64) (*io.SectionReader, error)
	// File opens the envelope of an attachment of an encrypted message, like Raw.
	File(ctx context.Context, address string, id int64, file int) (*io.SectionReader, error)
}

// messages has the handlers that return messages and change their marks.
type messages struct {
	port  Messages
	texts *search.Texts

	places places
}

func (m *messages) routes() (all []route) {
	for _, on := range []struct {
		messages string
		who      credentials
	}{{agentInbox + "/messages", anyone}, {perInbox + "/emails", insiders}} {
		one := on.messages + "/{id}"
		all = append(all,
			route{get, on.messages, on.who, read, false, nil, m.listMessages},
			route{get, one, on.who, read, false, nil, m.showMessage},
			route{remove, one, on.who, write, false, nil, m.deleteMessage},
			route{get, one + "/raw", on.who, read, false, nil, m.rawMessage},
			route{post, one + "/read", on.who, read, false, readShape, m.markRead},
			route{get, one + "/attachments/{aid}", on.who, read, false, nil, m.attachment},
		)
	}
	return all
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

// selection parses fields= and include=. absent is the default selection of the call.
func (q *query) selection(absent fieldSet) fieldSet {
	set := absent
	if names := q.list("fields"); names != nil {
		set = 0
		for _, name := range names {
			if fieldNamed(name)&q.form.message == 0 {
				q.bad("fields", "contains the unknown field '%s'. The fields of a message are listed in /docs", name)
			}
			set |= fieldNamed(name)
		}
	}
	for _, name := range q.list("include") {
		switch {
		case name == "headers":
			set |= senderField
		case name == "sender", fieldNamed(name)&heavyFields&q.form.message == 0:
			q.bad("include", "contains the unknown value '%s'. Valid values: html, headers, envelope", name)
		}
		set |= fieldNamed(name)
	}
	return set
}

// listing is a query for a list of messages.
type listing struct {
	limit     int
	before    int64
	to        string // envelope recipient; empty: any
	since     time.Time
	direction direction
	unread    bool
	from      sender
	proven    bool   // only messages whose From is verified
	search    string // folded
	fields    fieldSet
}

func (r *request) listing() (listing, error) {
	q := r.query()
	l := listing{
		limit:     int(q.number("limit", q.form.messages, 1, maxMessages)),
		before:    q.number("before", math.MaxInt64, 1, math.MaxInt64),
		to:        q.recipient(r),
		since:     q.moment("since"),
		direction: q.direction(),
		unread:    q.flag("unread"),
		from:      q.sender("from"),
		proven:    q.flag("verified"),
		search:    q.text("q"),
		fields:    q.selection(q.form.listed),
	}
	return l, q.err
}

// takes checks the facts in memory of a message, but not the search text.
func (l *listing) takes(m *inbox.Message) bool {
	switch {
	case m.ID >= l.before:
		return false
	case m.Damaged:
		return true
	case !m.IsTo(l.to), !m.IsSince(l.since),
		!l.direction.takes(m),
		l.unread && (m.Read || m.Direction != inbox.In),
		l.proven && !isProven(m),
		l.from != sender{} && !l.from.matches(search.Fold(m.From.Email)):
		return false
	}
	return true
}

func (m *messages) listMessages(r *request) error {
	l, err := r.listing()
	if err != nil {
		return err
	}
	if err := l.reserve(r); err != nil {
		return err
	}
	made := bytebufferpool.Get()
	defer bytebufferpool.Put(made)
	page, err := m.appendPage(append(made.B, `{"emails":[`...), r, &l)
	made.B = page.body
	if err != nil {
		return err
	}
	b := strconv.AppendBool(append(page.body, `],"has_more":`...), page.more)
	if len(page.damaged) > 0 {
		b = appendList(append(b, `,"damaged":`...), page.damaged, func(b []byte, id int64) []byte { return strconv.AppendInt(b, id, 10) })
	}
	made.B = r.appendEnd(b)
	writeJSON(r.http, fasthttp.StatusOK, bytes.Clone(made.B)) // so that a response waiting for a slow reader holds no spare capacity
	return nil
}

// messagePage is one page of a list.
type messagePage struct {
	body    []byte  // the messages that can be read
	shown   int     // number of messages in body
	more    bool    // more messages follow
	damaged []int64 // ids of messages in this page that cannot be read
}

// appendPage appends the messages of the listing, newest first. A message that is deleted in the
// meantime is omitted. A damaged message is always listed, because it is unknown whether it
// matches. Only one message's content is in memory at a time.
func (m *messages) appendPage(b []byte, r *request, l *listing) (page messagePage, err error) {
	page.body = b
	for _, meta := range slices.Backward(r.view.Messages) {
		if meta.Expired(r.now) || !l.takes(meta) {
			continue
		}
		e := messageJSON{meta: meta, bodyMax: r.form().text}
		found, err := m.found(r, &e, l.search)
		if err == nil && !found {
			continue
		}
		if page.shown == l.limit || len(page.body) >= maxListBytes {
			page.more = true
			return page, nil
		}
		if err == nil {
			found, err = m.fill(r, &e, l.fields)
		}
		switch {
		case fault.Is(err, fault.Damaged):
			page.damaged = append(page.damaged, meta.ID)
		case err != nil:
			return page, err
		case found:
			page.add(&e, l.fields)
		}
	}
	return page, nil
}

func (p *messagePage) add(e *messageJSON, fields fieldSet) {
	if p.shown++; p.shown > 1 {
		p.body = append(p.body, ',')
	}
	p.body = appendMessage(p.body, e, fields)
}

// reserve waits for the memory and the turn of a listing. A search takes its own kind of turn.
func (l *listing) reserve(r *request) (err error) {
	held, mails := l.weight(r)
	if err = r.charged(held); err != nil {
		return err
	}
	if l.search != "" {
		r.done, err = r.server.turns.Take(r.ctx, r.principal.Account)
		return err
	}
	return r.costly(held + mails*readingCost)
}

// weight estimates the memory of a listing while it is rendered: the page, and the largest message
// that is read for it.
func (l *listing) weight(r *request) (held, mails int64) {
	if l.fields&contentFields == 0 && l.search == "" {
		return 0, 0
	}
	var page, largest int64
	left := l.limit
	for _, meta := range slices.Backward(r.view.Messages) {
		if left == 0 {
			break
		}
		if meta.Expired(r.now) || !l.takes(meta) {
			continue
		}
		left--
		size := min(meta.Size, maxContentBytes)
		if largest = max(largest, size); l.fields&heavyFields == 0 {
			size = min(size, listBodyBytes)
		}
		page += size
	}
	return min(page, maxListBytes) + largest, int64(l.limit - left)
}

// found reports whether e contains the folded text: in subject or sender, or in the body, which it
// reads if it is not cached.
func (m *messages) found(r *request, e *messageJSON, folded string) (bool, error) {
	if folded == "" {
		return true, nil
	}
	meta := e.meta
	if meta.Damaged {
		return m.fill(r, e, 0)
	}
	at := search.Mail{Address: r.view.Address, ID: meta.ID, At: meta.ReceivedAt.UnixMilli()}
	text, kept := m.texts.Of(at)
	if !kept {
		text = search.Join(search.Fold(meta.Subject), search.Fold(meta.From.Email), search.Fold(meta.From.Name))
		if strings.Contains(text, folded) {
			return true, nil
		}
		runtime.Gosched() // reading a message takes long enough to let a poll run first
		if here, err := m.fill(r, e, contentFields); err != nil || !here {
			return false, err
		}
		text = search.Join(text, search.Fold(e.content.Doc.Text))
		m.texts.Keep(at, text)
	}
	return strings.Contains(text, folded), nil
}

// fill reads the content of e if a selected field needs it. False means that the message was
// deleted.
func (m *messages) fill(r *request, e *messageJSON, set fieldSet) (bool, error) {
	if e.meta.Damaged {
		return false, inbox.DamagedMessage(e.meta.ID, r.address, nil)
	}
	if set&contentFields == 0 || e.content != nil {
		return true, nil
	}
	if e.content = r.view.Newest.Of(e.meta.ID); e.content == nil {
		content, err := m.port.Content(r.ctx, r.address, e.meta.ID)
		if e.content = content; content == nil || err != nil {
			return false, err
		}
	}
	if set&envelopeField == 0 || e.meta.Sealed == nil || !e.showsEnvelope() {
		return true, nil
	}
	return m.fillEnvelope(r, e)
}

// fillEnvelope reads the envelope of an encrypted message.
func (m *messages) fillEnvelope(r *request, e *messageJSON) (here bool, err error) {
	raw, err := m.port.Raw(r.ctx, r.address, e.meta.ID)
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

// message returns the message in the path from the view, with the content that the fields of set
// need.
func (m *messages) message(r *request, set fieldSet) (messageJSON, error) {
	given := parameter(r.http, "id")
	id, ok := number(given)
	if !ok {
		return messageJSON{}, fault.New(fault.NotFound, fmt.Sprintf("Message %s not found in inbox %s", given, r.address))
	}
	e := messageJSON{meta: r.view.Message(id, r.now)}
	if e.meta == nil {
		return e, inbox.NoMessage(id, r.address)
	}
	if err := r.reserve(e.weight(set)); err != nil {
		return e, err
	}
	here, err := m.fill(r, &e, set)
	if err == nil && !here {
		err = inbox.NoMessage(id, r.address)
	}
	return e, err
}

func (m *messages) showMessage(r *request) error {
	q := r.query()
	set := q.selection(q.form.message)
	if q.err != nil {
		return q.err
	}
	e, err := m.message(r, set)
	if err != nil {
		return err
	}
	b := appendMessage(append([]byte(nil), `{"email":`...), &e, set)
	writeJSON(r.http, fasthttp.StatusOK, r.appendEnd(b))
	return nil
}

func (m *messages) markRead(r *request) error {
	e, err := m.message(r, 0)
	if err != nil {
		return err
	}
	read, claim := r.body.flag("read", true), r.body.flag("claim", false)
	if claim && !read {
		return invalid("'claim' cannot be combined with 'read': false")
	}
	outcome, err := m.port.Do(r.ctx, r.address, inbox.MarkRead{ID: e.meta.ID, Read: read})
	if claim {
		return r.json(fasthttp.StatusOK, claimResponse{OK: true, Claimed: outcome.Marked}, err)
	}
	return r.ok(err)
}

// claimResponse says whether this call marked the message as read. Of several concurrent calls
// exactly one did.
type claimResponse struct {
	OK      bool `json:"ok"`
	Claimed bool `json:"claimed"`
}

func (m *messages) deleteMessage(r *request) error {
	e, err := m.message(r, 0)
	if err != nil && !fault.Is(err, fault.Damaged) {
		return err
	}
	_, err = m.port.Do(r.ctx, r.address, inbox.DeleteMessage{ID: e.meta.ID})
	return r.ok(err)
}
