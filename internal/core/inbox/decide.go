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
	decide(*State, Env) ([]Event, Outcome, error)
}

// Env is what Decide knows besides state and command.
type Env struct {
	Now      time.Time
	Capacity Capacity // of the inbox; used only by Receive and Submit
}

// Outcome is the result of a committed command for its sender.
type Outcome struct {
	ID        int64 // of the received message
	Count     int   // messages deleted or changed, and entries corrected; or the number of the attempt
	Duplicate bool  // the message was already stored; ID is the first one's
	Marked    bool  // by MarkRead: the mark changed
	Each      []int // as Count, for each message of a Defer
	// Meeting is the meeting that the command was about, as it is now.
	Meeting *calendar.Meeting
	// Said is what a received message said about meetings, and the effect.
	Said []*calendar.Said
}

const (
	// expireStep limits how many messages one Expire removes, so that a large inbox never makes a
	// large batch. The rest stays due.
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
		Address        string
		Account        account.ID
		Label          string
		RetentionHours int
		KeepNewest     bool
		Encrypted      bool
		At             time.Time
		Again          bool
	}
	// Forgo ensures that a creation that was not made never will be, because its reservation is
	// released. Outcome.Count is 1 if the inbox was created and is live; then nothing changes.
	Forgo struct {
		Address string
		Account account.ID
		At      time.Time
	}
	// Receive stores one message. A message to several recipients carries a Digest. If one of them
	// fails and the sender repeats the whole transaction, the others recognise it by the digest,
	// until Settle reports that the sender got a 250. A message to one recipient is recognised only
	// after a Doubt; see Repeat.
	Receive struct {
		From       message.Mailbox
		EnvelopeTo string
		Named      []string // see Message.Named; nil if EnvelopeTo is the only one
		Subject    string
		Content    *Content
		Raw        []byte
		TraceLen   int    // octets at the top of Raw that a repeat does not have
		MailFrom   string // envelope sender
		Digest     Digest
		Sealed     *Sealing // for an encrypted inbox; nil: not encrypted
		Shared     *Shared  // with the message's other recipients that store it unencrypted; nil: there are none
		// Invitations are what it says about meetings.
		Invitations []*calendar.Invitation
	}
	// Settle ends the recognition of repeats.
	Settle struct{ Digest Digest }
	// Doubt reports that message ID was stored after its sender had got a temporary failure. A
	// repeat is recognised from now on.
	Doubt struct {
		ID     int64
		Digest Digest
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
	// before Until (one of them is zero). Unless To is empty, it removes only those of that
	// envelope recipient. Messages waiting for delivery stay.
	DeleteOlder struct {
		Before int64
		Until  time.Time
		To     string
	}
	// Burn removes every message and keeps the address. Queued messages were accepted and are still
	// delivered: they are hidden, and removed when their status is final.
	Burn struct{}
	// Delete removes the inbox and its messages as Burn does, leaving a tombstone.
	Delete struct{}
	// Erase is Delete for an account that is being deleted. It also removes queued messages, even
	// of an inbox that was deleted before.
	Erase struct{ Account account.ID }
	// Update changes the owner's settings; nil leaves a field as it is.
	Update struct {
		Label          *string
		RetentionHours *int
		KeepNewest     *bool
	}
	// Expire removes expired messages and meetings, at most expireStep of each. At is the inbox's
	// time in the due index, zero for unknown. An entry that is not the inbox's own is removed, and
	// its own is written again.
	Expire struct{ At time.Time }
)

// Decide returns the effect of cmd on s as events; no events mean no change. It does not modify s.
// Errors are faults: NoInbox, NotFound, InboxFull, Refused.
func Decide(s *State, cmd Command, env Env) ([]Event, Outcome, error) {
	switch cmd.(type) {
	case Create, Forgo, Expire, MendEntry: // an entry may outlive its inbox
		return cmd.decide(s, env)
	}
	if s.Live() {
		return cmd.decide(s, env)
	}
	switch cmd.(type) {
	case Attempt, Attempted, Defer, Requeue, GiveUp, Erase:
		return cmd.decide(s, env) // messages that the inbox sent are attempted to the end
	}
	return nil, Outcome{}, NoInbox(s.Address)
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
	return fault.Wrap(fault.Damaged, fmt.Sprintf("Message %d in inbox %s is damaged on the disk of this service and cannot be read", id, address), why)
}

