package smtp

import (
	"context"
	"net/netip"
	"time"
)

// Inboxes is what a receiving session needs from the rest of the server.
type Inboxes interface {
	// Accepts reports whether mail for rcpt (canonical: as address.Inbox returns it, tag
	// included) would be taken now: nil, or a fault (NoInbox, InboxFull, StorageFull,
	// Unavailable). It is asked at RCPT and must be quick.
	Accepts(ctx context.Context, rcpt string) error

	// Receive stores the message for every recipient. It returns nil only when every copy is
	// durable, because the session replies 250 immediately. After nil, the callee must not read
	// raw: its memory is reused for another message. After an error, the callee owns raw.
	Receive(ctx context.Context, env Envelope, raw []byte) error
}

// Envelope is what SMTP says about a message, as opposed to what its header claims.
type Envelope struct {
	ID         string     // ours, unique to this reception; also in Received and in the 250
	MailFrom   string     // empty for the null sender; domain lower-cased, local part as given
	RcptTo     []string   // canonical, without doubles, in RCPT order
	RemoteIP   netip.Addr // invalid when the peer has no IP address
	Helo       string     // as the peer gave it, printable
	TLS        bool
	SMTPUTF8   bool
	ReceivedAt time.Time // UTC, when the last byte was read

	// TraceLen is the length of our own lines on top of raw (Return-Path, Received). What
	// the peer sent begins there: digest that part to recognise a repeat.
	TraceLen int

	// Stored hears, before Receive returns, of each inbox that has the mail and of its id there. A
	// report about a mail of ours is in none.
	Stored func(inbox string, id int64)
}
