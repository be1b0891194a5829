package persist

import (
	"inboxd/internal/account"
	"inboxd/internal/inbox"
	"inboxd/internal/message"
)

// The integer keys of these records are on disk: append only; never reorder or reuse.

type profileRecord struct {
	Account        account.ID `cbor:"1,keyasint"`
	Label          string     `cbor:"2,keyasint,omitempty"`
	RetentionHours int        `cbor:"3,keyasint,omitempty"`
	CreatedAt      stamp      `cbor:"4,keyasint,omitempty"`
	DeletedAt      stamp      `cbor:"5,keyasint,omitempty"`
	LastID         int64      `cbor:"6,keyasint,omitempty"`
	LastEvent      uint64     `cbor:"7,keyasint,omitempty"`
	DueAt          stamp      `cbor:"8,keyasint,omitempty"`
}

func (r *profileRecord) from(p *inbox.Profile) {
	*r = profileRecord{
		Account: p.Account, Label: p.Label, RetentionHours: p.RetentionHours,
		CreatedAt: stampOf(p.CreatedAt), DeletedAt: stampOf(p.DeletedAt),
		LastID: p.LastID, LastEvent: p.LastEvent, DueAt: stampOf(p.DueAt),
	}
}

func (r *profileRecord) profile(addr string) inbox.Profile {
	return inbox.Profile{
		Address: addr, Account: r.Account, Label: r.Label, RetentionHours: r.RetentionHours,
		CreatedAt: r.CreatedAt.time(), DeletedAt: r.DeletedAt.time(),
		LastID: r.LastID, LastEvent: r.LastEvent, DueAt: r.DueAt.time(),
	}
}

type messageRecord struct {
	Direction  inbox.Direction `cbor:"1,keyasint,omitempty"`
	ReceivedAt stamp           `cbor:"2,keyasint,omitempty"`
	ExpiresAt  stamp           `cbor:"3,keyasint,omitempty"`
	FromEmail  string          `cbor:"4,keyasint,omitempty"`
	FromName   string          `cbor:"5,keyasint,omitempty"`
	EnvelopeTo string          `cbor:"6,keyasint,omitempty"`
	Subject    string          `cbor:"7,keyasint,omitempty"`
	OTP        string          `cbor:"8,keyasint,omitempty"`
	Size       int64           `cbor:"9,keyasint,omitempty"`
	Read       bool            `cbor:"10,keyasint,omitempty"`
	Unsettled  []byte          `cbor:"11,keyasint,omitempty"`

	Thread  uint64         `cbor:"20,keyasint,omitempty"`
	Sending *sendingRecord `cbor:"21,keyasint,omitempty"`
}

func (r *messageRecord) from(m *inbox.Message) {
	*r = messageRecord{
		Direction: m.Direction, ReceivedAt: stampOf(m.ReceivedAt), ExpiresAt: stampOf(m.ExpiresAt),
		FromEmail: m.From.Email, FromName: m.From.Name, EnvelopeTo: m.EnvelopeTo,
		Subject: m.Subject, OTP: m.OTP, Size: m.Size, Read: m.Read,
		Thread: m.Thread, Sending: recordSending(m.Sending),
	}
	if m.Unsettled != nil {
		r.Unsettled = m.Unsettled[:]
	}
}

func (r *messageRecord) message(id int64) *inbox.Message {
	m := &inbox.Message{
		ID: id, Direction: r.Direction, ReceivedAt: r.ReceivedAt.time(), ExpiresAt: r.ExpiresAt.time(),
		From: message.Mailbox{Email: r.FromEmail, Name: r.FromName}, EnvelopeTo: r.EnvelopeTo,
		Subject: r.Subject, OTP: r.OTP, Size: r.Size, Read: r.Read,
		Thread: r.Thread, Sending: r.Sending.sending(),
	}
	if len(r.Unsettled) == len(inbox.Digest{}) {
		m.Unsettled = (*inbox.Digest)(r.Unsettled)
	}
	return m
}

type contentRecord struct {
	Subject      string             `cbor:"1,keyasint,omitempty"`
	FromEmail    string             `cbor:"2,keyasint,omitempty"`
	FromName     string             `cbor:"3,keyasint,omitempty"`
	To           []mailboxRecord    `cbor:"4,keyasint,omitempty"`
	Cc           []mailboxRecord    `cbor:"5,keyasint,omitempty"`
	ReplyTo      []mailboxRecord    `cbor:"6,keyasint,omitempty"`
	Date         stamp              `cbor:"7,keyasint,omitempty"`
	MessageID    string             `cbor:"8,keyasint,omitempty"`
	InReplyTo    string             `cbor:"9,keyasint,omitempty"`
	References   []string           `cbor:"10,keyasint,omitempty"`
	Headers      []headerRecord     `cbor:"11,keyasint,omitempty"`
	Text         string             `cbor:"12,keyasint,omitempty"`
	HTML         string             `cbor:"13,keyasint,omitempty"`
	HasHTML      bool               `cbor:"14,keyasint,omitempty"`
	Attachments  []attachmentRecord `cbor:"15,keyasint,omitempty"`
	Links        []string           `cbor:"16,keyasint,omitempty"`
	TextFromHTML bool               `cbor:"17,keyasint,omitempty"`
	TextCut      bool               `cbor:"18,keyasint,omitempty"`
	Degraded     bool               `cbor:"19,keyasint,omitempty"`
	OTP          *otpRecord         `cbor:"20,keyasint,omitempty"`
	Unread       bool               `cbor:"21,keyasint,omitempty"`
	Auth         *authRecord        `cbor:"22,keyasint,omitempty"`
	Spam         *spamRecord        `cbor:"23,keyasint,omitempty"`
}

