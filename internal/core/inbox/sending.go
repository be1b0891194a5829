package inbox

import (
	"hash/fnv"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/delivery"
	"inboxd/internal/mail/message"
)

// Sending is the delivery of an outgoing message. Like the message it never changes once it
// is in a published view; a change replaces it.
type Sending struct {
	Recipients []Recipient
	Due        time.Time // when the queue looks at it next; zero once the status is final
	Attempts   int       // begun
	Status     delivery.Status
	Leased     bool // an attempt is under way; Due is when it counts as interrupted
	Signature  Signature
	Auto       bool // nobody wrote it: sent with the null sender, and no event tells of it
	// Meeting is that of an owner's copy, which nobody wrote either: it is hidden from the start, comes
	// from a return path of its own, and no event tells of it. 0: it is no such copy.
	Meeting int64
}

// Reason is what the last failed attempt reported; empty when nothing failed. It follows from
// the recipients, so a queue of mails that fail does not hold it for each.
func (s *Sending) Reason() string {
	_, text := s.outcome()
	return text
}

func (s *Sending) outcome() (delivery.Status, string) {
	list := make([]delivery.Recipient, len(s.Recipients))
	for i, r := range s.Recipients {
		list[i] = r.Recipient
	}
	return delivery.Message(list, s.Signature == Unsigned)
}

// Recipient is one recipient of an outgoing message.
type Recipient struct {
	delivery.Recipient
	Bcc bool
	MX  string    // server that answered last
	At  time.Time // of the last report; zero before the first
}

// Signature says what the first attempt made of signing. Stored: append only.
type Signature uint8

const (
	NotYet   Signature = iota // no attempt has begun
	Signed                    // the fields are kept beside the raw message
	Unsigned                  // the sending domain has no usable key
)

// leaseFor is when an attempt that was not heard of again counts as interrupted while the
// process lives: longer than any attempt. A start takes every lease for interrupted.
const leaseFor = 30 * time.Minute

// Commands of sending.
type (
	// Submit queues one composed mail. Recipients carry address and Bcc only. After is where the
	// day's count of it stands: no crash keeps the mail without its count.
	Submit struct {
		From       message.Mailbox
		Subject    string
		Content    *Content
		Raw        []byte
		Recipients []Recipient
		Auto       bool
		After      partition.Position
		Sealed     *Sealing // from an encrypted inbox; nil: in the clear
	}
	// Attempt leases a queued mail for an attempt. The first one also keeps what signing
	// gave: the same bytes go out on every attempt, also after a crash. Its outcome counts
	// the attempt.
	Attempt struct {
		ID     int64
		Signed Signature
		Fields []byte // the signature fields, to stand above Raw
	}
	// Attempted reports on recipients. Until Done, more reports of the same attempt
	// follow; with Done, Next is when to try those that are left, zero for never again.
	Attempted struct {
		ID      int64
		Attempt int
		Reports []Report
		Done    bool
		Next    time.Time
	}
	// Defer is an attempt, for each of some mails, that was not worth a connection: all who
	// wait get the report Why, and the mail waits for its next time. One that is gone, or was
	// not due At, stays as it is. Its outcome counts the attempt of Each, 0 where there was none.
	Defer struct {
		Mails    []Deferral // each but once
		At       time.Time
		Schedule delivery.Schedule
	}
	// Bounce reports that a mail that was taken came back from a recipient.
	Bounce struct {
		ID        int64
		Recipient string
		Error     string
	}
	// MendEntry says that the queue has an entry at a time that is not the message's, accepted
	// Since: it goes, and the message's own is written again. Missing is the message's own time,
	// if the queue has nothing there.
	MendEntry struct {
		ID                 int64
		At, Since, Missing time.Time
	}
	// Requeue makes a waiting mail due now; the operator's order.
	Requeue struct{ ID int64 }
	// GiveUp ends a waiting mail as failed; the operator's order.
	GiveUp struct {
		ID  int64
		Why string
	}
)

// NotQueued reports a failure of a command after which its mail is surely not queued: its place in the
// day's quota is given back.
func NotQueued(err error) bool {
	switch fault.KindOf(err) {
	case fault.InboxFull, fault.StorageFull, fault.NoInbox, fault.Invalid, fault.Refused:
		return true
	}
	return false
}

// Deferral is a mail that waits without an attempt. Jitter is random in [0, 1).
type Deferral struct {
	ID     int64
	Why    string
	Jitter float64
}

// Report is what an attempt brought for one recipient.
type Report struct {
	Email   string
	Outcome delivery.Outcome
	Error   string
	MX      string
}

// Queued is a move of one entry of the mail queue. A zero time is no entry.
type Queued struct {
	ID       int64
	From, To time.Time
	Since    time.Time // when the mail was accepted
	Domains  []string  // of the recipients that wait
	Leased   bool
}

// Due is an entry of retention's index: an inbox that wants to be looked at.
type Due struct {
	At      time.Time
	Address string
}

// QueueEntry is an entry of the mail queue as the store lists it, by time, address and id.
type QueueEntry struct {
	At      time.Time
	Address string
	ID      int64
	Since   time.Time // when the mail was accepted
	Domains []string  // of the recipients that wait
	Leased  bool      // an attempt was under way when it was written
}

// Waiting reports that the message was accepted and not every recipient is settled.
func (m *Message) Waiting() bool { return m.Sending != nil && !m.Sending.Status.Final() }

// Pending returns the recipients that wait, by domain.
func (s *Sending) Pending() map[string][]string {
	pending := map[string][]string{}
	for _, r := range s.Recipients {
		if !r.Status.Final() {
			d := address.DomainOf(r.Email)
			pending[d] = append(pending[d], r.Email)
		}
	}
	return pending
}

// ThreadKey recognises a Message-ID (without angle brackets) among those of an inbox. Two
// may share a key: compare the Message-ID itself.
func ThreadKey(messageID string) uint64 {
	if messageID == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(messageID))
	return h.Sum64()
}
