package actors

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/sealing"
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/message/compose"
)

// SendingStore is the storage that sending needs, in addition to the inbox's.
type SendingStore interface {
	// WritePosition returns the position after everything that was written to the partition before.
	WritePosition(partition.ID) partition.Position
	DropSuppression(id account.ID, email string) (found bool, err error)
	FindSuppression(id account.ID, email string) (account.Suppression, bool, error)
	// Suppressions pages in the order of the addresses that follow after.
	Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error)
}

// SendingService accepts outgoing messages for the mail queue. It is immutable except for the repeats,
// which are safe for concurrent use; any goroutine may use it.
type SendingService struct {
	inboxes         *InboxService
	owners          accountOwners
	store           SendingStore
	serviceDomain   string // the service's domain
	now             func() time.Time
	fillRandom      func([]byte)
	log             *slog.Logger
	noteCallerWaits func() (done func()) // counts a send that waits for its result
	runningRequests runningRequests
	sealer          *sealing.MessageSealer
	mustVerifyEmail bool // as Options.VerifyAddresses
}

// SendMessage composes a message, takes its place in the day's quota, and queues it. It returns
// when the queue entry is on disk: the message was accepted, not delivered. The quota count is
// written before the message. The message waits for the count's position, but the count needs no
// fsync of its own (ADR 0015, 0061).
func (s *SendingService) SendMessage(ctx context.Context, address string, letter inbox.SendRequest) (int64, error) {
	return s.submitMessage(ctx, address, letter, func(submit inbox.Submit) (int64, error) {
		answer, err := s.inboxes.Do(ctx, address, submit)
		return answer.ID, err
	})
}

// SendOnce is SendMessage for an idempotent request: the record of its result is in one batch with the
// message. A repeat waits for the first request, which may have taken the last place in the quota.
// encode is as in DoOnce.
func (s *SendingService) SendOnce(ctx context.Context, address string, letter inbox.SendRequest, req idempotency.Request, encode func(inbox.CommandOutcome) []byte) (given idempotency.FirstResult, err error) {
	if req, err = s.sealer.KeyedRequest(address, req); err != nil {
		return idempotency.FirstResult{}, err
	}
	return s.unlessDone(ctx, address, req, func() (given idempotency.FirstResult, err error) {
		_, err = s.submitMessage(ctx, address, letter, func(submit inbox.Submit) (id int64, err error) {
			given, err = s.inboxes.DoOnce(ctx, address, submit, req, func(a inbox.CommandOutcome) []byte {
				id = a.ID
				return encode(a)
			})
			return id, err
		})
		return given, err
	})
}

// unlessDone executes an idempotent request once no other request of its name is in progress,
// unless its result is already recorded.
func (s *SendingService) unlessDone(ctx context.Context, address string, req idempotency.Request, do func() (idempotency.FirstResult, error)) (idempotency.FirstResult, error) {
	done, err := s.runningRequests.awaitTurn(ctx, requestName{address, req.Key})
	if err != nil {
		return idempotency.FirstResult{}, err
	}
	defer done()
	if given, known, err := s.inboxes.RecallResult(ctx, address, req); known || err != nil {
		return given, err
	}
	return do()
}

// submitMessage prepares a message and passes it to submit. submit returns the message's id, or 0 if a
// repeat found that the message was queued before.
func (s *SendingService) submitMessage(ctx context.Context, address string, letter inbox.SendRequest, submit func(inbox.Submit) (id int64, err error)) (int64, error) {
	defer s.noteCallerWaits()()
	view, err := s.inboxes.InboxView(ctx, address)
	if err != nil {
		return 0, err
	}
	command, err := s.prepareMessage(ctx, view, letter)
	if err != nil {
		return 0, err
	}
	if err := s.checkVerified(ctx, view.Account, command.Recipients); err != nil {
		return 0, err
	}
	at := s.now()
	if _, err := s.owners.sendCommand(ctx, view.Account, letter.QuotaCount()); err != nil {
		return 0, err
	}
	command.AfterPosition = s.store.WritePosition(view.Account.HomePartition())
	id, err := submit(command)
	switch {
	case err == nil && id != 0:
		s.log.Info("queued", "inbox", address, "message_id", id, "recipients", len(command.Recipients), "octets", len(command.Raw))
	case err == nil, inbox.NotQueued(err):
		s.owners.notifyOwner(view.Account, account.ReturnSend{At: at})
	}
	return id, err
}

