package actors

import (
	"context"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"inboxd/internal/account"
	"inboxd/internal/fault"
)

// stripes serialise what must be exact per name and has no actor: sign-ups by e-mail, and
// claims of subdomains.
type stripes [64]sync.Mutex

func (m *stripes) of(name string) *sync.Mutex { return &m[xxh3.HashString(name)%uint64(len(m))] }

var errCredential = fault.New(fault.Unauthenticated, "A valid API key is required")

// Authenticate resolves a session token or an API key. One that is in memory costs a hash
// and a map look-up, without lock or allocation; a malformed one never reaches the store,
// an unknown one never reaches an actor.
func (s *System) Authenticate(ctx context.Context, token []byte) (*account.Principal, error) {
	h := account.HashToken(token)
	now := s.Now()
	p := s.principals.get(h)
	if p == nil || !p.Valid(now) {
		var err error
		if p, err = s.lookUp(ctx, token, h); err != nil {
			return nil, err
		}
	}
	if sec := s.clock.unix(); p.Used.Load() != sec {
		p.Used.Store(sec)
	}
	return p, nil
}

func (s *System) lookUp(ctx context.Context, token []byte, h account.Hash) (*account.Principal, error) {
	_, home, ok := account.ParseToken(string(token))
	if !ok {
		return nil, errCredential
	}
	id, ok, err := s.store.Credential(home, h)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, busySentence, err)
	}
	if !ok {
		return nil, errCredential
	}
	got, err := s.ask(ctx, id, present{h})
	if err != nil {
		return nil, err
	}
	if p, _ := got.(*account.Principal); p != nil {
		p.Used.Store(s.clock.unix())
		return p, nil
	}
	return nil, errCredential
}

// SignUp makes an account and its first session. The password must have been checked.
func (s *System) SignUp(ctx context.Context, email, password string) (account.SignedIn, error) {
	profile, err := s.OpenAccount(ctx, email, password, s.NewPlan)
	if err != nil {
		return account.SignedIn{}, err
	}
	return s.startSession(ctx, profile)
}

// OpenAccount makes an account. The e-mail's row is written first: a crash before the
// account's own row leaves a row that leads nowhere, and the next sign-up takes it over.
func (s *System) OpenAccount(ctx context.Context, email, password string, plan account.PlanName) (account.Profile, error) {
	email, err := account.CanonicalEmail(email)
	if err != nil {
		return account.Profile{}, err
	}
	if err := account.CheckPassword(password); err != nil {
		return account.Profile{}, err
	}
	mu := s.names.of(email)
	mu.Lock()
	defer mu.Unlock()
	if known, err := s.byEmail(ctx, email); err != nil || !known.CreatedAt.IsZero() {
		if err == nil {
			err = fault.New(fault.Refused, "An account with this e-mail address exists already")
		}
		return account.Profile{}, err
	}
	var salt [16]byte
	var tail [10]byte
	s.Random(salt[:])
	s.Random(tail[:])
	open := account.Open{ID: account.NewID(s.now(), tail), Email: email, PasswordHash: account.HashPassword(password, salt), Plan: plan}
	if err := s.store.PutEmail(email, open.ID); err != nil {
		return account.Profile{}, err
	}
	if _, err := s.ask(ctx, open.ID, open); err != nil {
		return account.Profile{}, err
	}
	return s.byEmail(ctx, email)
}

// byEmail returns the profile of an e-mail address; a zero one when nobody has it.
func (s *System) byEmail(ctx context.Context, email string) (account.Profile, error) {
	id, ok, err := s.store.AccountByEmail(email)
	if err != nil {
		return account.Profile{}, fault.Wrap(fault.Unavailable, busySentence, err)
	}
	if !ok {
		return account.Profile{}, nil
	}
	picture, err := s.picture(ctx, id)
	return picture.profile, err
}

func (s *System) picture(ctx context.Context, id account.ID) (accountPicture, error) {
	got, err := s.ask(ctx, id, readAccount{})
	if err != nil {
		return accountPicture{}, err
	}
	return got.(accountPicture), nil
}

// LogIn opens a session. A wrong password and an unknown address take the same time and
// get the same sentence.
func (s *System) LogIn(ctx context.Context, email, password string) (account.SignedIn, error) {
	var profile account.Profile
	if canonical, err := account.CanonicalEmail(email); err == nil {
		if profile, err = s.byEmail(ctx, canonical); err != nil {
			return account.SignedIn{}, err
		}
	}
	if !account.PasswordMatches(profile.PasswordHash, password) {
		return account.SignedIn{}, fault.New(fault.Unauthenticated, "The e-mail address or the password is wrong")
	}
	return s.startSession(ctx, profile)
}

