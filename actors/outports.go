package actors

import (
	"context"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
)

// OutStore is what sending needs of the disk.
type OutStore interface {
	// MailQueue returns up to limit entries of the mail queue in time order, and whether
	// more follow. They begin behind after; an after without address begins at its time.
	MailQueue(after inbox.QueueEntry, limit int) (queue []inbox.QueueEntry, more bool, err error)
	// Signature returns the signature fields that the first attempt made; nil without any.
	Signature(address string, id int64) ([]byte, error)

	PutSuppression(account.ID, account.Suppression) error
	DropSuppression(id account.ID, email string) (found bool, err error)
	Suppression(id account.ID, email string) (account.Suppression, bool, error)
	// Suppressions pages in the order of the addresses, behind after.
	Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error)
}

// Courier hands mail over to other servers: one attempt, one report per recipient in their
// order. It bounds its own time and returns soon after ctx ends.
type Courier interface {
	Deliver(ctx context.Context, c Consignment) []Handover
}

// Consignment is one mail for recipients who share a road.
type Consignment struct {
	Domain   string // of the recipients
	MailFrom string // empty for the null sender
	Rcpts    []string
	Raw      []byte // not changed, not kept
	NeedUTF8 bool   // the header is not ASCII
	Greeted  func() // called when a server is ready for the mail
}

// Handover is what an attempt brought for one recipient.
type Handover struct {
	Rcpt     string
	Outcome  delivery.Outcome
	Code     int // of the SMTP reply; 0 when there was none
	Enhanced string
	Text     string // one sentence for the sender
	MX       string // server that answered last; empty when none did
	TLS      bool
}

// Signer signs a mail for a domain: one DKIM-Signature field per key, to stand above raw. It
// is called with at least one key.
type Signer func(raw []byte, domain string, keys []SigningKey, at time.Time) (fields []byte, err error)

// nowhere is the Courier of a system that was given none.
type nowhere struct{}

func (nowhere) Deliver(_ context.Context, c Consignment) []Handover {
	out := make([]Handover, len(c.Rcpts))
	for i, rcpt := range c.Rcpts {
		out[i] = Handover{Rcpt: rcpt, Outcome: delivery.Temporary, Text: "This server sends no mail to other servers"}
	}
	return out
}
