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

// Signer signs a message for a domain. It returns one DKIM-Signature field per key, to be placed
// before raw. It is called with at least one key.
type Signer func(raw []byte, domain string, keys []SigningKey, at time.Time) (fields []byte, err error)

// outgoing adapts a System to the interfaces of the mail queue.
type outgoing struct{ *System }

// newMailQueue creates the queue of outgoing messages.
func (s *System) newMailQueue() *mailqueue.Queue {
	return mailqueue.New(mailqueue.Options{
		Inboxes: outgoing{s}, Local: outgoing{s}, Store: s.store, Courier: s.Courier, Signer: outgoing{s}.sign,
		Domain: s.Namespaces.Domain, Smarthost: s.Smarthost, ReturnPath: s.returnPath,
		Schedule: s.Schedule, Workers: s.DeliveryWorkers, DomainWorkers: s.DomainWorkers, MostHanging: s.MostHanging, HangAfter: s.HangAfter,
		Released: s.released, Now: s.Now, Logger: s.Logger,
	})
}

// Release starts sending what was held back: messages and webhook deliveries.
func (s *System) Release() { s.release() }

// Held reports whether they are still held back.
func (s *System) Held() bool {
	select {
	case <-s.released:
		return false
	default:
		return true
	}
}

// IsResident implements mailqueue.Inboxes.
func (o outgoing) IsResident(address string) bool { return o.inboxes.Resident([]byte(address)) != nil }

// LetSleep implements mailqueue.Inboxes: a long queue after an outage must not fill memory with
// inboxes that nobody requests.
func (o outgoing) LetSleep(address string) {
	if o.inboxes.Stats().Bytes >= o.Memory/16 {
		o.inboxes.Passivate(address)
	}
}

// Receive implements mailqueue.Local. The message is received as if from outside, but it is
// authenticated without its Received fields.
func (o outgoing) Receive(ctx context.Context, rcptTo string, in mailqueue.Incoming) delivery.Receipt {
	err := o.acceptsMail(rcptTo)
	if err == nil {
		env := ingest.Envelope{MailFrom: in.MailFrom, RcptTo: []string{rcptTo}, TraceLen: in.TraceLen, Shared: in.Shared}
		if o.Judge.DNS != nil {
			judge := o.Judge
			judge.Keys = o.Keyring
			env.Judge = judge.Verdict
		}
		err = o.Receiving.Receive(ctx, env, in.Raw)
	}
	switch {
	case err == nil:
		return delivery.Received
	case fault.Is(err, fault.NoInbox):
		return delivery.NoSuchInbox
	case fault.Is(err, fault.InboxFull):
		return delivery.InboxFull
	}
	return delivery.NotStored
}

// sign is the mailqueue.Signer.
func (o outgoing) sign(ctx context.Context, from string) (func([]byte) ([]byte, error), error) {
	host, keys, err := o.SigningKeys(ctx, from)
	if err != nil || len(keys) == 0 || o.Signer == nil {
		return nil, err
	}
	return func(raw []byte) ([]byte, error) { return o.Signer(raw, host, keys, o.now()) }, nil
}

// makeCalendars creates the calendar links and what notifies owners of meetings.
func (s *System) makeCalendars() {
	s.Feeds = calendars.NewFeeds(s.Inboxes, s.asking, s.Credentials, s.Random)
	s.Owners = &calendars.Owners{Inboxes: s.Inboxes, Email: s.emailOf, Lives: s.isOurs}
	s.copies = calendars.NewCopies(calendars.CopyOptions{
		Owners: s.Owners, Due: s.store.CopiesDue, Count: s.countCopy, Write: s.writeCopy, Me: meOf, Now: s.now, Log: s.Logger,
	})
}

// emailOf returns the sign-in address of an account, and whether messages about it may be sent
// there.
func (s *System) emailOf(ctx context.Context, id account.ID) (email string, usable bool, err error) {
	picture, err := s.accounts.picture(ctx, id)
	return picture.profile.Email, !s.VerifyAddresses || !picture.profile.Unverified, err
}

// isOurs reports whether messages to an address go to an inbox of this service.
func (s *System) isOurs(address string) (bool, error) {
	return s.asking.Live(s.Receiving.home(address))
}

// countCopy takes a place for an owner's copy in the day's quota of sends, or in that of copies of
// replies.
func (s *System) countCopy(ctx context.Context, id account.ID, ofAnswers bool) (back func(), at partition.Position, err error) {
	from := s.now()
	var order account.Command = account.CountSend{Recipients: 1}
	if ofAnswers {
		order = account.CountAnswerCopy{}
	}
	if _, err := s.accounts.order(ctx, id, order); err != nil {
		return nil, at, err
	}
	return func() { s.accounts.notify(id, account.ReturnSend{At: from, Answer: ofAnswers}) }, s.store.Position(id.Partition()), nil
}
