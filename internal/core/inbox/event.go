package inbox

import (
	"slices"
	"time"
)

// Event is something that happened to an inbox. apply changes the state and cannot fail. rows adds
// what must be written for it, from the state after apply.
type Event interface {
	apply(*State)
	rows(*State, *Rows)
}

// Begin starts collecting the rows of a change to s, which may contain several commands that are
// committed together. r must be new or cleared.
func (r *Rows) Begin(s *State) {
	r.Address, r.DueFrom, r.DueTo = s.Address, s.DueAt, s.DueAt
}

// keepRows is the largest capacity of a list that cleared rows keep.
const keepRows = 16

// Clear prepares committed rows for another Begin. Public and Queue stay valid for those that they
// were passed to.
func (r *Rows) Clear() {
	*r = Rows{Put: cleared(r.Put), Store: cleared(r.Store)}
}

func cleared[T any](list []T) []T {
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
		ev.apply(s)
		ev.rows(s, r)
	}
	r.Address = s.Address
	if r.Profile != nil || !s.DueAt.Equal(r.DueTo) { // a later event may have changed what an earlier one wrote
		r.DueTo = s.DueAt
		r.profile(s)
	}
}

type (
	created  struct{ Profile Profile }
	received struct {
		Message *Message
		Content *Content
		Raw     []byte
		Sealed  *Sealing
		Shared  *Shared
	}
	marked struct {
		ID   int64
		Read bool
	}
	settled struct{ ID int64 }
	doubted struct {
		ID     int64
		Digest Digest
	}
	removed struct{ Messages []*Message } // deleted, burnt, expired, or removed to make room
	deleted struct{ At time.Time }
	updated struct {
		Label          string
		RetentionHours int
		KeepNewest     bool
	}
	// dueMended is an entry of the due index at a time that is not the inbox's own.
	dueMended struct{ At time.Time }
)

func (r *Rows) profile(s *State) {
	r.ofProfile = s.Profile
	r.Profile = &r.ofProfile
}

// settings is profile for a change of more than its counters.
func (r *Rows) settings(s *State) {
	r.profile(s)
	r.Spare = true
}

// apply takes over the counters of a tombstone.
func (e created) apply(s *State) {
	p := e.Profile
	p.LastID, p.LastEvent, p.HasCalendar = s.LastID, s.LastEvent, s.HasCalendar
	s.Profile = p
}
func (e created) rows(s *State, r *Rows) { r.settings(s) }

func (e received) apply(s *State) {
	m := e.Message
	s.Add(m)
	s.LastID = m.ID
	s.LastEvent++
	s.Newest = newest(m, e.Content)
	s.dueBy(m.ExpiresAt)
}
func (e received) rows(s *State, r *Rows) {
	r.profile(s)
	m := e.Message
	r.Put = append(r.Put, m)
	stored := store(m.ID, e.Content, e.Raw, e.Sealed)
	stored.Shared = e.Shared
	r.Store = append(r.Store, stored)
	r.Public = append(r.Public, Public{
		Number: s.LastEvent, Name: "message.received", Account: s.Account, Address: s.Address, Named: m.named(),
		MessageID: m.ID, At: m.ReceivedAt, From: m.From.Email, EnvelopeTo: m.EnvelopeTo, Subject: m.Subject, OTP: m.OTP, Encrypted: m.Sealed != nil,
	})
}

// replace replaces one message by a changed copy, in a new array, because views keep the old one.
func (s *State) replace(id int64, change func(*Message)) {
	i, ok := s.find(id)
	if !ok {
		return
	}
	m := *s.Messages[i]
	s.count(&m, -1)
	change(&m)
	s.count(&m, 1)
	s.Messages = slices.Clone(s.Messages)
	s.Messages[i] = &m
}
func (r *Rows) put(s *State, id int64) {
	if i, ok := s.find(id); ok {
		r.Put = append(r.Put, s.Messages[i])
	}
}

