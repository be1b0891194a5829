package account

import (
	"slices"
	"time"

	"inboxd/internal/core/idempotency"
)

// Event is something that happened to an account. apply changes the state and cannot fail. rows
// adds what must be written for it, from the state after apply.
type Event interface {
	apply(*State)
	rows(*State, *Rows)
}

// Apply applies events to s in order and collects the rows that they touch. The caller commits the
// rows before anybody may see s. If the commit fails, s must be discarded and loaded again.
func (r *Rows) Apply(s *State, evs []Event) {
	for _, ev := range evs {
		ev.apply(s)
		ev.rows(s, r)
	}
	r.ID = s.ID
}

type (
	opened         struct{ Profile Profile }
	sessionStarted struct{ Session Session }
	sessionEnded   struct{ Hash Hash }
	keyIssued      struct{ Key Key }
	keyRevoked     struct{ Key Key }
	keyNoted       struct{ Key Key }
	inboxReserved  struct {
		Address     string
		Reservation Reservation
		Record      *idempotency.Record
	}
	inboxConfirmed struct {
		Address   string
		At        time.Time
		Encrypted bool
	}
	reservationReleased struct {
		Address     string
		Reservation Reservation
	}
	inboxReleased struct {
		Address   string
		CreatedAt time.Time
		Encrypted bool
	}
	planSet struct{ Plan PlanName }
)

func (r *Rows) profile(s *State) {
	p := s.Profile
	r.Profile = &p
}

func (e opened) apply(s *State)          { s.Profile = e.Profile }
func (e opened) rows(s *State, r *Rows)  { r.profile(s) }
func (e planSet) apply(s *State)         { s.Plan = e.Plan }
func (e planSet) rows(s *State, r *Rows) { r.profile(s) }
func (e sessionStarted) apply(s *State)  { ses := e.Session; s.Sessions[ses.Hash] = &ses }
func (e sessionStarted) rows(_ *State, r *Rows) {
	ses := e.Session
	r.PutSessions = append(r.PutSessions, &ses)
}
func (e sessionEnded) apply(s *State) { delete(s.Sessions, e.Hash) }
func (e sessionEnded) rows(_ *State, r *Rows) {
	r.DropSessions = append(r.DropSessions, &Session{Hash: e.Hash})
}

// keyCount returns the counter that counts the key.
func (s *State) keyCount(k *Key) *int64 {
	if k.Kind == KindInboxKey {
		return &s.InboxKeys
	}
	return &s.AccountKeys
}

func (e keyIssued) apply(s *State) {
	s.LastKey = e.Key.ID
	*s.keyCount(&e.Key)++
}
func (e keyIssued) rows(s *State, r *Rows) {
	k := e.Key
	r.PutKeys = append(r.PutKeys, &k)
	r.profile(s)
}

func (e keyNoted) apply(*State) {}
func (e keyNoted) rows(_ *State, r *Rows) {
	k := e.Key
	r.PutKeys = append(r.PutKeys, &k)
}

func (e keyRevoked) apply(s *State) { *s.keyCount(&e.Key)-- }
func (e keyRevoked) rows(s *State, r *Rows) {
	k := e.Key
	r.PutKeys = slices.DeleteFunc(r.PutKeys, func(put *Key) bool { return put.ID == k.ID })
	r.DropKeys = append(r.DropKeys, &k)
	r.profile(s)
}

func (e inboxReserved) apply(s *State) { s.Reserved[e.Address] = e.Reservation }
func (e inboxReserved) rows(_ *State, r *Rows) {
	// Puts are written before drops, so a drop of the same reservation in this change must be
	// removed.
	r.DropInboxes = slices.DeleteFunc(r.DropInboxes, func(d InboxEntry) bool { return !d.Live && d.Address == e.Address })
	r.PutInboxes = append(r.PutInboxes, InboxEntry{Address: e.Address, CreatedAt: e.Reservation.At, Reservation: e.Reservation})
	if e.Record != nil {
		r.Once.Add(*e.Record)
	}
}
func (e inboxConfirmed) apply(s *State) {
	delete(s.Reserved, e.Address)
	s.Inboxes++
	s.countEncrypted(e.Encrypted, 1)
}
func (e inboxConfirmed) rows(s *State, r *Rows) {
	r.PutInboxes = append(r.PutInboxes, InboxEntry{Address: e.Address, CreatedAt: e.At, Live: true, Encrypted: e.Encrypted})
	r.profile(s)
}
func (e reservationReleased) apply(s *State) { delete(s.Reserved, e.Address) }
func (e reservationReleased) rows(_ *State, r *Rows) {
	r.DropInboxes = append(r.DropInboxes, InboxEntry{Address: e.Address, CreatedAt: e.Reservation.At})
	if e.Reservation.Once != (idempotency.Key{}) {
		r.Once.Remove(e.Reservation.Once, e.Reservation.At)
	}
}
func (e inboxReleased) apply(s *State) {
	s.Inboxes--
	s.countEncrypted(e.Encrypted, -1)
}
func (e inboxReleased) rows(s *State, r *Rows) {
	r.DropInboxes = append(r.DropInboxes, InboxEntry{Address: e.Address, CreatedAt: e.CreatedAt, Live: true, Encrypted: e.Encrypted})
	r.profile(s)
}
