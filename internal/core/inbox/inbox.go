// Package inbox holds the rules of one inbox: receiving, sending, reading marks, deleting,
// burning, retention and quota. Decide turns a command into events, Apply moves the state over
// them; both are pure, so that a state rebuilt from its rows equals the state in memory.
// It refuses to know actors, the store, HTTP, SMTP, the clock and randomness.
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

// Profile is the inbox's own row. A deleted inbox keeps it as a tombstone, so that its
// message ids are never given again and its address does not pass to another account at
// once.
type Profile struct {
	Address        string // as address.Inbox gives it
	Account        account.ID
	Label          string
	RetentionHours int
	KeepNewest     bool // mail that is too much lets the oldest received go, see State.Room
	CreatedAt      time.Time
	DeletedAt      time.Time // zero while the inbox lives
	LastID         int64     // highest message id ever given
	LastEvent      uint64    // highest number of a public event
	DueAt          time.Time // when retention looks at the inbox next; zero: never
	HasCalendar    bool      // there are rows of one
	Encrypted      bool      // its mail is sealed; from its creation or never
}

// Live reports whether the inbox exists for anybody outside.
func (p *Profile) Live() bool { return !p.CreatedAt.IsZero() && p.DeletedAt.IsZero() }

// Digest recognises a mail that is offered again.
type Digest [sha256.Size]byte

// DigestOf is the SHA-256 over sender and recipients of the envelope and the bytes that the
// sender gave.
func DigestOf(mailFrom string, rcptTo []string, sent []byte) Digest {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", mailFrom, slices.Sorted(slices.Values(rcptTo)))
	h.Write(sent)
	return Digest(h.Sum(nil))
}

// orNil is what a message holds of d: most mails have none.
func (d Digest) orNil() *Digest {
	if d == (Digest{}) {
		return nil
	}
	return &d
}

// Direction says whether a message came in or was sent. Stored: append only.
type Direction uint8

const (
	In Direction = iota + 1
	Out
)

// Message is what is kept in memory of a message: enough for lists, filters and
// retention. It never changes once it is in a published view; a change replaces it.
type Message struct {
	ID           int64
	Direction    Direction
	Read         bool
	Damaged      bool // its row can't be read: known are the id, and times that are no earlier than the true ones
	Hidden       bool // burnt, or deleted with its inbox, while it was queued: it goes when its delivery is settled
	FromVerified bool // see Auth; false on a sent message
	ReceivedAt   time.Time
	ExpiresAt    time.Time
	From         message.Mailbox
	EnvelopeTo   string // the recipient of the envelope that reached it, with its tag; the first of several
	Subject      string
	OTP          string
	Size         int64     // bytes as received
	Named        *[]string // all recipients of this inbox that the envelope named, when they are several; else nil
	Unsettled    *Digest   // nil unless the sender may still repeat the mail, see Receive
	Thread       uint64    // ThreadKey of its Message-ID; 0 when it has none
	Sending      *Sending  // of an outgoing message; nil on a received one
	Sealed       *Sealed   // of an encrypted inbox; nil: it is kept in the clear
}

// Expired reports whether the message is gone from every read at now: by its time never while
// its delivery is not settled (specification, Retention).
func (m *Message) Expired(now time.Time) bool { return m.Hidden || m.over(now) }

// over reports that retention may take the message.
func (m *Message) over(now time.Time) bool { return !now.Before(m.ExpiresAt) && !m.Waiting() }

// Content is what is read of a message on demand: its document and what ingest found.
type Content struct {
	Doc  message.Document
	OTP  OTP
	Auth Auth
	// Spam is the scanner's verdict; nil: never scanned.
	Spam *Spam
	// Calendar is what the message said of a meeting; nil: nothing. It is of this inbox alone.
	Calendar *calendar.Said
	// MoreCalendar is what it said of others.
	MoreCalendar []*calendar.Said
	// Unread says that Doc is not here: the raw message is small and is parsed again when
	// somebody asks, which costs less than keeping every mail on disk twice.
	Unread bool
}

// rereadMax is the largest raw message that is parsed again on demand, about 100 us of work.
const rereadMax = 32 << 10

// ReadAgain reports that of a raw message of size bytes no document is kept.
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

// Spam is what a scanner found (specification, Spam). A score of 0 is a verdict too.
type Spam struct {
	Score    float64
	Required float64 // the threshold that Score was judged against
	IsSpam   bool
	Rules    []SpamRule // those that fired
}

// SpamRule is one rule of the scanner's with what it added to the score.
type SpamRule struct {
	Name        string
	Weight      float64
	Description string
}

// Newest is the content of the newest received message, kept beside the state from its
// commit on, so that the poll that follows a mail does not read the disk, until it is let
// go. States and views share it; a state that was loaded has none (nil).
// Any goroutine may use it: only content changes, swapped whole.
type Newest struct {
	id, size int64
	content  atomic.Pointer[Content]
}

func newest(m *Message, c *Content) *Newest {
	n := &Newest{id: m.ID, size: m.Size}
	n.content.Store(c)
	return n
}

