// Package actors runs the rules as actors: one owner per active inbox and per active account. A
// directory finds the owner, activates it on demand and evicts it when it is idle. Owners decide,
// commit, publish and reply, in that order. Supervisors drive retention and the change feed from
// what is on disk. The package knows protoactor. It does not know Pebble, HTTP or SMTP, which it
// uses only through the interfaces that it declares.
package actors

import (
	"context"
	"sync"
	"time"

	"inboxd/actors/calendars"
	"inboxd/actors/engine"
	"inboxd/actors/groups"
	"inboxd/actors/journal"
	"inboxd/actors/mailqueue"
	"inboxd/actors/retention"
	"inboxd/actors/sealing"
	"inboxd/actors/uniqueness"
	"inboxd/actors/webhooks"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// Store is the storage that the actors need, by subject. Each part declares its own interface next
// to its code.
type Store interface {
	InboxStore
	AccountStore
	CredentialStore
	ClosingStore
	RegistryStore
	DomainStore
	BounceStore
	SendingStore
	WebhookStore
	mailqueue.Store
	journal.Store
	retention.Store
	calendars.LinkStore
	// CopiesDue calls inbox with the address of each inbox of a group in which an owner's copy is
	// due.
	CopiesDue(g partition.Group, inbox func(address string)) error
	JournalAccounts(after account.ID, limit int) ([]account.ID, error)
	// Drain returns when all pending writes of a group are on disk.
	Drain(partition.Group) error
}

// System is all actors of one node. Start creates its parts, which never change afterwards. Each
// part documents its own concurrency rules.
type System struct {
	Options
	*Inboxes
	*Accounts
	*Credentials
	*Sessions
	*Resets
	*Closing
	*Registry
	*OwnDomains
	*Keyring
	*Receiving
	*Bounces
	*Sending
	*Meetings
	*Webhooks
	journal.Reading
	*webhooks.Records
	Mail   *mailqueue.Queue // outgoing messages
	Feeds  *calendars.Feeds
	Owners *calendars.Owners

	store              Store   // for owners and supervisors of this node's groups
	asking             *asking // for all others
	engine             *engine.Engine
	inboxes            *engine.Directory
	accounts           accountOwners
	domains            domainOwners
	emails, subdomains uniqueness.Names
	capacities         *capacities
	requests           requestQuota
	journal            *journal.Journal
	hooks              *webhooks.Supervisor
	retain             *retention.Retention
	tidy               *retention.Tidy
	copies             *calendars.Copies
	tenure             *groups.Tenure

	released <-chan struct{} // closed by release; then messages and webhook deliveries may be sent
	release  func()
	running  context.Context // ends at Stop
	end      context.CancelFunc
	stopped  sync.WaitGroup
}

// Start takes over what an earlier run left in the outbox and starts the supervisors. It activates
// no inbox.
func Start(o Options) (_ *System, err error) {
	o = o.withDefaults()
	s := &System{Options: o, store: o.Store, asking: &asking{o.Store, o.Rows, o.Elsewhere}}
	secret, err := o.Store.MAC("return paths", nil)
	if err != nil {
		return nil, err
	}
	released := make(chan struct{})
	s.released, s.release = released, sync.OnceFunc(func() { close(released) })
	if !o.Held {
		s.release()
	}
	s.running, s.end = context.WithCancel(context.Background())
	s.engine = engine.New(engine.Options{Now: o.Now, Full: o.Store.Full, Admission: o.Admission, Owner: o.Owner, Logger: o.Logger})
	s.hooks = webhooks.New(webhooks.Options{
		Store: s.asking, Poster: o.Poster, Schedule: o.WebhookSchedule, Released: s.released, Now: o.Now, Logger: o.Logger,
		AccountOf: func(address string) (account.ID, error) { return s.AccountOf(address) }, Gone: s.surelyGone,
	})
	s.Records = s.hooks.Records()
	s.journal = journal.New(s.asking, s.hooks.FanOut(), s.now, o.Logger)
	s.Reading = s.journal.Reading(s.gone)
	s.tidy = retention.NewTidy(o.Store.JournalAccounts, o.Logger, s.Reading.Forget, s.Records.Forget)
	if err := s.journal.TakeOver(); err != nil {
		return nil, err
	}
	s.makeDirectories()
	s.makeAccounts()
	s.makeDomains()
	s.makeMail(secret)
	s.makeCalendars()
	s.Webhooks = &Webhooks{
		inboxes: s.Inboxes, owners: s.accounts, store: s.asking, poster: o.Poster, domain: o.Namespaces.Domain,
		now: s.now, random: o.Random, testing: make(chan struct{}, testsAtOnce),
	}
	if err := s.hold(); err != nil {
		return nil, err
	}
	s.Mail.Start()
	s.supervise()
	return s, nil
}

// hold acquires all groups that this node owns at the start. groups.Holder documents the order.
func (s *System) hold() error {
	o := s.Options
	s.retain = retention.New(s.store, s.Do, &s.requests, s.now, s.Logger)
	// Timers and attempts stop first: their results can still be reported to owners. Then the
	// owners leave, then the rows are closed, and caches about them are dropped.
	started := []groups.Holder{s.Mail.Counted(), s.engine, s.Mail, s.copies, s.Feeds, s.hooks, s.retain, s.OwnDomains.gained, s.Closing.gained, s.tidy}
	s.tenure = groups.New(append([]groups.Holder{
		groups.OnLoss(s.journal.Lose), groups.OnLoss(s.hooks.Subscriptions.Lose), groups.OnLoss(s.Keyring.Lose), groups.OnLoss(s.Credentials.principals.Lose), groups.OnLoss(s.capacities.Lose),
		groups.Rows{Owner: o.Rows, Drain: o.Store.Drain}, groups.OnGain(s.journal.Gain),
	}, started...)...)
	for _, g := range o.Owner.Owned() {
		for _, h := range started {
			if err := h.Gain(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// Gain starts serving a group, whose rows must be in the store.
func (s *System) Gain(g partition.Group) error { return s.tenure.Gain(g) }

// Lose stops everything that this node does for a group. When it returns, nothing of the group is
// written, shown or cached here any more; waiting callers were asked to retry.
func (s *System) Lose(g partition.Group) error { return s.tenure.Lose(g) }

// makeDirectories creates the owners and the parts that reach them.
func (s *System) makeDirectories() {
	o := s.Options
	principals, newest := newPrincipals(), &atHand{most: o.Memory / 64}
	s.capacities = &capacities{rows: s.asking, plans: o.Plans, now: s.now}
	s.inboxes = s.engine.Directory(func(string) engine.Entity {
		return &inboxEntity{store: o.Store, now: s.now, notify: s.journal.Notify, lost: s.tidy.Note, queued: s.Mail.Moved, copyDue: s.copies.Note, capacities: s.capacities, atHand: newest, requests: &s.requests}
	})
	s.accounts = accountOwners{s.engine.Directory(func(key string) engine.Entity {
		return &accountEntity{
			id: account.ID([]byte(key)), store: o.Store, now: s.now, plans: o.Plans, namespaces: o.Namespaces, principals: principals,
			capacities: s.capacities, hooks: s.hooks.Subscriptions, requests: &s.requests,
		}
	})}
	s.domains = domainOwners{s.engine.Directory(func(string) engine.Entity {
		return &domainEntity{store: o.Store, now: s.now, changed: s.forget}
	})}
	s.emails = uniqueness.New(s.engine, o.Store.AccountByEmail, o.Store.SetEmail)
	s.subdomains = uniqueness.New(s.engine, o.Store.SubdomainHolder, o.Store.SetSubdomain)
	s.Inboxes = &Inboxes{owners: s.inboxes, store: s.asking}
	s.Credentials = &Credentials{owners: s.accounts, store: s.asking, principals: principals, minter: o.Random, clock: &s.engine.Clock, now: s.now}
}

func (s *System) makeAccounts() {
	o := s.Options
	s.Accounts = &Accounts{owners: s.accounts, emails: s.emails, store: s.asking, plans: o.Plans, now: s.now, random: o.Random, notice: s.notice, verify: o.VerifyAddresses}
	s.Sessions = &Sessions{accounts: s.Accounts, minter: o.Random, plan: o.NewPlan}
	s.Resets = &Resets{accounts: s.Accounts, store: s.asking, minter: o.Random, log: o.Logger, mail: o.MailReset, verify: o.MailVerification, asked: make(chan string, resetQueue)}
	if o.VerifyAddresses {
		s.Sessions.verify = func(ctx context.Context, id account.ID) {
			if err := s.RequestVerification(ctx, id); err != nil { // the account exists: its owner can request it again
				o.Logger.Warn("verification message could not be sent", "err", err)
			}
		}
	}
}

// notice queues a message from the service itself. A failure is only logged: the event it reports has happened.
func (s *System) notice(ctx context.Context, n Notice) {
	if err := s.SendNotice(ctx, n); err != nil {
		s.Logger.Warn("service message could not be queued", "subject", n.Subject, "err", err)
	}
}

// makeDomains creates own domains and the parts that depend on them.
func (s *System) makeDomains() {
	o := s.Options
	s.Keyring = newKeyring(s.domains, s.asking, o, s.now)
	s.OwnDomains = &OwnDomains{
		owners: s.domains, accounts: s.accounts, inboxes: s.Inboxes, store: s.asking, keys: s.Keyring,
		namespaces: o.Namespaces, mxHost: o.MXHost, resolver: o.Resolver, now: s.now, log: o.Logger,
		gained: groups.NewBell(), looks: &looks{},
	}
	s.Registry = &Registry{
		inboxes: s.Inboxes, owners: s.accounts, subdomains: s.subdomains, credentials: s.Credentials, domains: s.OwnDomains, store: s.asking,
		plans: o.Plans, capacities: s.capacities, namespaces: o.Namespaces, now: s.now, random: o.Random,
	}
	s.Resets.registry = s.Registry
	s.Closing = &Closing{accounts: s.Accounts, registry: s.Registry, domains: s.OwnDomains, store: s.asking, log: o.Logger, gained: groups.NewBell()}
}

// makeMail creates the parts that receive and send messages. secret signs return paths.
func (s *System) makeMail(secret []byte) {
	o := s.Options
	s.Bounces = &Bounces{inboxes: s.Inboxes, store: s.asking, secret: secret, now: s.now, log: o.Logger}
	sealer := sealing.New(s.asking, s.Inboxes)
	s.Receiving = &Receiving{
		sealer:  sealer,
		inboxes: s.Inboxes, domains: s.OwnDomains, bounces: s.Bounces, full: o.Store.Full, domain: o.Namespaces.Domain, postmaster: o.Postmaster,
		spam: o.Spam, untilFull: newUntilFull(s.running), now: s.now,
	}
	s.Sending = &Sending{
		sealer:  sealer,
		inboxes: s.Inboxes, owners: s.accounts, store: s.asking, domain: o.Namespaces.Domain,
		now: s.now, random: o.Random, log: o.Logger, verify: o.VerifyAddresses,
	}
	s.Meetings = &Meetings{s.Sending}
	s.Mail = s.newMailQueue()
	s.Bounces.noted, s.Sending.waits = s.Mail.NoteBounce, s.Mail.CallerWaits
}

// supervise starts the supervisors.
func (s *System) supervise() {
	stop := s.running.Done()
	for _, run := range []func(){
		s.sweep,
		func() { s.retain.Run(stop) },
		func() { s.untilFull.run(stop, s.SweepEvery/10, s.store.Full) },
		func() { s.OwnDomains.run(s.running) },
		func() { s.hooks.Run(stop) },
		func() { s.Closing.run(s.running) },
		func() { s.tidy.Run(s.running) },
		func() { s.Resets.run(s.running) },
		func() { s.copies.Run(s.running) },
		func() { s.Feeds.Run(s.running) },
	} {
		s.stopped.Go(run)
	}
	s.journal.Start()
}

// stopGrace bounds how long Stop waits for owners.
const stopGrace = 5 * time.Second

// Stop ends the supervisors, lets every owner finish its mailbox, and then lets the journal write
// what is pending. All callers of Do must have returned before.
func (s *System) Stop() {
	s.end()
	s.Mail.Stop(stopGrace)
	s.stopped.Wait()
	s.noteUses()
	s.Feeds.End(stopGrace)
	s.engine.Stop(stopGrace)
	s.journal.Stop()
}

// gone reports whether a message can no longer be read by anybody.
func (s *System) gone(address string, id int64) (bool, error) {
	return s.Inboxes.gone(address, id, s.now())
}

// surelyGone is gone for callers that delete by its result, so an error counts as not gone.
func (s *System) surelyGone(address string, id int64) bool {
	gone, err := s.gone(address, id)
	return gone && err == nil
}

// now is the time of a change: stored times are whole milliseconds in UTC.
func (s *System) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// sweep advances the coarse clock and evicts idle owners, until Stop. It records the uses of
// credentials once a minute.
func (s *System) sweep() {
	tick := time.NewTicker(s.SweepEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-s.running.Done():
			return
		case <-tick.C:
		}
		s.engine.Clock.Set(s.Now())
		s.inboxes.Sweep(s.IdleAfter, s.Memory)
		s.accounts.Sweep(s.IdleAfter, s.Memory/8)
		for _, few := range []*engine.Directory{s.domains.Directory, s.emails.Directory, s.subdomains.Directory} {
			few.Sweep(s.IdleAfter, s.Memory/64)
		}
		if n%60 == 0 {
			s.noteUses()
		}
	}
}

// Stats is a snapshot of the system for metrics.
type Stats struct {
	Inboxes        int             `json:"inboxes"`
	Accounts       int             `json:"accounts"`
	Principals     int             `json:"principals"`
	InboxBytes     int64           `json:"inbox_bytes"`
	Passivated     int64           `json:"passivated"` // owners evicted since the start
	InFlight       int64           `json:"in_flight"`
	JournalWaiting int             `json:"journal_waiting"`
	Queue          mailqueue.Stats `json:"queue"`
	Hooks          webhooks.Stats  `json:"webhooks"`
	Held           bool            `json:"held"` // whether messages and webhook deliveries are held back until Release
	// Effects of messages on meetings by outcome, and reasons of those without effect, both since
	// the start.
	Merged          map[string]int64 `json:"merged"`
	RefusedMeetings map[string]int64 `json:"refused_meetings"`
	// Outcomes of owners' copies since the start.
	OwnerCopies map[string]int64 `json:"owner_copies"`
	CodesFound  int64            `json:"codes_found"` // in messages since the start, counted for each inbox that received one
}

// Stats takes the snapshot.
func (s *System) Stats() Stats {
	inboxes, accounts := s.inboxes.Stats(), s.accounts.Stats()
	return Stats{
		Inboxes: inboxes.Resident, Accounts: accounts.Resident, Principals: s.Credentials.principals.byHash.Size(),
		Passivated: inboxes.Left + accounts.Left,
		InboxBytes: inboxes.Bytes, InFlight: inboxes.InFlight + accounts.InFlight,
		JournalWaiting: s.journal.Waiting(), Queue: s.Mail.Stats(), Hooks: s.hooks.Stats(), Held: s.Held(),
		Merged: s.Receiving.merged.counts(), RefusedMeetings: s.Receiving.refused.counts(), CodesFound: s.Receiving.codes.Load(), OwnerCopies: s.copies.Counts(),
	}
}
