package actors

import (
	"context"

	"inboxd/actors/engine"
	"inboxd/internal/address"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/ingest"
)

// Accepts reports whether mail for rcpt would be taken now: nil, or NoInbox, InboxFull,
// StorageFull, Unavailable. rcpt is canonical and may carry a tag.
func (s *System) Accepts(_ context.Context, rcpt string) error {
	if s.store.Full() {
		return engine.DiskFull()
	}
	if r, ok := s.readReturn(rcpt); ok {
		rcpt = r.inbox
	} else if isForged(rcpt) {
		return inbox.NoInbox(rcpt)
	}
	return s.acceptsMail(rcpt)
}

// acceptsMail is Accepts for what is no return path.
func (s *System) acceptsMail(rcpt string) error {
	address := address.WithoutTag(rcpt)
	if address == noReply+s.Namespaces.Domain {
		return inbox.NoInbox(address)
	}
	if view := s.Resident([]byte(address)); view != nil {
		if err := view.Room(0, s.now()); err != nil {
			return err
		}
		return s.served(address)
	}
	live, err := s.store.Live(address)
	switch {
	case err != nil:
		return engine.Busy(err)
	case !live:
		return inbox.NoInbox(address)
	}
	return s.served(address)
}

// Deliver stores one mail for all its recipients and returns nil only when all of it is on
// disk. When some fail for now, the sender must repeat the whole: those who have the mail
// know it again by its digest. A recipient who vanished since RCPT does not hold up the
// others. ctx does not bound the look-ups about the mail, lookups does. Once it returned nil
// nothing reads raw any more: every owner has answered, and an owner forgets before it answers.
func (s *System) Deliver(ctx context.Context, env ingest.Envelope, raw []byte) error {
	mail := ingest.ReadScanned(s.lookups.current(), s.Spam, env, raw)
	if len(env.RcptTo) == 1 {
		return s.deliverTo(ctx, env.RcptTo[0], mail)
	}
	var worst error
	stored := 0
	for _, rcpt := range env.RcptTo {
		switch err := s.deliverTo(ctx, rcpt, mail); {
		case err == nil:
			stored++
		case worst == nil, fault.Is(worst, fault.NoInbox):
			worst = err
		}
	}
	if worst != nil && (stored == 0 || !fault.Is(worst, fault.NoInbox)) {
		return worst
	}
	for _, rcpt := range env.RcptTo {
		s.inboxes.Notify(address.WithoutTag(rcpt), inbox.Settle{Digest: mail.Digest})
	}
	return nil
}

func (s *System) deliverTo(ctx context.Context, rcpt string, mail ingest.Mail) error {
	if r, ok := s.readReturn(rcpt); ok {
		if taken, err := s.takeBounce(ctx, r, mail.Raw); taken {
			return err
		}
	}
	_, err := s.Do(ctx, address.WithoutTag(rcpt), mail.For(rcpt))
	return err
}