// Mailboxes and headers are pairs without keys: a mail has many, and they won't grow.
type mailboxRecord struct {
	_     struct{} `cbor:",toarray"`
	Email string
	Name  string
}

type headerRecord struct {
	_     struct{} `cbor:",toarray"`
	Name  string
	Value string
}

type attachmentRecord struct {
	ID          int    `cbor:"1,keyasint,omitempty"`
	Filename    string `cbor:"2,keyasint,omitempty"`
	ContentType string `cbor:"3,keyasint,omitempty"`
	Size        int64  `cbor:"4,keyasint,omitempty"`
	Truncated   bool   `cbor:"5,keyasint,omitempty"`
}

type otpRecord struct {
	Code             string   `cbor:"1,keyasint,omitempty"`
	Confidence       float64  `cbor:"2,keyasint,omitempty"`
	Source           string   `cbor:"3,keyasint,omitempty"`
	Origin           string   `cbor:"4,keyasint,omitempty"`
	Candidates       []string `cbor:"5,keyasint,omitempty"`
	VerificationLink string   `cbor:"6,keyasint,omitempty"`
}

func recordMailbox(m message.Mailbox) mailboxRecord {
	return mailboxRecord{Email: m.Email, Name: m.Name}
}
func (r mailboxRecord) mailbox() message.Mailbox {
	return message.Mailbox{Email: r.Email, Name: r.Name}
}
func recordHeader(h message.Header) headerRecord { return headerRecord{Name: h.Name, Value: h.Value} }
func (r headerRecord) header() message.Header    { return message.Header{Name: r.Name, Value: r.Value} }
func recordAttachment(a message.Attachment) attachmentRecord {
	return attachmentRecord(a)
}
func (r attachmentRecord) attachment() message.Attachment { return message.Attachment(r) }

// noDocument stands for one that is read from the raw message.
var noDocument message.Document

// from leaves the document out when it is unread. auth is room for a record of who vouches.
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
		Attachments: convert(d.Attachments, recordAttachment), Links: d.Links,
		TextFromHTML: d.TextFromHTML, TextCut: d.TextCut, Degraded: d.Degraded, Unread: c.Unread || unread,
	}
	o := &c.OTP
	if o.Code != "" || o.Confidence != 0 || o.Source != "" || o.Origin != "" || len(o.Candidates) > 0 || o.VerificationLink != "" {
		r.OTP = (*otpRecord)(o)
	}
	if c.Auth.Server != "" { // somebody asked
		auth.from(&c.Auth)
		r.Auth = auth
	}
	r.Spam = recordSpam(c.Spam)
}

func (r *contentRecord) content() *inbox.Content {
	c := &inbox.Content{Doc: message.Document{
		Subject: r.Subject, From: message.Mailbox{Email: r.FromEmail, Name: r.FromName},
		To: convert(r.To, mailboxRecord.mailbox), Cc: convert(r.Cc, mailboxRecord.mailbox), ReplyTo: convert(r.ReplyTo, mailboxRecord.mailbox),
		Date: r.Date.time(), MessageID: r.MessageID, InReplyTo: r.InReplyTo, References: r.References,
		Headers: convert(r.Headers, headerRecord.header), Text: r.Text, HTML: r.HTML, HasHTML: r.HasHTML,
		Attachments: convert(r.Attachments, attachmentRecord.attachment), Links: r.Links,
		TextFromHTML: r.TextFromHTML, TextCut: r.TextCut, Degraded: r.Degraded,
	}, Unread: r.Unread}
	if r.OTP != nil {
		c.OTP = inbox.OTP(*r.OTP)
	}
	if r.Auth != nil {
		c.Auth = r.Auth.auth()
	}
	c.Spam = r.Spam.spam()
	return c
}

type publicRecord struct {
	Number    uint64     `cbor:"1,keyasint"`
	Name      string     `cbor:"2,keyasint"`
	Account   account.ID `cbor:"3,keyasint"`
	Address   string     `cbor:"4,keyasint"`
	MessageID int64      `cbor:"5,keyasint,omitempty"`
	At        stamp      `cbor:"6,keyasint,omitempty"`
	From      string     `cbor:"7,keyasint,omitempty"`
	Subject   string     `cbor:"8,keyasint,omitempty"`
	OTP       string     `cbor:"9,keyasint,omitempty"`

	To         []string `cbor:"10,keyasint,omitempty"`
	SendStatus string   `cbor:"11,keyasint,omitempty"`
	SendError  string   `cbor:"12,keyasint,omitempty"`

	Encrypted bool            `cbor:"13,keyasint,omitempty"`
	Meeting   *meetingRecord  `cbor:"14,keyasint,omitempty"`
	Attendee  *attendeeRecord `cbor:"15,keyasint,omitempty"`
}

func (r *publicRecord) from(p *inbox.Public) {
	*r = publicRecord{
		Number: p.Number, Name: p.Name, Account: p.Account, Address: p.Address, MessageID: p.MessageID,
		At: stampOf(p.At), From: p.From, Subject: p.Subject, OTP: p.OTP,
		To: p.To, SendStatus: p.SendStatus, SendError: p.SendError,
		Encrypted: p.Encrypted, Meeting: optional(p.Meeting, recordMeeting), Attendee: optional(p.Attendee, recordAttendee),
	}
}

func (r *publicRecord) public() inbox.Public {
	return inbox.Public{
		Number: r.Number, Name: r.Name, Account: r.Account, Address: r.Address, MessageID: r.MessageID,
		At: r.At.time(), From: r.From, Subject: r.Subject, OTP: r.OTP,
		To: r.To, SendStatus: r.SendStatus, SendError: r.SendError,
		Encrypted: r.Encrypted, Meeting: optional(r.Meeting, meetingRecord.meeting), Attendee: optional(r.Attendee, attendeeRecord.attendee),
	}
}
