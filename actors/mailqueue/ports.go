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
	Inboxes       SenderInboxes
	LocalReceiver LocalReceiver
	Store         Store
	Courier       DeliveryAgent // default: no message leaves the node
	FindSigner    SignerFinder

	ServiceDomain string // the service's own: it and its subdomains are on this node
	Smarthost     string // name of the server that takes all messages; that route may use every worker; default none
	// SimulateRecipients gives bounced@, deferred@, slow@ and rejected@ at simulate.ServiceDomain the
	// behavior that they are named for, for tests.
	SimulateRecipients bool
	// ReturnPath is the envelope sender of a recipient's copy; only that recipient sees it.
	ReturnPath func(address string, id int64, index int) string

	RetrySchedule delivery.RetrySchedule // of retries; the zero value is the default
	MaxWorkers    int                    // concurrent attempts; default 64
	DomainWorkers int                    // of them at one responsive destination; default 5
	MostHanging   int                    // hanging attempts in addition to the workers; default 512
	HangAfter     time.Duration          // when an attempt no longer occupies a worker; default 1 s

	// SendingReleased is closed when messages may be sent; until then they wait. nil: at once.
	SendingReleased <-chan struct{}

	Now    func() time.Time
	Logger *slog.Logger
}

// SenderInboxes is what the queue needs of the sending inboxes.
type SenderInboxes interface {
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.CommandOutcome, error)
	// QueuedMessage returns a message that is not settled, even if readers no longer see it; nil if
	// it is settled.
	QueuedMessage(ctx context.Context, address string, id int64) (*inbox.Message, error)
	IsResident(address string) bool
	// LetSleep evicts an inbox again if many such inboxes are resident.
	LetSleep(address string)
}

// LocalReceiver is what the queue needs of recipients on this node.
type LocalReceiver interface {
	// ReceivesHere reports whether messages to an own domain are received here. It may query DNS.
	ReceivesHere(ctx context.Context, host string) bool
	// ReceiveLocal receives a message as if from outside.
	ReceiveLocal(ctx context.Context, rcptTo string, in Incoming) delivery.LocalReceipt
}

// Incoming is a sent message as recipients on this node receive it.
type Incoming struct {
	MailFrom   string               // empty for the null sender
	RawMessage []byte               // read-only
	TraceLen   int                  // octets of the trace fields at the start of Raw
	SharedBody *inbox.SharedStorage // nil for a single recipient
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
	ReadRaw(address string, id int64) ([]byte, error)
	// FrozenSignature returns the signature fields that the first attempt made; nil if there are none.
	FrozenSignature(address string, id int64) ([]byte, error)
	// QueuedCopy reads the copy of a sealed message that its attempts send, encrypted by Encrypt
	// for inbox.QueuePurpose; nil if it is gone.
	QueuedCopy(address string, id int64) ([]byte, error)
	EncryptSecret(purpose string, secret []byte) ([]byte, error)
	Decrypt(purpose string, encrypted []byte) ([]byte, error)
	// IsFull reports that the disk has no space for messages.
	IsFull() bool
}

// DeliveryAgent transfers messages to other servers: one attempt, and one result per recipient in their
// order. It limits its own time and returns soon after ctx ends.
type DeliveryAgent interface {
	Deliver(ctx context.Context, c DeliveryRequest) []Handover
}

// SignerFinder finds the keys that sign messages from an address. The returned function makes the
// fields that go before raw; if it is nil, the message is sent unsigned.
type SignerFinder func(ctx context.Context, from string) (sign func(raw []byte) (fields []byte, err error), err error)

// DeliveryRequest is one message for recipients that share a route. Each recipient gets a separate
// copy.
type DeliveryRequest struct {
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
	Outcome  delivery.AttemptOutcome
	Code     int // of the SMTP reply; 0 if there was none
	Enhanced string
	Text     string // one sentence for the sender
	MX       string // server that replied last; empty if none did
	TLS      bool
}

// reportSentence is the outcome as the sender of the message reads it.
func (h *Handover) reportSentence() string {
	if h.Outcome == delivery.OutcomeDelivered {
		return ""
	}
	return h.Text
}

// noDelivery is the default Courier; it delivers nothing.
type noDelivery struct{}

// Deliver implements Courier.
func (noDelivery) Deliver(_ context.Context, c DeliveryRequest) []Handover {
	return allLater(c.Rcpts, "This server does not send mail to other servers")
}
