package actors

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

type resetMail struct {
	email, token string
	expires      time.Time
}

// TestPasswordReset follows a link from its request to its end.
func TestPasswordReset(t *testing.T) {
	store := persisttest.OpenStore(t)
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
	key := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(in.Profile.ID), "", account.ScopeRead, nil))
	session := must[*account.Principal](t)(s.Authenticate(ctx, []byte(in.Token)))
	s.RequestReset("nobody@example.test") // processed in order: no message is sent for it
	s.RequestReset("me@example.test")
	mail := <-mailed
	if mail.email != "me@example.test" || len(mailed) != 0 || mail.expires.Sub(s.now()).Round(time.Minute) != time.Hour {
		t.Errorf("mailed %+v", mail)
	}
	if _, err := s.Authenticate(ctx, []byte(mail.token)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a reset token opens the account: %v", err)
	}
	for _, wrong := range []string{"", "svc_reset_x", in.Token, key.Token, s.PasswordResets.minter.mintToken(account.KindReset, in.Profile.ID)} {
		if _, err := s.ResetPassword(ctx, wrong, "another horse"); !fault.Is(err, fault.Refused) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := s.ResetPassword(ctx, mail.token, "another horse"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Authenticate(ctx, []byte(in.Token)); !fault.Is(err, fault.Unauthenticated) || session.IsValid(s.now()) {
		t.Errorf("the session is open: %v", err)
	}
	if _, err := s.Authenticate(ctx, []byte(key.Token)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a key of before is open: %v", err)
	}
	if _, err := s.LogIn(ctx, "me@example.test", "correct horse"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the old password: %v", err)
	}
	must[account.SignedIn](t)(s.LogIn(ctx, "me@example.test", "another horse"))
	if _, err := s.ResetPassword(ctx, mail.token, "third horse"); !fault.Is(err, fault.Refused) {
		t.Errorf("used: %v", err)
	}
	token, _, err := s.ResetToken(ctx, "me@example.test")
	if err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(account.ResetLife))
	if _, err := s.ResetPassword(ctx, token, "third horse"); !fault.Is(err, fault.Refused) {
		t.Errorf("after an hour: %v", err)
	}
	if _, _, err := s.ResetToken(ctx, "nobody@example.test"); !fault.Is(err, fault.NotFound) {
		t.Errorf("nobody's: %v", err)
	}
}

// TestAResetEndsWhatOpenedTheAccount covers sessions, both kinds of keys, webhooks and calendar
// links, and a crash between the commit and the removal of the keys' rows.
func TestAResetEndsWhatOpenedTheAccount(t *testing.T) {
	for _, at := range []string{"", "reset-committed"} {
		t.Run("crash at "+at, func(t *testing.T) {
			store := persisttest.OpenCrashable(t)
			s := startSystem(t, store, nil)
			ctx := context.Background()
			in := signUp(t, s)
			me := in.Profile.ID
			var tokens, links []string
			for range closeStep + 1 {
				tokens = append(tokens, must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(me), "", account.ScopeFull, nil)).Token)
			}
			for range 2 {
				view, _, err := s.CreateInbox(ctx, me, inbox.CreationRequest{})
				if err != nil {
					t.Fatal(err)
				}
				tokens = append(tokens, must[account.IssuedKey](t)(s.IssueInboxKey(ctx, operatorOf(me), view.Address, account.ScopeFull, nil)).Token)
				link, _, err := s.Feeds.ShareFeed(ctx, view.Address, manager)
				if err != nil {
					t.Fatal(err)
				}
				links = append(links, link)
			}
			must[account.Webhook](t)(s.AddWebhook(ctx, operatorOf(me), "https://example.test/", "message.received", ""))
			waiting := must[*account.Principal](t)(s.Authenticate(ctx, []byte(tokens[0]))).EndedSignal()
			token, _, err := s.ResetToken(ctx, "me@example.test")
			if err != nil {
				t.Fatal(err)
			}
			if at == "" {
				ended, err := s.ResetPassword(ctx, token, "another horse")
				if want := (account.ResetSummary{Email: "me@example.test", Sessions: 1, Keys: closeStep + 3, Webhooks: 1, Links: 2}); err != nil || ended != want {
					t.Errorf("ended %+v, %v", ended, err)
				}
			} else {
				order := account.ResetPassword{Hash: account.HashToken([]byte(token)), PasswordHash: account.HashPassword("another horse", [16]byte{})}
				must[int64](t)(s.InboxRegistry.hideCalendars(ctx, me))
				must[any](t)(s.accountOwners.sendCommand(ctx, me, order))
				store = store.CrashCopy(t)
				s = startSystem(t, store, nil)
			}
			for _, old := range append(tokens, in.Token) {
				if _, err := s.Authenticate(ctx, []byte(old)); !fault.Is(err, fault.Unauthenticated) {
					t.Fatalf("%.9s is open: %v", old, err)
				}
			}
			for _, link := range links {
				if _, err := s.Feeds.OpenFeed(ctx, link); !fault.Is(err, fault.NotFound) {
					t.Errorf("a link is open: %v", err)
				}
			}
			if at == "" {
				<-waiting
			}
			if hooks, err := s.ListWebhooks(ctx, me); err != nil || len(hooks) > 0 {
				t.Errorf("webhooks: %+v, %v", hooks, err)
			}
			must[account.SignedIn](t)(s.LogIn(ctx, "me@example.test", "another horse"))
			if keys, _, err := s.AccountKeys(ctx, me, "", 10); err != nil || len(keys) > 0 {
				t.Errorf("the inventory: %d keys, %v", len(keys), err)
			}
			fresh := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(me), "", account.ScopeRead, nil))
			must[*account.Principal](t)(s.Authenticate(ctx, []byte(fresh.Token)))
		})
	}
}