func (s *System) startSession(ctx context.Context, profile account.Profile) (account.SignedIn, error) {
	token := s.mint(account.KindSession, profile.ID)
	if _, err := s.ask(ctx, profile.ID, account.StartSession{Hash: account.HashToken([]byte(token))}); err != nil {
		return account.SignedIn{}, err
	}
	return account.SignedIn{Token: token, ExpiresAt: s.now().Add(account.SessionLife), Profile: profile}, nil
}

func (s *System) mint(kind account.Kind, id account.ID) string {
	var random [32]byte
	s.Random(random[:])
	return account.MintToken(kind, id.Partition(), random)
}

// LogOut ends the session of p at once.
func (s *System) LogOut(ctx context.Context, p *account.Principal) error {
	_, err := s.ask(ctx, p.Account, account.EndSession{Hash: p.Hash})
	return err
}

// Usage returns an account beside what its plan allows.
func (s *System) Usage(ctx context.Context, id account.ID) (account.Usage, error) {
	picture, err := s.picture(ctx, id)
	if err != nil {
		return account.Usage{}, err
	}
	return account.Usage{
		Profile: picture.profile, Plan: s.Plans.Of(picture.profile.Plan),
		Inboxes: picture.profile.Inboxes + int64(len(picture.reserved)),
	}, nil
}

// IssueKey makes an account key; its token is in the answer and nowhere else.
func (s *System) IssueKey(ctx context.Context, id account.ID, label string, scopes account.Scope, days *int) (account.Issued, error) {
	return s.issue(ctx, id, account.Key{Kind: account.KindAccountKey, Label: label, Scopes: scopes}, days)
}

// IssueInboxKey makes the one key of an inbox; Refused while it holds one.
func (s *System) IssueInboxKey(ctx context.Context, id account.ID, address string, scopes account.Scope, days *int) (account.Issued, error) {
	return s.issue(ctx, id, account.Key{Kind: account.KindInboxKey, Inbox: address, Scopes: scopes}, days)
}

// RevokeInboxKey ends the key of an inbox at once; NotFound when it holds none.
func (s *System) RevokeInboxKey(ctx context.Context, id account.ID, address string) error {
	_, err := s.ask(ctx, id, account.RevokeInboxKey{Inbox: address})
	return err
}

func (s *System) issue(ctx context.Context, id account.ID, k account.Key, days *int) (account.Issued, error) {
	expires, err := account.Lifetime(days, s.now())
	if err != nil {
		return account.Issued{}, err
	}
	token := s.mint(k.Kind, id)
	k.Hash, k.Prefix, k.ExpiresAt = account.HashToken([]byte(token)), account.KeyPrefix(token), expires
	got, err := s.ask(ctx, id, account.IssueKey{Key: k})
	if err != nil {
		return account.Issued{}, err
	}
	return account.Issued{Token: token, Key: got.(account.Key)}, nil
}

// Keys returns the account's inventory, expired keys too, with uses that are not written
// down yet.
func (s *System) Keys(ctx context.Context, id account.ID) ([]account.Key, error) {
	picture, err := s.picture(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range picture.keys {
		k := &picture.keys[i]
		if p := s.principals.get(k.Hash); p != nil {
			k.LastUsedAt = latest(k.LastUsedAt, unixTime(p.Used.Load()))
		}
	}
	return picture.keys, nil
}

// latest is the later of both.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// unixTime is the zero time for a second of 0: never.
func unixTime(sec int64) time.Time {
	if sec == 0 {
		return time.Time{}
	}
	return time.Unix(sec, 0).UTC()
}

// RevokeKey ends a key at once, for requests that are waiting too.
func (s *System) RevokeKey(ctx context.Context, id account.ID, key int64) error {
	_, err := s.ask(ctx, id, account.RevokeKey{ID: key})
	return err
}

// SetPlan moves the account with this e-mail address to another plan.
func (s *System) SetPlan(ctx context.Context, email string, plan account.PlanName) error {
	email, err := account.CanonicalEmail(email)
	if err != nil {
		return err
	}
	profile, err := s.byEmail(ctx, email)
	if err != nil {
		return err
	}
	if profile.CreatedAt.IsZero() {
		return fault.New(fault.NotFound, "There is no account with this e-mail address")
	}
	_, err = s.ask(ctx, profile.ID, account.SetPlan{Plan: plan})
	return err
}

// Profiles pages through all accounts by id, for the operator.
func (s *System) Profiles(after account.ID, limit int) ([]account.Profile, error) {
	return s.store.Accounts(after, limit)
}
