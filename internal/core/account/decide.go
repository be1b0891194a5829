package account

import (
	"fmt"
	"strings"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/idempotency"
)

// Command is an order to one account. The commands are the exported structs of this package with a
// decide method.
type Command interface {
	decideEvents(*State, Env) ([]Event, error)
}

// Env is what Decide knows besides state and command.
type Env struct {
	Now        time.Time
	LatestSeen time.Time // latest time ever trusted; the clock may have gone back since
	Plans      Plans
}

// hasExpired reports whether a credential that ends at until (zero: never) has expired. It stays
// expired if the clock goes back. This does not apply to a credential created after the clock went
// back: seen is the latest trusted time at its creation.
func (e Env) hasExpired(until, seen time.Time) bool {
	return !until.IsZero() && (!e.Now.Before(until) || !e.LatestSeen.Before(until) && e.LatestSeen.After(seen))
}

// clockSeen is the latest trusted time, which a new credential stores. It is zero if it is not
// after Now.
func (e Env) clockSeen() time.Time {
	if e.LatestSeen.After(e.Now) {
		return e.LatestSeen
	}
	return time.Time{}
}

// SessionLife is how long a session lasts after its last use. A use is recorded only if it moves
// the expiry by at least SessionStep.
const (
	SessionLife = 30 * 24 * time.Hour
	SessionStep = LastUsedStep
	maxSessions = 100
)

// Commands of an account.
type (
	// Open creates the account. ID, Email and PasswordHash are ready to store.
	Open struct {
		ID            ID
		Email         string
		PasswordHash  string
		Plan          PlanName
		EmailVerified bool // the e-mail address needs no verification message
	}
	// StartSession stores the hash of a new session token. PasswordHash is the hash that the
	// password was checked against, because a concurrent request may have changed it.
	StartSession struct {
		Hash         TokenHash
		PasswordHash string
	}
	// TouchSession extends a session, at most once an hour.
	TouchSession struct{ Hash TokenHash }
	// EndSession ends a session immediately.
	EndSession struct{ Hash TokenHash }
	// IssueKey adds a key; Decide assigns ID and CreatedAt. Held means that the inbox of an inbox
	// key already has one, expired or not. By is as for AddWebhook.
	IssueKey struct {
		By          *Principal
		Key         APIKey
		InboxHasKey bool
	}
	// EndExpired records that the credential with this hash was seen as expired: a session, a reset
	// token, or the key KeyID. Found is as for TouchKey.
	EndExpired struct {
		Hash     TokenHash
		KeyID    int64
		FoundKey *APIKey
	}
	// TouchKey records a use of a key. Found is the stored key, nil if it was removed.
	TouchKey struct {
		ID       int64
		At       time.Time
		FoundKey *APIKey
	}
	// RevokeKey removes a key from the inventory immediately. Found is as for TouchKey.
	RevokeKey struct {
		ID       int64
		FoundKey *APIKey
	}
	// RevokeInboxKey removes the key of an inbox immediately, expired or not. Found is as for
	// TouchKey.
	RevokeInboxKey struct {
		Inbox    string
		FoundKey *APIKey
	}
	// ReserveInbox takes a place in the quota before the address is created. At becomes the inbox's
	// creation time and its position in the account's list. Record, if not nil, is stored with it
	// and removed if the place is released. Claim is the account's claim of the inbox's subdomain,
	// nil if the inbox is not in one. Over are chosen claims that are over, which a new claim may
	// replace.
	ReserveInbox struct {
		Address           string
		At                time.Time
		Label             string
		RetentionHours    int
		KeepNewest        bool
		Encrypted         bool
		IdempotencyRecord *idempotency.Record
		Claim             *SubdomainClaim
		LapsedClaims      []SubdomainClaim
	}
	// ConfirmInbox turns the reservation of a time into a live inbox. A repeat changes nothing, and
	// a late one does not affect a newer reservation.
	ConfirmInbox struct {
		Address string
		At      time.Time
	}
	// ReleaseInbox releases the place of a failed reservation (CreatedAt may be zero) or of a
	// deleted inbox. For a deleted inbox, CreatedAt is its own, because its address may already be
	// reserved again. Listed says whether the account's stored list still contains it, as Encrypted
	// or not: the list is not in memory. Claim is the account's claim of the inbox's subdomain. A
	// repeat changes nothing.
	ReleaseInbox struct {
		Address   string
		CreatedAt time.Time
		WasListed bool
		Encrypted bool
		Claim     SubdomainClaim
	}
	// SetPlan moves the account to another plan.
	SetPlan struct{ Plan PlanName }
)

