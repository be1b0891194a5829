// Package domain holds the rules of domains that accounts bring (specification, Own domains): who
// may claim a name, which records it needs, when it is verified, and which inboxes exist under it.
// Decide is pure and Apply cannot fail; time, keys and DNS results are arguments. The package does
// not know actors, the disk, how private keys are stored or how DNS is queried. Package lookup does
// the queries.
package domain

import (
	"crypto"
	"crypto/x509"
	"time"

	"inboxd/internal/core/account"
)

// ClaimStatus is the state of a claim. Stored: append only.
type ClaimStatus uint8

// A pending claim was never verified. A failing one was, but its records are missing now.
const (
	StatusPending  ClaimStatus = 1
	StatusVerified ClaimStatus = 2
	StatusFailing  ClaimStatus = 3
)

func (s ClaimStatus) String() string {
	switch s {
	case StatusVerified:
		return "verified"
	case StatusFailing:
		return "failing"
	}
	return "pending"
}

// RecordSet is a set of published records. Stored: append only.
type RecordSet uint16

// The records of a domain, one bit each.
const (
	Ownership   RecordSet = 1 << 0
	MX          RecordSet = 1 << 1
	SPF         RecordSet = 1 << 2
	DKIMRSA     RecordSet = 1 << 3
	DKIMEd25519 RecordSet = 1 << 4
	DMARC       RecordSet = 1 << 5
)

// neededRecords are the records that a verified domain must have (specification, Own domains).
const neededRecords = Ownership | MX

// Algorithm of a DKIM key. Stored: append only.
type Algorithm uint8

// RFC 6376 section 3.3.1 with 2,048 bits; RFC 8463.
const (
	RSA     Algorithm = 1
	Ed25519 Algorithm = 2
)

// DKIMKey is one DKIM key of a domain. It never changes.
type DKIMKey struct {
	Selector  string
	Algorithm Algorithm
	Public    []byte // PKIX
	Encrypted []byte // the private key in PKCS #8, encrypted by the store
}

// PublicKey is the *rsa.PublicKey or ed25519.PublicKey.
func (k DKIMKey) PublicKey() (crypto.PublicKey, error) { return x509.ParsePKIXPublicKey(k.Public) }

// FoundOf is the bit of a key's DNS record.
func FoundOf(k DKIMKey) RecordSet {
	if k.Algorithm == Ed25519 {
		return DKIMEd25519
	}
	return DKIMRSA
}

// State is one domain. Its owner goroutine owns it; no other may touch it. The service's own domain
// has only keys.
type State struct {
	Name           string     // as returned by FoldName
	Account        account.ID // that claimed it; zero: none
	OwnershipToken string     // value of the ownership record
	Status         ClaimStatus
	FoundRecords   RecordSet
	Keys           []DKIMKey

	ClaimedAt    time.Time
	VerifiedAt   time.Time // when it was first verified; zero: never
	CheckedAt    time.Time
	MissingSince time.Time // since when a needed record of a verified domain is missing
	InboxCount   int64     // attached; see Attach
}

// ReceivesHere reports whether messages to the domain reach this service: the last check found its
// MX record. Other needed records may be missing.
func (s *State) ReceivesHere() bool { return s.Status == StatusVerified && s.FoundRecords&MX != 0 }

// IsClaimed reports whether some account claims the domain.
func (s *State) IsClaimed() bool { return s.Account != account.ID{} }

// Intervals of checks: daily (specification, Own domains), more often while the owner is likely
// active, and never for an abandoned claim.
const (
	CheckEvery   = 24 * time.Hour
	soonEvery    = time.Hour
	soonFor      = 3 * 24 * time.Hour
	pendingFor   = 30 * 24 * time.Hour
	MissingGrace = 48 * time.Hour // ADR 0016
)

// DueAt is when the domain is to be checked next, zero for never.
func (s *State) DueAt() time.Time {
	last := s.CheckedAt
	if last.IsZero() {
		last = s.ClaimedAt
	}
	switch age := last.Sub(s.ClaimedAt); {
	case !s.IsClaimed(), s.Status == StatusPending && age > pendingFor:
		return time.Time{}
	case s.Status == StatusPending && age < soonFor, s.Status == StatusVerified && !s.MissingSince.IsZero():
		return last.Add(soonEvery)
	}
	return last.Add(CheckEvery)
}

// Rows is what a committed change writes, in one atomic batch. It contains the record, or with
// DropRecord its removal, and entries of the list of attached inboxes. Clear comes before the
// others.
type Rows struct {
	Name          string
	PutState      *State // a copy; nil: the record is unchanged
	DropRecord    bool
	ClearInboxes  bool
	AttachInboxes []AttachedInbox
	DetachInboxes []string
}

// AttachedInbox is an entry of the list: an address, and the times of its creations that are not over.
// There is more than one only while they overlap. The zero time is an inbox from before entries had
// times.
type AttachedInbox struct {
	Address       string
	CreationTimes []time.Time
}
