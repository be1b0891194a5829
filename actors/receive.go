package actors

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/sealing"
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/sealed"
)

// ReceivingService receives messages for the inboxes of this node. It is immutable except for untilFull
// and the counters, which are safe for concurrent use; any goroutine may use it.
type ReceivingService struct {
	inboxes         *InboxService
	domains         *OwnDomains
	bounces         *BounceHandler
	isDiskFull      func() bool
	serviceDomain   string // the service's domain
	postmasterInbox string // inbox of the operator's contact; empty if not configured
	spamScanner     ingest.Scanner
	untilFull       *untilFull
	sealer          *sealing.MessageSealer
	now             func() time.Time

	meetingsMerged, meetingsRefused outcomeCounter // effects of messages on meetings, and the reasons of those without effect
	codesFound                      atomic.Int64   // found in messages, counted for each inbox that received one
}

// outcomeCounter counts by keyword; any goroutine may use it.
type outcomeCounter struct{ by sync.Map }

func (t *outcomeCounter) countOutcome(word string) {
	n, known := t.by.Load(word)
	if !known {
		n, _ = t.by.LoadOrStore(word, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

func (t *outcomeCounter) readCounts() map[string]int64 {
	out := map[string]int64{}
	t.by.Range(func(word, n any) bool {
		out[word.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return out
}

// inboxAddress returns the address of the inbox that receives messages to rcpt. Messages to
// postmaster and abuse go to the inbox that the operator configured (RFC 5321 section 4.5.1, RFC
// 2142 section 4).
func (r *ReceivingService) inboxAddress(rcpt string) string {
	to := address.WithoutTag(rcpt)
	if local, host := address.Split(to); r.postmasterInbox != "" && host == r.serviceDomain && (local == "postmaster" || local == "abuse") {
		return r.postmasterInbox
	}
	return to
}

// CheckRecipient reports whether a message to rcpt would be accepted now: nil, or NoInbox, InboxFull,
// StorageFull, Unavailable. rcpt is canonical and may carry a tag.
func (r *ReceivingService) CheckRecipient(_ context.Context, rcpt string) error {
	if r.isDiskFull() {
		return engine.DiskFull()
	}
	if back, ok := r.bounces.readReturn(rcpt); ok {
		rcpt = back.Inbox
	} else if delivery.LooksLikeReturnPath(rcpt) {
		return inbox.NoInbox(rcpt)
	}
	return r.acceptsMail(rcpt)
}

// acceptsMail is Accepts for an address that is not a return path.
func (r *ReceivingService) acceptsMail(rcpt string) error {
	address := r.inboxAddress(rcpt)
	if address == noReply+r.serviceDomain {
		return inbox.NoInbox(address)
	}
	if e, resident := r.inboxes.owners.FindResident([]byte(address)).(*inboxEntity); resident {
		if view := e.publishedView.Load(); view != nil {
			if err := e.hasRoom(view, r.now()); err != nil {
				return err
			}
			return r.domains.checkServed(address)
		}
	}
	live, err := r.inboxes.store.InboxExists(address)
	switch {
	case err != nil:
		return engine.BusyError(err)
	case !live:
		return inbox.NoInbox(address)
	}
	return r.domains.checkServed(address)
}

// ReceiveMessage stores one message for all its recipients. It returns nil only when all of it is
// on disk. If some recipients fail temporarily, the sender must retry the whole message. Inboxes
// that already have the message deduplicate it by its digest. So does the inbox of a single
// recipient that stored it after the sender was asked to retry (ADR 0044). A recipient who was
// deleted since RCPT does not delay the others.
//
// The look-ups about the message are bounded by untilFull, not by ctx. After Receive returned nil,
// nothing reads raw any more: every owner has replied, and an owner drops its reference before it
// replies.
//
// For an encrypted inbox the message is encrypted here, in memory, so everything after this sees
// only the envelope.
func (r *ReceivingService) ReceiveMessage(ctx context.Context, env ingest.Envelope, raw []byte) error {
	keys, err := r.keysOf(&env)
	if err != nil {
		return err
	}
	mail := ingest.ReadScanned(r.untilFull.beginLookups(), r.spamScanner, env, raw)
	r.untilFull.endLookups()
	if len(env.RcptTo) == 1 {
		if taken, err := r.takeReport(ctx, env.RcptTo[0], raw); taken {
			return err
		}
		_, err := r.receiveFor(ctx, env.RcptTo, mail, keys.of(0))
		return err
	}
	var worst error
	done := 0
	note := func(err error) {
		switch {
		case err == nil:
			done++
		case worst == nil, fault.Is(worst, fault.NoInbox):
			worst = err
		}
	}
	var homes []receivingInbox
	for i, rcpt := range env.RcptTo {
		if taken, err := r.takeReport(ctx, rcpt, raw); taken {
			note(err)
		} else {
			homes = r.groupRecipient(homes, rcpt, keys.of(i))
		}
	}
	digests := make([]inbox.MessageDigest, len(homes))
	for i, h := range homes {
		digests[i], err = r.receiveFor(ctx, h.rcpts, mail, h.sealingKey)
		note(err)
	}
	if worst != nil && (done == 0 || !fault.Is(worst, fault.NoInbox)) {
		return worst
	}
	for i, h := range homes {
		r.inboxes.owners.Notify(h.address, inbox.ConfirmReceipt{Digest: digests[i]})
	}
	return nil
}

// SimulatedReceiver receives messages that a client wrote for a test and no server sent. They are
// received like others, but never authenticated.
type SimulatedReceiver struct{ *ReceivingService }

// maxSimulated is the limit of a message over SMTP, in octets.
const maxSimulated = 25 << 20

// ReceiveSimulated stores a message for rcpt, which is canonical and may carry a tag, and returns its
// id. Its errors are those of CheckRecipient, and TooLarge.
func (r SimulatedReceiver) ReceiveSimulated(ctx context.Context, rcpt, mailFrom string, raw []byte) (id int64, err error) {
	if len(raw) > maxSimulated {
		return 0, fault.New(fault.TooLarge, "The message is too large. The limit is 25 MB, as over SMTP")
	}
	if err := r.CheckRecipient(ctx, rcpt); err != nil {
		return 0, err
	}
	trace := fmt.Appendf(nil, "Return-Path: <%s>\r\nReceived: by %s with SIMULATION\r\n\tfor <%s>;\r\n\t%s\r\n",
		mailFrom, r.serviceDomain, rcpt, r.now().UTC().Format(time.RFC1123Z))
	err = r.ReceiveMessage(ctx, ingest.Envelope{
		MailFrom: mailFrom, RcptTo: []string{rcpt}, Helo: "simulation", TraceLen: len(trace), Simulated: true,
		OnStored: func(_ string, stored int64) { id = stored },
	}, append(trace, raw...))
	return id, err
}

// receivingInbox is an inbox that gets a message, once, even if the envelope names several of its
// addresses.
type receivingInbox struct {
	address    string
	rcpts      []string // of the envelope, in its order
	sealingKey *sealed.RecipientKey
}

// groupRecipient adds a recipient to the entry of its inbox.
func (r *ReceivingService) groupRecipient(homes []receivingInbox, rcpt string, key *sealed.RecipientKey) []receivingInbox {
	address := r.inboxAddress(rcpt)
	for i := range homes {
		if homes[i].address == address {
			homes[i].rcpts = append(homes[i].rcpts, rcpt)
			return homes
		}
	}
	return append(homes, receivingInbox{address, []string{rcpt}, key})
}

// takeReport processes a report that was sent to one of our return paths; false for any other
// message.
func (r *ReceivingService) takeReport(ctx context.Context, rcpt string, raw []byte) (taken bool, err error) {
	if back, ok := r.bounces.readReturn(rcpt); ok {
		return r.bounces.handleReturned(ctx, back, raw)
	}
	return false, nil
}

// sealingKeys are the public keys that a message is encrypted for, by recipient; nil for a
// recipient who gets it unencrypted. For most messages the whole slice is nil.
type sealingKeys []*sealed.RecipientKey

func (k sealingKeys) of(i int) *sealed.RecipientKey {
	if k == nil {
		return nil
	}
	return k[i]
}

// keysOf finds the public keys for the message of env, and sets env.Sealed if no recipient gets it
// unencrypted.
func (r *ReceivingService) keysOf(env *ingest.Envelope) (found sealingKeys, err error) {
	env.StoredEncrypted = true
	for i, rcpt := range env.RcptTo {
		key, err := r.sealer.RecipientFor(r.inboxAddress(rcpt))
		if err != nil {
			return nil, err
		}
		if key == nil {
			env.StoredEncrypted = false
			continue
		}
		if found == nil {
			found = make(sealingKeys, len(env.RcptTo))
		}
		found[i] = key
	}
	return found, nil
}

// receiveFor stores the message for one inbox; all rcpts are addresses of that inbox. It returns
// the digest by which the inbox may recognize the message.
func (r *ReceivingService) receiveFor(ctx context.Context, rcpts []string, mail ingest.IncomingMessage, key *sealed.RecipientKey) (inbox.MessageDigest, error) {
	to, cmd := r.inboxAddress(rcpts[0]), inbox.Receive{}
	if key == nil {
		cmd = mail.ReceiveFor(rcpts...)
	} else {
		var err error
		if cmd, err = mail.SealedFor(rcpts, *key, r.sealer.KeyedDigest); err != nil {
			return inbox.MessageDigest{}, err
		}
	}
	got, err := r.inboxes.Do(ctx, to, cmd)
	if err == nil {
		r.countStored(got, cmd)
		if mail.OnStored != nil {
			mail.OnStored(to, got.ID)
		}
	}
	if got.IsDuplicate && cmd.Digest == (inbox.MessageDigest{}) { // with more than one recipient, Receive settles it for all
		r.inboxes.owners.Notify(to, inbox.ConfirmReceipt{Digest: cmd.RepeatDigest()})
	}
	return cmd.Digest, err
}

// countStored counts the effects of a stored message.
func (r *ReceivingService) countStored(got inbox.CommandOutcome, cmd inbox.Receive) {
	if cmd.Content.OTP.Code != "" && !got.IsDuplicate {
		r.codesFound.Add(1)
	}
	for _, said := range got.MessageEvents {
		r.meetingsMerged.countOutcome(string(said.Action))
		if said.RefusalReason != "" {
			r.meetingsRefused.countOutcome(said.RefusalReason)
		}
	}
}

// untilFull bounds how long a message waits for look-ups about it. On a full disk the message is
// not stored, whatever they return, and the sender must get the reply within a second. So all
// look-ups end when the disk fills, and when the system stops. All messages share one context,
// because a context of its own with two ends would cost each message.
type untilFull struct {
	parent       context.Context
	ctx          atomic.Pointer[context.Context] // from one full disk to the next
	cancelWait   context.CancelFunc              // of ctx; only run's goroutine uses it
	waitingCount atomic.Int64                    // messages that wait for look-ups
	firstWaits   chan struct{}                   // waitingCount became 1; has room for it
}

func newUntilFull(parent context.Context) *untilFull {
	l := &untilFull{parent: parent, firstWaits: make(chan struct{}, 1)}
	l.beginWait()
	return l
}

func (l *untilFull) beginWait() {
	ctx, end := context.WithCancel(l.parent)
	l.ctx.Store(&ctx)
	l.cancelWait = end
}

// currentContext returns the context for look-ups that start now.
func (l *untilFull) currentContext() context.Context { return *l.ctx.Load() }

// beginLookups returns the context for the look-ups of a message, which end with endLookups.
func (l *untilFull) beginLookups() context.Context {
	if l.waitingCount.Add(1) == 1 {
		select {
		case l.firstWaits <- struct{}{}:
		default:
		}
	}
	return l.currentContext()
}

func (l *untilFull) endLookups() { l.waitingCount.Add(-1) }

// watchDisk polls the disk at the given interval until stop is closed, while a message waits or the
// disk is full. An idle server does not wake for it.
func (l *untilFull) watchDisk(stop <-chan struct{}, every time.Duration, full func() bool) {
	next := time.NewTimer(every)
	defer next.Stop()
	for {
		select {
		case <-stop:
			return
		case <-l.firstWaits:
		case <-next.C:
		}
		l.followDisk(full())
		if l.waitingCount.Load() > 0 || l.currentContext().Err() != nil {
			next.Reset(every)
		}
	}
}

// followDisk cancels the context when the disk is full, and creates a new one when there is space
// again.
func (l *untilFull) followDisk(full bool) {
	if full {
		l.cancelWait()
	} else if l.currentContext().Err() != nil {
		l.beginWait()
	}
}