func (e marked) apply(s *State)          { s.replace(e.ID, func(m *Message) { m.Read = e.Read }) }
func (e marked) rows(s *State, r *Rows)  { r.put(s, e.ID) }
func (e settled) apply(s *State)         { s.replace(e.ID, func(m *Message) { m.Unsettled = nil }) }
func (e settled) rows(s *State, r *Rows) { r.put(s, e.ID) }
func (e doubted) apply(s *State)         { s.replace(e.ID, func(m *Message) { m.Unsettled = &e.Digest }) }
func (e doubted) rows(s *State, r *Rows) { r.put(s, e.ID); r.Doubted = true }

func (e removed) apply(s *State) {
	gone := make(map[int64]bool, len(e.Messages))
	for _, m := range e.Messages {
		gone[m.ID] = true
		s.count(m, -1)
	}
	left := make([]*Message, 0, len(s.Messages))
	for _, m := range s.Messages {
		if !gone[m.ID] {
			left = append(left, m)
		}
	}
	s.Messages = left
	if gone[s.Newest.ID()] {
		s.Newest = nil
	}
	s.schedule()
}
func (e removed) rows(_ *State, r *Rows) {
	r.Drop = append(r.Drop, e.Messages...)
	r.unqueue(e.Messages)
}

func (e deleted) apply(s *State)         { s.DeletedAt = e.At }
func (e deleted) rows(s *State, r *Rows) { r.settings(s) }

func (dueMended) apply(*State)             {}
func (e dueMended) rows(_ *State, r *Rows) { r.DueStray = append(r.DueStray, e.At) }

func (e updated) apply(s *State) {
	s.Label, s.RetentionHours, s.KeepNewest = e.Label, e.RetentionHours, e.KeepNewest
}
func (e updated) rows(s *State, r *Rows) { r.settings(s) }

// dueBy makes retention examine the inbox at a time, or earlier. The zero time changes nothing.
func (s *State) dueBy(at time.Time) {
	if !at.IsZero() && (s.DueAt.IsZero() || at.Before(s.DueAt)) {
		s.DueAt = at
	}
}

// schedule moves DueAt to the earliest remaining expiry, if DueAt was the expiry of a removed
// message or of a removed or changed meeting. No other event can make it later. While DueAt is
// still somebody's expiry it stays, so an ordinary message writes no due entry.
func (s *State) schedule() {
	var next time.Time
	for _, m := range s.Messages {
		if m.Waiting() {
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
			s.dueBy(m.Until)
		}
	}
}

// find returns the index of a message by binary search: ids ascend.
func (s *State) find(id int64) (int, bool) {
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

// weighed is how many messages are sampled to estimate the weight of an inbox.
const weighed = 32

// Weight is the approximate number of bytes that the state uses in memory.
func (s *State) Weight() int64 {
	var w int64
	all := len(s.Messages)
	n := min(all, weighed)
	for i := range n {
		w += s.Messages[i*all/n].weight()
	}
	if n > 0 {
		w = w * int64(all) / int64(n)
	}
	return w + s.answer() + calendarWeight(s.Calendar)
}

// answer is the approximate size of the rendered response to polls, present or future, if one of
// the last messages was received.
func (s *State) answer() int64 {
	const fields, most = 1 << 10, 256 << 10
	for _, m := range slices.Backward(s.Messages[max(0, len(s.Messages)-weighed):]) {
		if m.Direction == In {
			return fields + min(m.Size, most)
		}
	}
	return 0
}

// weight is the memory of a message, its place in the list and its strings. A sent one also has its
// recipients and their reports.
func (m *Message) weight() int64 {
	const perMessage, perSealed, perSending, perRecipient, perName = 288, 40, 64, 96, 16
	w := perMessage + len(m.From.Email) + len(m.From.Name) + len(m.Subject) + len(m.EnvelopeTo)
	for _, recipient := range m.named() {
		w += perName + len(recipient)
	}
	if m.Sealed != nil {
		w += perSealed
	}
	if m.Sending == nil {
		return int64(w)
	}
	w += perSending
	for _, r := range m.Sending.Recipients {
		w += perRecipient + len(r.Email) + len(r.Error) + len(r.MX)
	}
	return int64(w)
}
