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
	// Position returns the position after everything that was written to the partition before.
	Position(partition.ID) partition.Position
	DropSuppression(id account.ID, email string) (found bool, err error)
	Suppression(id account.ID, email string) (account.Suppression, bool, error)
	// Suppressions pages in the order of the addresses that follow after.
	Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error)
}

// Sending accepts outgoing messages for the mail queue. It is immutable except for the repeats,
// which are safe for concurrent use; any goroutine may use it.
type Sending struct {
	inboxes *Inboxes
	owners  accountOwners
	store   SendingStore
	domain  string // the service's domain
	now     func() time.Time
	random  func([]byte)
	log     *slog.Logger
	waits   func() (done func()) // counts a send that waits for its result
	repeats repeats
	sealer  *sealing.Sealer
	verify  bool // as Options.VerifyAddresses
}

// Send composes a message, takes its place in the day's quota, and queues it. It returns when the
// queue entry is on disk: the message was accepted, not delivered. The quota count is written
// before the message. The message waits for the count's position, but the count needs no fsync of
// its own (ADR 0015, 0061).
func (s *Sending) Send(ctx context.Context, address string, letter inbox.Letter) (int64, error) {
	return s.send(ctx, address, letter, func(submit inbox.Submit) (int64, error) {
		answer, err := s.inboxes.Do(ctx, address, submit)
		return answer.ID, err
	})
}

// SendOnce is Send for an idempotent request: the record of its result is in one batch with the
// message. A repeat waits for the first request, which may have taken the last place in the quota.
// tell is as in DoOnce.
func (s *Sending) SendOnce(ctx context.Context, address string, letter inbox.Letter, req idempotency.Request, tell func(inbox.Outcome) []byte) (given idempotency.Result, err error) {
	if req, err = s.sealer.Request(address, req); err != nil {
		return idempotency.Result{}, err
	}
	return s.unlessDone(ctx, address, req, func() (given idempotency.Result, err error) {
		_, err = s.send(ctx, address, letter, func(submit inbox.Submit) (id int64, err error) {
			given, err = s.inboxes.DoOnce(ctx, address, submit, req, func(a inbox.Outcome) []byte {
				id = a.ID
				return tell(a)
			})
			return id, err
		})
		return given, err
	})
}

// unlessDone executes an idempotent request once no other request of its name is in progress,
// unless its result is already recorded.
func (s *Sending) unlessDone(ctx context.Context, address string, req idempotency.Request, do func() (idempotency.Result, error)) (idempotency.Result, error) {
	done, err := s.repeats.turn(ctx, repeated{address, req.Key})
	if err != nil {
		return idempotency.Result{}, err
	}
	defer done()
	if given, known, err := s.inboxes.Recall(ctx, address, req); known || err != nil {
		return given, err
	}
	return do()
}

// send prepares a message and passes it to submit. submit returns the message's id, or 0 if a
// repeat found that the message was queued before.
func (s *Sending) send(ctx context.Context, address string, letter inbox.Letter, submit func(inbox.Submit) (id int64, err error)) (int64, error) {
	defer s.waits()()
	view, err := s.inboxes.View(ctx, address)
	if err != nil {
		return 0, err
	}
	command, err := s.prepare(ctx, view, letter)
	if err != nil {
		return 0, err
	}
	if err := s.checkVerified(ctx, view.Account, command.Recipients); err != nil {
		return 0, err
	}
	at := s.now()
	if _, err := s.owners.order(ctx, view.Account, letter.Count()); err != nil {
		return 0, err
	}
	command.After = s.store.Position(view.Account.Partition())
	id, err := submit(command)
	switch {
	case err == nil && id != 0:
		s.log.Info("queued", "inbox", address, "message_id", id, "recipients", len(command.Recipients), "octets", len(command.Raw))
	case err == nil, inbox.NotQueued(err):
		s.owners.notify(view.Account, account.ReturnSend{At: at})
	}
	return id, err
}

// prepare composes a message of an inbox.
func (s *Sending) prepare(ctx context.Context, view *inbox.View, letter inbox.Letter) (inbox.Submit, error) {
	recipients := letter.Recipients()
	if err := s.checkSuppressed(view.Account, recipients); err != nil {
		return inbox.Submit{}, err
	}
	references, err := s.thread(ctx, view, letter.InReplyTo)
	if err != nil {
		return inbox.Submit{}, err
	}
	mail, err := s.write(compose.Draft{
		From: message.Mailbox{Email: view.Address, Name: displayName(view.Label)}, To: mailboxes([]string{letter.To}), Cc: mailboxes(letter.Cc),
		Subject: letter.Subject, Text: letter.Text, HTML: letter.HTML, Attachments: letter.Files,
		InReplyTo: letter.InReplyTo, References: references,
	}, recipients)
	if err != nil {
		return inbox.Submit{}, err
	}
	return s.sealer.Submit(view, mail)
}

