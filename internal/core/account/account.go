// Package account holds the rules of an account: its plan and quotas, its sessions, its API keys
// with scopes and expiry, and the number of its inboxes. Decide is pure and Apply cannot fail; time
// and randomness are arguments. The package does not know the contents of an inbox, how credentials
// are transmitted, or where rows are stored.
package account

import (
	"encoding/binary"
	"encoding/hex"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/idempotency"
)

// ID identifies an account: 48 bits of milliseconds, then 80 random bits. So ids sort by age and
// never repeat.
type ID [16]byte

// NewID makes an ID from the time and ten random bytes.
func NewID(now time.Time, random [10]byte) ID {
	var id ID
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	copy(id[6:], random[:])
	return id
}

// NewIDBeside is like NewID, but returns an ID in the partition group of the e-mail address, so a
// sign-up uses only one group. It increments the random bytes until the ID is in that group, about
// 64 times.
func NewIDBeside(email string, now time.Time, random [10]byte) ID {
	group := partition.Of(email).Group()
	for n := binary.BigEndian.Uint64(random[2:]); ; n++ {
		binary.BigEndian.PutUint64(random[2:], n)
		if id := NewID(now, random); id.HomePartition().Group() == group {
			return id
		}
	}
}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// HomePartition returns the partition of the account's rows, which its tokens also contain.
func (id ID) HomePartition() partition.ID { return partition.Of(string(id[:])) }

// Profile is the account's own row.
type Profile struct {
	ID              ID
	Email           string // canonical, see CanonicalEmail
	PasswordHash    string // argon2id in PHC form
	Plan            PlanName
	CreatedAt       time.Time
	LiveInboxes     int64     // live inboxes; reservations are counted separately
	LastKey         int64     // highest key id ever assigned; ids are never reused
	AccountKeys     int64     // account keys in the inventory, including expired ones
	InboxKeys       int64     // inbox keys in the inventory
	ClosingAt       time.Time // when its deletion began; zero while it is open
	LastWebhook     int64     // highest webhook id ever assigned
	LastClaim       int64     // highest claim number ever assigned
	Subdomains      int64     // claims of subdomains that were chosen, not random
	Encryption      EncryptionState
	EmailUnverified bool // the e-mail address is not verified yet (ADR 0108)
	// EndedKeys is the highest key id that a password reset ended. Such keys are refused even while
	// their rows are still being removed.
	EndedKeys int64
}

// EncryptionState is an account's state of end-to-end encryption.
type EncryptionState struct {
	PublicKey        string    // the public key; empty: none
	SetAt            time.Time // when it was set
	EncryptedInboxes int64     // live encrypted inboxes; reservations are counted separately
}

// State is the state of one account. Its actor owns it; no other goroutine may touch it. It does
// not contain the keys, because each of a million inboxes may have one. Commands about a key carry
// the stored key instead.
type State struct {
	Profile
	Sessions        map[TokenHash]*Session
	ResetTokens     map[TokenHash]ResetToken
	ReservedInboxes map[string]InboxReservation // by address; live once confirmed
	DailySends      SendCount
	Webhooks        map[int64]*Webhook
	ListedDomains   map[string]time.Time // names on the list of own domains, see ListDomain, with their marks
}

// NewState returns the state of an account that does not exist yet.
func NewState() *State {
	return &State{
		Sessions: map[TokenHash]*Session{}, ResetTokens: map[TokenHash]ResetToken{}, ReservedInboxes: map[string]InboxReservation{}, Webhooks: map[int64]*Webhook{},
		ListedDomains: map[string]time.Time{},
	}
}

// InboxReservation holds a place in the quota for an inbox that is being created. It contains what a
// repeated request needs to continue the creation after a crash.
type InboxReservation struct {
	At             time.Time
	Label          string
	RetentionHours int
	KeepNewest     bool
	Encrypted      bool
	IdempotencyKey idempotency.RequestKey // of the request, zero when it may not be repeated
	ClaimNumber    int64                  // number of the claim that counts it; zero: it is not in a subdomain
}

// Session is one login. Only the hash of its token is stored.
type Session struct {
	Hash      TokenHash
	CreatedAt time.Time
	ExpiresAt time.Time // extended by use, see SessionLife
	ClockSeen time.Time // Env.clockSeen when it was created or extended
}

// ID names the session in lists. It reveals nothing about the token.
func (s *Session) ID() string { return hex.EncodeToString(s.Hash[:8]) }

// LastUsed is the last recorded use, which may be up to SessionStep old.
func (s *Session) LastUsed() time.Time { return s.ExpiresAt.Add(-SessionLife) }

func (s *Session) isExpired(env Env) bool { return env.hasExpired(s.ExpiresAt, s.ClockSeen) }

// InboxEntry is a row of the account's list of inboxes.
type InboxEntry struct {
	Address   string
	CreatedAt time.Time
	IsLive    bool // false while only reserved
	Encrypted bool // if live

	Reservation InboxReservation // if only reserved
}

// In finds the row of e in a list. Its address, time and kind must match.
func (e InboxEntry) In(list []InboxEntry) (InboxEntry, bool) {
	for _, other := range list {
		if other.Address == e.Address && other.CreatedAt.Equal(e.CreatedAt) && other.IsLive == e.IsLive {
			return other, true
		}
	}
	return InboxEntry{}, false
}

// Rows is what a committed change writes: whole rows, independent of the store, in one atomic
// batch, puts before drops. A live entry and a reservation of the same address are two rows.
// Putting the live entry removes the reservation; a drop removes only the row that it names. For
// keys and idempotency records, drops come before puts, because an inbox's next key replaces the
// previous one.
type Rows struct {
	ID                 ID
	Profile            *Profile
	PutKeys            []*APIKey
	DropKeys           []*APIKey
	PutSessions        []*Session
	DropSessions       []*Session
	PutResets          []ResetToken
	DropResets         []ResetToken
	PutInboxes         []InboxEntry
	DropInboxes        []InboxEntry
	IdempotencyRecords idempotency.BatchRecords
	Sends              *SendCount
	PutWebhooks        []*Webhook
	NewWebhooks        []int64 // the ids in PutWebhooks that were added
	DropWebhooks       []int64 // by id, applied after the puts
	PutDomains         []ListedDomain
	DropDomains        []string         // none of them is also put
	Claims             []SubdomainClaim // after each change, in order; without a number: removed

	// EraseAll removes everything that is left of a closed account. The rows contain nothing else
	// then.
	EraseAll bool
}

// ResetToken is an unused token that resets the password or verifies the e-mail address.
type ResetToken struct {
	Hash          TokenHash
	ExpiresAt     time.Time
	ClockSeen     time.Time // Env.clockSeen when it was created
	VerifiesEmail bool      // it verifies the e-mail address and cannot set a password
}

func (r ResetToken) hasExpired(env Env) bool { return env.hasExpired(r.ExpiresAt, r.ClockSeen) }
