package actors

import (
	"context"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
)

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
	if sec := s.engine.Clock.Unix(); p.Used.Load() != sec {
		p.Used.Store(sec)
	}
	return p, nil
}

func (s *System) lookUp(ctx context.Context, token []byte, h account.Hash) (*account.Principal, error) {
	_, home, ok := account.ParseToken(string(token))
	if !ok {
		return nil, errCredential
	}
	id, key, ok, err := s.store.Credential(home, h)
	if err != nil {
		return nil, engine.Busy(err)
	}
	if !ok {
		return nil, errCredential
	}
	got, err := s.ask(ctx, id, present{h, key})
	if err != nil {
		return nil, err
	}
	if p, _ := got.(*account.Principal); p != nil {
		p.Used.Store(s.engine.Clock.Unix())
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
	mu := s.names.Of(email)
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
		return account.Profile{}, engine.Busy(err)
	}
	if !ok {
		return account.Profile{}, nil
	}
	picture, err := s.picture(ctx, id)
	return picture.profile, err
}

// named is byEmail for the operator: NotFound when nobody has the address.
func (s *System) named(ctx context.Context, email string) (account.Profile, error) {
	email, err := account.CanonicalEmail(email)
	if err != nil {
		return account.Profile{}, err
	}
	profile, err := s.byEmail(ctx, email)
	if err == nil && profile.CreatedAt.IsZero() {
		err = fault.New(fault.NotFound, "There is no account with this e-mail address")
	}
	return profile, err
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
	if !profile.ClosingAt.IsZero() {
		profile = account.Profile{}
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
		Keys:    picture.profile.AccountKeys + picture.profile.InboxKeys,
		Sends:   picture.sends.On(s.now()),
	}, nil
}

// SetPlan moves the account with this e-mail address to another plan.
func (s *System) SetPlan(ctx context.Context, email string, plan account.PlanName) error {
	profile, err := s.named(ctx, email)
	if err != nil {
		return err
	}
	_, err = s.ask(ctx, profile.ID, account.SetPlan{Plan: plan})
	return err
}

// Profiles pages through all accounts by id, for the operator.
func (s *System) Profiles(after account.ID, limit int) ([]account.Profile, error) {
	return s.store.Accounts(after, limit)
}
