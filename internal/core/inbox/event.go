package inbox

import (
	"slices"
	"time"
)

// Event is something that happened to an inbox. apply changes the state and cannot fail. rows adds
// what must be written for it, from the state after apply.
type Event interface {
	applyTo(*State)
	collectRows(*State, *Rows)
}

// Begin starts collecting the rows of a change to s, which may contain several commands that are
// committed together. r must be new or cleared.
func (r *Rows) Begin(s *State) {
	r.Address, r.DueFrom, r.DueTo = s.Address, s.DueAt, s.DueAt
}

// keepRows is the largest capacity of a list that cleared rows keep.
const keepRows = 16

// Clear prepares committed rows for another Begin. Public and QueueMoves stay valid for those that they
// were passed to.
func (r *Rows) Clear() {
	*r = Rows{PutMessages: clearedSlice(r.PutMessages), StoreMessages: clearedSlice(r.StoreMessages)}
}

func clearedSlice[T any](list []T) []T {
	if cap(list) > keepRows {
		return nil
	}
	clear(list)
	return list[:0]
}

// Apply applies events to s in order and collects the rows that they touch. The caller commits the
// rows before anybody may see s. If the commit fails, s must be discarded and loaded again.
func (r *Rows) Apply(s *State, evs []Event) {
	for _, ev := range evs {
		ev.applyTo(s)
		ev.collectRows(s, r)
	}
	r.Address = s.Address
	if r.Profile != nil || !s.DueAt.Equal(r.DueTo) { // a later event may have changed what an earlier one wrote
		r.DueTo = s.DueAt
		r.writeProfile(s)
	}
}

type (
	profileCreated  struct{ Profile Profile }
	messageReceived struct {
		Message        *Message
		Content        *Content
		Raw            []byte
		EncryptedParts *EncryptedParts
		SharedStorage  *SharedStorage
	}
	readMarked struct {
		ID   int64
		Read bool
	}
	receiptConfirmed struct{ ID int64 }
	ambiguityMarked  struct {
		ID     int64
		Digest MessageDigest
	}
	messagesRemoved struct{ Messages []*Message } // deleted, burnt, expired, or removed to make room
	tombstoneSet    struct{ At time.Time }
	settingsUpdated struct {
		Label          string
		RetentionHours int
		KeepNewest     bool
	}
	// dueMended is an entry of the due index at a time that is not the inbox's own.
	dueMended struct{ At time.Time }
)

func (r *Rows) writeProfile(s *State) {
	r.ofProfile = s.Profile
	r.Profile = &r.ofProfile
}

// writeSettings is profile for a change of more than its counters.
func (r *Rows) writeSettings(s *State) {
	r.writeProfile(s)
	r.WriteSpareCopy = true
}

// applyTo takes over the counters of a tombstone.
func (e profileCreated) applyTo(s *State) {
	p := e.Profile
	p.LastID, p.LastEvent, p.HasCalendar = s.LastID, s.LastEvent, s.HasCalendar
	s.Profile = p
}
func (e profileCreated) collectRows(s *State, r *Rows) { r.writeSettings(s) }

func (e messageReceived) applyTo(s *State) {
	m := e.Message
	s.AddMessage(m)
	s.LastID = m.ID
	s.LastEvent++
	s.NewestContent = cacheContent(m, e.Content)
	s.dueBy(m.ExpiresAt)
}
func (e messageReceived) collectRows(s *State, r *Rows) {
	r.writeProfile(s)
	m := e.Message
	r.PutMessages = append(r.PutMessages, m)
	stored := storedMessage(m.ID, e.Content, e.Raw, e.EncryptedParts)
	stored.SharedStorage = e.SharedStorage
	r.StoreMessages = append(r.StoreMessages, stored)
	r.PublicEvents = append(r.PublicEvents, PublicEvent{
		SequenceNumber: s.LastEvent, EventName: "message.received", Account: s.Account, Address: s.Address, NamedRecipients: m.allRecipients(),
		MessageID: m.ID, At: m.ReceivedAt, From: m.From.Email, EnvelopeTo: m.EnvelopeTo, Subject: m.Subject, OTP: m.OTP, Encrypted: m.EncryptedState != nil,
	})
}

// replaceMessage replaces one message by a changed copy, in a new array, because views keep the old
// one.
func (s *State) replaceMessage(id int64, change func(*Message)) {
	i, ok := s.indexOf(id)
	if !ok {
		return
	}
	m := *s.Messages[i]
	s.addTotals(&m, -1)
	change(&m)
	s.addTotals(&m, 1)
	s.Messages = slices.Clone(s.Messages)
	s.Messages[i] = &m
}
func (r *Rows) putMessage(s *State, id int64) {
	if i, ok := s.indexOf(id); ok {
		r.PutMessages = append(r.PutMessages, s.Messages[i])
	}
}

