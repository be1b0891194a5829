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

// Sending is the delivery of an outgoing message. Like the message, it never changes once it is in
// a published view; a change replaces it.
type Sending struct {
	Recipients []Recipient
	Due        time.Time // when the queue examines it next; zero once the status is final
	Attempts   int       // that were begun
	Status     delivery.Status
	Leased     bool // an attempt is in progress; Due is when it counts as interrupted
	Signature  Signature
	Auto       bool // the service wrote it: sent with the null sender and without events
	// Meeting is the meeting of an owner's copy; 0: not such a copy. The service wrote it, too: it is
	// hidden from the start, has a return path of its own, and has no events.
	Meeting int64
}

// Reason is the report of the last failed attempt; empty if none failed. It is derived from the
// recipients, so a queue of failing messages does not store it for each.
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
	MX  string    // server that replied last
	At  time.Time // of the last report; zero before the first
}

// Signature is the result of signing at the first attempt. Stored: append only.
type Signature uint8

const (
	NotYet   Signature = iota // no attempt has begun
	Signed                    // the fields are stored next to the raw message
	Unsigned                  // the sending domain has no usable key
)

// leaseFor is how long after its start an attempt without a report counts as interrupted while the
// process lives. It is longer than any attempt. A restart treats every lease as interrupted.
const leaseFor = 30 * time.Minute

// Commands of sending.
type (
	// Submit queues one composed message. Recipients contain only address and Bcc. After is the log
	// position of its count in the day's quota: no crash keeps the message without its count.
	Submit struct {
		From       message.Mailbox
		Subject    string
		Content    *Content
		Raw        []byte
		Recipients []Recipient
		Auto       bool
		After      partition.Position
		Sealed     *Sealing // from an encrypted inbox; nil: not encrypted
	}
	// Attempt leases a queued message for an attempt. The first one also stores the result of
	// signing, so that every attempt sends the same bytes, also after a crash. Its outcome counts
	// the attempt.
	Attempt struct {
		ID     int64
		Signed Signature
		Fields []byte // the signature fields, to precede Raw
	}
	// Attempted reports on recipients. Until Done, more reports of the same attempt follow. With
	// Done, Next is when to retry the remaining recipients, zero for never.
	Attempted struct {
		ID      int64
		Attempt int
		Reports []Report
		Done    bool
		Next    time.Time
	}
	// Defer counts an attempt, for each of several messages, without a connection. All waiting
	// recipients get the report Why, and the message waits for its next time. A message that was
	// removed, or was not due At, is unchanged. Its outcome counts the attempt of Each, 0 where
	// there was none.
	Defer struct {
		Mails    []Deferral // each only once
		At       time.Time
		Schedule delivery.Schedule
	}
	// Bounce reports that a message that was accepted came back from a recipient.
	Bounce struct {
		ID        int64
		Recipient string
		Error     string
	}
	// MendEntry reports that the queue has an entry, accepted Since, at a time that is not the
	// message's. It is removed, and the message's own is written again. Missing is the message's
	// own time, if the queue has no entry there.
	MendEntry struct {
		ID                 int64
		At, Since, Missing time.Time
	}
	// Requeue makes a waiting message due now, by order of the operator.
	Requeue struct{ ID int64 }
	// GiveUp ends a waiting message as failed, by order of the operator.
	GiveUp struct {
		ID  int64
		Why string
	}
)

// NotQueued reports whether, after this error of a command, its message is certainly not queued.
// Its place in the day's quota is then released.
func NotQueued(err error) bool {
	switch fault.KindOf(err) {
	case fault.InboxFull, fault.StorageFull, fault.NoInbox, fault.Invalid, fault.Refused:
		return true
	}
	return false
}

// Deferral is a message deferred without an attempt. Jitter is random in [0, 1).
type Deferral struct {
	ID     int64
	Why    string
	Jitter float64
}

// Report is the result of an attempt for one recipient.
type Report struct {
	Email   string
	Outcome delivery.Outcome
	Error   string
	MX      string
}

// Queued is a move of one entry of the delivery queue. A zero time means no entry.
type Queued struct {
	ID       int64
	From, To time.Time
	Since    time.Time // when the message was accepted
	Domains  []string  // of the recipients that wait
	Leased   bool
}

// Due is an entry of retention's index: an inbox to be examined.
type Due struct {
	At      time.Time
	Address string
}

// QueueEntry is an entry of the delivery queue as the store lists it, by time, address and id.
type QueueEntry struct {
	At      time.Time
	Address string
	ID      int64
	Since   time.Time // when the message was accepted
	Domains []string  // of the recipients that wait
	Leased  bool      // an attempt was in progress when it was written
}

// Waiting reports whether the message was accepted and some recipient's status is not final.
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

// ThreadKey identifies a Message-ID (without angle brackets) among those of an inbox. Two may have
// the same key: compare the Message-ID itself.
func ThreadKey(messageID string) uint64 {
	if messageID == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(messageID))
	return h.Sum64()
}