// Decide returns the effect of cmd on s as events; no events mean no change. It does not modify s.
func Decide(s *State, cmd Command, env Env) ([]Event, error) {
	switch cmd.(type) {
	case Open, BarOpening:
		return cmd.decideEvents(s, env)
	}
	if s.CreatedAt.IsZero() {
		return nil, fault.New(fault.NotFound, "This account does not exist")
	}
	if !s.ClosingAt.IsZero() && growsAccount(cmd) {
		return nil, fault.New(fault.NotFound, "This account is being deleted")
	}
	return cmd.decideEvents(s, env)
}

func (c Open) decideEvents(s *State, env Env) ([]Event, error) {
	if !s.CreatedAt.IsZero() || !s.ClosingAt.IsZero() { // or it was voided
		return nil, fault.Refuse(fault.CodeAlreadyExists, "This account already exists")
	}
	return []Event{profileOpened{Profile{ID: c.ID, Email: c.Email, PasswordHash: c.PasswordHash, Plan: c.Plan, CreatedAt: env.Now, EmailUnverified: !c.EmailVerified}}}, nil
}

func (c StartSession) decideEvents(s *State, env Env) ([]Event, error) {
	if c.PasswordHash != s.PasswordHash {
		return nil, BadSignIn()
	}
	evs := []Event{sessionStarted{Session{Hash: c.Hash, CreatedAt: env.Now, ExpiresAt: env.Now.Add(SessionLife), ClockSeen: env.clockSeen()}}}
	var oldest *Session
	for _, ses := range s.Sessions {
		if ses.isExpired(env) {
			evs = append(evs, sessionEnded{ses.Hash})
		} else if oldest == nil || ses.ExpiresAt.Before(oldest.ExpiresAt) {
			oldest = ses
		}
	}
	if len(s.Sessions)-(len(evs)-1) >= maxSessions {
		evs = append(evs, sessionEnded{oldest.Hash})
	}
	return evs, nil
}

func (c TouchSession) decideEvents(s *State, env Env) ([]Event, error) {
	ses := s.Sessions[c.Hash]
	until := env.Now.Add(SessionLife)
	if ses == nil || ses.isExpired(env) || until.Sub(ses.ExpiresAt) < SessionStep {
		return nil, nil // unknown, over, or recorded recently
	}
	return []Event{sessionStarted{Session{Hash: c.Hash, CreatedAt: ses.CreatedAt, ExpiresAt: until, ClockSeen: env.clockSeen()}}}, nil
}

func (c EndSession) decideEvents(s *State, _ Env) ([]Event, error) {
	if s.Sessions[c.Hash] == nil {
		return nil, nil
	}
	return []Event{sessionEnded{c.Hash}}, nil
}

func (c EndExpired) decideEvents(s *State, env Env) ([]Event, error) {
	if ses := s.Sessions[c.Hash]; ses != nil && ses.isExpired(env) {
		return []Event{sessionEnded{c.Hash}}, nil
	}
	if r, reset := s.ResetTokens[c.Hash]; reset && r.hasExpired(env) {
		return []Event{resetEnded{c.Hash}}, nil
	}
	if c.FoundKey == nil || c.FoundKey.SeenExpired || !c.FoundKey.Expired(env) {
		return nil, nil
	}
	k := *c.FoundKey
	k.SeenExpired = true
	return []Event{keyNoted{k}}, nil
}

