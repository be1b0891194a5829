package persist

import (
	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
	"inboxd/internal/message"
)

// The integer keys of these records are on disk: append only; never reorder or reuse.

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
	Sending *sendingRecord `cbor:"21,keyasint,omitempty"` // nil for a received message
}

func (r *messageRecord) from(m *inbox.Message) {
	*r = messageRecord{
		Direction: m.Direction, ReceivedAt: stampOf(m.ReceivedAt), ExpiresAt: stampOf(m.ExpiresAt),
		FromEmail: m.From.Email, FromName: m.From.Name, EnvelopeTo: m.EnvelopeTo,
		Subject: m.Subject, OTP: m.OTP, Size: m.Size, Read: m.Read,
		Thread: m.Thread, Sending: optional(m.Sending, recordSending),
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
		Thread: r.Thread, Sending: optional(r.Sending, sendingRecord.sending),
	}
	if len(r.Unsettled) == len(inbox.Digest{}) {
		m.Unsettled = (*inbox.Digest)(r.Unsettled)
	}
	return m
}

type sendingRecord struct {
	Status     delivery.Status   `cbor:"1,keyasint,omitempty"`
	Error      string            `cbor:"2,keyasint,omitempty"` // not written any more: it follows from the recipients
	Recipients []recipientRecord `cbor:"3,keyasint,omitempty"`
	Attempts   int               `cbor:"4,keyasint,omitempty"`
	Due        stamp             `cbor:"5,keyasint,omitempty"`
	Leased     bool              `cbor:"6,keyasint,omitempty"`
	Signature  inbox.Signature   `cbor:"7,keyasint,omitempty"`
	Auto       bool              `cbor:"8,keyasint,omitempty"`
}

type recipientRecord struct {
	Email  string          `cbor:"1,keyasint,omitempty"`
	Status delivery.Status `cbor:"2,keyasint,omitempty"`
	Error  string          `cbor:"3,keyasint,omitempty"`
	Bcc    bool            `cbor:"4,keyasint,omitempty"`
	MX     string          `cbor:"5,keyasint,omitempty"`
	At     stamp           `cbor:"6,keyasint,omitempty"`
}

func recordSending(s inbox.Sending) sendingRecord {
	return sendingRecord{
		Status: s.Status, Recipients: convert(s.Recipients, recordRecipient), Attempts: s.Attempts,
		Due: stampOf(s.Due), Leased: s.Leased, Signature: s.Signature, Auto: s.Auto,
	}
}

func (r sendingRecord) sending() inbox.Sending {
	return inbox.Sending{
		Status: r.Status, Recipients: convert(r.Recipients, recipientRecord.recipient), Attempts: r.Attempts,
		Due: r.Due.time(), Leased: r.Leased, Signature: r.Signature, Auto: r.Auto,
	}
}

func recordRecipient(r inbox.Recipient) recipientRecord {
	return recipientRecord{Email: r.Email, Status: r.Status, Error: r.Error, Bcc: r.Bcc, MX: r.MX, At: stampOf(r.At)}
}

func (r recipientRecord) recipient() inbox.Recipient {
	return inbox.Recipient{
		Recipient: delivery.Recipient{Email: r.Email, Status: r.Status, Error: r.Error},
		Bcc:       r.Bcc, MX: r.MX, At: r.At.time(),
	}
}
