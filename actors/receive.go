package actors

import (
	"context"
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

// Receiving receives messages for the inboxes of this node. It is immutable except for untilFull
// and the counters, which are safe for concurrent use; any goroutine may use it.
type Receiving struct {
	inboxes    *Inboxes
	domains    *OwnDomains
	bounces    *Bounces
	full       func() bool
	domain     string // the service's domain
	postmaster string // inbox of the operator's contact; empty if not configured
	spam       ingest.Scanner
	untilFull  *untilFull
	sealer     *sealing.Sealer
	now        func() time.Time

	merged, refused tally        // effects of messages on meetings, and the reasons of those without effect
	codes           atomic.Int64 // found in messages, counted for each inbox that received one
}

// tally counts by keyword; any goroutine may use it.
type tally struct{ by sync.Map }

func (t *tally) add(word string) {
	n, known := t.by.Load(word)
	if !known {
		n, _ = t.by.LoadOrStore(word, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

func (t *tally) counts() map[string]int64 {
	out := map[string]int64{}
	t.by.Range(func(word, n any) bool {
		out[word.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return out
}

// home returns the address of the inbox that receives messages to rcpt. Messages to postmaster and
// abuse go to the inbox that the operator configured (RFC 5321 section 4.5.1, RFC 2142 section 4).
func (r *Receiving) home(rcpt string) string {
	to := address.WithoutTag(rcpt)
	if local, host := address.Split(to); r.postmaster != "" && host == r.domain && (local == "postmaster" || local == "abuse") {
		return r.postmaster
	}
	return to
}

// Accepts reports whether a message to rcpt would be accepted now: nil, or NoInbox, InboxFull,
// StorageFull, Unavailable. rcpt is canonical and may carry a tag.
func (r *Receiving) Accepts(_ context.Context, rcpt string) error {
	if r.full() {
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
func (r *Receiving) acceptsMail(rcpt string) error {
	address := r.home(rcpt)
	if address == noReply+r.domain {
		return inbox.NoInbox(address)
	}
	if e, resident := r.inboxes.owners.Resident([]byte(address)).(*inboxEntity); resident {
		if view := e.view.Load(); view != nil {
			if err := e.hasRoom(view, r.now()); err != nil {
				return err
			}
			return r.domains.served(address)
		}
	}
	live, err := r.inboxes.store.Live(address)
	switch {
	case err != nil:
		return engine.Busy(err)
	case !live:
		return inbox.NoInbox(address)
	}
	return r.domains.served(address)
}

// Receive stores one message for all its recipients. It returns nil only when all of it is on disk.
// If some recipients fail temporarily, the sender must retry the whole message. Inboxes that
// already have the message deduplicate it by its digest. So does the inbox of a single recipient
// that stored it after the sender was asked to retry (ADR 0044). A recipient who was deleted since
// RCPT does not delay the others.
//
// The look-ups about the message are bounded by untilFull, not by ctx. After Receive returned nil,
// nothing reads raw any more: every owner has replied, and an owner drops its reference before it
// replies.
//
// For an encrypted inbox the message is encrypted here, in memory, so everything after this sees
// only the envelope.
func (r *Receiving) Receive(ctx context.Context, env ingest.Envelope, raw []byte) error {
	keys, err := r.keysOf(&env)
	if err != nil {
		return err
	}
	mail := ingest.ReadScanned(r.untilFull.current(), r.spam, env, raw)
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
	var homes []home
	for i, rcpt := range env.RcptTo {
		if taken, err := r.takeReport(ctx, rcpt, raw); taken {
			note(err)
		} else {
			homes = r.group(homes, rcpt, keys.of(i))
		}
	}
	digests := make([]inbox.Digest, len(homes))
	for i, h := range homes {
		digests[i], err = r.receiveFor(ctx, h.rcpts, mail, h.key)
		note(err)
	}
	if worst != nil && (done == 0 || !fault.Is(worst, fault.NoInbox)) {
		return worst
	}
	for i, h := range homes {
		r.inboxes.owners.Notify(h.address, inbox.Settle{Digest: digests[i]})
	}
	return nil
}

// home is an inbox that gets a message, once, even if the envelope names several of its addresses.
type home struct {
	address string
	rcpts   []string // of the envelope, in its order
	key     *sealed.Recipient
}

// group adds a recipient to the entry of its inbox.
func (r *Receiving) group(homes []home, rcpt string, key *sealed.Recipient) []home {
	address := r.home(rcpt)
	for i := range homes {
		if homes[i].address == address {
			homes[i].rcpts = append(homes[i].rcpts, rcpt)
			return homes
		}
	}
	return append(homes, home{address, []string{rcpt}, key})
}

// takeReport processes a report that was sent to one of our return paths; false for any other
// message.
func (r *Receiving) takeReport(ctx context.Context, rcpt string, raw []byte) (taken bool, err error) {
	if back, ok := r.bounces.readReturn(rcpt); ok {
		return r.bounces.take(ctx, back, raw)
	}
	return false, nil
}

// keys are the public keys that a message is encrypted for, by recipient; nil for a recipient who
// gets it unencrypted. For most messages the whole slice is nil.
type keys []*sealed.Recipient

func (k keys) of(i int) *sealed.Recipient {
	if k == nil {
		return nil
	}
	return k[i]
}

// keysOf finds the public keys for the message of env, and sets env.Sealed if no recipient gets it
// unencrypted.
func (r *Receiving) keysOf(env *ingest.Envelope) (found keys, err error) {
	env.Sealed = true
	for i, rcpt := range env.RcptTo {
		key, err := r.sealer.For(r.home(rcpt))
		if err != nil {
			return nil, err
		}
		if key == nil {
			env.Sealed = false
			continue
		}
		if found == nil {
			found = make(keys, len(env.RcptTo))
		}
		found[i] = key
	}
	return found, nil
}

// receiveFor stores the message for one inbox; all rcpts are addresses of that inbox. It returns
// the digest by which the inbox may recognize the message.
func (r *Receiving) receiveFor(ctx context.Context, rcpts []string, mail ingest.Mail, key *sealed.Recipient) (inbox.Digest, error) {
	to, cmd := r.home(rcpts[0]), inbox.Receive{}
	if key == nil {
		cmd = mail.For(rcpts...)
	} else {
		var err error
		if cmd, err = mail.SealedFor(rcpts, *key, r.sealer.Keyed); err != nil {
			return inbox.Digest{}, err
		}
	}
	got, err := r.inboxes.Do(ctx, to, cmd)
	if err == nil {
		r.count(got, cmd)
		if mail.Stored != nil {
			mail.Stored(to, got.ID)
		}
	}
	if got.Duplicate && cmd.Digest == (inbox.Digest{}) { // with more than one recipient, Receive settles it for all
		r.inboxes.owners.Notify(to, inbox.Settle{Digest: cmd.Repeat()})
	}
	return cmd.Digest, err
}

// count counts the effects of a stored message.
func (r *Receiving) count(got inbox.Outcome, cmd inbox.Receive) {
	if cmd.Content.OTP.Code != "" && !got.Duplicate {
		r.codes.Add(1)
	}
	for _, said := range got.Said {
		r.merged.add(string(said.Action))
		if said.Reason != "" {
			r.refused.add(said.Reason)
		}
	}
}

// untilFull bounds how long a message waits for look-ups about it. On a full disk the message is
// not stored, whatever they return, and the sender must get the reply within a second. So all
// look-ups end when the disk fills, and when the system stops. All messages share one context,
// because a context of its own with two ends would cost each message.
type untilFull struct {
	parent context.Context
	ctx    atomic.Pointer[context.Context] // from one full disk to the next
	end    context.CancelFunc              // of ctx; only run's goroutine uses it
}

func newUntilFull(parent context.Context) *untilFull {
	l := &untilFull{parent: parent}
	l.begin()
	return l
}

func (l *untilFull) begin() {
	ctx, end := context.WithCancel(l.parent)
	l.ctx.Store(&ctx)
	l.end = end
}

// current returns the context for look-ups that start now.
func (l *untilFull) current() context.Context { return *l.ctx.Load() }

// run polls the disk at the given interval until stop is closed.
func (l *untilFull) run(stop <-chan struct{}, every time.Duration, full func() bool) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			l.follow(full())
		}
	}
}

// follow cancels the context when the disk is full, and creates a new one when there is space
// again.
func (l *untilFull) follow(full bool) {
	if full {
		l.end()
	} else if l.current().Err() != nil {
		l.begin()
	}
}
