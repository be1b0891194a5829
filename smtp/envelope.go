package smtp

import (
	"context"
	"net/netip"
	"time"
)

// InboxReceiver is what a receiving session needs from the rest of the server.
type InboxReceiver interface {
	// CheckRecipient reports whether a message for rcpt would be accepted now: nil, or a fault
	// (NoInbox, InboxFull, StorageFull, Unavailable). rcpt is canonical: as address.CanonicalInbox
	// returns it, with its tag. Accepts is called at RCPT and must be fast.
	CheckRecipient(ctx context.Context, rcpt string) error

	// Receive stores the message for every recipient. It returns nil only when every copy is
	// durable, because the session replies 250 immediately. After nil, the callee must not read
	// raw: its memory is reused for another message. After an error, the callee owns raw.
	Receive(ctx context.Context, env Envelope, raw []byte) error
}

// Envelope is what SMTP says about a message, as opposed to what its header claims.
type Envelope struct {
	ID         string     // generated here, unique to this reception; also in Received and in the 250
	MailFrom   string     // empty for the null sender; domain lower-cased, local part as given
	RcptTo     []string   // canonical, without duplicates, in RCPT order
	RemoteIP   netip.Addr // invalid when the peer has no IP address
	Helo       string     // as the peer sent it, non-printable characters replaced
	TLS        bool
	SMTPUTF8   bool
	ReceivedAt time.Time // UTC, when the last byte was read

	// TraceLen is the length of our own lines at the start of raw (Return-Path, Received). What the
	// peer sent begins after them: hash only that part to recognize a duplicate.
	TraceLen int

	// OnStored is called, before Receive returns, for each inbox that stored the message, with the
	// message's id there. It is not called for a report on a message that we sent, because no inbox
	// stores it.
	OnStored func(inbox string, id int64)
}
