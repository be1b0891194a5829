package actors

import (
	"context"
	"errors"
	"slices"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/failpoint"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/message/compose"
)

// MeetingService takes orders about the meetings of inboxes. The result of an order is computed
// from the published calendar, outside the inbox's owner, because it needs look-ups and a place in
// the day's quota. The owner applies it only if the meeting has not changed meanwhile. It is
// immutable; any goroutine may use it.
type MeetingService struct{ sending *SendingService }

// weighings is how often an order is computed again while others change its meeting.
const weighings = 8

// ArrangeMeeting applies an order. It returns when the meeting and the messages about it are on
// disk, in one batch. It returns the errors of calendar.PlanChange, and those of SendMessage before
// anything changed.
func (m *MeetingService) ArrangeMeeting(ctx context.Context, address string, o calendar.MeetingOrder) (calendar.ChangeResult, error) {
	return m.submitWithRetry(ctx, address, o, func(c inbox.ApplyMeetingPlan) (inbox.CommandOutcome, error) {
		return m.sending.inboxes.Do(ctx, address, c)
	})
}

// ArrangeOnce is ArrangeMeeting for an idempotent request: see SendOnce.
func (m *MeetingService) ArrangeOnce(ctx context.Context, address string, o calendar.MeetingOrder, req idempotency.Request, encode func(calendar.ChangeResult) []byte) (idempotency.FirstResult, error) {
	return m.sending.unlessDone(ctx, address, req, func() (given idempotency.FirstResult, err error) {
		_, err = m.submitWithRetry(ctx, address, o, func(c inbox.ApplyMeetingPlan) (got inbox.CommandOutcome, err error) {
			given, err = m.sending.inboxes.DoOnce(ctx, address, c, req, func(a inbox.CommandOutcome) []byte {
				got = a
				return encode(doneOf(a))
			})
			return got, err
		})
		return given, err
	})
}

// RemoveMeeting removes a meeting from the calendar of an inbox and sends nothing.
func (m *MeetingService) RemoveMeeting(ctx context.Context, address string, id int64) error {
	_, err := m.sending.inboxes.Do(ctx, address, inbox.RemoveMeeting{ID: id})
	return err
}

func doneOf(a inbox.CommandOutcome) calendar.ChangeResult {
	return calendar.ChangeResult{Meeting: a.Meeting, MessageID: a.ID}
}

// submitWithRetry computes an order and sends it to the inbox, again each time the meeting changed
// meanwhile.
func (m *MeetingService) submitWithRetry(ctx context.Context, address string, o calendar.MeetingOrder, hand func(inbox.ApplyMeetingPlan) (inbox.CommandOutcome, error)) (calendar.ChangeResult, error) {
	defer m.sending.noteCallerWaits()()
	for range weighings {
		got, err := m.submitOrder(ctx, address, o, hand)
		if !errors.Is(err, inbox.ErrOutdated) {
			return doneOf(got), err
		}
	}
	return calendar.ChangeResult{}, engine.BusyError(inbox.ErrOutdated)
}

func (m *MeetingService) submitOrder(ctx context.Context, address string, o calendar.MeetingOrder, hand func(inbox.ApplyMeetingPlan) (inbox.CommandOutcome, error)) (got inbox.CommandOutcome, err error) {
	s := m.sending
	view, err := s.inboxes.InboxView(ctx, address)
	if err != nil {
		return got, err
	}
	command, err := m.prepareOrder(ctx, view, o)
	if err != nil {
		return got, err
	}
	for _, mail := range command.Submits {
		if err := s.checkVerified(ctx, view.Account, mail.Recipients); err != nil {
			return got, err
		}
	}
	at := s.now()
	if err := m.countMessages(ctx, view.Account, command.Submits); err != nil {
		return got, err
	}
	command.AfterPosition = s.store.WritePosition(view.Account.HomePartition())
	failpoint.MarkPoint("order-weighed")
	got, err = hand(command)
	failpoint.MarkPoint("order-committed")
	switch {
	case err == nil && got.Meeting == nil, inbox.NotQueued(err): // it was done before, or never will be
		m.giveBack(view.Account, at, len(command.Submits))
	case err == nil:
		for i, c := range command.Submits {
			s.log.Info("queued", "inbox", address, "message_id", got.ID+int64(i), "recipients", len(c.Recipients), "octets", len(c.Raw))
		}
	}
	return got, err
}