func (e readMarked) applyTo(s *State)              { s.replaceMessage(e.ID, func(m *Message) { m.IsRead = e.Read }) }
func (e readMarked) collectRows(s *State, r *Rows) { r.putMessage(s, e.ID) }
func (e receiptConfirmed) applyTo(s *State) {
	s.replaceMessage(e.ID, func(m *Message) { m.RepeatDigest = nil })
}
func (e receiptConfirmed) collectRows(s *State, r *Rows) { r.putMessage(s, e.ID) }
func (e ambiguityMarked) applyTo(s *State) {
	s.replaceMessage(e.ID, func(m *Message) { m.RepeatDigest = &e.Digest })
}
func (e ambiguityMarked) collectRows(s *State, r *Rows) { r.putMessage(s, e.ID); r.HasAmbiguous = true }

func (e messagesRemoved) applyTo(s *State) {
	gone := make(map[int64]bool, len(e.Messages))
	for _, m := range e.Messages {
		gone[m.ID] = true
		s.addTotals(m, -1)
	}
	left := make([]*Message, 0, len(s.Messages))
	for _, m := range s.Messages {
		if !gone[m.ID] {
			left = append(left, m)
		}
	}
	s.Messages = left
	if gone[s.NewestContent.ID()] {
		s.NewestContent = nil
	}
	s.rescheduleDue()
}
func (e messagesRemoved) collectRows(_ *State, r *Rows) {
	r.DropMessages = append(r.DropMessages, e.Messages...)
	r.unqueue(e.Messages)
}

func (e tombstoneSet) applyTo(s *State)              { s.DeletedAt = e.At }
func (e tombstoneSet) collectRows(s *State, r *Rows) { r.writeSettings(s) }

func (dueMended) applyTo(*State)                  {}
func (e dueMended) collectRows(_ *State, r *Rows) { r.DueStray = append(r.DueStray, e.At) }

func (e settingsUpdated) applyTo(s *State) {
	s.Label, s.RetentionHours, s.KeepNewest = e.Label, e.RetentionHours, e.KeepNewest
}
func (e settingsUpdated) collectRows(s *State, r *Rows) { r.writeSettings(s) }

// dueBy makes retention examine the inbox at a time, or earlier. The zero time changes nothing.
func (s *State) dueBy(at time.Time) {
	if !at.IsZero() && (s.DueAt.IsZero() || at.Before(s.DueAt)) {
		s.DueAt = at
	}
}

// rescheduleDue moves DueAt to the earliest remaining expiry, if DueAt was the expiry of a removed
// message or of a removed or changed meeting. No other event can make it later. While DueAt is
// still somebody's expiry it stays, so an ordinary message writes no due entry.
func (s *State) rescheduleDue() {
	var next time.Time
	for _, m := range s.Messages {
		if m.IsWaiting() {
			continue
		}
		if m.ExpiresAt.Equal(s.DueAt) {
			return
		}
		if next.IsZero() || m.ExpiresAt.Before(next) {
			next = m.ExpiresAt
		}
	}
	s.DueAt = next
	if s.Calendar != nil {
		for _, m := range s.Calendar.Meetings {
			s.dueBy(m.RemoveAt)
		}
	}
}

// indexOf returns the index of a message by binary search: ids ascend.
func (s *State) indexOf(id int64) (int, bool) {
	return slices.BinarySearchFunc(s.Messages, id, func(m *Message, id int64) int {
		switch {
		case m.ID < id:
			return -1
		case m.ID > id:
			return 1
		}
		return 0
	})
}

// weightSamples is how many messages are sampled to estimate the weight of an inbox.
const weightSamples = 32

// Weight is the approximate number of bytes that the state uses in memory.
func (s *State) Weight() int64 {
	var w int64
	all := len(s.Messages)
	n := min(all, weightSamples)
	for i := range n {
		w += s.Messages[i*all/n].memoryWeight()
	}
	if n > 0 {
		w = w * int64(all) / int64(n)
	}
	return w + s.responseWeight() + calendarWeight(s.Calendar)
}

// responseWeight is the approximate size of the rendered response to polls, present or future, if
// one of the last messages was received.
func (s *State) responseWeight() int64 {
	const fields, most = 1 << 10, 256 << 10
	for _, m := range slices.Backward(s.Messages[max(0, len(s.Messages)-weightSamples):]) {
		if m.Direction == In {
			return fields + min(m.Size, most)
		}
	}
	return 0
}

// memoryWeight is the memory of a message, its place in the list and its strings. A sent one also
// has its recipients and their reports.
func (m *Message) memoryWeight() int64 {
	const perMessage, perSealed, perSending, perRecipient, perName = 288, 40, 64, 96, 16
	w := perMessage + len(m.From.Email) + len(m.From.Name) + len(m.Subject) + len(m.EnvelopeTo)
	for _, recipient := range m.allRecipients() {
		w += perName + len(recipient)
	}
	if m.EncryptedState != nil {
		w += perSealed
	}
	if m.OutgoingDelivery == nil {
		return int64(w)
	}
	w += perSending
	for _, r := range m.OutgoingDelivery.Recipients {
		w += perRecipient + len(r.Email) + len(r.Error) + len(r.MX)
	}
	return int64(w)
}
