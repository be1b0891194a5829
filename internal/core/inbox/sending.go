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

// OutgoingDelivery is the delivery of an outgoing message. Like the message, it never changes once
// it is in a published view; a change replaces it.
type OutgoingDelivery struct {
	Recipients     []OutgoingRecipient
	NextDue        time.Time // when the queue examines it next; zero once the status is final
	AttemptCount   int       // that were begun
	Status         delivery.SendStatus
	AttemptLeased  bool // an attempt is in progress; Due is when it counts as interrupted
	SigningResult  SigningResult
	ServiceWritten bool // the service wrote it: sent with the null sender and without events
	// CopyOfMeeting is the meeting of an owner's copy; 0: not such a copy. The service wrote it,
	// too: it is hidden from the start, has a return path of its own, and has no events.
	CopyOfMeeting int64
}

// LastFailure is the report of the last failed attempt; empty if none failed. It is derived from the
// recipients, so a queue of failing messages does not store it for each.
func (s *OutgoingDelivery) LastFailure() string {
	_, text := s.statusAndError()
	return text
}

func (s *OutgoingDelivery) statusAndError() (delivery.SendStatus, string) {
	list := make([]delivery.RecipientState, len(s.Recipients))
	for i, r := range s.Recipients {
		list[i] = r.RecipientState
	}
	return delivery.MessageStatus(list, s.SigningResult == MessageUnsigned)
}

// OutgoingRecipient is one recipient of an outgoing message.
type OutgoingRecipient struct {
	delivery.RecipientState
	Bcc bool
	MX  string    // server that replied last
	At  time.Time // of the last report; zero before the first
}

// SigningResult is the result of signing at the first attempt. Stored: append only.
type SigningResult uint8

const (
	NotYet          SigningResult = iota // no attempt has begun
	MessageSigned                        // the fields are stored next to the raw message
	MessageUnsigned                      // the sending domain has no usable key
)

// leaseFor is how long after its start an attempt without a report counts as interrupted while the
// process lives. It is longer than any attempt. A restart treats every lease as interrupted.
const leaseFor = 30 * time.Minute

// Commands of sending.
type (
	// Submit queues one composed message. Recipients contain only address and Bcc. After is the log
	// position of its count in the day's quota: no crash keeps the message without its count.
	Submit struct {
		From           message.Mailbox
		Subject        string
		Content        *Content
		Raw            []byte
		Recipients     []OutgoingRecipient
		ServiceWritten bool
		AfterPosition  partition.Position
		EncryptedParts *EncryptedParts // from an encrypted inbox; nil: not encrypted
	}
	// BeginAttempt leases a queued message for an attempt. The first one also stores the result of
	// signing, so that every attempt sends the same bytes, also after a crash. Its outcome counts
	// the attempt.
	BeginAttempt struct {
		ID              int64
		SigningResult   SigningResult
		SignatureFields []byte // the signature fields, to precede Raw
	}
	// ReportAttempt reports on recipients. Until IsDone, more reports of the same attempt follow. With
	// IsDone, Next is when to retry the remaining recipients, zero for never.
	ReportAttempt struct {
		ID            int64
		AttemptNumber int
		Reports       []AttemptReport
		IsDone        bool
		NextAttempt   time.Time
	}
	// DeferMessages counts an attempt, for each of several messages, without a connection. All
	// waiting recipients get the report FailureReason, and the message waits for its next time. A
	// message that was removed, or was not due At, is unchanged. Its outcome counts the attempt of
	// AttemptCounts, 0 where there was none.
	DeferMessages struct {
		MessageDeferrals []Deferral // each only once
		At               time.Time
		Schedule         delivery.RetrySchedule
	}
	// RecordBounce reports that a message that was accepted came back from a recipient.
	RecordBounce struct {
		ID        int64
		Recipient string
		Error     string
	}
	// MendEntry reports that the queue has an entry, accepted AcceptedAt, at a time that is not the
	// message's. It is removed, and the message's own is written again. Missing is the message's
	// own time, if the queue has no entry there.
	MendEntry struct {
		ID                          int64
		At, AcceptedAt, MissingTime time.Time
	}
	// Requeue makes a waiting message due now, by order of the operator.
	Requeue struct{ ID int64 }
	// GiveUp ends a waiting message as failed, by order of the operator.
	GiveUp struct {
		ID            int64
		FailureReason string
	}
)

// NotQueued reports whether, after this error of a command, its message is certainly not queued.
// Its place in the day's quota is then released.
func NotQueued(err error) bool {
	switch fault.KindOf(err) {
	case fault.InboxFull, fault.StorageFull, fault.NoInbox, fault.InvalidRequest, fault.Refused:
		return true
	}
	return false
}

// Deferral is a message deferred without an attempt. Jitter is random in [0, 1).
type Deferral struct {
	ID            int64
	FailureReason string
	Jitter        float64
}

// AttemptReport is the result of an attempt for one recipient.
type AttemptReport struct {
	Email   string
	Outcome delivery.AttemptOutcome
	Error   string
	MX      string
}

// QueueMove is a move of one entry of the delivery queue. A zero time means no entry.
type QueueMove struct {
	ID             int64
	From, To       time.Time
	AcceptedAt     time.Time // when the message was accepted
	WaitingDomains []string  // of the recipients that wait
	AttemptLeased  bool
}

// RetentionEntry is an entry of retention's index: an inbox to be examined.
type RetentionEntry struct {
	At      time.Time
	Address string
}

// QueueEntry is an entry of the delivery queue as the store lists it, by time, address and id.
type QueueEntry struct {
	At             time.Time
	Address        string
	ID             int64
	AcceptedAt     time.Time // when the message was accepted
	WaitingDomains []string  // of the recipients that wait
	AttemptLeased  bool      // an attempt was in progress when it was written
}

// IsWaiting reports whether the message was accepted and some recipient's status is not final.
func (m *Message) IsWaiting() bool {
	return m.OutgoingDelivery != nil && !m.OutgoingDelivery.Status.IsFinal()
}

// PendingByDomain returns the recipients that wait, by domain.
func (s *OutgoingDelivery) PendingByDomain() map[string][]string {
	pending := map[string][]string{}
	for _, r := range s.Recipients {
		if !r.Status.IsFinal() {
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