// countMessages takes places in the day's quota for messages, all or none.
func (m *MeetingService) countMessages(ctx context.Context, id account.ID, messages []inbox.Submit) error {
	at := m.sending.now()
	for n, mail := range messages {
		if _, err := m.sending.owners.sendCommand(ctx, id, account.CountSend{RecipientCount: len(mail.Recipients)}); err != nil {
			m.giveBack(id, at, n)
			return err
		}
	}
	return nil
}

func (m *MeetingService) giveBack(id account.ID, at time.Time, n int) {
	for range n {
		m.sending.owners.notifyOwner(id, account.ReturnSend{At: at})
	}
}

// prepareOrder computes an order and composes its messages.
func (m *MeetingService) prepareOrder(ctx context.Context, view *inbox.View, o calendar.MeetingOrder) (c inbox.ApplyMeetingPlan, err error) {
	s := m.sending
	var uid [16]byte
	s.fillRandom(uid[:])
	me := meOf(view)
	if c.MeetingPlan, err = calendar.PlanChange(view.Calendar, o, me, s.now(), uid); err != nil {
		return c, err
	}
	if err := m.leaveOut(view.Account, &c.MeetingPlan); err != nil {
		return c, err
	}
	for i := range c.MeetingPlan.OutgoingMessages {
		submit, err := m.composeMessage(ctx, view, me, &c.MeetingPlan.OutgoingMessages[i])
		if err != nil {
			return c, err
		}
		c.Submits = append(c.Submits, submit)
	}
	if c.MeetingPlan.Meeting.ID == 0 && len(c.Submits) > 0 {
		c.MeetingPlan.Meeting.FirstMessageID = c.Submits[0].Content.Doc.MessageID
	}
	return c, nil
}

// leaveOut removes the recipients whose messages bounced. It refuses the order if it must reach one
// of them.
func (m *MeetingService) leaveOut(id account.ID, plan *calendar.PlannedChange) error {
	must := make([]inbox.OutgoingRecipient, len(plan.RequiredRecipients))
	for i, email := range plan.RequiredRecipients {
		must[i] = inbox.To(email)
	}
	if err := m.sending.checkSuppressed(id, must); err != nil {
		return err
	}
	var failed error
	for i := range plan.OutgoingMessages {
		plan.OutgoingMessages[i].To = slices.DeleteFunc(plan.OutgoingMessages[i].To, func(p icalendar.Person) bool {
			if slices.Contains(plan.RequiredRecipients, p.Email) {
				return false // otherwise the order would have been refused
			}
			found, err := m.sending.isSuppressed(id, p.Email)
			failed = errors.Join(failed, err)
			return found
		})
	}
	plan.OutgoingMessages = slices.DeleteFunc(plan.OutgoingMessages, func(mail calendar.MeetingMessage) bool { return len(mail.To) == 0 })
	return failed
}

// meOf returns the inbox as its meetings name it.
func meOf(view *inbox.View) calendar.Me {
	return calendar.Me{Address: view.Address, Name: displayName(view.Label)}
}

// composeMessage composes a message about a meeting.
func (m *MeetingService) composeMessage(ctx context.Context, view *inbox.View, me calendar.Me, mail *calendar.MeetingMessage) (inbox.Submit, error) {
	d, to, err := m.draftMessage(ctx, view, me, mail)
	if err != nil {
		return inbox.Submit{}, err
	}
	return m.sending.composeSubmit(d, to)
}

// writeCopy composes an owner's copy. Its header marks it as automatic, but it has a return path,
// so that bounces are reported.
func (m *MeetingService) writeCopy(ctx context.Context, view *inbox.View, mail *calendar.MeetingMessage) (inbox.Submit, error) {
	d, to, err := m.draftMessage(ctx, view, meOf(view), mail)
	if err != nil {
		return inbox.Submit{}, err
	}
	d.AutoGenerated = true
	submit, err := m.sending.composeSubmit(d, to)
	submit.ServiceWritten = false
	return submit, err
}

func (m *MeetingService) draftMessage(ctx context.Context, view *inbox.View, me calendar.Me, mail *calendar.MeetingMessage) (d compose.Draft, to []inbox.OutgoingRecipient, err error) {
	d = compose.Draft{
		From: message.Mailbox{Email: me.Address, Name: me.Name}, Subject: mail.Subject, Text: mail.Text,
		Calendar:  &compose.CalendarPart{Method: mail.Method, Text: string(mail.Calendar)},
		InReplyTo: mail.InReplyTo,
	}
	for _, p := range mail.To {
		d.To, to = append(d.To, message.Mailbox{Email: p.Email, Name: p.Name}), append(to, inbox.To(p.Email))
	}
	d.References, err = m.sending.findReferences(ctx, view, mail.InReplyTo)
	return d, to, err
}
