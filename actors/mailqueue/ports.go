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
	Courier Courier // default: no message leaves the node
	Signer  Signer

	Domain    string // the service's own: it and its subdomains are on this node
	Smarthost string // name of the server that takes all messages; that route may use every worker; default none
	// ReturnPath is the envelope sender of a recipient's copy; only that recipient sees it.
	ReturnPath func(address string, id int64, index int) string

	Schedule      delivery.Schedule // of retries; the zero value is the default
	Workers       int               // concurrent attempts; default 64
	DomainWorkers int               // of them at one responsive destination; default 5
	MostHanging   int               // hanging attempts in addition to the workers; default 512
	HangAfter     time.Duration     // when an attempt no longer occupies a worker; default 1 s

	// Released is closed when messages may be sent; until then they wait. nil: at once.
	Released <-chan struct{}

	Now    func() time.Time
	Logger *slog.Logger
}

// Inboxes is what the queue needs of the sending inboxes.
type Inboxes interface {
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
	// Queued returns a message that is not settled, even if readers no longer see it; nil if it is
	// settled.
	Queued(ctx context.Context, address string, id int64) (*inbox.Message, error)
	IsResident(address string) bool
	// LetSleep evicts an inbox again if many such inboxes are resident.
	LetSleep(address string)
}

// Local is what the queue needs of recipients on this node.
type Local interface {
	// ReceivesHere reports whether messages to an own domain are received here. It may query DNS.
	ReceivesHere(ctx context.Context, host string) bool
	// Receive receives a message as if from outside.
	Receive(ctx context.Context, rcptTo string, in Incoming) delivery.Receipt
}

// Incoming is a sent message as recipients on this node receive it.
type Incoming struct {
	MailFrom string        // empty for the null sender
	Raw      []byte        // read-only
	TraceLen int           // octets of the trace fields at the start of Raw
	Shared   *inbox.Shared // nil for a single recipient
}

// Store is the storage that the queue needs.
type Store interface {
	// MailQueue returns up to limit entries of the mail queue in time order, and whether more
	// follow. They start after the entry after; if after has no address, they start at its time.
	MailQueue(after inbox.QueueEntry, limit int) (queue []inbox.QueueEntry, more bool, err error)
	// QueuedIn calls entry for each queue entry of a group.
	QueuedIn(g partition.Group, entry func(inbox.QueueEntry)) error
	// QueuedAt reads the entry of a message at a time, if there is one.
	QueuedAt(address string, id int64, at time.Time) (e inbox.QueueEntry, found bool, err error)
	Raw(address string, id int64) ([]byte, error)
	// Signature returns the signature fields that the first attempt made; nil if there are none.
	Signature(address string, id int64) ([]byte, error)
	// QueuedCopy reads the copy of a sealed message that its attempts send, encrypted by Encrypt
	// for inbox.QueuePurpose; nil if it is gone.
	QueuedCopy(address string, id int64) ([]byte, error)
	Encrypt(purpose string, secret []byte) ([]byte, error)
	Decrypt(purpose string, encrypted []byte) ([]byte, error)
	// Full reports that the disk has no space for messages.
	Full() bool
}

// Courier transfers messages to other servers: one attempt, and one result per recipient in their
// order. It limits its own time and returns soon after ctx ends.
type Courier interface {
	Deliver(ctx context.Context, c Consignment) []Handover
}

// Signer finds the keys that sign messages from an address. The returned function makes the fields
// that go before raw; if it is nil, the message is sent unsigned.
type Signer func(ctx context.Context, from string) (sign func(raw []byte) (fields []byte, err error), err error)

// Consignment is one message for recipients that share a route. Each recipient gets a separate
// copy.
type Consignment struct {
	Domain   string // of the recipients
	Rcpts    []string
	Senders  []string // of the envelope, for each of Rcpts; nil for the null sender
	Raw      []byte   // read-only, not retained
	NeedUTF8 bool     // the header is not ASCII
	Greeted  func()   // called when a server is ready for the message

	// Taken is called after a server accepted a recipient's copy, before the next copy is started.
	// It is not called for the last one.
	Taken func(rcpt, mx string)
}

// Handover is the outcome of an attempt for one recipient.
type Handover struct {
	Rcpt     string
	Outcome  delivery.Outcome
	Code     int // of the SMTP reply; 0 if there was none
	Enhanced string
	Text     string // one sentence for the sender
	MX       string // server that replied last; empty if none did
	TLS      bool
}

// sentence is the outcome as the sender of the message reads it.
func (h *Handover) sentence() string {
	if h.Outcome == delivery.Delivered {
		return ""
	}
	return h.Text
}

// nowhere is the default Courier; it delivers nothing.
type nowhere struct{}

// Deliver implements Courier.
func (nowhere) Deliver(_ context.Context, c Consignment) []Handover {
	return allLater(c.Rcpts, "This server does not send mail to other servers")
}
