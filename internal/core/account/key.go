package account

import (
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/base/fault"
)

// APIKey is one API key of the inventory; an expired key stays in it (specification, Keys).
type APIKey struct {
	ID          int64
	Hash        TokenHash
	Kind        TokenKind
	Label       string
	Scopes      ScopeSet
	Prefix      string
	Inbox       string // of an inbox key, else empty
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
	LastUsedAt  time.Time // zero: never; may be up to LastUsedStep old
	SeenExpired bool      // was seen as expired
	ClockSeen   time.Time // Env.clockSeen when it was created
}

// Expired reports whether the key is refused in env. A key that was seen as expired stays expired,
// even if the clock goes back (ADR 0043).
func (k *APIKey) Expired(env Env) bool {
	return k.SeenExpired || env.hasExpired(k.ExpiresAt, k.ClockSeen)
}

// LastUsedStep is how much newer a use must be before it is recorded. So a fleet of 100,000 keys
// that poll all day costs 28 small writes a second. The inventory shows newer uses from memory; a
// crash loses at most this much.
const LastUsedStep = time.Hour

// ExpiryAfter converts expires_in_days into an expiry: nil never expires; else 30, 90 or 365 days
// (specification, Keys).
func ExpiryAfter(days *int, now time.Time) (time.Time, error) {
	if days == nil {
		return time.Time{}, nil
	}
	switch *days {
	case 30, 90, 365:
		return now.AddDate(0, 0, *days), nil
	}
	return time.Time{}, fault.InvalidField("expires_in_days", "is %d; it must be 30, 90 or 365, or be left out for a key that never expires", *days)
}

// Principal is the identity behind a credential. All requests with the credential share it, and
// only its atomics change. The fields that every poll reads come first, in one cache line: with a
// key for each inbox, they are rarely in the CPU cache.
type Principal struct {
	Hash           TokenHash
	ExpiresAt      time.Time // zero: never
	lifecycleState atomic.Uint32
	Kind           TokenKind
	Scopes         ScopeSet
	// LastUsedUnix is the Unix second of the last use; the account's actor records it lazily.
	LastUsedUnix atomic.Int64

	Account   ID
	KeyID     int64     // 0 for a session
	Inbox     string    // of an inbox key
	clockSeen time.Time // of the credential

	mu          sync.Mutex
	endedSignal chan struct{} // created when somebody waits for the revocation; mu guards it
	// lastRecordedUnix is the Unix second of the last recorded use.
	lastRecordedUnix atomic.Int64
}

// LastRecorded returns the last recorded use.
func (p *Principal) LastRecorded() time.Time { return time.Unix(p.lastRecordedUnix.Load(), 0) }

// RecordUse sets the last recorded use.
func (p *Principal) RecordUse(at time.Time) { p.lastRecordedUnix.Store(at.Unix()) }

// States of a principal. The state only increases.
const (
	statePresent uint32 = iota
	stateDropped        // evicted from memory while unused: a revocation would not find it
	stateMoved          // another node owns its account
	stateRevoked        // the revocation is durable
)

// IsValid reports whether the credential may be used at now.
func (p *Principal) IsValid(now time.Time) bool {
	return p.lifecycleState.Load() != stateRevoked && (p.ExpiresAt.IsZero() || now.Before(p.ExpiresAt))
}

// IsCurrent is Valid for a caller that holds p since an earlier request. It is also false if p must
// be looked up again, because a revocation would not find it.
func (p *Principal) IsCurrent(now time.Time) bool {
	return p.lifecycleState.Load() == statePresent && p.IsValid(now)
}

// HasExpired reports whether the credential has expired in env, even if the clock went back since.
func (p *Principal) HasExpired(env Env) bool { return env.hasExpired(p.ExpiresAt, p.clockSeen) }

// MarkDropped marks p as evicted: no revocation will find it.
func (p *Principal) MarkDropped() { p.lifecycleState.CompareAndSwap(statePresent, stateDropped) }

// Revoke makes p invalid for every holder, and wakes the waiters.
func (p *Principal) Revoke() { p.endWith(stateRevoked) }

// MarkMoved marks the account as owned by another node, and wakes the waiters.
func (p *Principal) MarkMoved() { p.endWith(stateMoved) }

// IsMoved reports whether only the account's new node can say if p is still valid.
func (p *Principal) IsMoved() bool { return p.lifecycleState.Load() == stateMoved }

func (p *Principal) endWith(state uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.lifecycleState.Load()
	p.lifecycleState.Store(max(before, state))
	if before < stateMoved && p.endedSignal != nil {
		close(p.endedSignal)
	}
}

// EndedSignal returns a channel that is closed when p is revoked or its account moves. Expiry does not
// close it.
func (p *Principal) EndedSignal() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endedSignal == nil {
		p.endedSignal = make(chan struct{})
		if p.lifecycleState.Load() >= stateMoved {
			close(p.endedSignal)
		}
	}
	return p.endedSignal
}

// IsRevoked reports whether a revocation of p is durable.
func (p *Principal) IsRevoked() bool { return p.lifecycleState.Load() == stateRevoked }

// checkPrincipal refuses a command of a credential that has ended. What the command creates would
// outlive the credential, because a password reset ends only what exists at that time.
func (s *State) checkPrincipal(p *Principal) error {
	switch {
	case p == nil, p.Kind == 0, p.Kind == KindSession && s.Sessions[p.Hash] != nil, p.Kind != KindSession && p.KeyID > s.EndedKeys:
		return nil
	}
	return fault.New(fault.Unauthenticated, "This session or API key has ended. Log in again, or use another key")
}

// PrincipalOf returns the principal of the credential with this hash, nil if it is unknown or has
// expired in env. key is the account's key with this hash, otherwise nil.
func PrincipalOf(s *State, h TokenHash, key *APIKey, env Env) *Principal {
	if !s.ClosingAt.IsZero() {
		return nil
	}
	if ses := s.Sessions[h]; ses != nil && !ses.isExpired(env) {
		return &Principal{Account: s.ID, Kind: KindSession, Hash: h, Scopes: ScopeFull, ExpiresAt: ses.ExpiresAt, clockSeen: ses.ClockSeen}
	}
	if key == nil || key.Hash != h || key.Expired(env) || key.ID <= s.EndedKeys {
		return nil
	}
	p := &Principal{Account: s.ID, Kind: key.Kind, KeyID: key.ID, Hash: h, Scopes: key.Scopes, Inbox: key.Inbox, ExpiresAt: key.ExpiresAt, clockSeen: key.ClockSeen}
	p.RecordUse(key.LastUsedAt)
	return p
}
