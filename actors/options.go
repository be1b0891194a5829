package actors

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"log/slog"
	"net"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/actors/webhooks"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/domain/lookup"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/internal/intake/ingest"
)

// Options configures a System; the zero value works except for Store and Namespaces.
type Options struct {
	Store            Store
	Namespaces       inbox.Namespaces
	Owner            *partition.OwnershipState // which partitions this node serves; default all
	RowOwner         *partition.OwnershipState // what Store may read and write; default Owner. Set it if AcquireGroup and ReleaseGroup are called
	RemoteReader     RemoteReader              // reads what is not in Rows; default: such reads fail as "moved"
	Plans            account.Plans             // default account.DefaultPlans
	NewPlan          account.PlanName          // of a sign-up; default free
	Postmaster       string                    // inbox for messages to postmaster and abuse at the service domain; default none
	MaxResidentBytes int64                     // bytes of resident inboxes before the longest idle are evicted; default 512 MiB
	IdleAfter        time.Duration             // an inbox unused for this long is evicted; default 15 min
	MaxInFlight      int64                     // commands in flight before others are refused; default 20,000
	SweepEvery       time.Duration             // default 1 s; a full disk is noticed within a tenth of it
	SpamScanner      ingest.Scanner            // classifies received messages; default none

	// Poster makes the delivery attempts of webhooks; by default every attempt fails.
	Poster webhooks.CallPoster
	// WebhookSchedule holds the waits before the attempts of a delivery; default
	// webhook.DefaultSchedule.
	WebhookSchedule webhook.Schedule

	// HoldOutgoing holds back messages and webhook deliveries until Release.
	HoldOutgoing bool

	// MailReset sends a password-reset token to its account's address. One goroutine calls it, and
	// it must not keep the token. By default no message is sent and no token is created.
	MailReset func(ctx context.Context, email, token string, expires time.Time) error

	// MailVerification is MailReset for a token that verifies the address; any goroutine may call
	// it.
	MailVerification func(ctx context.Context, email, token string, expires time.Time) error
	// VerifyAddresses requires sign-ups to verify their e-mail addresses. Until then they can send
	// only to inboxes of their own account.
	VerifyAddresses bool

	SimulateRecipients bool // as in mailqueue.Options

	Courier mailqueue.DeliveryAgent // default: no message leaves the node
	// SenderJudge authenticates a message from one inbox of the node to another by its signature alone,
	// because no other host sent it; the zero value does not authenticate.
	SenderJudge     ingest.MessageAuthenticator
	Signer          SignFunc               // default: messages are not signed
	RetrySchedule   delivery.RetrySchedule // of retries; the zero value is the default
	Smarthost       string                 // the name of the server that takes all messages; default none
	DeliveryWorkers int                    // this and the following are as in mailqueue.Options
	DomainWorkers   int
	MostHanging     int
	HangAfter       time.Duration

	Now        func() time.Time // default time.Now
	FillRandom func([]byte)     // default crypto/rand
	Logger     *slog.Logger     // default slog.Default

	MXHost   string          // receives the mail of own domains; default the service domain
	Resolver lookup.Resolver // queries DNS without a cache; default net.DefaultResolver
}

func (o Options) withDefaults() Options {
	if o.Plans == nil {
		o.Plans = account.DefaultPlans()
	}
	if len(o.WebhookSchedule) == 0 {
		o.WebhookSchedule = webhook.DefaultSchedule()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.FillRandom == nil {
		o.FillRandom = func(b []byte) { _, _ = crand.Read(b) } // never fails since Go 1.24
	}
	o.RowOwner = cmp.Or(o.RowOwner, o.Owner)
	o.RemoteReader = cmp.Or[RemoteReader](o.RemoteReader, noRemoteReader{})
	o.NewPlan = cmp.Or(o.NewPlan, account.PlanFree)
	o.MaxResidentBytes = cmp.Or(o.MaxResidentBytes, 512<<20)
	o.IdleAfter = cmp.Or(o.IdleAfter, 15*time.Minute)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 20_000)
	o.SweepEvery = cmp.Or(o.SweepEvery, time.Second)
	o.Poster = cmp.Or[webhooks.CallPoster](o.Poster, noPoster{})
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.MXHost = cmp.Or(o.MXHost, o.Namespaces.ServiceDomain)
	o.Resolver = cmp.Or[lookup.Resolver](o.Resolver, net.DefaultResolver)
	return o
}
