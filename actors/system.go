package actors

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"log/slog"
	"net"
	"sync"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/journal"
	"inboxd/actors/mailqueue"
	"inboxd/actors/retention"
	"inboxd/internal/account"
	"inboxd/internal/delivery"
	"inboxd/internal/domain"
	"inboxd/internal/inbox"
	"inboxd/internal/ingest"
	"inboxd/internal/webhook"
)

// Options configures a System; the zero value works but for Store and Namespaces.
type Options struct {
	Store      Store
	Namespaces inbox.Namespaces
	Plans      account.Plans    // default account.DefaultPlans
	NewPlan    account.PlanName // of a sign-up; default free
	Memory     int64            // bytes of resident inboxes before the longest idle leave; default 512 MiB
	IdleAfter  time.Duration    // an inbox unused for so long leaves memory; default 15 min
	Admission  int64            // commands in flight before others are refused; default 20,000
	SweepEvery time.Duration    // default 1 s
	Spam       ingest.Scanner   // judges received mail; default none

	// Poster makes the attempts of webhooks; default: every attempt fails.
	Poster Poster
	// WebhookSchedule holds the waits before the attempts of a delivery; default
	// webhook.DefaultSchedule.
	WebhookSchedule webhook.Schedule

	// MailReset mails a password-reset token to its account's address; called by one
	// goroutine, and must not keep the token. Default: no such mail, and no token is made.
	MailReset func(ctx context.Context, email, token string, expires time.Time) error

	Courier mailqueue.Courier // default: no mail leaves the node
	// Judge says who vouches for a mail from one inbox of the node to another; nil: nobody.
	Judge           func(ctx context.Context, s *System, mailFrom string, raw []byte) ingest.Verdict
	Signer          Signer            // default: no mail is signed
	Schedule        delivery.Schedule // of retries; the zero value is the default
	Smarthost       string            // the name of the server that takes all mail; default none
	DeliveryWorkers int               // this and what follows: as in mailqueue.Options
	DomainWorkers   int
	MostHanging     int
	HangAfter       time.Duration

	Now    func() time.Time // default time.Now
	Random func([]byte)     // default crypto/rand
	Logger *slog.Logger     // default slog.Default

	MXHost   string          // where the mail of own domains goes; default the service domain
	Resolver domain.Resolver // asks DNS anew each time; default net.DefaultResolver
}

