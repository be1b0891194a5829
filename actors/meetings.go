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

// Meetings takes orders about the meetings of inboxes. The result of an order is computed from the
// published calendar, outside the inbox's owner, because it needs look-ups and a place in the day's
// quota. The owner applies it only if the meeting has not changed meanwhile. It is immutable; any
// goroutine may use it.
type Meetings struct{ sending *Sending }

// weighings is how often an order is computed again while others change its meeting.
const weighings = 8

// Arrange applies an order. It returns when the meeting and the messages about it are on disk, in
// one batch. It returns the errors of calendar.Arrange, and those of Send before anything changed.
func (m *Meetings) Arrange(ctx context.Context, address string, o calendar.Order) (calendar.Done, error) {
	return m.weigh(ctx, address, o, func(c inbox.Arrange) (inbox.Outcome, error) {
		return m.sending.inboxes.Do(ctx, address, c)
	})
}

// ArrangeOnce is Arrange for an idempotent request: see SendOnce.
func (m *Meetings) ArrangeOnce(ctx context.Context, address string, o calendar.Order, req idempotency.Request, tell func(calendar.Done) []byte) (idempotency.Result, error) {
	return m.sending.unlessDone(ctx, address, req, func() (given idempotency.Result, err error) {
		_, err = m.weigh(ctx, address, o, func(c inbox.Arrange) (got inbox.Outcome, err error) {
			given, err = m.sending.inboxes.DoOnce(ctx, address, c, req, func(a inbox.Outcome) []byte {
				got = a
				return tell(doneOf(a))
			})
			return got, err
		})
		return given, err
	})
}

// RemoveMeeting removes a meeting from the calendar of an inbox and sends nothing.
func (m *Meetings) RemoveMeeting(ctx context.Context, address string, id int64) error {
	_, err := m.sending.inboxes.Do(ctx, address, inbox.RemoveMeeting{ID: id})
	return err
}

func doneOf(a inbox.Outcome) calendar.Done {
	return calendar.Done{Meeting: a.Meeting, MessageID: a.ID}
}

// weigh computes an order and sends it to the inbox, again each time the meeting changed meanwhile.
func (m *Meetings) weigh(ctx context.Context, address string, o calendar.Order, hand func(inbox.Arrange) (inbox.Outcome, error)) (calendar.Done, error) {
	defer m.sending.waits()()
	for range weighings {
		got, err := m.order(ctx, address, o, hand)
		if !errors.Is(err, inbox.ErrOutdated) {
			return doneOf(got), err
		}
	}
	return calendar.Done{}, engine.Busy(inbox.ErrOutdated)
}

func (m *Meetings) order(ctx context.Context, address string, o calendar.Order, hand func(inbox.Arrange) (inbox.Outcome, error)) (got inbox.Outcome, err error) {
	s := m.sending
	view, err := s.inboxes.View(ctx, address)
	if err != nil {
		return got, err
	}
	command, err := m.prepare(ctx, view, o)
	if err != nil {
		return got, err
	}
	for _, mail := range command.Submits {
		if err := s.checkVerified(ctx, view.Account, mail.Recipients); err != nil {
			return got, err
		}
	}
	at := s.now()
	if err := m.count(ctx, view.Account, command.Submits); err != nil {
		return got, err
	}
	command.After = s.store.Position(view.Account.Partition())
	failpoint.Here("order-weighed")
	got, err = hand(command)
	failpoint.Here("order-committed")
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

// count takes places in the day's quota for messages, all or none.
func (m *Meetings) count(ctx context.Context, id account.ID, mails []inbox.Submit) error {
	at := m.sending.now()
	for n, mail := range mails {
		if _, err := m.sending.owners.order(ctx, id, account.CountSend{Recipients: len(mail.Recipients)}); err != nil {
			m.giveBack(id, at, n)
			return err
		}
	}
	return nil
}

func (m *Meetings) giveBack(id account.ID, at time.Time, n int) {
	for range n {
		m.sending.owners.notify(id, account.ReturnSend{At: at})
	}
}

// prepare computes an order and composes its messages.
func (m *Meetings) prepare(ctx context.Context, view *inbox.View, o calendar.Order) (c inbox.Arrange, err error) {
	s := m.sending
	var uid [16]byte
	s.random(uid[:])
	me := meOf(view)
	if c.Plan, err = calendar.Arrange(view.Calendar, o, me, s.now(), uid); err != nil {
		return c, err
	}
	if err := m.leaveOut(view.Account, &c.Plan); err != nil {
		return c, err
	}
	for i := range c.Plan.Mails {
		submit, err := m.write(ctx, view, me, &c.Plan.Mails[i])
		if err != nil {
			return c, err
		}
		c.Submits = append(c.Submits, submit)
	}
	if c.Plan.Meeting.ID == 0 && len(c.Submits) > 0 {
		c.Plan.Meeting.Mail = c.Submits[0].Content.Doc.MessageID
	}
	return c, nil
}

// leaveOut removes the recipients whose messages bounced. It refuses the order if it must reach one
// of them.
func (m *Meetings) leaveOut(id account.ID, plan *calendar.Plan) error {
	must := make([]inbox.Recipient, len(plan.Must))
	for i, email := range plan.Must {
		must[i] = inbox.To(email)
	}
	if err := m.sending.checkSuppressed(id, must); err != nil {
		return err
	}
	var failed error
	for i := range plan.Mails {
		plan.Mails[i].To = slices.DeleteFunc(plan.Mails[i].To, func(p icalendar.Person) bool {
			if slices.Contains(plan.Must, p.Email) {
				return false // otherwise the order would have been refused
			}
			found, err := m.sending.suppressed(id, p.Email)
			failed = errors.Join(failed, err)
			return found
		})
	}
	plan.Mails = slices.DeleteFunc(plan.Mails, func(mail calendar.Mail) bool { return len(mail.To) == 0 })
	return failed
}

// meOf returns the inbox as its meetings name it.
func meOf(view *inbox.View) calendar.Me {
	return calendar.Me{Address: view.Address, Name: displayName(view.Label)}
}

// write composes a message about a meeting.
func (m *Meetings) write(ctx context.Context, view *inbox.View, me calendar.Me, mail *calendar.Mail) (inbox.Submit, error) {
	d, to, err := m.draft(ctx, view, me, mail)
	if err != nil {
		return inbox.Submit{}, err
	}
	return m.sending.write(d, to)
}

// writeCopy composes an owner's copy. Its header marks it as automatic, but it has a return path,
// so that bounces are reported.
func (m *Meetings) writeCopy(ctx context.Context, view *inbox.View, mail *calendar.Mail) (inbox.Submit, error) {
	d, to, err := m.draft(ctx, view, meOf(view), mail)
	if err != nil {
		return inbox.Submit{}, err
	}
	d.Auto = true
	submit, err := m.sending.write(d, to)
	submit.Auto = false
	return submit, err
}

func (m *Meetings) draft(ctx context.Context, view *inbox.View, me calendar.Me, mail *calendar.Mail) (d compose.Draft, to []inbox.Recipient, err error) {
	d = compose.Draft{
		From: message.Mailbox{Email: me.Address, Name: me.Name}, Subject: mail.Subject, Text: mail.Text,
		Calendar:  &compose.CalendarPart{Method: mail.Method, Text: string(mail.Calendar)},
		InReplyTo: mail.InReplyTo,
	}
	for _, p := range mail.To {
		d.To, to = append(d.To, message.Mailbox{Email: p.Email, Name: p.Name}), append(to, inbox.To(p.Email))
	}
	d.References, err = m.sending.thread(ctx, view, mail.InReplyTo)
	return d, to, err
}
