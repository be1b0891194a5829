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

// BounceHandler reads the messages that return to the return paths of sent messages. It is
// immutable; any goroutine may use it.
type BounceHandler struct {
	inboxes          *InboxService
	store            BounceStore
	returnPathSecret []byte // signs return paths
	now              func() time.Time
	log              *slog.Logger
	onBounce         func() // called for each bounce
}

// returnPath is the envelope sender of the copy for the recipient at index.
func (b *BounceHandler) returnPath(address string, id int64, index int) string {
	return delivery.ReturnPath(b.returnPathSecret, address, id, index)
}

// readReturn parses a return path. It returns false for an ordinary recipient.
func (b *BounceHandler) readReturn(rcpt string) (delivery.ReturnTarget, bool) {
	return delivery.ReadReturnPath(b.returnPathSecret, rcpt)
}

// handleReturned processes a bounce report that was sent to a return path; it is then not stored in the
// inbox. It returns false if the message is not a report but a reply by a person or a machine,
// which is an ordinary message. RFC 3834 section 4 sends automatic replies to the return path.
func (b *BounceHandler) handleReturned(ctx context.Context, r delivery.ReturnTarget, raw []byte) (bool, error) {
	report, ok := delivery.ReadReport(raw)
	switch {
	case !ok:
		return false, nil
	case r.RecipientIndex == delivery.OwnersCopy:
		return true, b.takeCopy(ctx, r, report)
	}
	return true, b.takeReport(ctx, r, report)
}

// takeCopy stops the owner's copies of an inbox if one of them bounces because of its address. The
// copy itself is not stored, and the account did not send it, so no address is suppressed.
func (b *BounceHandler) takeCopy(ctx context.Context, r delivery.ReturnTarget, report delivery.StatusReport) error {
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
		b.onBounce()
		b.log.Info("calendar owner copy bounced", "inbox", r.Inbox, "message_id", r.MessageID, "answer", report.Recipients[i].Reason())
	}
	return err
}

// takeReport records the failures of a report.
func (b *BounceHandler) takeReport(ctx context.Context, r delivery.ReturnTarget, report delivery.StatusReport) error {
	view, err := b.inboxes.InboxView(ctx, r.Inbox)
	if fault.Is(err, fault.NoInbox) {
		return nil
	}
	if err != nil {
		return err
	}
	m := view.Message(r.MessageID, b.now())
	if m == nil || m.OutgoingDelivery == nil {
		return nil
	}
	email, about := failedRecipient(m.OutgoingDelivery.Recipients, r, report)
	if email == "" {
		b.log.Info("bounce report names no recipient", "inbox", r.Inbox, "message_id", r.MessageID, "about", report.Recipients[0].Recipient)
		return nil
	}
	return b.recordBounce(ctx, view.Account, r, email, about)
}

// recordBounce writes the suppression first. If the process dies before the inbox records the
// bounce, the repeated bounce completes it.
func (b *BounceHandler) recordBounce(ctx context.Context, id account.ID, r delivery.ReturnTarget, email string, about delivery.RecipientReport) error {
	why := about.Reason()
	if about.IsHard() {
		err := b.store.PutSuppression(id, account.Suppression{Email: strings.ToLower(email), Inbox: r.Inbox, Message: r.MessageID, Reason: why, At: b.now()})
		if err != nil {
			return err
		}
	}
	answer, err := b.inboxes.Do(ctx, r.Inbox, inbox.RecordBounce{ID: r.MessageID, Recipient: email, Error: why})
	if err == nil && answer.Count > 0 {
		b.onBounce()
		b.log.Info("bounced", "inbox", r.Inbox, "message_id", r.MessageID, "to", email, "answer", why)
	}
	return err
}

// failedRecipient returns the recipient that a report is about and what it says of that recipient;
// email is "" if none exists. A report counts only for the recipient whose return path it was sent
// to, because only that recipient and the servers on the way know the path. The report must name
// either that recipient or an address that is not a recipient of the message, because the message
// may have been forwarded.
func failedRecipient(to []inbox.OutgoingRecipient, r delivery.ReturnTarget, report delivery.StatusReport) (email string, about delivery.RecipientReport) {
	if r.RecipientIndex < 0 || r.RecipientIndex >= len(to) || r.IsShared && len(to) > 1 {
		return "", about
	}
	own := to[r.RecipientIndex].Email
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
func namedBy(said delivery.RecipientReport, to []inbox.OutgoingRecipient) (named []string) {
	for _, name := range said.RecipientNames() {
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