func (o Options) withDefaults() Options {
	if o.Plans == nil {
		o.Plans = account.DefaultPlans()
	}
	if o.NewPlan == "" {
		o.NewPlan = account.Free
	}
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.IdleAfter <= 0 {
		o.IdleAfter = 15 * time.Minute
	}
	if o.Admission <= 0 {
		o.Admission = 20_000
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = time.Second
	}
	if o.Poster == nil {
		o.Poster = noPoster{}
	}
	if len(o.WebhookSchedule) == 0 {
		o.WebhookSchedule = webhook.DefaultSchedule()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = func(b []byte) { _, _ = crand.Read(b) } // never fails since Go 1.24
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MXHost == "" {
		o.MXHost = o.Namespaces.Domain
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	return o
}

// System is all actors of one node.
type System struct {
	Options
	journal.Reading
	Mail       *mailqueue.Queue // what is sent
	store      Store
	engine     *engine.Engine
	inboxes    *engine.Directory
	accounts   *engine.Directory
	domains    *engine.Directory
	principals *principals
	journal    *journal.Journal
	retention  *retention.Retention
	secret     []byte // signs return paths
	deliveries *deliveries
	testing    chan struct{} // a place for each test call of a webhook
	names      engine.Locks  // for what must be exact per name and has no owner: sign-ups by e-mail, claims of subdomains
	rechecks   *rechecks
	signers    *signers
	resets     chan string // e-mail addresses that asked for a password reset
	lookups    *lookups
	// Locks by account: closing before resuming before names.
	closing, resuming engine.Locks
	redelivering      engine.Locks // taken alone

	running context.Context // until Stop
	end     context.CancelFunc
	stop    chan struct{}
	stopped sync.WaitGroup
}

// Start takes over what an earlier run left in the outbox and starts the supervisors. It
// wakes no inbox.
func Start(o Options) (_ *System, err error) {
	o = o.withDefaults()
	s := &System{Options: o, store: o.Store, principals: newPrincipals(), stop: make(chan struct{})}
	s.resets = make(chan string, resetQueue)
	s.running, s.end = context.WithCancel(context.Background())
	if s.secret, err = o.Store.MAC("return paths", nil); err != nil {
		return nil, err
	}
	s.Mail = s.newMailQueue()
	s.lookups = newLookups(s.running)
	s.engine = engine.New(engine.Options{Now: o.Now, Full: o.Store.Full, Admission: o.Admission, Logger: o.Logger})
	hooks := newSubscriptions(o.Store)
	s.deliveries, s.testing = newDeliveries(o, hooks), make(chan struct{}, testsAtOnce)
	s.deliveries.accountOf = s.accountOf
	s.journal = journal.New(o.Store, newFanOut(o.Store, hooks, o.WebhookSchedule, s.deliveries.hint), s.now, o.Logger)
	s.Reading = s.journal.Reading()
	if err := s.journal.TakeOver(); err != nil {
		return nil, err
	}
	hand := &atHand{most: s.Memory / 64}
	s.inboxes = s.engine.Directory(func(string) engine.Entity {
		return &inboxEntity{store: o.Store, now: s.now, told: s.journal.Notify, queued: s.Mail.Moved, atHand: hand}
	})
	s.accounts = s.engine.Directory(func(key string) engine.Entity {
		return &accountEntity{id: account.ID([]byte(key)), store: o.Store, now: s.now, plans: o.Plans, principals: s.principals, hooks: hooks}
	})
	s.rechecks, s.signers = newRechecks(s), newSigners()
	s.domains = s.engine.Directory(func(string) engine.Entity {
		return &domainEntity{store: o.Store, now: s.now, told: s.domainChanged}
	})
	s.retention = retention.New(o.Store, s.Do, s.now, o.Logger)
	if err := s.Mail.Start(); err != nil {
		return nil, err
	}
	s.stopped.Go(s.sweepUntilStopped)
	s.stopped.Go(func() { s.retention.Run(s.stop) })
	s.stopped.Go(func() { s.lookups.run(s.stop, s.store.Full) })
	s.stopped.Go(func() { s.rechecks.run(s.stop) })
	s.stopped.Go(func() { s.deliveries.run(s.stop) })
	s.stopped.Go(s.closeUntilStopped)
	s.stopped.Go(s.mailResetsUntilStopped)
	s.journal.Start()
	return s, nil
}

// stopPatience bounds how long Stop waits for owners.
const stopPatience = 5 * time.Second

// Stop ends the supervisors, lets every owner finish what was posted to it, and then lets
// the journal take what is on its way. The callers of Do must have stopped before.
func (s *System) Stop() {
	close(s.stop)
	s.end()
	s.Mail.Stop(stopPatience)
	s.stopped.Wait()
	s.engine.Stop(stopPatience)
	s.journal.Stop()
}

// now is the time of a change: stored times are whole milliseconds in UTC.
func (s *System) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// sweepUntilStopped moves the coarse clock on and lets idle owners leave memory. Uses of
// credentials are written down once a minute.
func (s *System) sweepUntilStopped() {
	tick := time.NewTicker(s.SweepEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		s.engine.Clock.Set(s.Now())
		s.inboxes.Sweep(s.IdleAfter, s.Memory)
		s.accounts.Sweep(s.IdleAfter, s.Memory/8)
		s.domains.Sweep(s.IdleAfter, s.Memory/64)
		if n%60 == 0 {
			s.noteUses()
		}
	}
}

// noteUses writes down when credentials were last used, as far as that moved enough. A stop
// does not: like a crash it forgets at most LastUsedStep.
func (s *System) noteUses() {
	now := s.now()
	s.principals.sweep(now, func(p *account.Principal) {
		at := time.Unix(p.Used.Load(), 0).UTC()
		key := string(p.Account[:])
		switch {
		case p.Kind == account.KindSession:
			if now.Add(account.SessionLife).Sub(p.ExpiresAt) > account.SessionStep {
				s.accounts.Notify(key, account.TouchSession{Hash: p.Hash})
			}
		case at.Sub(p.Noted()) >= account.LastUsedStep:
			p.Note(at)
			s.accounts.Notify(key, account.TouchKey{ID: p.KeyID, At: at})
		}
	})
}

// Stats is a picture of the system for metrics.
type Stats struct {
	Inboxes, Accounts, Principals int
	InboxBytes                    int64
	Passivated                    int64 // owners that left memory since the start
	InFlight                      int64
	JournalWaiting                int
	Queue                         mailqueue.Stats

	// Deliveries of webhooks: in the window of the due index (at most 65,536 entries), on
	// their way now, and since the start.
	DeliveriesWaiting, DeliveriesActive                                           int64
	DeliveriesDelivered, DeliveriesFailed, DeliveriesRetried, DeliveriesCancelled int64
	DeliveryOldest                                                                time.Duration // how long the earliest is overdue
}

// Stats takes the picture.
func (s *System) Stats() Stats {
	d := &s.deliveries.counts
	overdue := time.Duration(0)
	if at := d.oldest.Load(); at != 0 {
		overdue = max(0, s.now().Sub(time.UnixMilli(at)))
	}
	inboxes, accounts := s.inboxes.Stats(), s.accounts.Stats()
	return Stats{
		DeliveriesWaiting: d.waiting.Load(), DeliveriesActive: d.active.Load(), DeliveriesDelivered: d.delivered.Load(), DeliveriesFailed: d.failed.Load(),
		DeliveriesRetried: d.retried.Load(), DeliveriesCancelled: d.cancelled.Load(), DeliveryOldest: overdue,
		Inboxes: inboxes.Resident, Accounts: accounts.Resident, Principals: s.principals.byHash.Size(),
		Passivated: inboxes.Left + accounts.Left,
		InboxBytes: inboxes.Bytes, InFlight: inboxes.InFlight + accounts.InFlight,
		JournalWaiting: s.journal.Waiting(), Queue: s.Mail.Stats(),
	}
}

func (s *System) random64() uint64 {
	var b [8]byte
	s.Random(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// ask hands cmd to an account's owner.
func (s *System) ask(ctx context.Context, id account.ID, cmd any) (any, error) {
	return s.accounts.Do(ctx, string(id[:]), cmd, 0)
}
