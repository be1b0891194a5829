package inbox

import (
	"fmt"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/mail/message"
)

// Command is an order to one inbox. The commands are the exported structs of this package with a
// decide method.
type Command interface {
	decideEvents(*State, Env) ([]Event, CommandOutcome, error)
}

// Env is what Decide knows besides state and command.
type Env struct {
	Now      time.Time
	Capacity Capacity // of the inbox; used only by Receive and Submit
}

// CommandOutcome is the result of a committed command for its sender.
type CommandOutcome struct {
	ID            int64 // of the received message
	Count         int   // messages deleted or changed, and entries corrected; or the number of the attempt
	IsDuplicate   bool  // the message was already stored; ID is the first one's
	MarkChanged   bool  // by MarkRead: the mark changed
	AttemptCounts []int // as Count, for each message of a DeferMessages
	// Meeting is the meeting that the command was about, as it is now.
	Meeting *calendar.Meeting
	// MessageEvents is what a received message said about meetings, and the effect.
	MessageEvents []*calendar.MessageEvent
}

const (
	// expireStep limits how many messages one RemoveExpired removes, so that a large inbox never
	// makes a large batch. The rest stays due.
	expireStep = 500
	// unsettledFor is how long a repeat of an unsettled message is recognised: as long as senders
	// retry (RFC 5321 §4.5.4.1).
	unsettledFor = 5 * 24 * time.Hour
	// tombstoneFor reserves a deleted address against other accounts (specification, Addresses).
	tombstoneFor = 30 * 24 * time.Hour
)

// Commands of an inbox.
type (
	// Create makes the inbox live at At, the time when its account reserved it. Again means that
	// this creation was attempted before and may have succeeded; then nothing changes.
	Create struct {
		Address          string
		Account          account.ID
		Label            string
		RetentionHours   int
		KeepNewest       bool
		Encrypted        bool
		At               time.Time
		AlreadyAttempted bool
	}
	// BarCreation ensures that a creation that was not made never will be, because its reservation is
	// released. Outcome.Count is 1 if the inbox was created and is live; then nothing changes.
	BarCreation struct {
		Address string
		Account account.ID
		At      time.Time
	}
	// Receive stores one message. A message to several recipients carries a Digest. If one of them
	// fails and the sender repeats the whole transaction, the others recognise it by the digest,
	// until ConfirmReceipt reports that the sender got a 250. A message to one recipient is
	// recognised only after a MarkAmbiguous; see Repeat.
	Receive struct {
		From            message.Mailbox
		EnvelopeTo      string
		NamedRecipients []string // see Message.NamedRecipients; nil if EnvelopeTo is the only one
		Subject         string
		Content         *Content
		Raw             []byte
		TraceLen        int    // octets at the top of Raw that a repeat does not have
		MailFrom        string // envelope sender
		Digest          MessageDigest
		EncryptedParts  *EncryptedParts // for an encrypted inbox; nil: not encrypted
		SharedStorage   *SharedStorage  // with the message's other recipients that store it unencrypted; nil: there are none
		// Invitations are what it says about meetings.
		Invitations []*calendar.Invitation
	}
	// ConfirmReceipt ends the recognition of repeats.
	ConfirmReceipt struct{ Digest MessageDigest }
	// MarkAmbiguous reports that message ID was stored after its sender had got a temporary failure. A
	// repeat is recognised from now on.
	MarkAmbiguous struct {
		ID     int64
		Digest MessageDigest
	}
	// MarkRead sets or clears the read mark.
	MarkRead struct {
		ID   int64
		Read bool
	}
	// DeleteMessage removes one message. If it is queued, it is withdrawn: copies that were not
	// delivered yet never will be.
	DeleteMessage struct{ ID int64 }
	// DeleteOlder removes the messages, received and sent, with an id below Before or received
	// before ReceivedBefore (one of them is zero). Unless To is empty, it removes only those of that
	// envelope recipient. Messages waiting for delivery stay.
	DeleteOlder struct {
		BeforeID       int64
		ReceivedBefore time.Time
		To             string
	}
	// Burn removes every message and keeps the address. Queued messages were accepted and are still
	// delivered: they are hidden, and removed when their status is final.
	Burn struct{}
	// Delete removes the inbox and its messages as Burn does, leaving a tombstone.
	Delete struct{}
	// Erase is Delete for an account that is being deleted. It also removes queued messages, even
	// of an inbox that was deleted before.
	Erase struct{ Account account.ID }
	// UpdateSettings changes the owner's settings; nil leaves a field as it is.
	UpdateSettings struct {
		Label          *string
		RetentionHours *int
		KeepNewest     *bool
	}
	// RemoveExpired removes expired messages and meetings, at most expireStep of each. At is the
	// inbox's time in the due index, zero for unknown. An entry that is not the inbox's own is
	// removed, and its own is written again.
	RemoveExpired struct{ At time.Time }
)

