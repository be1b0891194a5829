package mailqueue

import (
	"context"
	"log/slog"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
)

// Options configures a Queue.
type Options struct {
	Inboxes Inboxes
	Local   Local
	Store   Store
	Courier Courier // default: no mail leaves the node
	Signer  Signer

	Domain    string // the service's own: it and what is below it are on this node
	Smarthost string // its name, for the one route that mail takes then; it gets every worker
	// ReturnPath is the envelope sender of the copy for a recipient, who alone learns of it.
	ReturnPath func(address string, id int64, index int) string

	Schedule      delivery.Schedule // of retries; the zero value is the default
	Workers       int               // attempts at once; default 64
	DomainWorkers int               // of them at one destination that answers; default 5
	MostHanging   int               // attempts that hang beside the workers; default 512
	HangAfter     time.Duration     // when an attempt no longer takes a worker's place; default 1 s

	// Released is closed when mail may be sent; nil: at once. Until then it waits.
	Released <-chan struct{}

	Now    func() time.Time
	Logger *slog.Logger
}

// Inboxes is what the queue needs of those who send.
type Inboxes interface {
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
	// Queued returns a message that is not settled, whoever may still read it; nil: it is.
	Queued(ctx context.Context, address string, id int64) (*inbox.Message, error)
	IsResident(address string) bool
	// LetSleep sends an inbox out of memory again, once such add up.
	LetSleep(address string)
}

// Local is what the queue needs of recipients on this node.
type Local interface {
	// ReceivesHere reports an own domain whose mail is received here. It may ask DNS.
	ReceivesHere(ctx context.Context, host string) bool
	// Receive takes a message in as from outside.
	Receive(ctx context.Context, rcptTo string, in Incoming) delivery.Receipt
}

// Incoming is a sent message as recipients on this node receive it.
type Incoming struct {
	MailFrom string        // empty for the null sender
	Raw      []byte        // not changed
	TraceLen int           // octets of the trace that Raw begins with
	Shared   *inbox.Shared // nil for a single recipient
}

// Store is what the queue needs of the disk.
type Store interface {
	// MailQueue returns up to limit entries of the mail queue in time order, and whether
	// more follow. They begin behind after; an after without address begins at its time.
	MailQueue(after inbox.QueueEntry, limit int) (queue []inbox.QueueEntry, more bool, err error)
	// QueuedIn calls entry for all that a group has in the mail queue.
	QueuedIn(g partition.Group, entry func(inbox.QueueEntry)) error
	// QueuedAt reads the entry of a mail at a time, if there is one.
	QueuedAt(address string, id int64, at time.Time) (e inbox.QueueEntry, found bool, err error)
	Raw(address string, id int64) ([]byte, error)
	// Signature returns the signature fields that the first attempt made; nil without any.
	Signature(address string, id int64) ([]byte, error)
	// QueuedCopy reads what is kept of a sealed message for its attempts, encrypted as Encrypt does it for
	// inbox.QueuePurpose; nil when it is gone.
	QueuedCopy(address string, id int64) ([]byte, error)
	Encrypt(purpose string, secret []byte) ([]byte, error)
	Decrypt(purpose string, encrypted []byte) ([]byte, error)
	// Full reports that the disk takes no more mail.
	Full() bool
}

// Courier hands mail over to other servers: one attempt, one report per recipient in their
// order. It bounds its own time and returns soon after ctx ends.
type Courier interface {
	Deliver(ctx context.Context, c Consignment) []Handover
}

// Signer looks for what mail from an address is signed with. The function makes the fields that
// stand above raw; nil: the mail goes out unsigned.
type Signer func(ctx context.Context, from string) (sign func(raw []byte) (fields []byte, err error), err error)

// Consignment is one mail for recipients who share a route. Each gets a copy of his own.
type Consignment struct {
	Domain   string // of the recipients
	Rcpts    []string
	Senders  []string // of the envelope, for each of Rcpts; nil for the null sender
	Raw      []byte   // not changed, not kept
	NeedUTF8 bool     // the header is not ASCII
	Greeted  func()   // called when a server is ready for the mail

	// Taken is called when a server has taken a recipient's copy and others are left, before the next one
	// is begun.
	Taken func(rcpt, mx string)
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

// sentence is the report as the sender reads it.
func (h *Handover) sentence() string {
	if h.Outcome == delivery.Delivered {
		return ""
	}
	return h.Text
}

// nowhere is the Courier of a queue that was given none.
type nowhere struct{}

// Deliver implements Courier.
func (nowhere) Deliver(_ context.Context, c Consignment) []Handover {
	return allLater(c.Rcpts, "This server does not send mail to other servers")
}