// ID is the message's; 0 of nil.
func (n *Newest) ID() int64 {
	if n == nil {
		return 0
	}
	return n.id
}

// Of returns the content of message id if it is at hand, else nil.
func (n *Newest) Of(id int64) *Content {
	if n.ID() != id {
		return nil
	}
	return n.content.Load()
}

// LetGo leaves the content to the disk alone.
func (n *Newest) LetGo() { n.content.Store(nil) }

// Weight is about how many bytes of memory the content takes.
func (n *Newest) Weight() int64 { return 1<<10 + n.size }

// State is one inbox. Its actor owns it; no other goroutine may touch it. Messages ascend
// by id; views share the slice's array, so it is only ever appended to or replaced.
type State struct {
	Profile
	Messages  []*Message
	Bytes     int64 // of all Messages
	Unsettled int   // those of Messages that may be repeated
	Newest    *Newest
	Calendar  *calendar.Book // nil: none
}

// count adds n times m, 1 or -1, to what is known of all Messages.
func (s *State) count(m *Message, n int) {
	s.Bytes += int64(n) * m.Size
	if m.Unsettled != nil {
		s.Unsettled += n
	}
}

// Add appends the message with the highest id.
func (s *State) Add(m *Message) {
	s.Messages = append(s.Messages, m)
	s.count(m, 1)
}

// Rows is what a committed change writes, in storage-neutral form. Whoever decided it owns it
// until the commit. Everything in it goes
// into one atomic batch.
type Rows struct {
	Address string
	Profile *Profile
	Spare   bool      // more of Profile changed than its counters: it is written a second time, elsewhere
	DueFrom time.Time // with DueTo, when they differ: the due entry moves; zero: none
	DueTo   time.Time
	// DueStray are entries that the due index should not have; the one at DueTo stays, or comes back.
	DueStray []time.Time
	Put      []*Message
	Store    []Stored
	Drop     []*Message // rows, content and bytes of these go
	Public   []Public
	Once     idempotency.Records
	Queue    []Queued // moves of the mail queue, in order
	Sign     []Fields
	Settled  []*Message // sealed ones whose status is final: what was kept for attempts goes
	// Calendar is its own row; the rows of its meetings are in Meetings and DropMeetings. Nil: it is as it was.
	Calendar     *calendar.Book
	Meetings     []*calendar.Meeting
	DropMeetings []int64
	Links        []Link // in order
	CopyDue      *bool  // whether an owner's copy is due; nil: as it was

	Doubted bool // a mail of Put is in doubt that its sender heard of too late: that must not be lost

	ofProfile Profile // room for Profile
}

// Stored is the bulk of a new message.
type Stored struct {
	ID      int64
	Content *Content
	Raw     []byte  // as received; of a sealed message its envelope
	Unread  bool    // the store keeps Content without its Doc
	Shared  *Shared // with other recipients of the message; nil: it has none, or they have other bytes

	Files  []sealed.File // of a sealed message
	Queued []byte        // of a sealed one that is sent, see Sealing
}

// Size is about how many bytes are stored for the message, without Content.
func (s *Stored) Size() int64 {
	n := len(s.Raw) + len(s.Queued)
	for i := range s.Files {
		n += len(s.Files[i].Envelope)
	}
	return int64(n)
}

// store is the bulk of a message; a raw one that is parsed again is kept without Doc.
func store(id int64, c *Content, raw []byte, s *Sealing) Stored {
	if s != nil {
		return Stored{ID: id, Content: c, Raw: raw, Files: s.Files, Queued: s.Queued}
	}
	return Stored{ID: id, Content: c, Raw: raw, Unread: ReadAgain(len(raw))}
}

// Fields are the signature fields of an outgoing message.
type Fields struct {
	ID    int64
	Bytes []byte
}

// Public is an event that subscribers may see, as facts; it is numbered per inbox so that
// its account can take it over exactly once.
type Public struct {
	Number     uint64
	Name       string // wire name (specification, Events)
	Account    account.ID
	Address    string
	MessageID  int64
	At         time.Time
	From       string
	Subject    string
	EnvelopeTo string   // of a received message
	Named      []string // as Message.Named
	OTP        string
	Encrypted  bool // subject and code are withheld
	Gone       bool // so is the message: see Forget

	// Of sent mail.
	To         []string
	SendStatus string
	SendError  string
	Recipients []delivery.Recipient // what became of each, without their errors

	// Of a meeting: how it is now, and who answered it.
	Meeting  *calendar.Meeting
	Attendee *calendar.Attendee
}

// Forget leaves of an event what may be told once its message is gone: nothing that was in the
// mail, and nobody's address.
func (p *Public) Forget() {
	p.Gone, p.From, p.Subject, p.OTP, p.To, p.Meeting, p.Attendee = true, "", "", "", nil, nil, nil
	p.Recipients = slices.Clone(p.Recipients)
	for i := range p.Recipients {
		p.Recipients[i].Email = ""
	}
}