// Decide returns the effect of cmd on s as events; no events mean no change. It does not modify s.
// Errors are faults: NoInbox, NotFound, InboxFull, Refused.
func Decide(s *State, cmd Command, env Env) ([]Event, CommandOutcome, error) {
	switch cmd.(type) {
	case Create, BarCreation, RemoveExpired, MendEntry: // an entry may outlive its inbox
		return cmd.decideEvents(s, env)
	}
	if s.IsLive() {
		return cmd.decideEvents(s, env)
	}
	switch cmd.(type) {
	case BeginAttempt, ReportAttempt, DeferMessages, Requeue, GiveUp, Erase:
		return cmd.decideEvents(s, env) // messages that the inbox sent are attempted to the end
	}
	return nil, CommandOutcome{}, NoInbox(s.Address)
}

// NoInbox is the fault for an address without a live inbox.
func NoInbox(address string) error {
	return fault.New(fault.NoInbox, fmt.Sprintf("No inbox %s", address))
}

// NoMessage is the fault for a message id that is not, or no longer, in the inbox.
func NoMessage(id int64, address string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("Message %d not found in inbox %s", id, address))
}

// DamagedMessage is the fault for a message that cannot be read from the disk as it was stored.
func DamagedMessage(id int64, address string, why error) error {
	return fault.Wrap(fault.DataDamaged, fmt.Sprintf("Message %d in inbox %s is damaged on the disk of this service and cannot be read", id, address), why)
}

func (c Create) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	if c.AlreadyAttempted && s.IsLive() && s.Account == c.Account && s.CreatedAt.Equal(c.At) {
		return nil, CommandOutcome{}, nil
	}
	if s.IsLive() || s.reservedForOther(c.Account, env.Now) || s.creationSuperseded(c.Account, c.At, c.AlreadyAttempted) {
		return nil, CommandOutcome{}, fault.RefuseField("prefix", fault.CodeAddressTaken, "The address %s is taken", c.Address)
	}
	if s.wasEncrypted(c.Account) && !c.Encrypted {
		return nil, CommandOutcome{}, fault.RefuseField("prefix", fault.CodeAddressTaken, "The address %s belonged to an encrypted inbox. It can be created again only as an encrypted inbox", c.Address)
	}
	return []Event{profileCreated{Profile{Address: c.Address, Account: c.Account, Label: c.Label, RetentionHours: c.RetentionHours, KeepNewest: c.KeepNewest, Encrypted: c.Encrypted, CreatedAt: c.At}}}, CommandOutcome{}, nil
}

// wasEncrypted reports whether the account had an encrypted inbox here. Senders to the address rely
// on encryption.
func (s *State) wasEncrypted(id account.ID) bool {
	return s.Encrypted && !s.DeletedAt.IsZero() && s.Account == id
}

// reservedForOther reports whether the address is still closed to an account, because another
// account had it.
func (s *State) reservedForOther(id account.ID, now time.Time) bool {
	return !s.DeletedAt.IsZero() && s.Account != id && now.Sub(s.DeletedAt) < tombstoneFor
}

// creationSuperseded reports whether an account's creation of that time was given up, or is older
// than one that was made. It is also over if it was attempted before, made, and deleted since.
func (s *State) creationSuperseded(id account.ID, at time.Time, again bool) bool {
	if s.DeletedAt.IsZero() || s.Account != id {
		return false
	}
	return s.CreatedAt.After(at) || s.CreatedAt.Equal(at) && (again || s.wasNeverLive())
}

// wasNeverLive reports whether the inbox was deleted without ever being live: only then it has no
// retention.
func (s *State) wasNeverLive() bool { return s.RetentionHours == 0 }

