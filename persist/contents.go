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
	SentAt             unixMillis         `cbor:"7,keyasint,omitempty"`
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
	IsDegraded         bool               `cbor:"19,keyasint,omitempty"`
	OTP                *otpRecord         `cbor:"20,keyasint,omitempty"`
	DocOmitted         bool               `cbor:"21,keyasint,omitempty"`
	Auth               *authRecord        `cbor:"22,keyasint,omitempty"`
	Spam               *spamRecord        `cbor:"23,keyasint,omitempty"`
	Calendar           *saidRecord        `cbor:"24,keyasint,omitempty"`
	LinksCut           bool               `cbor:"25,keyasint,omitempty"`
	HiddenText         bool               `cbor:"26,keyasint,omitempty"`
	AttachmentsOmitted int                `cbor:"27,keyasint,omitempty"`
	MoreCalendar       []saidRecord       `cbor:"28,keyasint,omitempty"`
	Simulated          bool               `cbor:"29,keyasint,omitempty"`
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
func (r mailboxRecord) toMailbox() message.Mailbox  { return message.Mailbox{Email: r[0], Name: r[1]} }
func recordHeader(h message.Header) headerRecord    { return headerRecord{h.Name, h.Value} }
func (r headerRecord) toHeader() message.Header     { return message.Header{Name: r[0], Value: r[1]} }
func recordAttachment(a message.Attachment) attachmentRecord {
	return attachmentRecord(a)
}
func (r attachmentRecord) toAttachment() message.Attachment { return message.Attachment(r) }

// noDocument stands for a document that is parsed from the raw message when it is needed.
var noDocument message.ParsedMessage

// copyFrom omits the document if it is unread. auth is memory for the record of the authentication
// result.
func (r *contentRecord) copyFrom(c *inbox.Content, unread bool, auth *authRecord) {
	d := &c.Doc
	if unread {
		d = &noDocument
	}
	*r = contentRecord{
		Subject: d.Subject, FromEmail: d.From.Email, FromName: d.From.Name,
		To: convertList(d.To, recordMailbox), Cc: convertList(d.Cc, recordMailbox), ReplyTo: convertList(d.ReplyTo, recordMailbox),
		SentAt: stampOf(d.Date), MessageID: d.MessageID, InReplyTo: d.InReplyTo, References: d.References,
		Headers: convertList(d.Headers, recordHeader), Text: d.Text, HTML: d.HTML, HasHTML: d.HasHTML,
		Attachments: convertList(d.Attachments, recordAttachment), AttachmentsOmitted: d.AttachmentsOmitted, Links: d.Links,
		TextFromHTML: d.TextFromHTML, TextCut: d.TextCut, LinksCut: d.LinksCut, HiddenText: d.HiddenText, IsDegraded: d.IsDegraded, DocOmitted: c.DocumentOmitted || unread,
		Simulated: c.Simulated,
	}
	if !reflect.ValueOf(&c.OTP).Elem().IsZero() {
		r.OTP = (*otpRecord)(&c.OTP)
	}
	if c.Auth.CheckingServer != "" { // authentication was checked
		auth.copyFrom(&c.Auth)
		r.Auth = auth
	}
	r.Spam, r.Calendar = convertOptional(c.Spam, recordSpam), convertOptional(c.Calendar, recordSaid)
	r.MoreCalendar = convertList(c.MoreCalendar, func(s *calendar.MessageEvent) saidRecord { return recordSaid(*s) })
}

func (r *contentRecord) toContent() *inbox.Content {
	c := &inbox.Content{Doc: message.ParsedMessage{
		Subject: r.Subject, From: message.Mailbox{Email: r.FromEmail, Name: r.FromName},
		To: convertList(r.To, mailboxRecord.toMailbox), Cc: convertList(r.Cc, mailboxRecord.toMailbox), ReplyTo: convertList(r.ReplyTo, mailboxRecord.toMailbox),
		Date: r.SentAt.toTime(), MessageID: r.MessageID, InReplyTo: r.InReplyTo, References: r.References,
		Headers: convertList(r.Headers, headerRecord.toHeader), Text: r.Text, HTML: r.HTML, HasHTML: r.HasHTML,
		Attachments: convertList(r.Attachments, attachmentRecord.toAttachment), AttachmentsOmitted: r.AttachmentsOmitted, Links: r.Links,
		TextFromHTML: r.TextFromHTML, TextCut: r.TextCut, LinksCut: r.LinksCut, HiddenText: r.HiddenText, IsDegraded: r.IsDegraded,
	}, DocumentOmitted: r.DocOmitted, Simulated: r.Simulated}
	if r.OTP != nil {
		c.OTP = inbox.OTP(*r.OTP)
	}
	if r.Auth != nil {
		c.Auth = r.Auth.auth()
	}
	c.Spam, c.Calendar = convertOptional(r.Spam, spamRecord.toSpam), convertOptional(r.Calendar, saidRecord.toSaid)
	c.MoreCalendar = convertList(r.MoreCalendar, func(s saidRecord) *calendar.MessageEvent { return new(s.toSaid()) })
	return c
}

// sharedOver is the size in bytes above which content goes to a file if the recipients share the file
// of the message. A hundred rows above this size would take as much space as the message itself.
const sharedOver = 1 << 10

