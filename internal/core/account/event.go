package account

import (
	"slices"
	"time"

	"inboxd/internal/core/idempotency"
)

// Event is something that happened to an account. apply changes the state and cannot fail. rows
// adds what must be written for it, from the state after apply.
type Event interface {
	applyTo(*State)
	collectRows(*State, *Rows)
}

// Apply applies events to s in order and collects the rows that they touch. The caller commits the
// rows before anybody may see s. If the commit fails, s must be discarded and loaded again.
func (r *Rows) Apply(s *State, evs []Event) {
	for _, ev := range evs {
		ev.applyTo(s)
		ev.collectRows(s, r)
	}
	r.ID = s.ID
}

type (
	profileOpened  struct{ Profile Profile }
	sessionStarted struct{ Session Session }
	sessionEnded   struct{ Hash TokenHash }
	keyIssued      struct{ Key APIKey }
	keyRevoked     struct{ Key APIKey }
	keyNoted       struct{ Key APIKey }
	inboxReserved  struct {
		Address           string
		Reservation       InboxReservation
		IdempotencyRecord *idempotency.Record
	}
	inboxConfirmed struct {
		Address   string
		At        time.Time
		Encrypted bool
	}
	reservationReleased struct {
		Address     string
		Reservation InboxReservation
	}
	inboxReleased struct {
		Address   string
		CreatedAt time.Time
		Encrypted bool
	}
	planSet struct{ Plan PlanName }
)

func (r *Rows) writeProfile(s *State) {
	p := s.Profile
	r.Profile = &p
}

func (e profileOpened) applyTo(s *State)              { s.Profile = e.Profile }
func (e profileOpened) collectRows(s *State, r *Rows) { r.writeProfile(s) }
func (e planSet) applyTo(s *State)                    { s.Plan = e.Plan }
func (e planSet) collectRows(s *State, r *Rows)       { r.writeProfile(s) }
func (e sessionStarted) applyTo(s *State)             { ses := e.Session; s.Sessions[ses.Hash] = &ses }
func (e sessionStarted) collectRows(_ *State, r *Rows) {
	ses := e.Session
	r.PutSessions = append(r.PutSessions, &ses)
}
func (e sessionEnded) applyTo(s *State) { delete(s.Sessions, e.Hash) }
func (e sessionEnded) collectRows(_ *State, r *Rows) {
	r.DropSessions = append(r.DropSessions, &Session{Hash: e.Hash})
}

// keyCount returns the counter that counts the key.
func (s *State) keyCount(k *APIKey) *int64 {
	if k.Kind == KindInboxKey {
		return &s.InboxKeys
	}
	return &s.AccountKeys
}

func (e keyIssued) applyTo(s *State) {
	s.LastKey = e.Key.ID
	*s.keyCount(&e.Key)++
}
func (e keyIssued) collectRows(s *State, r *Rows) {
	k := e.Key
	r.PutKeys = append(r.PutKeys, &k)
	r.writeProfile(s)
}

func (e keyNoted) applyTo(*State) {}
func (e keyNoted) collectRows(_ *State, r *Rows) {
	k := e.Key
	r.PutKeys = append(r.PutKeys, &k)
}

func (e keyRevoked) applyTo(s *State) { *s.keyCount(&e.Key)-- }
func (e keyRevoked) collectRows(s *State, r *Rows) {
	k := e.Key
	r.PutKeys = slices.DeleteFunc(r.PutKeys, func(put *APIKey) bool { return put.ID == k.ID })
	r.DropKeys = append(r.DropKeys, &k)
	r.writeProfile(s)
}

func (e inboxReserved) applyTo(s *State) { s.ReservedInboxes[e.Address] = e.Reservation }
func (e inboxReserved) collectRows(_ *State, r *Rows) {
	// Puts are written before drops, so a drop of the same reservation in this change must be
	// removed.
	r.DropInboxes = slices.DeleteFunc(r.DropInboxes, func(d InboxEntry) bool { return !d.IsLive && d.Address == e.Address })
	r.PutInboxes = append(r.PutInboxes, InboxEntry{Address: e.Address, CreatedAt: e.Reservation.At, Reservation: e.Reservation})
	if e.IdempotencyRecord != nil {
		r.IdempotencyRecords.Add(*e.IdempotencyRecord)
	}
}
func (e inboxConfirmed) applyTo(s *State) {
	delete(s.ReservedInboxes, e.Address)
	s.LiveInboxes++
	s.countEncrypted(e.Encrypted, 1)
}
func (e inboxConfirmed) collectRows(s *State, r *Rows) {
	r.PutInboxes = append(r.PutInboxes, InboxEntry{Address: e.Address, CreatedAt: e.At, IsLive: true, Encrypted: e.Encrypted})
	r.writeProfile(s)
}
func (e reservationReleased) applyTo(s *State) { delete(s.ReservedInboxes, e.Address) }
func (e reservationReleased) collectRows(_ *State, r *Rows) {
	r.DropInboxes = append(r.DropInboxes, InboxEntry{Address: e.Address, CreatedAt: e.Reservation.At})
	if e.Reservation.IdempotencyKey != (idempotency.RequestKey{}) {
		r.IdempotencyRecords.Remove(e.Reservation.IdempotencyKey, e.Reservation.At)
	}
}
func (e inboxReleased) applyTo(s *State) {
	s.LiveInboxes--
	s.countEncrypted(e.Encrypted, -1)
}
func (e inboxReleased) collectRows(s *State, r *Rows) {
	r.DropInboxes = append(r.DropInboxes, InboxEntry{Address: e.Address, CreatedAt: e.CreatedAt, IsLive: true, Encrypted: e.Encrypted})
	r.writeProfile(s)
}
