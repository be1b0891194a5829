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
	LastUsedAt time.Time // zero: never; may trail the truth by LastUsedStep
	Ended      bool      // was seen as expired
	ClockSeen  time.Time // as of Env.clockSeen when it was made
}

// Expired reports whether the key is refused in env. One that was seen as expired stays so,
// whatever the clock says later (ADR 0043).
func (k *Key) Expired(env Env) bool { return k.Ended || env.over(k.ExpiresAt, k.ClockSeen) }

// LastUsedStep is how much newer a use must be before it is written down: a fleet of
// 100,000 keys that poll all day costs 28 small writes a second. The inventory shows newer
// uses from memory; a crash forgets at most this much.
const LastUsedStep = time.Hour

// Lifetime turns expires_in_days into an expiry: nil never ends; else 30, 90 or 365 days
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

// Principal is who a credential speaks for. It is shared by every request that presents
// the credential and is immutable but for its atomics. What each poll looks at stands first
// and together: in a fleet with a key for each inbox it comes from afar.
type Principal struct {
	Hash      Hash
	ExpiresAt time.Time // zero: never
	state     atomic.Uint32
	Kind      Kind
	Scopes    Scope
	// Used is the Unix second of the last use; the account's actor writes it down lazily.
	Used atomic.Int64

	Account   ID
	KeyID     int64     // 0 for a session
	Inbox     string    // of an inbox key
	clockSeen time.Time // of the credential

	mu    sync.Mutex
	ended chan struct{} // made when somebody waits for the revocation; mu guards it
	// noted is the Unix second of the use last written down.
	noted atomic.Int64
}

// Noted is the use last written down; Note moves it.
func (p *Principal) Noted() time.Time  { return time.Unix(p.noted.Load(), 0) }
func (p *Principal) Note(at time.Time) { p.noted.Store(at.Unix()) }

// States of a principal. It only moves forward.
const (
	present uint32 = iota
	dropped        // left memory unused: a revocation would not find it any more
	moved          // its account is another node's
	revoked        // the revocation is on disk
)

// Valid reports whether the credential still opens anything at now.
func (p *Principal) Valid(now time.Time) bool {
	return p.state.Load() != revoked && (p.ExpiresAt.IsZero() || now.Before(p.ExpiresAt))
}

// Current is Valid for who kept p since an earlier request: false also when p must be looked
// up again, because a revocation would not find it any more.
func (p *Principal) Current(now time.Time) bool { return p.state.Load() == present && p.Valid(now) }

// Over reports whether the credential is over in env: by a clock that went back since, too.
func (p *Principal) Over(env Env) bool { return env.over(p.ExpiresAt, p.clockSeen) }

// Drop says that p leaves memory and that no revocation will find it.
func (p *Principal) Drop() { p.state.CompareAndSwap(present, dropped) }

// Revoke makes every holder of p see it end, and wakes those who wait.
func (p *Principal) Revoke() { p.end(revoked) }

// Move says that the account is another node's, and wakes those who wait.
func (p *Principal) Move() { p.end(moved) }

// Moved reports that only the node that has the account now can say whether p is still good.
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

// Ended returns a channel that is closed when p is revoked, or its account moves. It says nothing of
// the expiry.
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

// Revoked reports whether a revocation of p is on disk.
func (p *Principal) Revoked() bool { return p.state.Load() == revoked }

// admits refuses an order of a credential that is over. What it makes would outlive the credential, and
// a password reset ends only what is there.
func (s *State) admits(p *Principal) error {
	switch {
	case p == nil, p.Kind == 0, p.Kind == KindSession && s.Sessions[p.Hash] != nil, p.Kind != KindSession && p.KeyID > s.EndedKeys:
		return nil
	}
	return fault.New(fault.Unauthenticated, "This session or API key has ended: sign in")
}

// PrincipalOf returns who the credential with this hash speaks for, nil when it is unknown
// or over in env. key is the account's key with this hash, nil when none has it.
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