func (c BarCreation) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	switch {
	case s.IsLive() && s.Account == c.Account && s.CreatedAt.Equal(c.At):
		return nil, CommandOutcome{Count: 1}, nil
	case s.IsLive(), s.reservedForOther(c.Account, env.Now), s.creationSuperseded(c.Account, c.At, false):
		return nil, CommandOutcome{}, nil // Create is already refused
	}
	return []Event{profileCreated{Profile{Address: c.Address, Account: c.Account, CreatedAt: c.At, DeletedAt: env.Now, Encrypted: s.wasEncrypted(c.Account)}}}, CommandOutcome{}, nil
}

func (c Receive) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	if err := c.EncryptedParts.checkInbox(s); err != nil {
		return nil, CommandOutcome{}, err
	}
	if s.RepeatableCount > 0 { // otherwise there is nothing to look for, and no digest is computed
		if m := s.findRepeat(c.RepeatDigest(), env.Now); m != nil {
			return nil, CommandOutcome{ID: m.ID, IsDuplicate: true}, nil
		}
	}
	size := c.EncryptedParts.countedSize(c.Raw)
	gone, err := s.makeRoom(1, size, env.Capacity, env.Now)
	if err != nil {
		return nil, CommandOutcome{}, err
	}
	m := &Message{
		ID: s.LastID + 1, Direction: In, ReceivedAt: env.Now,
		ExpiresAt: env.Now.Add(time.Duration(s.RetentionHours) * time.Hour),
		From:      c.From, FromVerified: c.Content.Auth.FromVerified, EnvelopeTo: c.EnvelopeTo, Subject: c.Subject, OTP: c.Content.OTP.Code,
		NamedRecipients: storedRecipients(c.NamedRecipients),
		Size:            size, RepeatDigest: c.Digest.orNil(), ThreadKey: ThreadKey(c.Content.Doc.MessageID), EncryptedState: c.EncryptedParts.storedState(),
	}
	content, evs, said := c.mergeInvitations(s, m)
	evs = append(withRemoval(gone, messageReceived{Message: m, Content: content, Raw: c.Raw, EncryptedParts: c.EncryptedParts, SharedStorage: c.SharedStorage}), evs...)
	return evs, CommandOutcome{ID: m.ID, MessageEvents: said}, nil
}

// storedRecipients stores the list of recipients only if there are at least two. Most messages have
// one.
func storedRecipients(recipients []string) *[]string {
	if len(recipients) < 2 {
		return nil
	}
	return &recipients
}

// RepeatDigest is the digest by which a repeat of the message is recognised.
func (c *Receive) RepeatDigest() MessageDigest {
	if c.Digest != (MessageDigest{}) {
		return c.Digest
	}
	if c.EncryptedParts != nil {
		return c.EncryptedParts.RepeatDigest
	}
	return DigestOf(c.MailFrom, []string{c.EnvelopeTo}, c.Raw[c.TraceLen:])
}

// findRepeat looks for the message with this digest among the newest messages, as far back as
// repeats are recognised.
func (s *State) findRepeat(d MessageDigest, now time.Time) *Message {
	if d == (MessageDigest{}) {
		return nil
	}
	for i := len(s.Messages) - 1; i >= 0 && now.Sub(s.Messages[i].ReceivedAt) < unsettledFor; i-- {
		if u := s.Messages[i].RepeatDigest; u != nil && *u == d {
			return s.Messages[i]
		}
	}
	return nil
}

func (c ConfirmReceipt) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	if m := s.findRepeat(c.Digest, env.Now); m != nil {
		return []Event{receiptConfirmed{m.ID}}, CommandOutcome{}, nil
	}
	return nil, CommandOutcome{}, nil
}

func (c MarkAmbiguous) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	if m := s.visibleMessage(c.ID, env.Now); m == nil || m.RepeatDigest != nil {
		return nil, CommandOutcome{}, nil
	}
	return []Event{ambiguityMarked{c.ID, c.Digest}}, CommandOutcome{}, nil
}

func (c MarkRead) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m := s.visibleMessage(c.ID, env.Now)
	switch {
	case m == nil:
		return nil, CommandOutcome{}, NoMessage(c.ID, s.Address)
	case m.IsDamaged:
		return nil, CommandOutcome{}, DamagedMessage(c.ID, s.Address, nil)
	case m.IsRead == c.Read:
		return nil, CommandOutcome{}, nil
	}
	return []Event{readMarked{c.ID, c.Read}}, CommandOutcome{MarkChanged: true}, nil
}