// prepareMessage composes a message of an inbox.
func (s *SendingService) prepareMessage(ctx context.Context, view *inbox.View, letter inbox.SendRequest) (inbox.Submit, error) {
	recipients := letter.Recipients()
	if err := s.checkSuppressed(view.Account, recipients); err != nil {
		return inbox.Submit{}, err
	}
	references, err := s.findReferences(ctx, view, letter.InReplyTo)
	if err != nil {
		return inbox.Submit{}, err
	}
	mail, err := s.composeSubmit(compose.Draft{
		From: message.Mailbox{Email: view.Address, Name: displayName(view.Label)}, To: parseMailboxes([]string{letter.To}), Cc: parseMailboxes(letter.Cc),
		Subject: letter.Subject, Text: letter.Text, HTML: letter.HTML, Attachments: letter.AttachedFiles,
		InReplyTo: letter.InReplyTo, References: references,
	}, recipients)
	if err != nil {
		return inbox.Submit{}, err
	}
	return s.sealer.SealSubmit(view, mail)
}

// composeSubmit composes a draft into the command that queues it.
func (s *SendingService) composeSubmit(d compose.Draft, recipients []inbox.OutgoingRecipient) (inbox.Submit, error) {
	var id [16]byte
	s.fillRandom(id[:])
	s.fillRandom(d.BoundarySeed[:])
	d.MessageID = hex.EncodeToString(id[:]) + d.From.Email[strings.LastIndexByte(d.From.Email, '@'):]
	d.Date = s.now()
	raw, err := compose.WriteMessage(d)
	if err != nil {
		return inbox.Submit{}, err
	}
	content := &inbox.Content{Doc: message.ParsedMessage{MessageID: d.MessageID}}
	if !inbox.ReadAgain(len(raw)) {
		content = ingest.RereadContent(content, raw)
	}
	return inbox.Submit{From: d.From, Subject: d.Subject, Raw: raw, Recipients: recipients, ServiceWritten: d.AutoGenerated, Content: content}, nil
}

// displayName is the label as the sender's name, if a person chose it.
func displayName(label string) string {
	if inbox.IsGeneratedLabel(label) {
		return ""
	}
	return label
}

func parseMailboxes(addresses []string) []message.Mailbox {
	out := make([]message.Mailbox, len(addresses))
	for i, a := range addresses {
		out[i].Email = a
	}
	return out
}

// findReferences returns the references of the message with this Message-ID, if it is in the inbox.
func (s *SendingService) findReferences(ctx context.Context, view *inbox.View, messageID string) ([]string, error) {
	if messageID == "" {
		return nil, nil
	}
	key := inbox.ThreadKey(messageID)
	for _, m := range slices.Backward(view.Messages) {
		if m.ThreadKey != key || m.IsExpired(s.now()) {
			continue
		}
		c, err := s.inboxes.MessageContent(ctx, view.Address, m.ID)
		if err != nil {
			return nil, err
		}
		if c == nil || c.Doc.MessageID != messageID {
			continue
		}
		return compose.ReplyReferences(c.Doc.References, c.Doc.InReplyTo), nil
	}
	return nil, nil
}

// checkSuppressed refuses a message to suppressed addresses.
func (s *SendingService) checkSuppressed(id account.ID, recipients []inbox.OutgoingRecipient) error {
	var barred []string
	for _, r := range recipients {
		found, err := s.isSuppressed(id, r.Email)
		if err != nil {
			return err
		}
		if found {
			barred = append(barred, r.Email)
		}
	}
	if len(barred) == 0 {
		return nil
	}
	return fault.Refuse(fault.CodeRecipientSuppressed, "Mail to %s bounced before, so it is not sent there. To allow it again, call DELETE /api/v1/suppressions/{email} (email:send)", strings.Join(barred, ", "))
}