func (c IssueKey) decideEvents(s *State, env Env) ([]Event, error) {
	if err := s.checkPrincipal(c.By); err != nil {
		return nil, err
	}
	outside := c.Key.Scopes & accountScopes
	switch {
	case c.Key.Kind == KindInboxKey && outside != 0:
		return nil, fault.InvalidField("scopes", "contains %s, which only an account key can have", strings.ReplaceAll(outside.String(), ",", " and "))
	case c.Key.Kind == KindAccountKey && s.AccountKeys >= env.Plans.Of(s.Plan).MaxKeys:
		return nil, fault.Refuse(fault.CodePlanLimit, "An account can have at most %d API keys. Revoke one first", env.Plans.Of(s.Plan).MaxKeys)
	case c.Key.Kind == KindInboxKey && c.InboxHasKey:
		return nil, fault.Refuse(fault.CodeAlreadyExists, "The inbox %s already has a key. Delete that key first", c.Key.Inbox)
	}
	k := c.Key
	k.ID, k.CreatedAt, k.ClockSeen = s.LastKey+1, env.Now, env.clockSeen()
	return []Event{keyIssued{k}}, nil
}

func (c TouchKey) decideEvents(_ *State, _ Env) ([]Event, error) {
	if c.FoundKey == nil || c.At.Sub(c.FoundKey.LastUsedAt) < LastUsedStep {
		return nil, nil
	}
	k := *c.FoundKey
	k.LastUsedAt = c.At
	return []Event{keyNoted{k}}, nil
}

func (c RevokeKey) decideEvents(_ *State, _ Env) ([]Event, error) {
	if c.FoundKey == nil {
		return nil, fault.New(fault.NotFound, fmt.Sprintf("API key %d not found", c.ID))
	}
	return []Event{keyRevoked{*c.FoundKey}}, nil
}

func (c RevokeInboxKey) decideEvents(_ *State, _ Env) ([]Event, error) {
	if c.FoundKey == nil {
		return nil, fault.New(fault.NotFound, fmt.Sprintf("The inbox %s has no key", c.Inbox))
	}
	return []Event{keyRevoked{*c.FoundKey}}, nil
}

func (c ReserveInbox) decideEvents(s *State, env Env) ([]Event, error) {
	if _, twice := s.ReservedInboxes[c.Address]; twice {
		return nil, fault.RefuseField("prefix", fault.CodeAddressTaken, "The address %s is already being created", c.Address)
	}
	if plan := env.Plans.Of(s.Plan); s.LiveInboxes+int64(len(s.ReservedInboxes)) >= plan.MaxInboxes {
		return nil, plan.limitError("%d agent inboxes. Delete an inbox or upgrade the plan", plan.MaxInboxes)
	}
	if err := s.checkEncrypted(c.Encrypted); err != nil {
		return nil, err
	}
	r := InboxReservation{At: c.At, Label: c.Label, RetentionHours: c.RetentionHours, KeepNewest: c.KeepNewest, Encrypted: c.Encrypted}
	if c.IdempotencyRecord != nil {
		r.IdempotencyKey = c.IdempotencyRecord.Key
	}
	var evs []Event
	if c.Claim != nil {
		claim, entered, err := c.Claim.addInbox(s, env, c.LapsedClaims)
		if err != nil {
			return nil, err
		}
		r.ClaimNumber, evs = claim.SerialNumber, entered
	}
	return append(evs, inboxReserved{c.Address, r, c.IdempotencyRecord}), nil
}

func (c ConfirmInbox) decideEvents(s *State, _ Env) ([]Event, error) {
	r, reserved := s.ReservedInboxes[c.Address]
	if !reserved || !r.At.Equal(c.At) {
		return nil, nil
	}
	return []Event{inboxConfirmed{c.Address, r.At, r.Encrypted}}, nil
}

func (c ReleaseInbox) decideEvents(s *State, env Env) ([]Event, error) {
	if r, reserved := s.ReservedInboxes[c.Address]; reserved && (c.CreatedAt.IsZero() || c.CreatedAt.Equal(r.At)) {
		evs := []Event{reservationReleased{c.Address, r}}
		if r.ClaimNumber == c.Claim.SerialNumber {
			evs = append(evs, c.Claim.removeInbox()...)
		}
		return evs, nil
	}
	if !c.WasListed {
		return nil, nil
	}
	c.Claim.EndedAt = env.Now
	evs := append(c.Claim.removeInbox(), inboxReleased{c.Address, c.CreatedAt, c.Encrypted})
	return append(evs, s.dropWebhooksOf(c.Address)...), nil
}

func (c SetPlan) decideEvents(s *State, _ Env) ([]Event, error) {
	if s.Plan == c.Plan {
		return nil, nil
	}
	return []Event{planSet{c.Plan}}, nil
}