// TestOrdersOfAnEndedCredentialAreRefused checks that an order in progress leaves nothing behind if
// a reset ended its credential or its password.
func TestOrdersOfAnEndedCredentialAreRefused(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), nil)
	ctx := context.Background()
	in := signUp(t, s)
	me := in.Profile.ID
	view, _, err := s.CreateInbox(ctx, me, inbox.CreationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	key := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(me), "", account.ScopeFull, nil))
	var holders []*account.Principal
	for _, token := range []string{in.Token, key.Token} {
		holders = append(holders, must[*account.Principal](t)(s.Authenticate(ctx, []byte(token))))
	}
	before := must[accountPicture](t)(s.accountOwners.readSnapshot(ctx, me)).profile
	token, _, _ := s.ResetToken(ctx, "me@example.test")
	must[account.ResetSummary](t)(s.ResetPassword(ctx, token, "another horse"))
	for _, p := range holders {
		if !p.IsRevoked() {
			t.Errorf("%v is not revoked", p.Kind)
		}
		for name, order := range map[string]func() error{
			"an account key": func() error { _, err := s.IssueKey(ctx, p, "", account.ScopeFull, nil); return err },
			"an inbox key":   func() error { _, err := s.IssueInboxKey(ctx, p, view.Address, account.ScopeFull, nil); return err },
			"a webhook": func() error {
				_, err := s.AddWebhook(ctx, p, "https://example.test/", "message.received", "")
				return err
			},
		} {
			if err := order(); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := s.SessionService.startSession(ctx, before); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a log-in: %v", err)
	}
	change := account.ChangePassword{OldHash: before.PasswordHash, PasswordHash: account.HashPassword("third horse", [16]byte{}), KeepSession: holders[0].Hash}
	if _, err := s.accountOwners.sendCommand(ctx, me, change); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a change of the password: %v", err)
	}
	must[account.SignedIn](t)(s.LogIn(ctx, "me@example.test", "another horse"))
	if list, _, err := s.ListSessions(ctx, me); err != nil || len(list) != 1 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}

