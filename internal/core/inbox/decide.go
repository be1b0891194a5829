package inbox

import (
	"fmt"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/mail/message"
)

// Command is an order to one inbox. The commands are the exported structs of this file.
type Command interface {
	decide(*State, Env) ([]Event, Outcome, error)
}

// Env is what Decide may know besides state and command.
type Env struct {
	Now      time.Time
	Capacity Capacity // of the inbox; asked for by Receive and Submit alone
}

// Outcome is what a committed command tells its sender.
type Outcome struct {
	ID        int64 // of the message received
	Count     int   // messages deleted or changed, and entries put right; or the number of the attempt begun
	Duplicate bool  // the mail was here already; ID is the first one's
	Marked    bool  // of a MarkRead: it was not so before
	Each      []int // as Count, for each mail of a Defer
	// Meeting is what an order was about, as it is now.
	Meeting *calendar.Meeting
	// Said are what a received message said of meetings, and what came of it.
	Said []*calendar.Said
}

const (
	// expireStep bounds how many messages one Expire removes, so that a big inbox never
	// makes one big batch; what is left stays due.
	expireStep = 500
	// unsettledFor is how long a repeat of an unsettled mail is recognised: as long as
	// senders keep trying (RFC 5321 §4.5.4.1).
	unsettledFor = 5 * 24 * time.Hour
	// tombstoneFor keeps a deleted address from other accounts (specification, Addresses).
	tombstoneFor = 30 * 24 * time.Hour
)

// Commands of an inbox.
type (
	// Create makes the inbox live at At, the time its account reserved it. Again says that
	// this very creation was begun before and may have succeeded; then nothing changes.
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
	// Forgo makes sure that a creation which was not made never will be: its reservation is
	// given back. Outcome.Count is 1 when it was made and lives; then nothing changes.
	Forgo struct {
		Address string
		Account account.ID
		At      time.Time
	}
	// Receive stores one mail. Mail to several recipients carries a Digest: when one of
	// them fails and the sender repeats the whole, those who have it already know it by
	// the digest, until Settle says that the sender was answered 250. Mail to one recipient
	// is known again only after a Doubt; see Repeat.
	Receive struct {
		From       message.Mailbox
		EnvelopeTo string
		Named      []string // see Message.Named; nil when EnvelopeTo is the only one
		Subject    string
		Content    *Content
		Raw        []byte
		TraceLen   int    // octets on top of Raw that a repeat does not have
		MailFrom   string // of the envelope
		Digest     Digest
		Sealed     *Sealing // for an encrypted inbox; nil: in the clear
		Shared     *Shared  // with the message's other recipients who get it in the clear; nil: there are none
		// Invitations are what it says of meetings.
		Invitations []*calendar.Invitation
	}
	// Settle ends the watch for a repeat.
	Settle struct{ Digest Digest }
	// Doubt says that message ID was stored after its sender had been told to try again: it
	// begins the watch for a repeat.
	Doubt struct {
		ID     int64
		Digest Digest
	}
	// MarkRead sets or clears the read mark.
	MarkRead struct {
		ID   int64
		Read bool
	}
	// DeleteMessage removes one message. One that is queued is taken back: what was not handed
	// over yet never will be.
	DeleteMessage struct{ ID int64 }
	// DeleteOlder removes the messages, received and sent, with an id below Before or received
	// before Until (one of them is zero), of one envelope recipient unless To is empty. Mail that
	// waits to be delivered stays.
	DeleteOlder struct {
		Before int64
		Until  time.Time
		To     string
	}
	// Burn removes every message and keeps the address. What is queued was accepted and goes
	// out: it is hidden, and removed when its delivery is settled.
	Burn struct{}
	// Delete removes the inbox and its messages as Burn does, leaving a tombstone.
	Delete struct{}
	// Erase is Delete for an account that is being deleted: with it goes what is queued, of an
	// inbox that was deleted before too.
	Erase struct{ Account account.ID }
	// Update changes what its owner may change; nil leaves a field as it is.
	Update struct {
		Label          *string
		RetentionHours *int
		KeepNewest     *bool
	}
	// Expire removes messages and meetings whose time is over, at most expireStep of each at once. At is where the
	// due index has the inbox, zero for unknown: an entry that is not the inbox's own goes, and
	// its own is written again.
	Expire struct{ At time.Time }
)

// Decide says what cmd does to s, as events; none means that nothing changes. It does not
// touch s. Errors are faults: NoInbox, NotFound, InboxFull, Refused.
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
		return cmd.decide(s, env) // what it sent is tried to its end
	}
	return nil, Outcome{}, NoInbox(s.Address)
}