func (c DeleteMessage) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m := s.visibleMessage(c.ID, env.Now)
	if m == nil {
		return nil, CommandOutcome{}, NoMessage(c.ID, s.Address)
	}
	if m.IsWaiting() {
		return s.takeBack(m, env.Now), CommandOutcome{Count: 1}, nil
	}
	return []Event{messagesRemoved{[]*Message{m}}}, CommandOutcome{Count: 1}, nil
}

func (c DeleteOlder) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	var gone []*Message
	for _, m := range s.Messages {
		if !m.IsExpired(env.Now) && !m.IsWaiting() && c.matchesMessage(m) {
			gone = append(gone, m)
		}
	}
	if len(gone) == 0 {
		return nil, CommandOutcome{}, nil
	}
	return []Event{messagesRemoved{gone}}, CommandOutcome{Count: len(gone)}, nil
}

func (c DeleteOlder) matchesMessage(m *Message) bool {
	older := m.ID < c.BeforeID || m.ReceivedAt.Before(c.ReceivedBefore)
	known := c.To == "" || !m.IsDamaged // the recipient of a damaged message is unknown
	return older && known && m.IsTo(c.To)
}

func (Burn) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	n := 0
	var gone, queued []*Message
	for _, m := range s.Messages {
		if !m.IsExpired(env.Now) {
			n++
		}
		switch {
		case !m.IsWaiting():
			gone = append(gone, m)
		case !m.IsHidden:
			queued = append(queued, m)
		}
	}
	var evs []Event
	if len(gone) > 0 {
		evs = append(evs, messagesRemoved{gone})
	}
	if len(queued) > 0 {
		evs = append(evs, messagesHidden(queued))
	}
	return evs, CommandOutcome{Count: n}, nil
}

func (c Erase) decideEvents(s *State, env Env) (evs []Event, _ CommandOutcome, _ error) {
	if s.Account != c.Account {
		return nil, CommandOutcome{}, nil
	}
	if len(s.Messages) > 0 {
		evs = append(evs, messagesRemoved{s.Messages})
	}
	if s.IsLive() {
		evs = append(append(evs, s.withoutCalendar(env.Now)...), tombstoneSet{env.Now})
	}
	return evs, CommandOutcome{}, nil
}

func (Delete) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	evs, a, err := Burn{}.decideEvents(s, env)
	return append(append(evs, s.withoutCalendar(env.Now)...), tombstoneSet{env.Now}), a, err
}

func (c UpdateSettings) decideEvents(s *State, _ Env) ([]Event, CommandOutcome, error) {
	ev := settingsUpdated{s.Label, s.RetentionHours, s.KeepNewest}
	was := ev
	if c.Label != nil {
		ev.Label = *c.Label
	}
	if c.RetentionHours != nil {
		ev.RetentionHours = *c.RetentionHours
	}
	if c.KeepNewest != nil {
		ev.KeepNewest = *c.KeepNewest
	}
	if ev == was {
		return nil, CommandOutcome{}, nil
	}
	return []Event{ev}, CommandOutcome{}, nil
}

func (c RemoveExpired) decideEvents(s *State, env Env) (evs []Event, outcome CommandOutcome, _ error) {
	var over []*Message
	for _, m := range s.Messages {
		if m.retentionOver(env.Now) && len(over) < expireStep {
			over = append(over, m)
		}
	}
	ids := s.meetingsOver(env.Now)
	if len(ids) > 0 {
		evs = append(evs, unmet{IDs: ids, At: env.Now})
	}
	if outcome.Count = len(over) + len(ids); outcome.Count > 0 || !s.DueAt.IsZero() && !s.DueAt.After(env.Now) {
		// If none is over, the due entry was for a message whose own time is lost: the entry moves.
		evs = append(evs, messagesRemoved{over})
	}
	if !c.At.IsZero() && !c.At.Equal(s.DueAt) {
		evs = append(evs, dueMended{c.At})
		outcome.Count++
	}
	return evs, outcome, nil
}

// visibleMessage returns the message unless it has expired or is hidden at now.
func (s *State) visibleMessage(id int64, now time.Time) *Message {
	if i, ok := s.indexOf(id); ok && !s.Messages[i].IsExpired(now) {
		return s.Messages[i]
	}
	return nil
}
