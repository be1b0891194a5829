package actors

import (
	"context"
	"time"

	"inboxd/actors/calendars"
	"inboxd/actors/mailqueue"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/intake/ingest"
)

// SignFunc signs a message for a domain. It returns one DKIM-Signature field per key, to be placed
// before raw. It is called with at least one key.
type SignFunc func(raw []byte, domain string, keys []SigningKey, at time.Time) (fields []byte, err error)

// queueAdapter adapts a System to the interfaces of the mail queue.
type queueAdapter struct{ *System }

// newMailQueue creates the queue of outgoing messages.
func (s *System) newMailQueue() *mailqueue.Queue {
	return mailqueue.New(mailqueue.Options{
		Inboxes: queueAdapter{s}, LocalReceiver: queueAdapter{s}, Store: s.store, Courier: s.Courier, FindSigner: queueAdapter{s}.signerFor,
		ServiceDomain: s.Namespaces.ServiceDomain, Smarthost: s.Smarthost, ReturnPath: s.returnPath, SimulateRecipients: s.SimulateRecipients,
		RetrySchedule: s.RetrySchedule, MaxWorkers: s.DeliveryWorkers, DomainWorkers: s.DomainWorkers, MostHanging: s.MostHanging, HangAfter: s.HangAfter,
		SendingReleased: s.outgoingReleased, Now: s.Now, Logger: s.Logger,
	})
}

// ReleaseOutgoing starts sending what was held back: messages and webhook deliveries.
func (s *System) ReleaseOutgoing() { s.releaseHeld() }

// IsOutgoingHeld reports whether they are still held back.
func (s *System) IsOutgoingHeld() bool {
	select {
	case <-s.outgoingReleased:
		return false
	default:
		return true
	}
}

// IsResident implements mailqueue.SenderInboxes.
func (o queueAdapter) IsResident(address string) bool {
	return o.inboxDirectory.FindResident([]byte(address)) != nil
}

// LetSleep implements mailqueue.SenderInboxes: a long queue after an outage must not fill memory with
// inboxes that nobody requests.
func (o queueAdapter) LetSleep(address string) {
	if o.inboxDirectory.ReadStats().HeldBytes >= o.MaxResidentBytes/16 {
		o.inboxDirectory.Passivate(address)
	}
}

// ReceiveLocal implements mailqueue.LocalReceiver. The message is received as if from outside, but
// it is authenticated without its Received fields.
func (o queueAdapter) ReceiveLocal(ctx context.Context, rcptTo string, in mailqueue.Incoming) delivery.LocalReceipt {
	err := o.acceptsMail(rcptTo)
	if err == nil {
		env := ingest.Envelope{MailFrom: in.MailFrom, RcptTo: []string{rcptTo}, TraceLen: in.TraceLen, SharedStorage: in.SharedBody}
		if o.SenderJudge.DNS != nil {
			judge := o.SenderJudge
			judge.LocalKeys = o.Keyring
			env.DetermineVerdict = judge.VerdictFor
		}
		err = o.ReceivingService.ReceiveMessage(ctx, env, in.RawMessage)
	}
	switch {
	case err == nil:
		return delivery.StoredLocally
	case fault.Is(err, fault.NoInbox):
		return delivery.NoSuchInbox
	case fault.Is(err, fault.InboxFull):
		return delivery.InboxFull
	}
	return delivery.NotStored
}

// signerFor is the mailqueue.SignerFinder.
func (o queueAdapter) signerFor(ctx context.Context, from string) (func([]byte) ([]byte, error), error) {
	host, keys, err := o.SigningKeys(ctx, from)
	if err != nil || len(keys) == 0 || o.Signer == nil {
		return nil, err
	}
	return func(raw []byte) ([]byte, error) { return o.Signer(raw, host, keys, o.now()) }, nil
}

// makeCalendars creates the calendar links and what notifies owners of meetings.
func (s *System) makeCalendars() {
	s.Feeds = calendars.NewFeeds(s.InboxService, s.routingStore, s.CredentialService, s.FillRandom)
	s.OwnerSettings = &calendars.OwnerSettings{Inboxes: s.InboxService, SignInEmail: s.emailOf, InboxExists: s.isServiceAddress}
	s.copies = calendars.NewCopies(calendars.CopyOptions{
		OwnerSettings: s.OwnerSettings, EachDue: s.store.CopiesDue, CountCopy: s.countCopy, ComposeMessage: s.writeCopy, Me: meOf, Now: s.now, Log: s.Logger,
	})
}

// emailOf returns the sign-in address of an account, and whether messages about it may be sent
// there.
func (s *System) emailOf(ctx context.Context, id account.ID) (email string, usable bool, err error) {
	picture, err := s.accountOwners.readSnapshot(ctx, id)
	return picture.profile.Email, !s.VerifyAddresses || !picture.profile.EmailUnverified, err
}

// isServiceAddress reports whether messages to an address go to an inbox of this service.
func (s *System) isServiceAddress(address string) (bool, error) {
	return s.routingStore.InboxExists(s.ReceivingService.inboxAddress(address))
}

// countCopy takes a place for an owner's copy in the day's quota of sends, or in that of copies of
// replies.
func (s *System) countCopy(ctx context.Context, id account.ID, ofAnswers bool) (back func(), at partition.Position, err error) {
	from := s.now()
	var order account.Command = account.CountSend{RecipientCount: 1}
	if ofAnswers {
		order = account.CountAnswerCopy{}
	}
	if _, err := s.accountOwners.sendCommand(ctx, id, order); err != nil {
		return nil, at, err
	}
	return func() { s.accountOwners.notifyOwner(id, account.ReturnSend{At: from, IsAnswerCopy: ofAnswers}) }, s.store.WritePosition(id.HomePartition()), nil
}
