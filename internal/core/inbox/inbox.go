// Package inbox holds the rules of one inbox: receiving, sending, read marks, deleting, burning,
// retention and quota. Decide turns a command into events, and Apply applies them to the state.
// Both are pure, so a state rebuilt from its rows equals the state in memory. The package does not
// know actors, the store, HTTP, SMTP, the clock and randomness.
package inbox

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
)

// Profile is the inbox's own row. A deleted inbox keeps it as a tombstone. So its message ids are
// never reused, and its address does not pass to another account immediately.
type Profile struct {
	Address        string // as returned by address.CanonicalInbox
	Account        account.ID
	Label          string
	RetentionHours int
	KeepNewest     bool // if the inbox is full, the oldest received messages are removed, see State.CheckRoom
	CreatedAt      time.Time
	DeletedAt      time.Time // zero while the inbox lives
	LastID         int64     // highest message id ever assigned
	LastEvent      uint64    // highest number of a public event
	DueAt          time.Time // when retention examines the inbox next; zero: never
	HasCalendar    bool      // there are rows of a calendar
	Encrypted      bool      // its messages are encrypted; set at its creation, never changed
}

// IsLive reports whether the inbox exists for clients.
func (p *Profile) IsLive() bool { return !p.CreatedAt.IsZero() && p.DeletedAt.IsZero() }

// MessageDigest recognises a message that is offered again.
type MessageDigest [sha256.Size]byte

// DigestOf is the SHA-256 of the envelope sender, the recipients and the bytes that the sender
// transmitted.
func DigestOf(mailFrom string, rcptTo []string, sent []byte) MessageDigest {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", mailFrom, slices.Sorted(slices.Values(rcptTo)))
	h.Write(sent)
	return MessageDigest(h.Sum(nil))
}

// orNil returns nil for the zero digest: most messages have none.
func (d MessageDigest) orNil() *MessageDigest {
	if d == (MessageDigest{}) {
		return nil
	}
	return &d
}

// Direction says whether a message was received or sent. Stored: append only.
type Direction uint8

// The directions: In was received, Out was sent.
const (
	In Direction = iota + 1
	Out
)

// Message is the part of a message that is in memory: enough for lists, filters and retention. It
// never changes once it is in a published view; a change replaces it.
type Message struct {
	ID               int64
	Direction        Direction
	IsRead           bool
	IsDamaged        bool // its row can't be read: only the id is known, and times that are no earlier than the true ones
	IsHidden         bool // burnt, or deleted with its inbox, while it was queued; removed when its status is final
	FromVerified     bool // see Auth; false on a sent message
	ReceivedAt       time.Time
	ExpiresAt        time.Time
	From             message.Mailbox
	EnvelopeTo       string // envelope recipient, with its tag; the first of several
	Subject          string
	OTP              string
	Size             int64             // bytes as received
	NamedRecipients  *[]string         // all recipients of this inbox in the envelope, if there are several; else nil
	RepeatDigest     *MessageDigest    // nil unless the sender may still repeat the message, see Receive
	ThreadKey        uint64            // ThreadKey of its Message-ID; 0 without one
	OutgoingDelivery *OutgoingDelivery // of an outgoing message; nil on a received one
	EncryptedState   *EncryptedState   // of an encrypted inbox; nil: not encrypted
}

// IsExpired reports whether the message is invisible to every read at now. A message whose delivery
// is not final does not expire by time (specification, Retention).
func (m *Message) IsExpired(now time.Time) bool { return m.IsHidden || m.retentionOver(now) }

// retentionOver reports whether retention may remove the message.
func (m *Message) retentionOver(now time.Time) bool {
	return !now.Before(m.ExpiresAt) && !m.IsWaiting()
}

// Content is the part of a message that is read on demand: its document and the findings of ingest.
type Content struct {
	Doc  message.ParsedMessage
	OTP  OTP
	Auth Auth
	// Simulated means that a client wrote the message for a test, and no server sent it.
	Simulated bool
	// SpamVerdict is the scanner's verdict; nil: not scanned.
	Spam *SpamVerdict
	// Calendar is what the message said about a meeting; nil: nothing. It is specific to this
	// inbox.
	Calendar *calendar.MessageEvent
	// MoreCalendar is what it said about other meetings.
	MoreCalendar []*calendar.MessageEvent
	// DocumentOmitted means that Doc is missing: the raw message is small and is parsed again on
	// demand. That costs less than storing every message twice.
	DocumentOmitted bool
}

// rereadMax is the largest raw message that is parsed again on demand, about 100 us of work.
const rereadMax = 32 << 10

// ReadAgain reports whether no document is stored for a raw message of size bytes.
func ReadAgain(size int) bool { return size <= rereadMax }

// OTP is the extracted code with its evidence (specification, Codes). The zero OTP means none.
type OTP struct {
	Code             string
	Confidence       float64
	Source           string
	Origin           string
	Candidates       []string
	VerificationLink string
}

// SpamVerdict is the verdict of a scanner (specification, Spam). A score of 0 is a verdict too.
type SpamVerdict struct {
	Score         float64
	RequiredScore float64 // the threshold for Score
	IsSpam        bool
	Rules         []SpamRule // that matched
}

// SpamRule is one rule of the scanner with its contribution to the score.
type SpamRule struct {
	Name        string
	Weight      float64
	Description string
}

// CachedContent is the cached content of the newest received message. It is cached from the commit
// until it is dropped, so that the poll after a new message does not read the disk. States and
// views share it; a state that was loaded has none (nil). Any goroutine may use it: only content
// changes, as a whole.
type CachedContent struct {
	id, size int64
	content  atomic.Pointer[Content]
}