func (c Create) decide(s *State, env Env) ([]Event, Outcome, error) {
	if c.Again && s.Live() && s.Account == c.Account && s.CreatedAt.Equal(c.At) {
		return nil, Outcome{}, nil
	}
	if s.Live() || s.kept(c.Account, env.Now) || s.over(c.Account, c.At, c.Again) {
		return nil, Outcome{}, fault.New(fault.Refused, fmt.Sprintf("The address %s is taken", c.Address))
	}
	if s.wasEncrypted(c.Account) && !c.Encrypted {
		return nil, Outcome{}, fault.New(fault.Refused, fmt.Sprintf("The address %s belonged to an encrypted inbox. It can be created again only as an encrypted inbox", c.Address))
	}
	return []Event{created{Profile{Address: c.Address, Account: c.Account, Label: c.Label, RetentionHours: c.RetentionHours, KeepNewest: c.KeepNewest, Encrypted: c.Encrypted, CreatedAt: c.At}}}, Outcome{}, nil
}

// wasEncrypted reports whether the account had an encrypted inbox here. Senders to the address rely
// on encryption.
func (s *State) wasEncrypted(id account.ID) bool {
	return s.Encrypted && !s.DeletedAt.IsZero() && s.Account == id
}

// kept reports whether the address is still closed to an account, because another account had it.
func (s *State) kept(id account.ID, now time.Time) bool {
	return !s.DeletedAt.IsZero() && s.Account != id && now.Sub(s.DeletedAt) < tombstoneFor
}

// over reports whether an account's creation of that time was given up, or is older than one that
// was made. It is also over if it was attempted before, made, and deleted since.
func (s *State) over(id account.ID, at time.Time, again bool) bool {
	if s.DeletedAt.IsZero() || s.Account != id {
		return false
	}
	return s.CreatedAt.After(at) || s.CreatedAt.Equal(at) && (again || s.forgone())
}

// forgone reports whether the inbox was deleted without ever being live: only then it has no
// retention.
func (s *State) forgone() bool { return s.RetentionHours == 0 }

func (c Forgo) decide(s *State, env Env) ([]Event, Outcome, error) {
	switch {
	case s.Live() && s.Account == c.Account && s.CreatedAt.Equal(c.At):
		return nil, Outcome{Count: 1}, nil
	case s.Live(), s.kept(c.Account, env.Now), s.over(c.Account, c.At, false):
		return nil, Outcome{}, nil // Create is already refused
	}
	return []Event{created{Profile{Address: c.Address, Account: c.Account, CreatedAt: c.At, DeletedAt: env.Now, Encrypted: s.wasEncrypted(c.Account)}}}, Outcome{}, nil
}

func (c Receive) decide(s *State, env Env) ([]Event, Outcome, error) {
	if err := c.Sealed.check(s); err != nil {
		return nil, Outcome{}, err
	}
	if s.Unsettled > 0 { // otherwise there is nothing to look for, and no digest is computed
		if m := s.unsettled(c.Repeat(), env.Now); m != nil {
			return nil, Outcome{ID: m.ID, Duplicate: true}, nil
		}
	}
	size := c.Sealed.sized(c.Raw)
	gone, err := s.makeRoom(1, size, env.Capacity, env.Now)
	if err != nil {
		return nil, Outcome{}, err
	}
	m := &Message{
		ID: s.LastID + 1, Direction: In, ReceivedAt: env.Now,
		ExpiresAt: env.Now.Add(time.Duration(s.RetentionHours) * time.Hour),
		From:      c.From, FromVerified: c.Content.Auth.FromVerified, EnvelopeTo: c.EnvelopeTo, Subject: c.Subject, OTP: c.Content.OTP.Code,
		Named: several(c.Named),
		Size:  size, Unsettled: c.Digest.orNil(), Thread: ThreadKey(c.Content.Doc.MessageID), Sealed: c.Sealed.sealed(),
	}
	content, evs, said := c.merge(s, m)
	evs = append(instead(gone, received{Message: m, Content: content, Raw: c.Raw, Sealed: c.Sealed, Shared: c.Shared}), evs...)
	return evs, Outcome{ID: m.ID, Said: said}, nil
}

// several stores the list of recipients only if there are at least two. Most messages have one.
func several(recipients []string) *[]string {
	if len(recipients) < 2 {
		return nil
	}
	return &recipients
}

// Repeat is the digest by which a repeat of the message is recognised.
func (c *Receive) Repeat() Digest {
	if c.Digest != (Digest{}) {
		return c.Digest
	}
	if c.Sealed != nil {
		return c.Sealed.Repeat
	}
	return DigestOf(c.MailFrom, []string{c.EnvelopeTo}, c.Raw[c.TraceLen:])
}

// unsettled looks for the message with this digest among the newest messages, as far back as
// repeats are recognised.
func (s *State) unsettled(d Digest, now time.Time) *Message {
	if d == (Digest{}) {
		return nil
	}
	for i := len(s.Messages) - 1; i >= 0 && now.Sub(s.Messages[i].ReceivedAt) < unsettledFor; i-- {
		if u := s.Messages[i].Unsettled; u != nil && *u == d {
			return s.Messages[i]
		}
	}
	return nil
}

