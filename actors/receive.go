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

// Receiving takes mail in for the inboxes of this node. It never changes but for untilFull
// and what is counted, which guard themselves; any goroutine may use it.
type Receiving struct {
	inboxes    *Inboxes
	domains    *OwnDomains
	bounces    *Bounces
	full       func() bool
	domain     string // the service's
	postmaster string // inbox of who answers for that; empty: none
	spam       ingest.Scanner
	untilFull  *untilFull
	sealer     *sealing.Sealer
	now        func() time.Time

	merged, refused tally        // what mails did to meetings, and why those did not count that did nothing
	codes           atomic.Int64 // found in mails, counted for each inbox that has one
}

// tally counts by a word of ours; any goroutine may use it.
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

// home is the address of the inbox that mail for rcpt goes to. Mail for those who answer for the
// service goes to the inbox that the operator named (RFC 5321 section 4.5.1, RFC 2142 section 4).
func (r *Receiving) home(rcpt string) string {
	to := address.WithoutTag(rcpt)
	if local, host := address.Split(to); r.postmaster != "" && host == r.domain && (local == "postmaster" || local == "abuse") {
		return r.postmaster
	}
	return to
}

// Accepts reports whether mail for rcpt would be taken now: nil, or NoInbox, InboxFull,
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

// acceptsMail is Accepts for what is no return path.
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

// Receive stores one mail for all its recipients and returns nil only when all of it is on
// disk. When some fail for now, the sender must repeat the whole: those who have the mail
// know it again by its digest, as does the only recipient who got it after the sender was
// told to try again (ADR 0044). A recipient who vanished since RCPT does not hold up the
// others. ctx does not bound the look-ups about the mail, untilFull does. Once it returned nil
// nothing reads raw any more: every owner has answered, and an owner forgets before it answers.
//
// For an encrypted inbox the mail is sealed here, in memory: what goes on from here is an envelope.
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

// home is an inbox that gets a message, once, whatever number of its addresses the envelope names.
type home struct {
	address string
	rcpts   []string // of the envelope, in its order
	key     *sealed.Recipient
}

// group adds a recipient to the inbox that it is an address of.
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

// takeReport takes a report that came to a return path of ours; false: it is something else.
func (r *Receiving) takeReport(ctx context.Context, rcpt string, raw []byte) (taken bool, err error) {
	if back, ok := r.bounces.readReturn(rcpt); ok {
		return r.bounces.take(ctx, back, raw)
	}
	return false, nil
}

// keys are who a mail is sealed for, by recipient; nil of one who gets it in the clear. Most mails
// have none at all.
type keys []*sealed.Recipient

func (k keys) of(i int) *sealed.Recipient {
	if k == nil {
		return nil
	}
	return k[i]
}

// keysOf finds who the mail of env is sealed for, and notes there when nobody gets it in the clear.
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

// receiveFor stores the mail for one inbox, which all rcpts are addresses of. It returns the digest by
// which that inbox may know it.
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
	if got.Duplicate && cmd.Digest == (inbox.Digest{}) { // with more, Receive settles it for all
		r.inboxes.owners.Notify(to, inbox.Settle{Digest: cmd.Repeat()})
	}
	return cmd.Digest, err
}

// count counts what a stored mail brought.
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

// untilFull bounds how long mail waits for what others say of it. On a full disk it is not
// kept, whatever they say, and its sender must hear so within a second: so all look-ups end
// when the disk fills, and when the system stops. One context for all mails, because one of
// their own with two ends would cost each of them.
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

// current is what look-ups wait under now.
func (l *untilFull) current() context.Context { return *l.ctx.Load() }

// run follows the disk, looking at it every so often, until stop.
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

// follow ends the wait when the disk is full, and begins anew when there is space again.
func (l *untilFull) follow(full bool) {
	if full {
		l.end()
	} else if l.current().Err() != nil {
		l.begin()
	}
}