// putContent writes the parsed content of a message as a row or, if it is large, as a blob file. The
// blob file is durable before the batch that names it.
func (t *inboxTable) putContent(w *batchWriter, addr string, m *inbox.StoredMessage, files *blobMoves) {
	if m.Content == nil {
		return
	}
	content, over := &w.rec.content, blobOver
	content.copyFrom(m.Content, m.DocumentOmitted, &w.rec.auth)
	file := blobData{addr: addr, id: m.ID, blobKind: blobContent}
	if m.SharedStorage != nil && len(m.Raw) > blobOver {
		file.sharedMessage, over = m.SharedStorage, sharedOver
	}
	w.valueBuf.Reset()
	w.noteError(encodeRecord(&w.valueBuf, content))
	if w.valueBuf.Len() <= over {
		w.keyBuf = appendMessage(w.keyBuf[:0], kindContent, addr, m.ID)
		w.setKey(w.keyBuf, w.valueBuf.Bytes())
		return
	}
	if file.sharedMessage != nil && content.Calendar != nil {
		file.calendarPart, file.moreCalendar = content.Calendar, content.MoreCalendar
		content.Calendar, content.MoreCalendar = nil, nil
		w.valueBuf.Reset()
		w.noteError(encodeRecord(&w.valueBuf, content))
	}
	file.data = w.valueBuf.Bytes()
	t.blobFiles.putBlob(w, &file, files)
}

// putRaw writes a message as received: as a row or, if it is large, as a blob file.
func (t *inboxTable) putRaw(w *batchWriter, addr string, m *inbox.StoredMessage, files *blobMoves) {
	if len(m.Raw) > blobOver {
		t.blobFiles.putBlob(w, &blobData{addr: addr, id: m.ID, blobKind: blobRaw, data: m.Raw, sharedMessage: m.SharedStorage}, files)
		return
	}
	w.keyBuf = appendMessage(w.keyBuf[:0], kindRaw, addr, m.ID)
	w.setRaw(w.keyBuf, m.Raw)
}

// ReadContent returns the parsed content of a message, or nil if it is not stored.
func (t *inboxTable) ReadContent(addr string, id int64) (*inbox.Content, error) {
	var r contentRecord
	read := func(data []byte) error { return decodeRecord(data, &r) }
	found, err := t.readLarge(kindContent, blobContent, addr, id, read, func(b *blobRecord, f io.Reader) error {
		err := readWhole(read)(b, f)
		if b.CalendarPart != nil {
			r.Calendar, r.MoreCalendar = b.CalendarPart, b.MoreCalendar
		}
		return err
	})
	if !found || err != nil {
		return nil, err
	}
	return r.toContent(), nil
}

// ReadRaw returns a message as received, or nil if it is not stored. The caller owns the slice.
func (t *inboxTable) ReadRaw(addr string, id int64) (raw []byte, err error) {
	_, err = t.readLarge(kindRaw, blobRaw, addr, id, func(value []byte) (err error) {
		raw, err = readRaw(value)
		return err
	}, readWhole(func(file []byte) error {
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
	r, size := &rawReader{inboxTable: t, rowKey: key}, 0
	found, err := t.largeAt(key, what, addr, id, func(value []byte) error {
		raw, err := rawOf(value)
		size = len(raw)
		return err
	}, func(blob *blobRecord, f io.Reader) error {
		r.blobRecord, size = blob, blob.Size
		return t.blobFiles.verifiedFiles.checkFile(blob, f)
	})
	if !found || err != nil {
		return nil, err
	}
	return io.NewSectionReader(r, 0, int64(size)), nil
}

// rawReader reads a message as received from its row or blob file. It is immutable.
type rawReader struct {
	inboxTable *inboxTable
	rowKey     []byte      // of the row
	blobRecord *blobRecord // nil if the message is a row
}

// ReadAt implements io.ReaderAt.
func (r *rawReader) ReadAt(p []byte, off int64) (n int, err error) {
	if r.blobRecord != nil {
		if err := r.inboxTable.checkOwned(r.rowKey); err != nil {
			return 0, err
		}
		return r.inboxTable.blobFiles.readAt(r.blobRecord, p, off)
	}
	found, err := r.inboxTable.readRow(r.rowKey, func(value []byte) error {
		n, err = bytes.NewReader(value[min(len(value), checksumHead):]).ReadAt(p, off)
		return err
	})
	if !found && err == nil {
		err = os.ErrNotExist
	}
	return n, err
}

// readLarge reads a value from a row of kind k or else from a blob file.
func (t *inboxTable) readLarge(k rowKind, what byte, addr string, id int64, row func([]byte) error, file func(*blobRecord, io.Reader) error) (found bool, err error) {
	return t.largeAt(appendMessage(nil, k, addr, id), what, addr, id, row, file)
}

// largeAt is large for the row under a key, a part of message id.
func (t *inboxTable) largeAt(key []byte, what byte, addr string, id int64, row func([]byte) error, file func(*blobRecord, io.Reader) error) (found bool, err error) {
	err = t.runCall(func() error {
		if found, err = t.readInside(key, row); found || err != nil {
			return err
		}
		found, err = t.blobFiles.readBlob(blobKey(nil, addr, id, what), file)
		return err
	})
	if err != nil {
		err = t.damagedError(addr, id, err)
	}
	return found, err
}