// write composes a draft into the command that queues it.
func (s *Sending) write(d compose.Draft, recipients []inbox.Recipient) (inbox.Submit, error) {
	var id [16]byte
	s.random(id[:])
	s.random(d.Seed[:])
	d.MessageID = hex.EncodeToString(id[:]) + d.From.Email[strings.LastIndexByte(d.From.Email, '@'):]
	d.Date = s.now()
	raw, err := compose.Write(d)
	if err != nil {
		return inbox.Submit{}, err
	}
	content := &inbox.Content{Doc: message.Document{MessageID: d.MessageID}}
	if !inbox.ReadAgain(len(raw)) {
		content = ingest.Reread(content, raw)
	}
	return inbox.Submit{From: d.From, Subject: d.Subject, Raw: raw, Recipients: recipients, Auto: d.Auto, Content: content}, nil
}

// displayName is the label as the sender's name, if a person chose it.
func displayName(label string) string {
	if inbox.IsGeneratedLabel(label) {
		return ""
	}
	return label
}

func mailboxes(addresses []string) []message.Mailbox {
	out := make([]message.Mailbox, len(addresses))
	for i, a := range addresses {
		out[i].Email = a
	}
	return out
}

// thread returns the references of the message with this Message-ID, if it is in the inbox.
func (s *Sending) thread(ctx context.Context, view *inbox.View, messageID string) ([]string, error) {
	if messageID == "" {
		return nil, nil
	}
	key := inbox.ThreadKey(messageID)
	for _, m := range slices.Backward(view.Messages) {
		if m.Thread != key || m.Expired(s.now()) {
			continue
		}
		c, err := s.inboxes.Content(ctx, view.Address, m.ID)
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
func (s *Sending) checkSuppressed(id account.ID, recipients []inbox.Recipient) error {
	var barred []string
	for _, r := range recipients {
		found, err := s.suppressed(id, r.Email)
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
	return fault.New(fault.Refused, fmt.Sprintf("Mail to %s bounced before, so it is not sent there. To allow it again, call DELETE /api/v1/suppressions/{email} (email:send)", strings.Join(barred, ", ")))
}

// checkVerified restricts an account with an unverified e-mail address: it may send only to its own
// inboxes.
func (s *Sending) checkVerified(ctx context.Context, id account.ID, recipients []inbox.Recipient) error {
	if !s.verify || len(recipients) == 0 {
		return nil
	}
	picture, err := s.owners.picture(ctx, id)
	if err != nil || !picture.profile.Unverified {
		return err
	}
	for _, r := range recipients {
		home, ok := address.Inbox(r.Email)
		if ok {
			var owner account.ID
			owner, err = s.inboxes.AccountOf(address.WithoutTag(home))
			ok = owner == id
		}
		if err != nil {
			return engine.Busy(err)
		}
		if !ok {
			return fault.New(fault.Refused, fmt.Sprintf("The sign-in address %s is not verified yet, so this account can send only to its own inboxes. "+
				"Open the link in the message that was sent to it, or request a new one with POST /api/auth/verify-email", picture.profile.Email))
		}
	}
	return nil
}

// suppressed reports whether an address is suppressed.
func (s *Sending) suppressed(id account.ID, email string) (bool, error) {
	_, found, err := s.store.Suppression(id, strings.ToLower(email))
	if err != nil {
		err = engine.Busy(err)
	}
	return found, err
}

// Suppressions pages through the addresses that an account sends no messages to. With the name of
// an inbox, it returns only those that bounced for that inbox. It filters before it pages, so that
// no cursor is an address of another inbox.
func (s *Sending) Suppressions(ctx context.Context, id account.ID, inboxOnly, after string, limit int) (page []account.Suppression, err error) {
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
func (s *Sending) DropSuppression(_ context.Context, id account.ID, inboxOnly, email string) error {
	if canonical, err := inbox.CheckRecipient("email", email); err == nil {
		email = canonical
	}
	kept, found, err := s.store.Suppression(id, strings.ToLower(email))
	switch {
	case err != nil:
		return engine.Busy(err)
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

// Notice is a message that the service itself sends.
type Notice struct {
	To      string
	Subject string
	Text    string
}

// SendNotice queues a message of the service itself: from noreply at the service domain, with the
// null sender and Auto-Submitted, through the same queue as every other message. It returns when
// the queue entry is on disk.
func (s *Sending) SendNotice(ctx context.Context, n Notice) error {
	address := noReply + s.domain
	to, err := inbox.CheckRecipient("to", n.To)
	if err != nil {
		return err
	}
	submit, err := s.write(compose.Draft{
		From: message.Mailbox{Email: address}, To: mailboxes([]string{to}), Subject: n.Subject, Text: n.Text, Auto: true,
	}, []inbox.Recipient{inbox.To(to)})
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
