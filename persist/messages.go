package persist

import (
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// The integer keys of these records are on disk: append only; never reorder or reuse.

type messageRecord struct {
	Direction       inbox.Direction `cbor:"1,keyasint,omitempty"`
	ReceivedAt      unixMillis      `cbor:"2,keyasint,omitempty"`
	ExpiresAt       unixMillis      `cbor:"3,keyasint,omitempty"`
	FromEmail       string          `cbor:"4,keyasint,omitempty"`
	FromName        string          `cbor:"5,keyasint,omitempty"`
	EnvelopeTo      string          `cbor:"6,keyasint,omitempty"`
	Subject         string          `cbor:"7,keyasint,omitempty"`
	OTP             string          `cbor:"8,keyasint,omitempty"`
	Size            int64           `cbor:"9,keyasint,omitempty"`
	IsRead          bool            `cbor:"10,keyasint,omitempty"`
	UnsettledDigest []byte          `cbor:"11,keyasint,omitempty"`

	ThreadID    uint64         `cbor:"20,keyasint,omitempty"`
	SendingPart *sendingRecord `cbor:"21,keyasint,omitempty"` // nil for a received message
	IsHidden    bool           `cbor:"22,keyasint,omitempty"`
	SealedPart  *sealedRecord  `cbor:"23,keyasint,omitempty"` // nil for an unencrypted message
	// FromVerified is absent from messages that were stored before the field existed.
	FromVerified bool `cbor:"24,keyasint,omitempty"`

	NamedRecipients []string `cbor:"28,keyasint,omitempty"` // recipients of this inbox, EnvelopeTo included; empty if it is the only one
}

func (r *messageRecord) copyFrom(m *inbox.Message) {
	*r = messageRecord{
		Direction: m.Direction, ReceivedAt: stampOf(m.ReceivedAt), ExpiresAt: stampOf(m.ExpiresAt),
		FromEmail: m.From.Email, FromName: m.From.Name, EnvelopeTo: m.EnvelopeTo,
		Subject: m.Subject, OTP: m.OTP, Size: m.Size, IsRead: m.IsRead,
		ThreadID: m.ThreadKey, SendingPart: convertOptional(m.OutgoingDelivery, recordSending), IsHidden: m.IsHidden, SealedPart: convertOptional(m.EncryptedState, recordSealed),
		FromVerified: m.FromVerified,
	}
	if m.RepeatDigest != nil {
		r.UnsettledDigest = m.RepeatDigest[:]
	}
	if m.NamedRecipients != nil {
		r.NamedRecipients = *m.NamedRecipients
	}
}

func (r *messageRecord) toMessage(id int64) *inbox.Message {
	m := &inbox.Message{
		ID: id, Direction: r.Direction, ReceivedAt: r.ReceivedAt.toTime(), ExpiresAt: r.ExpiresAt.toTime(),
		From: message.Mailbox{Email: r.FromEmail, Name: r.FromName}, EnvelopeTo: r.EnvelopeTo,
		Subject: r.Subject, OTP: r.OTP, Size: r.Size, IsRead: r.IsRead,
		ThreadKey: r.ThreadID, OutgoingDelivery: convertOptional(r.SendingPart, sendingRecord.toSending), IsHidden: r.IsHidden, EncryptedState: convertOptional(r.SealedPart, sealedRecord.toSealed),
		FromVerified: r.FromVerified,
	}
	if len(r.UnsettledDigest) == len(inbox.MessageDigest{}) {
		m.RepeatDigest = (*inbox.MessageDigest)(r.UnsettledDigest)
	}
	if named := r.NamedRecipients; named != nil {
		m.NamedRecipients = &named // the record is not retained
	}
	return m
}

type sendingRecord struct {
	Status       delivery.SendStatus `cbor:"1,keyasint,omitempty"`
	Error        string              `cbor:"2,keyasint,omitempty"` // no longer written: it follows from the recipients
	Recipients   []recipientRecord   `cbor:"3,keyasint,omitempty"`
	AttemptCount int                 `cbor:"4,keyasint,omitempty"`
	DueAt        unixMillis          `cbor:"5,keyasint,omitempty"`
	IsLeased     bool                `cbor:"6,keyasint,omitempty"`
	Signature    inbox.SigningResult `cbor:"7,keyasint,omitempty"`
	IsAutomatic  bool                `cbor:"8,keyasint,omitempty"`
	MeetingID    int64               `cbor:"9,keyasint,omitempty"`
}

type recipientRecord struct {
	Email     string              `cbor:"1,keyasint,omitempty"`
	Status    delivery.SendStatus `cbor:"2,keyasint,omitempty"`
	LastError string              `cbor:"3,keyasint,omitempty"`
	Bcc       bool                `cbor:"4,keyasint,omitempty"`
	MX        string              `cbor:"5,keyasint,omitempty"`
	At        unixMillis          `cbor:"6,keyasint,omitempty"`
}

func recordSending(s inbox.OutgoingDelivery) sendingRecord {
	return sendingRecord{
		Status: s.Status, Recipients: convertList(s.Recipients, recordRecipient), AttemptCount: s.AttemptCount,
		DueAt: stampOf(s.NextDue), IsLeased: s.AttemptLeased, Signature: s.SigningResult, IsAutomatic: s.ServiceWritten, MeetingID: s.CopyOfMeeting,
	}
}

func (r sendingRecord) toSending() inbox.OutgoingDelivery {
	return inbox.OutgoingDelivery{
		Status: r.Status, Recipients: convertList(r.Recipients, recipientRecord.toRecipient), AttemptCount: r.AttemptCount,
		NextDue: r.DueAt.toTime(), AttemptLeased: r.IsLeased, SigningResult: r.Signature, ServiceWritten: r.IsAutomatic, CopyOfMeeting: r.MeetingID,
	}
}

func recordRecipient(r inbox.OutgoingRecipient) recipientRecord {
	return recipientRecord{Email: r.Email, Status: r.Status, LastError: r.Error, Bcc: r.Bcc, MX: r.MX, At: stampOf(r.At)}
}

func (r recipientRecord) toRecipient() inbox.OutgoingRecipient {
	return inbox.OutgoingRecipient{
		RecipientState: delivery.RecipientState{Email: r.Email, Status: r.Status, Error: r.LastError},
		Bcc:            r.Bcc, MX: r.MX, At: r.At.toTime(),
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
	return authResultRecord{r.ResultKeyword, r.Domain}
}
func (r authResultRecord) toResult() inbox.AuthResult {
	return inbox.AuthResult{ResultKeyword: r[0], Domain: r[1]}
}
func recordSignature(s inbox.AuthSignature) signatureRecord { return signatureRecord(s) }
func (r signatureRecord) toSignature() inbox.AuthSignature  { return inbox.AuthSignature(r) }

func (r *authRecord) copyFrom(a *inbox.Auth) {
	*r = authRecord{
		Server: a.CheckingServer, SPF: recordResult(a.SPF), DKIM: recordResult(a.DKIM), DMARC: recordResult(a.DMARC),
		HELO: a.HELO, Signatures: convertList(a.Signatures, recordSignature), FromVerified: a.FromVerified,
	}
}

func (r *authRecord) auth() inbox.Auth {
	return inbox.Auth{
		CheckingServer: r.Server, SPF: r.SPF.toResult(), DKIM: r.DKIM.toResult(), DMARC: r.DMARC.toResult(),
		HELO: r.HELO, Signatures: convertList(r.Signatures, signatureRecord.toSignature),
		FromVerified: r.FromVerified || r.DMARC[0] == "pass",
	}
}

// spamRecord is in a contentRecord. Its zero numbers are results, so they are not omitted.
type spamRecord struct {
	Score         float64          `cbor:"1,keyasint"`
	RequiredScore float64          `cbor:"2,keyasint"`
	IsSpam        bool             `cbor:"3,keyasint,omitempty"`
	Rules         []spamRuleRecord `cbor:"4,keyasint,omitempty"`
}

// A rule is an array without keys: a message has many, and they get no more fields.
type spamRuleRecord struct {
	_           struct{} `cbor:",toarray"`
	Name        string
	Weight      float64
	Description string
}

func recordSpam(s inbox.SpamVerdict) spamRecord {
	return spamRecord{Score: s.Score, RequiredScore: s.RequiredScore, IsSpam: s.IsSpam, Rules: convertList(s.Rules, recordSpamRule)}
}

func (r spamRecord) toSpam() inbox.SpamVerdict {
	return inbox.SpamVerdict{Score: r.Score, RequiredScore: r.RequiredScore, IsSpam: r.IsSpam, Rules: convertList(r.Rules, spamRuleRecord.toRule)}
}

func recordSpamRule(r inbox.SpamRule) spamRuleRecord {
	return spamRuleRecord{Name: r.Name, Weight: r.Weight, Description: r.Description}
}
func (r spamRuleRecord) toRule() inbox.SpamRule {
	return inbox.SpamRule{Name: r.Name, Weight: r.Weight, Description: r.Description}
}

// FindMessage reads one message's row; nil if it does not exist.
func (t *inboxTable) FindMessage(addr string, id int64) (*inbox.Message, error) {
	var r messageRecord
	found, err := t.getRecord(appendMessage(nil, kindInbox, addr, id), &r)
	if !found || err != nil {
		return nil, t.damagedError(addr, id, err)
	}
	return r.toMessage(id), nil
}
