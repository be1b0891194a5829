package account

import (
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/base/fault"
)

// Key is one API key of the inventory; an expired key stays in it (specification, Keys).
type Key struct {
	ID         int64
	Hash       Hash
	Kind       Kind
	Label      string
	Scopes     Scope
	Prefix     string
	Inbox      string // of an inbox key, else empty
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never; may be up to LastUsedStep old
	Ended      bool      // was seen as expired
	ClockSeen  time.Time // Env.clockSeen when it was created
}

// Expired reports whether the key is refused in env. A key that was seen as expired stays expired,
// even if the clock goes back (ADR 0043).
func (k *Key) Expired(env Env) bool { return k.Ended || env.over(k.ExpiresAt, k.ClockSeen) }

// LastUsedStep is how much newer a use must be before it is recorded. So a fleet of 100,000 keys
// that poll all day costs 28 small writes a second. The inventory shows newer uses from memory; a
// crash loses at most this much.
const LastUsedStep = time.Hour

// Lifetime converts expires_in_days into an expiry: nil never expires; else 30, 90 or 365 days
// (specification, Keys).
func Lifetime(days *int, now time.Time) (time.Time, error) {
	if days == nil {
		return time.Time{}, nil
	}
	switch *days {
	case 30, 90, 365:
		return now.AddDate(0, 0, *days), nil
	}
	return time.Time{}, fault.Field("expires_in_days", "is %d; it must be 30, 90 or 365, or be left out for a key that never expires", *days)
}

// Principal is the identity behind a credential. All requests with the credential share it, and
// only its atomics change. The fields that every poll reads come first, in one cache line: with a
// key for each inbox, they are rarely in the CPU cache.
type Principal struct {
	Hash      Hash
	ExpiresAt time.Time // zero: never
	state     atomic.Uint32
	Kind      Kind
	Scopes    Scope
	// Used is the Unix second of the last use; the account's actor records it lazily.
	Used atomic.Int64

	Account   ID
	KeyID     int64     // 0 for a session
	Inbox     string    // of an inbox key
	clockSeen time.Time // of the credential

	mu    sync.Mutex
	ended chan struct{} // created when somebody waits for the revocation; mu guards it
	// noted is the Unix second of the last recorded use.
	noted atomic.Int64
}

// Noted returns the last recorded use.
func (p *Principal) Noted() time.Time { return time.Unix(p.noted.Load(), 0) }

// Note sets the last recorded use.
func (p *Principal) Note(at time.Time) { p.noted.Store(at.Unix()) }

// States of a principal. The state only increases.
const (
	present uint32 = iota
	dropped        // evicted from memory while unused: a revocation would not find it
	moved          // another node owns its account
	revoked        // the revocation is durable
)

// Valid reports whether the credential may be used at now.
func (p *Principal) Valid(now time.Time) bool {
	return p.state.Load() != revoked && (p.ExpiresAt.IsZero() || now.Before(p.ExpiresAt))
}

// Current is Valid for a caller that holds p since an earlier request. It is also false if p must
// be looked up again, because a revocation would not find it.
func (p *Principal) Current(now time.Time) bool { return p.state.Load() == present && p.Valid(now) }

// Over reports whether the credential has expired in env, even if the clock went back since.
func (p *Principal) Over(env Env) bool { return env.over(p.ExpiresAt, p.clockSeen) }

// Drop marks p as evicted: no revocation will find it.
func (p *Principal) Drop() { p.state.CompareAndSwap(present, dropped) }

// Revoke makes p invalid for every holder, and wakes the waiters.
func (p *Principal) Revoke() { p.end(revoked) }

// Move marks the account as owned by another node, and wakes the waiters.
func (p *Principal) Move() { p.end(moved) }

// Moved reports whether only the account's new node can say if p is still valid.
func (p *Principal) Moved() bool { return p.state.Load() == moved }

func (p *Principal) end(state uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.state.Load()
	p.state.Store(max(before, state))
	if before < moved && p.ended != nil {
		close(p.ended)
	}
}

// Ended returns a channel that is closed when p is revoked or its account moves. Expiry does not
// close it.
func (p *Principal) Ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = make(chan struct{})
		if p.state.Load() >= moved {
			close(p.ended)
		}
	}
	return p.ended
}

// Revoked reports whether a revocation of p is durable.
func (p *Principal) Revoked() bool { return p.state.Load() == revoked }

// admits refuses a command of a credential that has ended. What the command creates would outlive
// the credential, because a password reset ends only what exists at that time.
func (s *State) admits(p *Principal) error {
	switch {
	case p == nil, p.Kind == 0, p.Kind == KindSession && s.Sessions[p.Hash] != nil, p.Kind != KindSession && p.KeyID > s.EndedKeys:
		return nil
	}
	return fault.New(fault.Unauthenticated, "This session or API key has ended. Log in again, or use another key")
}

// PrincipalOf returns the principal of the credential with this hash, nil if it is unknown or has
// expired in env. key is the account's key with this hash, otherwise nil.
func PrincipalOf(s *State, h Hash, key *Key, env Env) *Principal {
	if !s.ClosingAt.IsZero() {
		return nil
	}
	if ses := s.Sessions[h]; ses != nil && !ses.over(env) {
		return &Principal{Account: s.ID, Kind: KindSession, Hash: h, Scopes: ScopeFull, ExpiresAt: ses.ExpiresAt, clockSeen: ses.ClockSeen}
	}
	if key == nil || key.Hash != h || key.Expired(env) || key.ID <= s.EndedKeys {
		return nil
	}
	p := &Principal{Account: s.ID, Kind: key.Kind, KeyID: key.ID, Hash: h, Scopes: key.Scopes, Inbox: key.Inbox, ExpiresAt: key.ExpiresAt, clockSeen: key.ClockSeen}
	p.Note(key.LastUsedAt)
	return p
}