// checkVerified restricts an account with an unverified e-mail address: it may send only to its own
// inboxes.
func (s *SendingService) checkVerified(ctx context.Context, id account.ID, recipients []inbox.OutgoingRecipient) error {
	if !s.mustVerifyEmail || len(recipients) == 0 {
		return nil
	}
	picture, err := s.owners.readSnapshot(ctx, id)
	if err != nil || !picture.profile.EmailUnverified {
		return err
	}
	for _, r := range recipients {
		home, ok := address.CanonicalInbox(r.Email)
		if ok {
			var owner account.ID
			owner, err = s.inboxes.AccountOf(address.WithoutTag(home))
			ok = owner == id
		}
		if err != nil {
			return engine.BusyError(err)
		}
		if !ok {
			return fault.Refuse(fault.CodeAccountNotVerified, "The sign-in address %s is not verified yet, so this account can send only to its own inboxes. Open the link in the message that was sent to it, or request a new one with POST /api/auth/verify-email", picture.profile.Email)
		}
	}
	return nil
}

// isSuppressed reports whether an address is suppressed.
func (s *SendingService) isSuppressed(id account.ID, email string) (bool, error) {
	_, found, err := s.store.FindSuppression(id, strings.ToLower(email))
	if err != nil {
		err = engine.BusyError(err)
	}
	return found, err
}

// Suppressions pages through the addresses that an account sends no messages to. With the name of
// an inbox, it returns only those that bounced for that inbox. It filters before it pages, so that
// no cursor is an address of another inbox.
func (s *SendingService) Suppressions(ctx context.Context, id account.ID, inboxOnly, after string, limit int) (page []account.Suppression, err error) {
	if inboxOnly == "" {
		return s.store.Suppressions(id, after, limit)
	}
	for {
		some, err := s.store.Suppressions(id, after, suppressionsRead)
		if err != nil {
			return nil, err
		}
		for _, one := range some {
			if one.Inbox == inboxOnly {
				page = append(page, one)
			}
			if len(page) == limit {
				return page, nil
			}
		}
		if len(some) < suppressionsRead || ctx.Err() != nil {
			return page, ctx.Err()
		}
		after = some[len(some)-1].Email
	}
}

// suppressionsRead is how many suppressions are read at once to find those of one inbox.
const suppressionsRead = 1000

// DropSuppression allows messages to an address again. It returns NotFound if the address is not
// suppressed, or if inboxOnly is set and the address bounced for another inbox.
func (s *SendingService) DropSuppression(_ context.Context, id account.ID, inboxOnly, email string) error {
	if canonical, err := inbox.CheckRecipient("email", email); err == nil {
		email = canonical
	}
	kept, found, err := s.store.FindSuppression(id, strings.ToLower(email))
	switch {
	case err != nil:
		return engine.BusyError(err)
	case !found, inboxOnly != "" && kept.Inbox != inboxOnly:
		return fault.New(fault.NotFound, fmt.Sprintf("The address %s is not suppressed. GET /api/v1/suppressions lists the suppressed addresses", email))
	}
	_, err = s.store.DropSuppression(id, strings.ToLower(email))
	return err
}

// systemAccount owns the inboxes that the service itself sends from. Its id contains no valid time,
// so no account ever gets it.
var systemAccount = account.ID{15: 1}

// noReply is the local part of the sender of the service's own messages. It is reserved, so no
// client can create it, and messages to it are refused.
const noReply = "noreply@"

// ServiceNotice is a message that the service itself sends.
type ServiceNotice struct {
	To      string
	Subject string
	Text    string
}

// SendNotice queues a message of the service itself: from noreply at the service domain, with the
// null sender and Auto-Submitted, through the same queue as every other message. It returns when
// the queue entry is on disk.
func (s *SendingService) SendNotice(ctx context.Context, n ServiceNotice) error {
	address := noReply + s.serviceDomain
	to, err := inbox.CheckRecipient("to", n.To)
	if err != nil {
		return err
	}
	submit, err := s.composeSubmit(compose.Draft{
		From: message.Mailbox{Email: address}, To: parseMailboxes([]string{to}), Subject: n.Subject, Text: n.Text, AutoGenerated: true,
	}, []inbox.OutgoingRecipient{inbox.To(to)})
	if err != nil {
		return err
	}
	_, err = s.inboxes.Do(ctx, address, submit)
	if fault.Is(err, fault.NoInbox) { // the first notice ever
		_, err = s.inboxes.Do(ctx, address, inbox.Create{Address: address, Account: systemAccount, RetentionHours: 24, At: s.now()})
		if err == nil || fault.Is(err, fault.Refused) {
			_, err = s.inboxes.Do(ctx, address, submit)
		}
	}
	return err
}