func (c Settle) decide(s *State, env Env) ([]Event, Outcome, error) {
	if m := s.unsettled(c.Digest, env.Now); m != nil {
		return []Event{settled{m.ID}}, Outcome{}, nil
	}
	return nil, Outcome{}, nil
}

func (c Doubt) decide(s *State, env Env) ([]Event, Outcome, error) {
	if m := s.visible(c.ID, env.Now); m == nil || m.Unsettled != nil {
		return nil, Outcome{}, nil
	}
	return []Event{doubted{c.ID, c.Digest}}, Outcome{}, nil
}

func (c MarkRead) decide(s *State, env Env) ([]Event, Outcome, error) {
	m := s.visible(c.ID, env.Now)
	switch {
	case m == nil:
		return nil, Outcome{}, NoMessage(c.ID, s.Address)
	case m.Damaged:
		return nil, Outcome{}, DamagedMessage(c.ID, s.Address, nil)
	case m.Read == c.Read:
		return nil, Outcome{}, nil
	}
	return []Event{marked{c.ID, c.Read}}, Outcome{Marked: true}, nil
}

func (c DeleteMessage) decide(s *State, env Env) ([]Event, Outcome, error) {
	m := s.visible(c.ID, env.Now)
	if m == nil {
		return nil, Outcome{}, NoMessage(c.ID, s.Address)
	}
	if m.Waiting() {
		return s.takeBack(m, env.Now), Outcome{Count: 1}, nil
	}
	return []Event{removed{[]*Message{m}}}, Outcome{Count: 1}, nil
}

func (c DeleteOlder) decide(s *State, env Env) ([]Event, Outcome, error) {
	var gone []*Message
	for _, m := range s.Messages {
		if !m.Expired(env.Now) && !m.Waiting() && c.takes(m) {
			gone = append(gone, m)
		}
	}
	if len(gone) == 0 {
		return nil, Outcome{}, nil
	}
	return []Event{removed{gone}}, Outcome{Count: len(gone)}, nil
}

func (c DeleteOlder) takes(m *Message) bool {
	older := m.ID < c.Before || m.ReceivedAt.Before(c.Until)
	known := c.To == "" || !m.Damaged // the recipient of a damaged message is unknown
	return older && known && m.IsTo(c.To)
}

func (Burn) decide(s *State, env Env) ([]Event, Outcome, error) {
	n := 0
	var gone, queued []*Message
	for _, m := range s.Messages {
		if !m.Expired(env.Now) {
			n++
		}
		switch {
		case !m.Waiting():
			gone = append(gone, m)
		case !m.Hidden:
			queued = append(queued, m)
		}
	}
	var evs []Event
	if len(gone) > 0 {
		evs = append(evs, removed{gone})
	}
	if len(queued) > 0 {
		evs = append(evs, hidden(queued))
	}
	return evs, Outcome{Count: n}, nil
}

func (c Erase) decide(s *State, env Env) (evs []Event, _ Outcome, _ error) {
	if s.Account != c.Account {
		return nil, Outcome{}, nil
	}
	if len(s.Messages) > 0 {
		evs = append(evs, removed{s.Messages})
	}
	if s.Live() {
		evs = append(append(evs, s.withoutCalendar(env.Now)...), deleted{env.Now})
	}
	return evs, Outcome{}, nil
}

func (Delete) decide(s *State, env Env) ([]Event, Outcome, error) {
	evs, a, err := Burn{}.decide(s, env)
	return append(append(evs, s.withoutCalendar(env.Now)...), deleted{env.Now}), a, err
}

func (c Update) decide(s *State, _ Env) ([]Event, Outcome, error) {
	ev := updated{s.Label, s.RetentionHours, s.KeepNewest}
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
		return nil, Outcome{}, nil
	}
	return []Event{ev}, Outcome{}, nil
}

func (c Expire) decide(s *State, env Env) (evs []Event, outcome Outcome, _ error) {
	var over []*Message
	for _, m := range s.Messages {
		if m.over(env.Now) && len(over) < expireStep {
			over = append(over, m)
		}
	}
	ids := s.meetingsOver(env.Now)
	if len(ids) > 0 {
		evs = append(evs, unmet{IDs: ids, At: env.Now})
	}
	if outcome.Count = len(over) + len(ids); outcome.Count > 0 || !s.DueAt.IsZero() && !s.DueAt.After(env.Now) {
		// If none is over, the due entry was for a message whose own time is lost: the entry moves.
		evs = append(evs, removed{over})
	}
	if !c.At.IsZero() && !c.At.Equal(s.DueAt) {
		evs = append(evs, dueMended{c.At})
		outcome.Count++
	}
	return evs, outcome, nil
}

// visible returns the message unless it has expired or is hidden at now.
func (s *State) visible(id int64, now time.Time) *Message {
	if i, ok := s.find(id); ok && !s.Messages[i].Expired(now) {
		return s.Messages[i]
	}
	return nil
}
