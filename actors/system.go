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
	// DrainGroup returns when all pending writes of a group are on disk.
	DrainGroup(partition.Group) error
}

// System is all actors of one node. Start creates its parts, which never change afterwards. Each
// part documents its own concurrency rules.
type System struct {
	Options
	*InboxService
	*AccountService
	*CredentialService
	*SessionService
	*PasswordResets
	*AccountCloser
	*InboxRegistry
	*OwnDomains
	*Keyring
	*ReceivingService
	*BounceHandler
	*SendingService
	*MeetingService
	*Webhooks
	journal.JournalReader
	*webhooks.DeliveryRecords
	MailQueue     *mailqueue.Queue // outgoing messages
	Feeds         *calendars.FeedService
	OwnerSettings *calendars.OwnerSettings

	store                  Store         // for owners and supervisors of this node's groups
	routingStore           *routingStore // for all others
	engine                 *engine.Engine
	inboxDirectory         *engine.EntityDirectory
	accountOwners          accountOwners
	domainOwners           domainOwners
	emailNames, subdomains uniqueness.NameRegistry
	capacities             *capacityCache
	requestQuota           requestQuota
	journal                *journal.ChangeJournal
	webhookSupervisor      *webhooks.Supervisor
	retain                 *retention.RetentionSupervisor
	messageCleanup         *retention.ContentCleaner
	copies                 *calendars.CopySupervisor
	groupHolders           *groups.HolderList

	outgoingReleased <-chan struct{} // closed by release; then messages and webhook deliveries may be sent
	releaseHeld      func()
	runningCtx       context.Context // ends at Stop
	cancelRunning    context.CancelFunc
	supervisorsDone  sync.WaitGroup
}

// Start takes over what an earlier run left in the outbox and starts the supervisors. It activates
// no inbox.
func Start(o Options) (_ *System, err error) {
	o = o.withDefaults()
	s := &System{Options: o, store: o.Store, routingStore: &routingStore{o.Store, o.RowOwner, o.RemoteReader}}
	secret, err := o.Store.ComputeMAC("return paths", nil)
	if err != nil {
		return nil, err
	}
	released := make(chan struct{})
	s.outgoingReleased, s.releaseHeld = released, sync.OnceFunc(func() { close(released) })
	if !o.HoldOutgoing {
		s.releaseHeld()
	}
	s.runningCtx, s.cancelRunning = context.WithCancel(context.Background())
	s.engine = engine.New(engine.Options{Now: o.Now, IsDiskFull: o.Store.IsFull, MaxInFlight: o.MaxInFlight, Owner: o.Owner, Logger: o.Logger})
	s.webhookSupervisor = webhooks.New(webhooks.Options{
		Store: s.routingStore, Poster: o.Poster, RetrySchedule: o.WebhookSchedule, CallsReleased: s.outgoingReleased, Now: o.Now, Logger: o.Logger,
		AccountOf: func(address string) (account.ID, error) { return s.AccountOf(address) }, IsMessageGone: s.surelyGone,
	})
	s.DeliveryRecords = s.webhookSupervisor.NewRecords()
	s.journal = journal.New(s.routingStore, s.webhookSupervisor.FanOut(), s.now, o.Logger)
	s.JournalReader = s.journal.NewReading(s.isGoneNow)
	s.messageCleanup = retention.NewContentCleaner(o.Store.JournalAccounts, o.Logger, s.JournalReader.ForgetContent, s.DeliveryRecords.Forget)
	if err := s.journal.TakeOver(); err != nil {
		return nil, err
	}
	s.makeDirectories()
	s.makeAccounts()
	s.makeDomains()
	s.makeMail(secret)
	s.makeCalendars()
	s.Webhooks = &Webhooks{
		inboxes: s.InboxService, owners: s.accountOwners, store: s.routingStore, poster: o.Poster, serviceDomain: o.Namespaces.ServiceDomain,
		now: s.now, fillRandom: o.FillRandom, testSlots: make(chan struct{}, testsAtOnce),
	}
	if err := s.acquireGroups(); err != nil {
		return nil, err
	}
	s.MailQueue.Start()
	s.startSupervisors()
	return s, nil
}

