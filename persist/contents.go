package persist

import (
	"bytes"
	"io"
	"os"
	"reflect"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// The integer keys of these records are on disk: append only; never reorder or reuse.

type contentRecord struct {
	Subject            string             `cbor:"1,keyasint,omitempty"`
	FromEmail          string             `cbor:"2,keyasint,omitempty"`
	FromName           string             `cbor:"3,keyasint,omitempty"`
	To                 []mailboxRecord    `cbor:"4,keyasint,omitempty"`
	Cc                 []mailboxRecord    `cbor:"5,keyasint,omitempty"`
	ReplyTo            []mailboxRecord    `cbor:"6,keyasint,omitempty"`
	Date               stamp              `cbor:"7,keyasint,omitempty"`
	MessageID          string             `cbor:"8,keyasint,omitempty"`
	InReplyTo          string             `cbor:"9,keyasint,omitempty"`
	References         []string           `cbor:"10,keyasint,omitempty"`
	Headers            []headerRecord     `cbor:"11,keyasint,omitempty"`
	Text               string             `cbor:"12,keyasint,omitempty"`
	HTML               string             `cbor:"13,keyasint,omitempty"`
	HasHTML            bool               `cbor:"14,keyasint,omitempty"`
	Attachments        []attachmentRecord `cbor:"15,keyasint,omitempty"`
	Links              []string           `cbor:"16,keyasint,omitempty"`
	TextFromHTML       bool               `cbor:"17,keyasint,omitempty"`
	TextCut            bool               `cbor:"18,keyasint,omitempty"`
	Degraded           bool               `cbor:"19,keyasint,omitempty"`
	OTP                *otpRecord         `cbor:"20,keyasint,omitempty"`
	Unread             bool               `cbor:"21,keyasint,omitempty"`
	Auth               *authRecord        `cbor:"22,keyasint,omitempty"`
	Spam               *spamRecord        `cbor:"23,keyasint,omitempty"`
	Calendar           *saidRecord        `cbor:"24,keyasint,omitempty"`
	LinksCut           bool               `cbor:"25,keyasint,omitempty"`
	HiddenText         bool               `cbor:"26,keyasint,omitempty"`
	AttachmentsOmitted int                `cbor:"27,keyasint,omitempty"`
	MoreCalendar       []saidRecord       `cbor:"28,keyasint,omitempty"`
}

// Mailboxes and headers are pairs without keys: a message has many, and they get no more fields.
type (
	mailboxRecord [2]string // e-mail address, name
	headerRecord  [2]string // name, value
)

type attachmentRecord struct {
	ID          int    `cbor:"1,keyasint,omitempty"`
	Filename    string `cbor:"2,keyasint,omitempty"`
	ContentType string `cbor:"3,keyasint,omitempty"`
	Size        int64  `cbor:"4,keyasint,omitempty"`
	Truncated   bool   `cbor:"5,keyasint,omitempty"`
	ContentID   string `cbor:"6,keyasint,omitempty"`
}

type otpRecord struct {
	Code             string   `cbor:"1,keyasint,omitempty"`
	Confidence       float64  `cbor:"2,keyasint,omitempty"`
	Source           string   `cbor:"3,keyasint,omitempty"`
	Origin           string   `cbor:"4,keyasint,omitempty"`
	Candidates       []string `cbor:"5,keyasint,omitempty"`
	VerificationLink string   `cbor:"6,keyasint,omitempty"`
}

func recordMailbox(m message.Mailbox) mailboxRecord { return mailboxRecord{m.Email, m.Name} }
func (r mailboxRecord) mailbox() message.Mailbox    { return message.Mailbox{Email: r[0], Name: r[1]} }
func recordHeader(h message.Header) headerRecord    { return headerRecord{h.Name, h.Value} }
func (r headerRecord) header() message.Header       { return message.Header{Name: r[0], Value: r[1]} }
func recordAttachment(a message.Attachment) attachmentRecord {
	return attachmentRecord(a)
}
func (r attachmentRecord) attachment() message.Attachment { return message.Attachment(r) }

// noDocument stands for a document that is parsed from the raw message when it is needed.
var noDocument message.Document

// from omits the document if it is unread. auth is memory for the record of the authentication result.
func (r *contentRecord) from(c *inbox.Content, unread bool, auth *authRecord) {
	d := &c.Doc
	if unread {
		d = &noDocument
	}
	*r = contentRecord{
		Subject: d.Subject, FromEmail: d.From.Email, FromName: d.From.Name,
		To: convert(d.To, recordMailbox), Cc: convert(d.Cc, recordMailbox), ReplyTo: convert(d.ReplyTo, recordMailbox),
		Date: stampOf(d.Date), MessageID: d.MessageID, InReplyTo: d.InReplyTo, References: d.References,
		Headers: convert(d.Headers, recordHeader), Text: d.Text, HTML: d.HTML, HasHTML: d.HasHTML,
		Attachments: convert(d.Attachments, recordAttachment), AttachmentsOmitted: d.AttachmentsOmitted, Links: d.Links,
		TextFromHTML: d.TextFromHTML, TextCut: d.TextCut, LinksCut: d.LinksCut, HiddenText: d.HiddenText, Degraded: d.Degraded, Unread: c.Unread || unread,
	}
	if !reflect.ValueOf(&c.OTP).Elem().IsZero() {
		r.OTP = (*otpRecord)(&c.OTP)
	}
	if c.Auth.Server != "" { // authentication was checked
		auth.from(&c.Auth)
		r.Auth = auth
	}
	r.Spam, r.Calendar = optional(c.Spam, recordSpam), optional(c.Calendar, recordSaid)
	r.MoreCalendar = convert(c.MoreCalendar, func(s *calendar.Said) saidRecord { return recordSaid(*s) })
}

func (r *contentRecord) content() *inbox.Content {
	c := &inbox.Content{Doc: message.Document{
		Subject: r.Subject, From: message.Mailbox{Email: r.FromEmail, Name: r.FromName},
		To: convert(r.To, mailboxRecord.mailbox), Cc: convert(r.Cc, mailboxRecord.mailbox), ReplyTo: convert(r.ReplyTo, mailboxRecord.mailbox),
		Date: r.Date.time(), MessageID: r.MessageID, InReplyTo: r.InReplyTo, References: r.References,
		Headers: convert(r.Headers, headerRecord.header), Text: r.Text, HTML: r.HTML, HasHTML: r.HasHTML,
		Attachments: convert(r.Attachments, attachmentRecord.attachment), AttachmentsOmitted: r.AttachmentsOmitted, Links: r.Links,
		TextFromHTML: r.TextFromHTML, TextCut: r.TextCut, LinksCut: r.LinksCut, HiddenText: r.HiddenText, Degraded: r.Degraded,
	}, Unread: r.Unread}
	if r.OTP != nil {
		c.OTP = inbox.OTP(*r.OTP)
	}
	if r.Auth != nil {
		c.Auth = r.Auth.auth()
	}
	c.Spam, c.Calendar = optional(r.Spam, spamRecord.spam), optional(r.Calendar, saidRecord.said)
	c.MoreCalendar = convert(r.MoreCalendar, func(s saidRecord) *calendar.Said { return new(s.said()) })
	return c
}

// sharedOver is the size in bytes above which content goes to a file if the recipients share the file
// of the message. A hundred rows above this size would take as much space as the message itself.
const sharedOver = 1 << 10

// putContent writes the parsed content of a message as a row or, if it is large, as a blob file. The
// blob file is durable before the batch that names it.
func (t *inboxTable) putContent(w *writer, addr string, m *inbox.Stored, files *blobMoves) {
	if m.Content == nil {
		return
	}
	content, over := &w.rec.content, blobOver
	content.from(m.Content, m.Unread, &w.rec.auth)
	file := blob{addr: addr, id: m.ID, what: blobContent}
	if m.Shared != nil && len(m.Raw) > blobOver {
		file.shared, over = m.Shared, sharedOver
	}
	w.value.Reset()
	w.note(encode(&w.value, content))
	if w.value.Len() <= over {
		w.key = appendMessage(w.key[:0], kindContent, addr, m.ID)
		w.set(w.key, w.value.Bytes())
		return
	}
	if file.shared != nil && content.Calendar != nil {
		file.calendar, file.moreCalendar = content.Calendar, content.MoreCalendar
		content.Calendar, content.MoreCalendar = nil, nil
		w.value.Reset()
		w.note(encode(&w.value, content))
	}
	file.data = w.value.Bytes()
	t.blobs.put(w, &file, files)
}

// putRaw writes a message as received: as a row or, if it is large, as a blob file.
func (t *inboxTable) putRaw(w *writer, addr string, m *inbox.Stored, files *blobMoves) {
	if len(m.Raw) > blobOver {
		t.blobs.put(w, &blob{addr: addr, id: m.ID, what: blobRaw, data: m.Raw, shared: m.Shared}, files)
		return
	}
	w.key = appendMessage(w.key[:0], kindRaw, addr, m.ID)
	w.setRaw(w.key, m.Raw)
}

// Content returns the parsed content of a message, or nil if it is not stored.
func (t *inboxTable) Content(addr string, id int64) (*inbox.Content, error) {
	var r contentRecord
	read := func(data []byte) error { return decode(data, &r) }
	found, err := t.large(kindContent, blobContent, addr, id, read, func(b *blobRecord, f io.Reader) error {
		err := all(read)(b, f)
		if b.Calendar != nil {
			r.Calendar, r.MoreCalendar = b.Calendar, b.MoreCalendar
		}
		return err
	})
	if !found || err != nil {
		return nil, err
	}
	return r.content(), nil
}

// Raw returns a message as received, or nil if it is not stored. The caller owns the slice.
func (t *inboxTable) Raw(addr string, id int64) (raw []byte, err error) {
	_, err = t.large(kindRaw, blobRaw, addr, id, func(value []byte) (err error) {
		raw, err = readRaw(value)
		return err
	}, all(func(file []byte) error {
		raw = file
		return nil
	}))
	return raw, err
}

// OpenRaw opens a message as received, for reads in pieces. It returns nil if the message is not
// stored. It has read the message once and verified its checksum. Nothing is held between two
// reads: a read after the message was deleted fails with os.ErrNotExist.
func (t *inboxTable) OpenRaw(addr string, id int64) (*io.SectionReader, error) {
	return t.openBytes(appendMessage(nil, kindRaw, addr, id), blobRaw, addr, id)
}

// openBytes opens raw bytes that are stored under key as a row, or else in a blob file.
func (t *inboxTable) openBytes(key []byte, what byte, addr string, id int64) (*io.SectionReader, error) {
	r, size := &rawReader{table: t, key: key}, 0
	found, err := t.largeAt(key, what, addr, id, func(value []byte) error {
		raw, err := rawOf(value)
		size = len(raw)
		return err
	}, func(blob *blobRecord, f io.Reader) error {
		r.blob, size = blob, blob.Size
		return t.blobs.whole.check(blob, f)
	})
	if !found || err != nil {
		return nil, err
	}
	return io.NewSectionReader(r, 0, int64(size)), nil
}

// rawReader reads a message as received from its row or blob file. It is immutable.
type rawReader struct {
	table *inboxTable
	key   []byte      // of the row
	blob  *blobRecord // nil if the message is a row
}

// ReadAt implements io.ReaderAt.
func (r *rawReader) ReadAt(p []byte, off int64) (n int, err error) {
	if r.blob != nil {
		if err := r.table.own(r.key); err != nil {
			return 0, err
		}
		return r.table.blobs.readAt(r.blob, p, off)
	}
	found, err := r.table.read(r.key, func(value []byte) error {
		n, err = bytes.NewReader(value[min(len(value), checksumHead):]).ReadAt(p, off)
		return err
	})
	if !found && err == nil {
		err = os.ErrNotExist
	}
	return n, err
}

// large reads a value from a row of kind k or else from a blob file.
func (t *inboxTable) large(k kind, what byte, addr string, id int64, row func([]byte) error, file func(*blobRecord, io.Reader) error) (found bool, err error) {
	return t.largeAt(appendMessage(nil, k, addr, id), what, addr, id, row, file)
}

// largeAt is large for the row under a key, a part of message id.
func (t *inboxTable) largeAt(key []byte, what byte, addr string, id int64, row func([]byte) error, file func(*blobRecord, io.Reader) error) (found bool, err error) {
	err = t.during(func() error {
		if found, err = t.readInside(key, row); found || err != nil {
			return err
		}
		found, err = t.blobs.read(blobKey(nil, addr, id, what), file)
		return err
	})
	if err != nil {
		err = t.damaged(addr, id, err)
	}
	return found, err
}
