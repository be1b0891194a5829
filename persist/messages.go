package persist

import (
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
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
	Hidden  bool           `cbor:"22,keyasint,omitempty"`
	Sealed  *sealedRecord  `cbor:"23,keyasint,omitempty"` // nil for an unencrypted message
	// FromVerified is absent from messages that were stored before the field existed.
	FromVerified bool `cbor:"24,keyasint,omitempty"`

	Named []string `cbor:"28,keyasint,omitempty"` // recipients of this inbox, EnvelopeTo included; empty if it is the only one
}

func (r *messageRecord) from(m *inbox.Message) {
	*r = messageRecord{
		Direction: m.Direction, ReceivedAt: stampOf(m.ReceivedAt), ExpiresAt: stampOf(m.ExpiresAt),
		FromEmail: m.From.Email, FromName: m.From.Name, EnvelopeTo: m.EnvelopeTo,
		Subject: m.Subject, OTP: m.OTP, Size: m.Size, Read: m.Read,
		Thread: m.Thread, Sending: optional(m.Sending, recordSending), Hidden: m.Hidden, Sealed: optional(m.Sealed, recordSealed),
		FromVerified: m.FromVerified,
	}
	if m.Unsettled != nil {
		r.Unsettled = m.Unsettled[:]
	}
	if m.Named != nil {
		r.Named = *m.Named
	}
}

func (r *messageRecord) message(id int64) *inbox.Message {
	m := &inbox.Message{
		ID: id, Direction: r.Direction, ReceivedAt: r.ReceivedAt.time(), ExpiresAt: r.ExpiresAt.time(),
		From: message.Mailbox{Email: r.FromEmail, Name: r.FromName}, EnvelopeTo: r.EnvelopeTo,
		Subject: r.Subject, OTP: r.OTP, Size: r.Size, Read: r.Read,
		Thread: r.Thread, Sending: optional(r.Sending, sendingRecord.sending), Hidden: r.Hidden, Sealed: optional(r.Sealed, sealedRecord.sealed),
		FromVerified: r.FromVerified,
	}
	if len(r.Unsettled) == len(inbox.Digest{}) {
		m.Unsettled = (*inbox.Digest)(r.Unsettled)
	}
	if named := r.Named; named != nil {
		m.Named = &named // the record is not retained
	}
	return m
}

type sendingRecord struct {
	Status     delivery.Status   `cbor:"1,keyasint,omitempty"`
	Error      string            `cbor:"2,keyasint,omitempty"` // no longer written: it follows from the recipients
	Recipients []recipientRecord `cbor:"3,keyasint,omitempty"`
	Attempts   int               `cbor:"4,keyasint,omitempty"`
	Due        stamp             `cbor:"5,keyasint,omitempty"`
	Leased     bool              `cbor:"6,keyasint,omitempty"`
	Signature  inbox.Signature   `cbor:"7,keyasint,omitempty"`
	Auto       bool              `cbor:"8,keyasint,omitempty"`
	Meeting    int64             `cbor:"9,keyasint,omitempty"`
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
		Due: stampOf(s.Due), Leased: s.Leased, Signature: s.Signature, Auto: s.Auto, Meeting: s.Meeting,
	}
}

func (r sendingRecord) sending() inbox.Sending {
	return inbox.Sending{
		Status: r.Status, Recipients: convert(r.Recipients, recipientRecord.recipient), Attempts: r.Attempts,
		Due: r.Due.time(), Leased: r.Leased, Signature: r.Signature, Auto: r.Auto, Meeting: r.Meeting,
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

type authRecord struct {
	Server     string            `cbor:"1,keyasint,omitempty"`
	SPF        authResultRecord  `cbor:"2,keyasint"`
	DKIM       authResultRecord  `cbor:"3,keyasint"`
	DMARC      authResultRecord  `cbor:"4,keyasint"`
	HELO       bool              `cbor:"5,keyasint,omitempty"`
	Signatures []signatureRecord `cbor:"6,keyasint,omitempty"`
	// FromVerified is absent from messages that were stored before the field existed.
	FromVerified bool `cbor:"7,keyasint,omitempty"`
}

// authResultRecord is a result and a domain, a pair without keys.
type authResultRecord [2]string

type signatureRecord struct {
	Word      string `cbor:"1,keyasint"`
	Domain    string `cbor:"2,keyasint,omitempty"`
	Selector  string `cbor:"3,keyasint,omitempty"`
	Algorithm string `cbor:"4,keyasint,omitempty"`
}

func recordResult(r inbox.AuthResult) authResultRecord {
	return authResultRecord{r.Word, r.Domain}
}
func (r authResultRecord) result() inbox.AuthResult {
	return inbox.AuthResult{Word: r[0], Domain: r[1]}
}
func recordSignature(s inbox.AuthSignature) signatureRecord { return signatureRecord(s) }
func (r signatureRecord) signature() inbox.AuthSignature    { return inbox.AuthSignature(r) }

func (r *authRecord) from(a *inbox.Auth) {
	*r = authRecord{
		Server: a.Server, SPF: recordResult(a.SPF), DKIM: recordResult(a.DKIM), DMARC: recordResult(a.DMARC),
		HELO: a.HELO, Signatures: convert(a.Signatures, recordSignature), FromVerified: a.FromVerified,
	}
}

func (r *authRecord) auth() inbox.Auth {
	return inbox.Auth{
		Server: r.Server, SPF: r.SPF.result(), DKIM: r.DKIM.result(), DMARC: r.DMARC.result(),
		HELO: r.HELO, Signatures: convert(r.Signatures, signatureRecord.signature),
		FromVerified: r.FromVerified || r.DMARC[0] == "pass",
	}
}

// spamRecord is in a contentRecord. Its zero numbers are results, so they are not omitted.
type spamRecord struct {
	Score    float64          `cbor:"1,keyasint"`
	Required float64          `cbor:"2,keyasint"`
	IsSpam   bool             `cbor:"3,keyasint,omitempty"`
	Rules    []spamRuleRecord `cbor:"4,keyasint,omitempty"`
}

// A rule is an array without keys: a message has many, and they get no more fields.
type spamRuleRecord struct {
	_           struct{} `cbor:",toarray"`
	Name        string
	Weight      float64
	Description string
}

func recordSpam(s inbox.Spam) spamRecord {
	return spamRecord{Score: s.Score, Required: s.Required, IsSpam: s.IsSpam, Rules: convert(s.Rules, recordSpamRule)}
}

func (r spamRecord) spam() inbox.Spam {
	return inbox.Spam{Score: r.Score, Required: r.Required, IsSpam: r.IsSpam, Rules: convert(r.Rules, spamRuleRecord.rule)}
}

func recordSpamRule(r inbox.SpamRule) spamRuleRecord {
	return spamRuleRecord{Name: r.Name, Weight: r.Weight, Description: r.Description}
}
func (r spamRuleRecord) rule() inbox.SpamRule {
	return inbox.SpamRule{Name: r.Name, Weight: r.Weight, Description: r.Description}
}

// Message reads one message's row; nil if it does not exist.
func (t *inboxTable) Message(addr string, id int64) (*inbox.Message, error) {
	var r messageRecord
	found, err := t.get(appendMessage(nil, kindInbox, addr, id), &r)
	if !found || err != nil {
		return nil, t.damaged(addr, id, err)
	}
	return r.message(id), nil
}
