package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/persist/persisttest"
)

type resetMail struct {
	email, token string
	expires      time.Time
}

// TestPasswordReset follows a link from its request to its end.
func TestPasswordReset(t *testing.T) {
	store := persisttest.Open(t)
	var ahead atomic.Int64
	mailed := make(chan resetMail, 10)
	s := startSystem(t, store, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		o.MailReset = func(_ context.Context, email, token string, expires time.Time) error {
			mailed <- resetMail{email, token, expires}
			return nil
		}
	})
	ctx := context.Background()
	in := signUp(t, s)
	key := must[account.Issued](t)(s.IssueKey(ctx, in.Profile.ID, "", account.ScopeRead, nil))
	session := must[*account.Principal](t)(s.Authenticate(ctx, []byte(in.Token)))
	s.RequestReset("nobody@example.test") // served in order: no mail comes of it
	s.RequestReset("me@example.test")
	mail := <-mailed
	if mail.email != "me@example.test" || len(mailed) != 0 || mail.expires.Sub(s.now()).Round(time.Minute) != time.Hour {
		t.Errorf("mailed %+v", mail)
	}
	if _, err := s.Authenticate(ctx, []byte(mail.token)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a reset token opens the account: %v", err)
	}
	for _, wrong := range []string{"", "svc_reset_x", in.Token, key.Token, s.Resets.minter.mint(account.KindReset, in.Profile.ID)} {
		if err := s.ResetPassword(ctx, wrong, "another horse"); !fault.Is(err, fault.Refused) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if err := s.ResetPassword(ctx, mail.token, "another horse"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Authenticate(ctx, []byte(in.Token)); !fault.Is(err, fault.Unauthenticated) || session.Valid(s.now()) {
		t.Errorf("the session is open: %v", err)
	}
	must[*account.Principal](t)(s.Authenticate(ctx, []byte(key.Token)))
	if _, err := s.LogIn(ctx, "me@example.test", "correct horse"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the old password: %v", err)
	}
	must[account.SignedIn](t)(s.LogIn(ctx, "me@example.test", "another horse"))
	if err := s.ResetPassword(ctx, mail.token, "third horse"); !fault.Is(err, fault.Refused) {
		t.Errorf("used: %v", err)
	}
	token, _, err := s.ResetToken(ctx, "me@example.test")
	if err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(account.ResetLife))
	if err := s.ResetPassword(ctx, token, "third horse"); !fault.Is(err, fault.Refused) {
		t.Errorf("after an hour: %v", err)
	}
	if _, _, err := s.ResetToken(ctx, "nobody@example.test"); !fault.Is(err, fault.NotFound) {
		t.Errorf("nobody's: %v", err)
	}
}

// TestWithoutAMailerNothingIsMade: no token lies around that nobody will ever get.
func TestWithoutAMailerNothingIsMade(t *testing.T) {
	store := persisttest.Open(t)
	s := startSystem(t, store, nil)
	signUp(t, s)
	commits := store.Commits()
	s.RequestReset("me@example.test")
	if len(s.Resets.asked) != 0 || store.Commits() != commits {
		t.Error("a reset was begun")
	}
}

// TestResetsBeyondTheQueueAreDropped: asking never waits.
func TestResetsBeyondTheQueueAreDropped(t *testing.T) {
	store := persisttest.Open(t)
	release, entered := make(chan struct{}), make(chan struct{}, 10)
	s := startSystem(t, store, func(o *Options) {
		o.MailReset = func(context.Context, string, string, time.Time) error {
			entered <- struct{}{}
			<-release
			return nil
		}
	})
	signUp(t, s)
	s.RequestReset("me@example.test")
	<-entered
	for range 2 * resetQueue {
		s.RequestReset("nobody@example.test")
	}
	if len(s.Resets.asked) != resetQueue {
		t.Errorf("%d wait", len(s.Resets.asked))
	}
	close(release)
	until(func() bool { return len(s.Resets.asked) == 0 })
}
