// Package account holds the rules of an account: its plan and quotas, its sessions, its
// API keys with scopes and expiry, and the count of its inboxes. Decide is pure and Apply
// cannot fail; time and randomness arrive as arguments. It refuses to know what is inside
// an inbox, how credentials travel, and where rows are kept.
package account

import (
	"encoding/binary"
	"encoding/hex"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/idempotency"
)

// ID names an account: 48 bits of milliseconds, then 80 random bits, so that ids sort by
// age and never repeat.
type ID [16]byte

// NewID makes an ID of the time and ten random bytes.
func NewID(now time.Time, random [10]byte) ID {
	var id ID
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	copy(id[6:], random[:])
	return id
}

// NewIDBeside is NewID, but in the group of its e-mail address, so that a sign-up stays within one
// group: of the ids that follow the random bytes' the first that lies there, about the 64th.
func NewIDBeside(email string, now time.Time, random [10]byte) ID {
	group := partition.Of(email).Group()
	for n := binary.BigEndian.Uint64(random[2:]); ; n++ {
		binary.BigEndian.PutUint64(random[2:], n)
		if id := NewID(now, random); id.Partition().Group() == group {
			return id
		}
	}
}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Partition is where the account's rows live, and what its tokens embed.
func (id ID) Partition() partition.ID { return partition.Of(string(id[:])) }

// Profile is the account's own row.
type Profile struct {
	ID           ID
	Email        string // canonical, see CanonicalEmail
	PasswordHash string // argon2id in PHC form
	Plan         PlanName
	CreatedAt    time.Time
	Inboxes      int64     // live inboxes; reservations are counted apart
	LastKey      int64     // highest key id ever given; ids are never reused
	AccountKeys  int64     // account keys in the inventory, expired ones too
	InboxKeys    int64     // inboxes' own keys in it
	ClosingAt    time.Time // when its deletion began; zero while it is open
	LastWebhook  int64     // highest webhook id ever given
	LastClaim    int64     // highest number of a claim ever given
	Subdomains   int64     // claims of subdomains that were chosen
	Encryption   Encryption
	Unverified   bool // nobody has shown yet that the e-mail address is theirs (ADR 0108)
	// EndedKeys is the id up to which a password reset ended keys: they open nothing, also while their
	// rows are still being removed.
	EndedKeys int64
}

// Encryption is what an account has of end-to-end encryption.
type Encryption struct {
	Recipient string    // the public key; empty: none
	SetAt     time.Time // when it was set
	Inboxes   int64     // live encrypted inboxes; reservations are counted apart
}

// State is one account. Its actor owns it; no other goroutine may touch it. Keys are not
// in it, since every one of a million inboxes may hold one: commands about a key carry what
// the store shows of it.
type State struct {
	Profile
	Sessions map[Hash]*Session
	Resets   map[Hash]Reset
	Reserved map[string]Reservation // by address; live once confirmed
	Sends    Sends
	Webhooks map[int64]*Webhook
	Domains  map[string]time.Time // own ones: where to look, see ListDomain; by name, their marks
}

// NewState returns the state of an account that does not exist yet.
func NewState() *State {
	return &State{
		Sessions: map[Hash]*Session{}, Resets: map[Hash]Reset{}, Reserved: map[string]Reservation{}, Webhooks: map[int64]*Webhook{},
		Domains: map[string]time.Time{},
	}
}

// Reservation is a place in the quota for an inbox that is being created. It holds what a
// repeat of the request needs to go on with it after a crash.
type Reservation struct {
	At             time.Time
	Label          string
	RetentionHours int
	KeepNewest     bool
	Encrypted      bool
	Once           idempotency.Key // of the request, zero when it may not be repeated
	Claim          int64           // number of the claim that it counts in; zero: it lives in no subdomain
}

// Session is one signed-in person. Only the hash of its token is kept.
type Session struct {
	Hash      Hash
	CreatedAt time.Time
	ExpiresAt time.Time // slides with use, see SessionLife
	ClockSeen time.Time // as of Env.clockSeen when it was made or slid
}

// ID names the session in lists. It tells nothing of the token.
func (s *Session) ID() string { return hex.EncodeToString(s.Hash[:8]) }

// LastUsed is when a use was last written down, which may trail by SessionStep.
func (s *Session) LastUsed() time.Time { return s.ExpiresAt.Add(-SessionLife) }

func (s *Session) over(env Env) bool { return env.over(s.ExpiresAt, s.ClockSeen) }

// InboxEntry is a row of the account's list of inboxes.
type InboxEntry struct {
	Address   string
	CreatedAt time.Time
	Live      bool // false while only reserved
	Encrypted bool // of a live one

	Reservation Reservation // of one that is only reserved
}

// In finds the row of e among others: its address, time and kind count.
func (e InboxEntry) In(list []InboxEntry) (InboxEntry, bool) {
	for _, other := range list {
		if other.Address == e.Address && other.CreatedAt.Equal(e.CreatedAt) && other.Live == e.Live {
			return other, true
		}
	}
	return InboxEntry{}, false
}

// Rows is what a committed change writes: whole rows, in storage-neutral form, all in one
// atomic batch, puts before drops. A live entry and a reservation of one address are two
// rows: putting the live entry ends the reservation, and a drop removes the one it names.
// Keys and records of requests are the other way round, drops before puts: an inbox's next
// key takes the place of the one before.
type Rows struct {
	ID           ID
	Profile      *Profile
	PutKeys      []*Key
	DropKeys     []*Key
	PutSessions  []*Session
	DropSessions []*Session
	PutResets    []Reset
	DropResets   []Reset
	PutInboxes   []InboxEntry
	DropInboxes  []InboxEntry
	Once         idempotency.Records
	Sends        *Sends
	PutWebhooks  []*Webhook
	NewWebhooks  []int64 // those of PutWebhooks that were added
	DropWebhooks []int64 // by id, after the puts
	PutDomains   []Listed
	DropDomains  []string // others than those put
	Claims       []Claim  // as they are after each change, in its order; without a number: gone

	// Erase removes all that is left of a closed account; nothing else is in the rows.
	Erase bool
}

// Reset is a password-reset token, or one that verifies an e-mail address, that waits for its use.
type Reset struct {
	Hash      Hash
	ExpiresAt time.Time
	ClockSeen time.Time // as of Env.clockSeen when it was made
	Verify    bool      // it verifies the e-mail address instead, and sets no password
}

func (r Reset) over(env Env) bool { return env.over(r.ExpiresAt, r.ClockSeen) }
