package actors

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
)

// BounceStore is the storage that bounces need.
type BounceStore interface {
	PutSuppression(account.ID, account.Suppression) error
}

// Bounces reads the messages that return to the return paths of sent messages. It is immutable; any
// goroutine may use it.
type Bounces struct {
	inboxes *Inboxes
	store   BounceStore
	secret  []byte // signs return paths
	now     func() time.Time
	log     *slog.Logger
	noted   func() // called for each bounce
}

// returnPath is the envelope sender of the copy for the recipient at index.
func (b *Bounces) returnPath(address string, id int64, index int) string {
	return delivery.ReturnPath(b.secret, address, id, index)
}

// readReturn parses a return path. It returns false for an ordinary recipient.
func (b *Bounces) readReturn(rcpt string) (delivery.Returned, bool) {
	return delivery.ReadReturnPath(b.secret, rcpt)
}

// take processes a bounce report that was sent to a return path; it is then not stored in the
// inbox. It returns false if the message is not a report but a reply by a person or a machine,
// which is an ordinary message. RFC 3834 section 4 sends automatic replies to the return path.
func (b *Bounces) take(ctx context.Context, r delivery.Returned, raw []byte) (bool, error) {
	report, ok := delivery.ReadReport(raw)
	switch {
	case !ok:
		return false, nil
	case r.Recipient == delivery.OwnersCopy:
		return true, b.takeCopy(ctx, r, report)
	}
	return true, b.takeReport(ctx, r, report)
}

// takeCopy stops the owner's copies of an inbox if one of them bounces because of its address. The
// copy itself is not stored, and the account did not send it, so no address is suppressed.
func (b *Bounces) takeCopy(ctx context.Context, r delivery.Returned, report delivery.Report) error {
	i := slices.IndexFunc(report.Recipients, func(about delivery.RecipientReport) bool {
		return about.Action == delivery.ActionFailed && about.IsHard()
	})
	if i < 0 {
		return nil
	}
	answer, err := b.inboxes.Do(ctx, r.Inbox, inbox.BlockOwnerCopies{})
	if fault.Is(err, fault.NoInbox) {
		return nil
	}
	if answer.Count > 0 {
		b.noted()
		b.log.Info("calendar owner copy bounced", "inbox", r.Inbox, "message_id", r.Message, "answer", report.Recipients[i].Reason())
	}
	return err
}

// takeReport records the failures of a report.
func (b *Bounces) takeReport(ctx context.Context, r delivery.Returned, report delivery.Report) error {
	view, err := b.inboxes.View(ctx, r.Inbox)
	if fault.Is(err, fault.NoInbox) {
		return nil
	}
	if err != nil {
		return err
	}
	m := view.Message(r.Message, b.now())
	if m == nil || m.Sending == nil {
		return nil
	}
	email, about := failure(m.Sending.Recipients, r, report)
	if email == "" {
		b.log.Info("bounce report names no recipient", "inbox", r.Inbox, "message_id", r.Message, "about", report.Recipients[0].Recipient)
		return nil
	}
	return b.bounce(ctx, view.Account, r, email, about)
}

// bounce writes the suppression first. If the process dies before the inbox records the bounce, the
// repeated bounce completes it.
func (b *Bounces) bounce(ctx context.Context, id account.ID, r delivery.Returned, email string, about delivery.RecipientReport) error {
	why := about.Reason()
	if about.IsHard() {
		err := b.store.PutSuppression(id, account.Suppression{Email: strings.ToLower(email), Inbox: r.Inbox, Message: r.Message, Reason: why, At: b.now()})
		if err != nil {
			return err
		}
	}
	answer, err := b.inboxes.Do(ctx, r.Inbox, inbox.Bounce{ID: r.Message, Recipient: email, Error: why})
	if err == nil && answer.Count > 0 {
		b.noted()
		b.log.Info("bounced", "inbox", r.Inbox, "message_id", r.Message, "to", email, "answer", why)
	}
	return err
}

// failure returns the recipient that a report is about and what it says of that recipient; email is
// "" if none exists. A report counts only for the recipient whose return path it was sent to,
// because only that recipient and the servers on the way know the path. The report must name either
// that recipient or an address that is not a recipient of the message, because the message may have
// been forwarded.
func failure(to []inbox.Recipient, r delivery.Returned, report delivery.Report) (email string, about delivery.RecipientReport) {
	if r.Recipient < 0 || r.Recipient >= len(to) || r.Shared && len(to) > 1 {
		return "", about
	}
	own := to[r.Recipient].Email
	for _, said := range report.Recipients {
		if said.Action != delivery.ActionFailed {
			continue
		}
		switch named := namedBy(said, to); {
		case slices.Contains(named, own):
			return own, said
		case len(named) == 0 && (email == "" || said.IsHard() && !about.IsHard()):
			email, about = own, said
		}
	}
	return email, about
}

// namedBy returns the recipients of a message that one entry of a report names.
func namedBy(said delivery.RecipientReport, to []inbox.Recipient) (named []string) {
	for _, name := range said.Names() {
		if canonical, err := inbox.CheckRecipient("", name); err == nil {
			name = canonical
		}
		for _, r := range to {
			if strings.EqualFold(r.Email, name) {
				named = append(named, r.Email)
			}
		}
	}
	return named
}