// TestATokenIsUsedOnce checks that only the first of concurrent uses succeeds, before the expiry,
// and only for the token's purpose.
func TestATokenIsUsedOnce(t *testing.T) {
	var ahead atomic.Int64
	mailed := make(chan resetMail, 10)
	s := startSystem(t, persisttest.OpenStore(t), func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		o.MailVerification = func(_ context.Context, email, token string, expires time.Time) error {
			mailed <- resetMail{email, token, expires}
			return nil
		}
	})
	ctx := context.Background()
	me := signUp(t, s).Profile.ID
	must[account.SignedIn](t)(s.SignUp(ctx, "other@example.test", "correct horse"))
	atOnce := func(use func() error) {
		t.Helper()
		var done atomic.Int64
		var users sync.WaitGroup
		for range 8 {
			users.Go(func() {
				switch err := use(); {
				case err == nil:
					done.Add(1)
				case !fault.Is(err, fault.Refused):
					t.Error(err)
				}
			})
		}
		if users.Wait(); done.Load() != 1 {
			t.Errorf("used %d times", done.Load())
		}
	}
	ask := func() string {
		t.Helper()
		if err := s.RequestVerification(ctx, me); err != nil {
			t.Fatal(err)
		}
		return (<-mailed).token
	}
	late := ask()
	ahead.Store(int64(account.VerifyLife))
	if err := s.VerifyEmail(ctx, late); !fault.Is(err, fault.Refused) {
		t.Errorf("after a day: %v", err)
	}
	ahead.Store(0) // what was seen as expired stays expired
	if err := s.VerifyEmail(ctx, late); !fault.Is(err, fault.Refused) {
		t.Errorf("after the clock went back: %v", err)
	}
	verify := ask()
	atOnce(func() error { return s.VerifyEmail(ctx, verify) })
	if other := must[account.Profile](t)(s.FindAccount(ctx, "other@example.test")); !other.EmailUnverified {
		t.Error("another account was verified")
	}
	reset, _, _ := s.ResetToken(ctx, "me@example.test")
	atOnce(func() error { _, err := s.ResetPassword(ctx, reset, "another horse"); return err })
}

// TestUnverifiedAccountsSendToThemselves checks this until the link of a message was used, or a
// password reset.
func TestUnverifiedAccountsSendToThemselves(t *testing.T) {
	for _, way := range []string{"link", "reset", "operator"} {
		t.Run(way, func(t *testing.T) {
			mailed := make(chan resetMail, 10)
			s := startSystem(t, persisttest.OpenStore(t), func(o *Options) {
				o.VerifyAddresses = true
				o.MailVerification = func(_ context.Context, email, token string, expires time.Time) error {
					mailed <- resetMail{email, token, expires}
					return nil
				}
			})
			ctx := context.Background()
			in := signUp(t, s)
			first := <-mailed
			if first.email != "me@example.test" || !in.Profile.EmailUnverified || first.expires.Sub(s.now()).Round(time.Hour) != account.VerifyLife {
				t.Fatalf("mailed %+v for %+v", first, in.Profile)
			}
			var own [2]string
			for i := range own {
				view, _, err := s.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{})
				if err != nil {
					t.Fatal(err)
				}
				own[i] = view.Address
			}
			must[int64](t)(s.SendMessage(ctx, own[0], letter(own[1])))
			others := must[account.Profile](t)(s.OpenAccount(ctx, "other@example.test", "correct horse", account.PlanFree))
			foreign, _, err := s.CreateInbox(ctx, others.ID, inbox.CreationRequest{})
			if err != nil || others.EmailUnverified {
				t.Fatal(err, others)
			}
			for _, to := range []string{"bob@far.test", foreign.Address, "nobody@" + s.Namespaces.ServiceDomain, "me@example.test"} {
				if _, err := s.SendMessage(ctx, own[0], letter(to)); !fault.Is(err, fault.Refused) {
					t.Errorf("to %s: %v", to, err)
				}
			}
			if _, usable, _ := s.emailOf(ctx, in.Profile.ID); usable {
				t.Error("copies go to an address that is not verified")
			}
			if usage := must[account.QuotaUsage](t)(s.AccountUsage(ctx, in.Profile.ID)); usage.SendsToday != 1 {
				t.Errorf("%d sends were counted", usage.SendsToday)
			}
			switch way {
			case "link":
				if err := s.RequestVerification(ctx, in.Profile.ID); err != nil {
					t.Fatal(err)
				}
				second := <-mailed
				reset, _, _ := s.ResetToken(ctx, "me@example.test")
				for _, wrong := range []string{"", in.Token, reset} {
					if err := s.VerifyEmail(ctx, wrong); !fault.Is(err, fault.Refused) {
						t.Errorf("%q: %v", wrong, err)
					}
				}
				if _, err := s.ResetPassword(ctx, second.token, "another horse"); !fault.Is(err, fault.Refused) {
					t.Errorf("a verification sets a password: %v", err)
				}
				if err := s.VerifyEmail(ctx, second.token); err != nil {
					t.Fatal(err)
				}
				for _, used := range []string{first.token, second.token} {
					if err := s.VerifyEmail(ctx, used); !fault.Is(err, fault.Refused) {
						t.Errorf("used: %v", err)
					}
				}
			case "reset":
				token, _, _ := s.ResetToken(ctx, "me@example.test")
				must[account.ResetSummary](t)(s.ResetPassword(ctx, token, "another horse"))
			default:
				own[0] = foreign.Address
			}
			must[int64](t)(s.SendMessage(ctx, own[0], letter("bob@far.test")))
		})
	}
}