// acquireGroups acquires all groups that this node owns at the start. groups.GroupHolder documents
// the order.
func (s *System) acquireGroups() error {
	o := s.Options
	s.retain = retention.New(s.store, s.Do, &s.requestQuota, s.now, s.Logger)
	// Timers and attempts stop first: their results can still be reported to owners. Then the
	// owners leave, then the rows are closed, and caches about them are dropped.
	started := []groups.GroupHolder{s.MailQueue.IndexHolder(), s.engine, s.MailQueue, s.copies, s.Feeds, s.webhookSupervisor, s.retain, s.OwnDomains.groupAcquired, s.AccountCloser.groupAcquired, s.messageCleanup}
	s.groupHolders = groups.New(append([]groups.GroupHolder{
		groups.OnLoss(s.journal.ReleaseGroup), groups.OnLoss(s.webhookSupervisor.SubscriptionCache.ReleaseGroup), groups.OnLoss(s.Keyring.ReleaseGroup), groups.OnLoss(s.CredentialService.principals.ReleaseGroup), groups.OnLoss(s.capacities.ReleaseGroup),
		groups.RowHolder{Owner: o.RowOwner, WaitWritten: o.Store.DrainGroup}, groups.OnGain(s.journal.AcquireGroup),
	}, started...)...)
	for _, g := range o.Owner.OwnedGroups() {
		for _, h := range started {
			if err := h.AcquireGroup(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// AcquireGroup starts serving a group, whose rows must be in the store.
func (s *System) AcquireGroup(g partition.Group) error { return s.groupHolders.AcquireGroup(g) }

// ReleaseGroup stops everything that this node does for a group. When it returns, nothing of the
// group is written, shown or cached here any more; waiting callers were asked to retry.
func (s *System) ReleaseGroup(g partition.Group) error { return s.groupHolders.ReleaseGroup(g) }

// makeDirectories creates the owners and the parts that reach them.
func (s *System) makeDirectories() {
	o := s.Options
	principals, newest := newPrincipals(), &contentCache{maxBytes: o.MaxResidentBytes / 64}
	s.capacities = &capacityCache{rows: s.routingStore, plans: o.Plans, now: s.now}
	s.inboxDirectory = s.engine.NewDirectory(func(string) engine.Entity {
		return &inboxEntity{store: o.Store, now: s.now, onPublicEvents: s.journal.NotifyEvents, onMessagesRemoved: s.messageCleanup.NoteRemoved, onQueueMoves: s.MailQueue.ApplyMoves, copyDue: s.copies.NoteDue, capacities: s.capacities, contents: newest, requestQuota: &s.requestQuota}
	})
	s.accountOwners = accountOwners{s.engine.NewDirectory(func(key string) engine.Entity {
		return &accountEntity{
			id: account.ID([]byte(key)), store: o.Store, now: s.now, plans: o.Plans, namespaces: o.Namespaces, principals: principals,
			capacities: s.capacities, webhookSubscriptions: s.webhookSupervisor.SubscriptionCache, requestQuota: &s.requestQuota,
		}
	})}
	s.domainOwners = domainOwners{s.engine.NewDirectory(func(string) engine.Entity {
		return &domainEntity{store: o.Store, now: s.now, onChanged: s.forgetSigner}
	})}
	s.emailNames = uniqueness.New(s.engine, o.Store.AccountByEmail, o.Store.SetEmail)
	s.subdomains = uniqueness.New(s.engine, o.Store.SubdomainHolder, o.Store.SetSubdomain)
	s.InboxService = &InboxService{owners: s.inboxDirectory, store: s.routingStore}
	s.CredentialService = &CredentialService{owners: s.accountOwners, store: s.routingStore, principals: principals, minter: o.FillRandom, clock: &s.engine.Clock, now: s.now}
}

func (s *System) makeAccounts() {
	o := s.Options
	s.AccountService = &AccountService{owners: s.accountOwners, emailRegistry: s.emailNames, store: s.routingStore, plans: o.Plans, now: s.now, fillRandom: o.FillRandom, sendNotice: s.queueNotice, mustVerifyEmail: o.VerifyAddresses}
	s.SessionService = &SessionService{accounts: s.AccountService, minter: o.FillRandom, signUpPlan: o.NewPlan}
	s.PasswordResets = &PasswordResets{accounts: s.AccountService, store: s.routingStore, minter: o.FillRandom, log: o.Logger, sendResetToken: o.MailReset, sendVerifyToken: o.MailVerification, requestedEmails: make(chan string, resetQueue)}
	if o.VerifyAddresses {
		s.SessionService.sendVerification = func(ctx context.Context, id account.ID) {
			if err := s.RequestVerification(ctx, id); err != nil { // the account exists: its owner can request it again
				o.Logger.Warn("verification message could not be sent", "err", err)
			}
		}
	}
}

// queueNotice queues a message from the service itself. A failure is only logged: the event it
// reports has happened.
func (s *System) queueNotice(ctx context.Context, n ServiceNotice) {
	if err := s.SendNotice(ctx, n); err != nil {
		s.Logger.Warn("service message could not be queued", "subject", n.Subject, "err", err)
	}
}

// makeDomains creates own domains and the parts that depend on them.
func (s *System) makeDomains() {
	o := s.Options
	s.Keyring = newKeyring(s.domainOwners, s.routingStore, o, s.now)
	s.OwnDomains = &OwnDomains{
		owners: s.domainOwners, accounts: s.accountOwners, inboxes: s.InboxService, store: s.routingStore, keys: s.Keyring,
		namespaces: o.Namespaces, mxHost: o.MXHost, resolver: o.Resolver, now: s.now, log: o.Logger,
		groupAcquired: groups.NewBell(), checkLimiter: &checkLimiter{},
	}
	s.InboxRegistry = &InboxRegistry{
		inboxes: s.InboxService, owners: s.accountOwners, subdomains: s.subdomains, credentials: s.CredentialService, domains: s.OwnDomains, store: s.routingStore,
		plans: o.Plans, capacities: s.capacities, namespaces: o.Namespaces, now: s.now, fillRandom: o.FillRandom,
	}
	s.PasswordResets.registry = s.InboxRegistry
	s.AccountCloser = &AccountCloser{accounts: s.AccountService, registry: s.InboxRegistry, domains: s.OwnDomains, store: s.routingStore, log: o.Logger, groupAcquired: groups.NewBell()}
}

// makeMail creates the parts that receive and send messages. secret signs return paths.
func (s *System) makeMail(secret []byte) {
	o := s.Options
	s.BounceHandler = &BounceHandler{inboxes: s.InboxService, store: s.routingStore, returnPathSecret: secret, now: s.now, log: o.Logger}
	sealer := sealing.New(s.routingStore, s.InboxService)
	s.ReceivingService = &ReceivingService{
		sealer:  sealer,
		inboxes: s.InboxService, domains: s.OwnDomains, bounces: s.BounceHandler, isDiskFull: o.Store.IsFull, serviceDomain: o.Namespaces.ServiceDomain, postmasterInbox: o.Postmaster,
		spamScanner: o.SpamScanner, untilFull: newUntilFull(s.runningCtx), now: s.now,
	}
	s.SendingService = &SendingService{
		sealer:  sealer,
		inboxes: s.InboxService, owners: s.accountOwners, store: s.routingStore, serviceDomain: o.Namespaces.ServiceDomain,
		now: s.now, fillRandom: o.FillRandom, log: o.Logger, mustVerifyEmail: o.VerifyAddresses,
	}
	s.MeetingService = &MeetingService{s.SendingService}
	s.MailQueue = s.newMailQueue()
	s.BounceHandler.onBounce, s.SendingService.noteCallerWaits = s.MailQueue.NoteBounce, s.MailQueue.CallerWaits
}

// startSupervisors starts the supervisors.
func (s *System) startSupervisors() {
	stop := s.runningCtx.Done()
	for _, run := range []func(){
		s.runSweeper,
		func() { s.retain.Run(stop) },
		func() { s.untilFull.watchDisk(stop, s.SweepEvery/10, s.store.IsFull) },
		func() { s.OwnDomains.runSupervisor(s.runningCtx) },
		func() { s.webhookSupervisor.Run(stop) },
		func() { s.AccountCloser.runSupervisor(s.runningCtx) },
		func() { s.messageCleanup.Run(s.runningCtx) },
		func() { s.PasswordResets.runSupervisor(s.runningCtx) },
		func() { s.copies.Run(s.runningCtx) },
		func() { s.Feeds.Run(s.runningCtx) },
	} {
		s.supervisorsDone.Go(run)
	}
	s.journal.Start()
}

// stopGrace bounds how long Stop waits for owners.
const stopGrace = 5 * time.Second

// Stop ends the supervisors, lets every owner finish its mailbox, and then lets the journal write
// what is pending. All callers of Do must have returned before.
func (s *System) Stop() {
	s.cancelRunning()
	s.MailQueue.Stop(stopGrace)
	s.supervisorsDone.Wait()
	s.noteUses()
	s.Feeds.FlushFetches(stopGrace)
	s.engine.Stop(stopGrace)
	s.journal.Stop()
}

// isGoneNow reports whether a message can no longer be read by anybody.
func (s *System) isGoneNow(address string, id int64) (bool, error) {
	return s.InboxService.isMessageGone(address, id, s.now())
}

// surelyGone is gone for callers that delete by its result, so an error counts as not gone.
func (s *System) surelyGone(address string, id int64) bool {
	gone, err := s.isGoneNow(address, id)
	return gone && err == nil
}

// now is the time of a change: stored times are whole milliseconds in UTC.
func (s *System) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// runSweeper advances the coarse clock and evicts idle owners, until Stop. It records the uses of
// credentials once a minute.
func (s *System) runSweeper() {
	tick := time.NewTicker(s.SweepEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-s.runningCtx.Done():
			return
		case <-tick.C:
		}
		s.engine.Clock.SetTime(s.Now())
		s.inboxDirectory.SweepIdle(s.IdleAfter, s.MaxResidentBytes)
		s.accountOwners.SweepIdle(s.IdleAfter, s.MaxResidentBytes/8)
		for _, few := range []*engine.EntityDirectory{s.domainOwners.EntityDirectory, s.emailNames.EntityDirectory, s.subdomains.EntityDirectory} {
			few.SweepIdle(s.IdleAfter, s.MaxResidentBytes/64)
		}
		if n%60 == 0 {
			s.noteUses()
		}
	}
}

// SystemStats is a snapshot of the system for metrics.
type SystemStats struct {
	Inboxes        int                    `json:"inboxes"`
	Accounts       int                    `json:"accounts"`
	Principals     int                    `json:"principals"`
	InboxBytes     int64                  `json:"inbox_bytes"`
	Passivated     int64                  `json:"passivated"` // owners evicted since the start
	InFlight       int64                  `json:"in_flight"`
	JournalWaiting int                    `json:"journal_waiting"`
	QueueStats     mailqueue.QueueStats   `json:"queue"`
	WebhookStats   webhooks.DeliveryStats `json:"webhooks"`
	OutgoingHeld   bool                   `json:"held"` // whether messages and webhook deliveries are held back until Release
	// Effects of messages on meetings by outcome, and reasons of those without effect, both since
	// the start.
	MergedMeetings  map[string]int64 `json:"merged"`
	RefusedMeetings map[string]int64 `json:"refused_meetings"`
	// Outcomes of owners' copies since the start.
	OwnerCopies map[string]int64 `json:"owner_copies"`
	CodesFound  int64            `json:"codes_found"` // in messages since the start, counted for each inbox that received one
}

// ReadStats takes the snapshot.
func (s *System) ReadStats() SystemStats {
	inboxes, accounts := s.inboxDirectory.ReadStats(), s.accountOwners.ReadStats()
	return SystemStats{
		Inboxes: inboxes.ResidentCount, Accounts: accounts.ResidentCount, Principals: s.CredentialService.principals.byHash.Size(),
		Passivated: inboxes.EvictedCount + accounts.EvictedCount,
		InboxBytes: inboxes.HeldBytes, InFlight: inboxes.InFlight + accounts.InFlight,
		JournalWaiting: s.journal.WaitingCommits(), QueueStats: s.MailQueue.ReadStats(), WebhookStats: s.webhookSupervisor.ReadStats(), OutgoingHeld: s.IsOutgoingHeld(),
		MergedMeetings: s.ReceivingService.meetingsMerged.readCounts(), RefusedMeetings: s.ReceivingService.meetingsRefused.readCounts(), CodesFound: s.ReceivingService.codesFound.Load(), OwnerCopies: s.copies.CopyOutcomes(),
	}
}
