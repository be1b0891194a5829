package actors

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/address"
	"inboxd/internal/delivery"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

// BounceStore is what bounces need of the disk.
type BounceStore interface {
	PutSuppression(account.ID, account.Suppression) error
}

// Bounces reads mail that comes back to the return paths of sent mail. It never changes; any
// goroutine may use it.
type Bounces struct {
	inboxes *Inboxes
	store   BounceStore
	secret  []byte                     // signs return paths
	route   func(domain string) string // of a recipient's domain: those who share it shared a copy
	now     func() time.Time
	log     *slog.Logger
	noted   func() // is called for each bounce
}

// returned is the mail that a bounce's recipient names: a return path of ours. Its inbox
// must still be there.
type returned struct {
	inbox string
	id    int64
	index int
}

// returnPath is the envelope sender of a copy whose first recipient has this index.
func (b *Bounces) returnPath(address string, id int64, index int) string {
	return delivery.ReturnPath(b.secret, address, id, index)
}

// readReturn tells a return path from an ordinary recipient.
func (b *Bounces) readReturn(rcpt string) (returned, bool) {
	address, id, index, ok := delivery.ReadReturnPath(b.secret, rcpt)
	return returned{address, id, index}, ok
}

// isForged reports a recipient that looks like a return path and was not signed by us: a tag
// of the form "+b<id>-<index>-<mac>". Nobody else is given such an address.
func isForged(rcpt string) bool {
	_, tag, ok := strings.Cut(rcpt[:max(0, strings.LastIndexByte(rcpt, '@'))], "+b")
	if !ok {
		return false
	}
	parts := strings.Split(tag, "-")
	if len(parts) != 3 || len(parts[2]) != 12 {
		return false
	}
	return strings.Trim(parts[0], "0123456789abcdefghijklmnopqrstuvwxyz") == "" &&
		strings.Trim(parts[1], "0123456789abcdefghijklmnopqrstuvwxyz") == "" &&
		strings.Trim(parts[2], "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// take notes what a mail to a return path reports, which is then no mail of the inbox.
// False: it is no report but an answer, of a person or of a machine (RFC 3834 section 4 sends
// those to the return path), and mail like any other.
func (b *Bounces) take(ctx context.Context, r returned, raw []byte) (bool, error) {
	report, ok := delivery.ReadReport(raw)
	switch {
	case !ok:
		return false, nil
	case r.index == delivery.OwnersCopy:
		return true, b.takeCopy(ctx, r, report)
	}
	return true, b.takeReport(ctx, r, report)
}

// takeCopy ends the owner's copies of an inbox when one of them comes back because of the address. Of the copy
// itself nothing is left, and it is no mail that the account sent: nobody's address is suppressed.
func (b *Bounces) takeCopy(ctx context.Context, r returned, report delivery.Report) error {
	i := slices.IndexFunc(report.Recipients, func(about delivery.RecipientReport) bool {
		return about.Action == delivery.ActionFailed && about.IsHard()
	})
	if i < 0 {
		return nil
	}
	answer, err := b.inboxes.Do(ctx, r.inbox, inbox.BlockOwnerCopies{})
	if fault.Is(err, fault.NoInbox) {
		return nil
	}
	if answer.Count > 0 {
		b.noted()
		b.log.Info("an owner's copy bounced", "inbox", r.inbox, "message_id", r.id, "answer", report.Recipients[i].Reason())
	}
	return err
}

// takeReport notes the failures of a report.
func (b *Bounces) takeReport(ctx context.Context, r returned, report delivery.Report) error {
	view, err := b.inboxes.View(ctx, r.inbox)
	if fault.Is(err, fault.NoInbox) {
		return nil
	}
	if err != nil {
		return err
	}
	m := view.Message(r.id, b.now())
	if m == nil || m.Sending == nil {
		return nil
	}
	for _, about := range report.Recipients {
		if about.Action != delivery.ActionFailed {
			continue
		}
		if err := b.bounce(ctx, view.Account, r, m, about); err != nil {
			return err
		}
	}
	return nil
}

// bounce suppresses the address first: a crash between leaves a suppression that the repeat
// of the bounce completes.
func (b *Bounces) bounce(ctx context.Context, id account.ID, r returned, m *inbox.Message, about delivery.RecipientReport) error {
	email := b.meant(m.Sending, r.index, about.Names()...)
	if email == "" {
		b.log.Info("bounce of nobody", "inbox", r.inbox, "message_id", r.id, "about", about.Recipient)
		return nil
	}
	why := about.Reason()
	if about.IsHard() {
		err := b.store.PutSuppression(id, account.Suppression{Email: strings.ToLower(email), Inbox: r.inbox, Message: r.id, Reason: why, At: b.now()})
		if err != nil {
			return err
		}
	}
	answer, err := b.inboxes.Do(ctx, r.inbox, inbox.Bounce{ID: r.id, Recipient: email, Error: why})
	if err == nil && answer.Count > 0 {
		b.noted()
		b.log.Info("bounced", "inbox", r.inbox, "message_id", r.id, "to", email, "answer", why)
	}
	return err
}

// meant is the recipient that a report is about, empty when that can't be told. Only those
// count who shared the copy whose return path it came to: whoever got a copy could make a
// report about the others too. A copy of one recipient is about that one whatever it names,
// for the mail may have been forwarded.
func (b *Bounces) meant(sending *inbox.Sending, index int, names ...string) string {
	if index < 0 || index >= len(sending.Recipients) {
		return ""
	}
	copyOf := func(i int) string { return b.route(address.DomainOf(sending.Recipients[i].Email)) }
	var shared []string
	for i, r := range sending.Recipients {
		if copyOf(i) == copyOf(index) {
			shared = append(shared, r.Email)
		}
	}
	for _, name := range names {
		if canonical, err := inbox.CheckRecipient("", name); err == nil {
			name = canonical
		}
		if i := slices.IndexFunc(shared, func(email string) bool { return strings.EqualFold(email, name) }); i >= 0 {
			return shared[i]
		}
	}
	if len(shared) == 1 {
		return shared[0]
	}
	return ""
}