// TestSessionsAreListedAndEnded covers ending single sessions, and all others by a change of the
// password.
func TestSessionsAreListedAndEnded(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), nil)
	ctx := context.Background()
	in := signUp(t, s)
	me := in.Profile.ID
	tokens := []string{in.Token}
	for range 3 {
		tokens = append(tokens, must[account.SignedIn](t)(s.LogIn(ctx, "me@example.test", "correct horse")).Token)
	}
	mine := must[*account.Principal](t)(s.Authenticate(ctx, []byte(tokens[1])))
	idOf := func(token string) string { return (&account.Session{Hash: account.HashToken([]byte(token))}).ID() }
	listed := func(want ...string) {
		t.Helper()
		list, used, err := s.ListSessions(ctx, me)
		if err != nil || len(list) != len(want) {
			t.Fatalf("%d sessions are listed, %v", len(list), err)
		}
		for i := range list {
			if used[i].Before(list[i].CreatedAt.Truncate(time.Second)) || !slices.ContainsFunc(want, func(token string) bool { return idOf(token) == list[i].ID() }) {
				t.Errorf("listed: %+v", list[i])
			}
		}
	}
	listed(tokens...)
	if err := s.EndSession(ctx, me, idOf(tokens[0])); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{idOf(tokens[0]), "", "x"} {
		if err := s.EndSession(ctx, me, gone); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", gone, err)
		}
	}
	listed(tokens[1:]...)
	reset, _, _ := s.ResetToken(ctx, "me@example.test")
	if err := s.ChangePassword(ctx, mine, "wrong horse", "another horse"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a wrong password: %v", err)
	}
	if err := s.ChangePassword(ctx, mine, "correct horse", "another horse"); err != nil {
		t.Fatal(err)
	}
	listed(tokens[1])
	for i, token := range tokens {
		if _, err := s.Authenticate(ctx, []byte(token)); (err == nil) != (i == 1) {
			t.Errorf("session %d: %v", i, err)
		}
	}
	if _, err := s.ResetPassword(ctx, reset, "third horse"); !fault.Is(err, fault.Refused) {
		t.Errorf("a link from before: %v", err)
	}
	must[account.SignedIn](t)(s.LogIn(ctx, "me@example.test", "another horse"))
}

// TestWithoutAMailerNothingIsMade checks that no token is created that nobody would receive.
func TestWithoutAMailerNothingIsMade(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	signUp(t, s)
	commits := store.CommitCount()
	s.RequestReset("me@example.test")
	if len(s.PasswordResets.requestedEmails) != 0 || store.CommitCount() != commits {
		t.Error("a reset was begun")
	}
}

// TestResetsBeyondTheQueueAreDropped checks that a request never blocks.
func TestResetsBeyondTheQueueAreDropped(t *testing.T) {
	store := persisttest.OpenStore(t)
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
	if len(s.PasswordResets.requestedEmails) != resetQueue {
		t.Errorf("%d wait", len(s.PasswordResets.requestedEmails))
	}
	close(release)
	until(func() bool { return len(s.PasswordResets.requestedEmails) == 0 })
}
