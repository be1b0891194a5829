// Package domain holds the rules of domains that accounts bring (specification, Own domains):
// who may claim a name, what must be published for it, when it counts as verified, and which
// inboxes live under it. Decide is pure and Apply cannot fail; time, keys and what DNS said
// arrive as arguments. It refuses to know actors, disk, how private keys are kept and how DNS is
// asked, which is for package lookup.
package domain

import (
	"crypto"
	"crypto/x509"
	"time"

	"inboxd/internal/core/account"
)

// Status is how far a claim has come. Stored: append only.
type Status uint8

// A pending claim was never verified; a failing one was, and its records are gone.
const (
	Pending  Status = 1
	Verified Status = 2
	Failing  Status = 3
)

func (s Status) String() string {
	switch s {
	case Verified:
		return "verified"
	case Failing:
		return "failing"
	}
	return "pending"
}

// Found is a set of published records. Stored: append only.
type Found uint16

// The records of a domain, each a bit.
const (
	Ownership   Found = 1 << 0
	MX          Found = 1 << 1
	SPF         Found = 1 << 2
	DKIMRSA     Found = 1 << 3
	DKIMEd25519 Found = 1 << 4
	DMARC       Found = 1 << 5
)

// needed are the records without which a domain is not verified (specification, Own domains).
const needed = Ownership | MX

// Algorithm of a DKIM key. Stored: append only.
type Algorithm uint8

// RFC 6376 section 3.3.1 with 2,048 bits; RFC 8463.
const (
	RSA     Algorithm = 1
	Ed25519 Algorithm = 2
)

// Key is one DKIM key of a domain. It never changes.
type Key struct {
	Selector  string
	Algorithm Algorithm
	Public    []byte // PKIX
	Encrypted []byte // the private key in PKCS #8, by the store
}

// PublicKey is the *rsa.PublicKey or ed25519.PublicKey.
func (k Key) PublicKey() (crypto.PublicKey, error) { return x509.ParsePKIXPublicKey(k.Public) }

// FoundOf is the bit of a key's public record.
func FoundOf(k Key) Found {
	if k.Algorithm == Ed25519 {
		return DKIMEd25519
	}
	return DKIMRSA
}

// State is one domain. Its owner owns it; no other goroutine may touch it. The service's
// own domain holds keys and nothing else.
type State struct {
	Name    string     // as Fold gives it
	Account account.ID // who claimed it; zero: nobody
	Token   string     // what the ownership record proves
	Status  Status
	Found   Found
	Keys    []Key

	ClaimedAt    time.Time
	VerifiedAt   time.Time // when it was verified first; zero: never
	CheckedAt    time.Time
	MissingSince time.Time // since when a verified domain misses a needed record
	Inboxes      int64     // attached; see Attach
}

// ReceivesHere reports whether mail for the domain comes here from everywhere: its MX record was found at the last
// look, also where others that are needed were not.
func (s *State) ReceivesHere() bool { return s.Status == Verified && s.Found&MX != 0 }

// Claimed reports whether some account claims the domain.
func (s *State) Claimed() bool { return s.Account != account.ID{} }

// How often a claim is looked at: daily (specification, Own domains), more often while its
// owner is likely at work on it, and never again when nobody seems to be.
const (
	CheckEvery   = 24 * time.Hour
	soonEvery    = time.Hour
	soonFor      = 3 * 24 * time.Hour
	pendingFor   = 30 * 24 * time.Hour
	MissingGrace = 48 * time.Hour // ADR 0016
)

// DueAt is when the domain wants to be checked, zero for never.
func (s *State) DueAt() time.Time {
	last := s.CheckedAt
	if last.IsZero() {
		last = s.ClaimedAt
	}
	switch age := last.Sub(s.ClaimedAt); {
	case !s.Claimed(), s.Status == Pending && age > pendingFor:
		return time.Time{}
	case s.Status == Pending && age < soonFor, s.Status == Verified && !s.MissingSince.IsZero():
		return last.Add(soonEvery)
	}
	return last.Add(CheckEvery)
}

// Rows is what a committed change writes, all in one atomic batch: the record, or with
// Drop the end of it, and entries of the list of attached inboxes, Clear before the others.
type Rows struct {
	Name   string
	Put    *State // a copy; nil: the record stays as it is
	Drop   bool
	Clear  bool
	Attach []Attached
	Detach []string
}

// Attached is an entry of the list: an address, and the times of the creations there that are not
// over. There is more than one only while they meet. The zero time is an inbox from before entries
// had times.
type Attached struct {
	Address string
	Times   []time.Time
}