// NoInbox is the fault for an address where no inbox lives.
func NoInbox(address string) error {
	return fault.New(fault.NoInbox, fmt.Sprintf("No inbox %s", address))
}

// NoMessage is the fault for a message id that is not, or no longer, in the inbox.
func NoMessage(id int64, address string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("Message %d not found in inbox %s", id, address))
}

// DamagedMessage is the fault for a message that the disk does not give as it was stored.
func DamagedMessage(id int64, address string, why error) error {
	return fault.Wrap(fault.Damaged, fmt.Sprintf("Message %d in inbox %s is damaged on the disk of this service and can't be read", id, address), why)
}

func (c Create) decide(s *State, env Env) ([]Event, Outcome, error) {
	if c.Again && s.Live() && s.Account == c.Account && s.CreatedAt.Equal(c.At) {
		return nil, Outcome{}, nil
	}
	if s.Live() || s.kept(c.Account, env.Now) || s.over(c.Account, c.At, c.Again) {
		return nil, Outcome{}, fault.New(fault.Refused, fmt.Sprintf("The address %s is taken", c.Address))
	}
	if s.wasEncrypted(c.Account) && !c.Encrypted {
		return nil, Outcome{}, fault.New(fault.Refused, fmt.Sprintf("The address %s was an encrypted inbox. It can be created again only as one", c.Address))
	}
	return []Event{created{Profile{Address: c.Address, Account: c.Account, Label: c.Label, RetentionHours: c.RetentionHours, KeepNewest: c.KeepNewest, Encrypted: c.Encrypted, CreatedAt: c.At}}}, Outcome{}, nil
}

// wasEncrypted reports that the account had an encrypted inbox here: who writes to the address counts on
// that.
func (s *State) wasEncrypted(id account.ID) bool {
	return s.Encrypted && !s.DeletedAt.IsZero() && s.Account == id
}

// kept reports that the address stays closed to an account, for it was another one's.
func (s *State) kept(id account.ID, now time.Time) bool {
	return !s.DeletedAt.IsZero() && s.Account != id && now.Sub(s.DeletedAt) < tombstoneFor
}

// over reports that an account's creation of that time was given up, or is behind one that was
// made; or that it was begun before, made, and deleted since.
func (s *State) over(id account.ID, at time.Time, again bool) bool {
	if s.DeletedAt.IsZero() || s.Account != id {
		return false
	}
	return s.CreatedAt.After(at) || s.CreatedAt.Equal(at) && (again || s.forgone())
}

// forgone reports that the inbox was deleted without having lived: only then it has no retention.
func (s *State) forgone() bool { return s.RetentionHours == 0 }

func (c Forgo) decide(s *State, env Env) ([]Event, Outcome, error) {
	switch {
	case s.Live() && s.Account == c.Account && s.CreatedAt.Equal(c.At):
		return nil, Outcome{Count: 1}, nil
	case s.Live(), s.kept(c.Account, env.Now), s.over(c.Account, c.At, false):
		return nil, Outcome{}, nil // Create is refused already
	}
	return []Event{created{Profile{Address: c.Address, Account: c.Account, CreatedAt: c.At, DeletedAt: env.Now, Encrypted: s.wasEncrypted(c.Account)}}}, Outcome{}, nil
}

func (c Receive) decide(s *State, env Env) ([]Event, Outcome, error) {
	if err := c.Sealed.check(s); err != nil {
		return nil, Outcome{}, err
	}
	if s.Unsettled > 0 { // else nothing is looked for, nor a digest made
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

// several is what a message holds of its recipients: most have one.
func several(recipients []string) *[]string {
	if len(recipients) < 2 {
		return nil
	}
	return &recipients
}

// Repeat is the digest by which a repeat of the mail is known.
func (c *Receive) Repeat() Digest {
	if c.Digest != (Digest{}) {
		return c.Digest
	}
	if c.Sealed != nil {
		return c.Sealed.Repeat
	}
	return DigestOf(c.MailFrom, []string{c.EnvelopeTo}, c.Raw[c.TraceLen:])
}

// unsettled looks for the mail with this digest among the newest messages, back to the end
// of the watch.
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
	known := c.To == "" || !m.Damaged // whose it was
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
		// With none over, the due entry was that of a message whose own time is lost: it moves.
		evs = append(evs, removed{over})
	}
	if !c.At.IsZero() && !c.At.Equal(s.DueAt) {
		evs = append(evs, dueMended{c.At})
		outcome.Count++
	}
	return evs, outcome, nil
}

// visible returns the message unless it is gone at now.
func (s *State) visible(id int64, now time.Time) *Message {
	if i, ok := s.find(id); ok && !s.Messages[i].Expired(now) {
		return s.Messages[i]
	}
	return nil
}