func cacheContent(m *Message, c *Content) *CachedContent {
	n := &CachedContent{id: m.ID, size: m.Size}
	n.content.Store(c)
	return n
}

// ID is the message's id; 0 for nil.
func (n *CachedContent) ID() int64 {
	if n == nil {
		return 0
	}
	return n.id
}

// Of returns the content of message id if it is cached, else nil.
func (n *CachedContent) Of(id int64) *Content {
	if n.ID() != id {
		return nil
	}
	return n.content.Load()
}

// LetGo evicts the content from memory.
func (n *CachedContent) LetGo() { n.content.Store(nil) }

// Weight is the approximate number of bytes that the content uses in memory.
func (n *CachedContent) Weight() int64 { return 1<<10 + n.size }

// State is one inbox. Its actor owns it; no other goroutine may touch it. Messages ascend by id.
// Views share the slice's array, so it is only ever appended to or replaced.
type State struct {
	Profile
	Messages        []*Message
	Bytes           int64 // of all Messages
	RepeatableCount int   // how many of Messages may be repeated
	NewestContent   *CachedContent
	Calendar        *calendar.Book // nil: none
}

// addTotals adds n times m, 1 or -1, to the totals of Messages.
func (s *State) addTotals(m *Message, n int) {
	s.Bytes += int64(n) * m.Size
	if m.RepeatDigest != nil {
		s.RepeatableCount += n
	}
}

// AddMessage appends the message with the highest id.
func (s *State) AddMessage(m *Message) {
	s.Messages = append(s.Messages, m)
	s.addTotals(m, 1)
}

// Rows is what a committed change writes, independent of the store, in one atomic batch. The
// goroutine that decided it owns it until the commit.
type Rows struct {
	Address        string
	Profile        *Profile
	WriteSpareCopy bool      // more of Profile changed than its counters: a second copy is written elsewhere
	DueFrom        time.Time // with DueTo, if they differ: the due entry moves; zero: none
	DueTo          time.Time
	// DueStray are entries to remove from the due index; the one at DueTo stays, or is restored.
	DueStray           []time.Time
	PutMessages        []*Message
	StoreMessages      []StoredMessage
	DropMessages       []*Message // remove the rows, content and bytes of these
	PublicEvents       []PublicEvent
	IdempotencyRecords idempotency.BatchRecords
	QueueMoves         []QueueMove // moves of the delivery queue, in order
	SignatureFields    []SignatureFields
	FinalMessages      []*Message // encrypted ones with a final status: remove what was stored for attempts
	// Calendar is the calendar's own row; its meetings are in Meetings and DropMeetings. Nil:
	// unchanged.
	Calendar     *calendar.Book
	PutMeetings  []*calendar.Meeting
	DropMeetings []int64
	LinkRows     []LinkRow // in order
	CopyDue      *bool     // whether an owner's copy is due; nil: unchanged

	HasAmbiguous bool // a message of PutMessages is in doubt, because its sender got a temporary failure; the mark must not be lost

	ofProfile Profile // storage for Profile
}

// StoredMessage is the bulk of a new message.
type StoredMessage struct {
	ID              int64
	Content         *Content
	Raw             []byte         // as received; for an encrypted message, its envelope
	DocumentOmitted bool           // the store omits the Doc of Content
	SharedStorage   *SharedStorage // with other recipients of the message; nil: it has none, or their bytes differ

	EncryptedFiles []sealed.FileEnvelope // of an encrypted message
	QueuedMessage  []byte                // of an encrypted sent message, see EncryptedParts
}

// Size is the approximate number of stored bytes of the message, without Content.
func (s *StoredMessage) Size() int64 {
	n := len(s.Raw) + len(s.QueuedMessage)
	for i := range s.EncryptedFiles {
		n += len(s.EncryptedFiles[i].Envelope)
	}
	return int64(n)
}

// storedMessage returns the bulk of a message. If the raw message is parsed again on demand, its
// Doc is not stored.
func storedMessage(id int64, c *Content, raw []byte, s *EncryptedParts) StoredMessage {
	if s != nil {
		return StoredMessage{ID: id, Content: c, Raw: raw, EncryptedFiles: s.EncryptedFiles, QueuedMessage: s.QueuedMessage}
	}
	return StoredMessage{ID: id, Content: c, Raw: raw, DocumentOmitted: ReadAgain(len(raw))}
}

// SignatureFields are the signature fields of an outgoing message.
type SignatureFields struct {
	ID    int64
	Bytes []byte
}

// PublicEvent is an event that subscribers may see. It is numbered per inbox, so that its account can
// take it over exactly once.
type PublicEvent struct {
	SequenceNumber  uint64
	EventName       string // wire name (specification, Events)
	Account         account.ID
	Address         string
	MessageID       int64
	At              time.Time
	From            string
	Subject         string
	EnvelopeTo      string   // of a received message
	NamedRecipients []string // as Message.NamedRecipients
	OTP             string
	Encrypted       bool // subject and code are withheld
	MessageDeleted  bool // the message is deleted: see RedactDeleted

	// Of a sent message.
	To         []string
	SendStatus string
	SendError  string
	Recipients []delivery.RecipientState // their status, without their errors

	// Of a meeting: its current state, and who answered it.
	Meeting  *calendar.Meeting
	Attendee *calendar.Attendee
}

// RedactDeleted removes from an event what must not be published after its message is deleted: all
// of the message's content and all addresses.
func (p *PublicEvent) RedactDeleted() {
	p.MessageDeleted, p.From, p.Subject, p.OTP, p.To, p.Meeting, p.Attendee = true, "", "", "", nil, nil, nil
	p.Recipients = slices.Clone(p.Recipients)
	for i := range p.Recipients {
		p.Recipients[i].Email = ""
	}
}
