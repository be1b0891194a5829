package inbox

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
)

// Commands of the subscription link of a calendar.
type (
	// ShareCalendar creates the link for By, unless there is one that is not Ended. With Rotate it
	// replaces any. Hash is the token's, Sealed the token encrypted under the folder's key. If the
	// calendar was hidden, the command is NotFound unless By may manage the inbox.
	ShareCalendar struct {
		Hash   account.Hash
		Sealed []byte
		By     calendar.Reader
		Rotate bool
		Ended  account.Hash // of a link whose key no longer exists
	}
	// KeepLink reports that a session or a key with inbox:manage read the link. The link then
	// outlives the key that created it (specification, Calendar).
	KeepLink struct{ Hash account.Hash }
	// HideCalendar ends the link, if there is one, and prevents readers from creating another.
	HideCalendar struct{}
	// NoteFetch reports that the calendar was fetched by the link with that token. A later fetch
	// that was recorded before is not overwritten.
	NoteFetch struct {
		Hash   account.Hash
		At     time.Time
		Client string
		Had    time.Time // Feed.Had
		Total  int64     // Feed.Fetches, including this one
	}
)

// linkRandom is how many random bytes a link's token has.
const linkRandom = 32

// LinkToken makes the token of a link: the partition of its inbox, so that a lookup needs no index,
// and the random bytes (specification, Calendar).
func LinkToken(home partition.ID, random [linkRandom]byte) string {
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint16(nil, uint16(home)), random[:]...))
}

// ReadLinkToken returns the partition of a token, and its hash. False means that no such token was
// ever made: each has exactly one spelling.
func ReadLinkToken(token string) (home partition.ID, hash account.Hash, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 2+linkRandom || base64.RawURLEncoding.EncodedLen(len(raw)) != len(token) {
		return 0, hash, false
	}
	home = partition.ID(binary.BigEndian.Uint16(raw))
	return home, account.HashToken([]byte(token)), home < partition.Count
}

// Link is a row that finds an inbox by the token of its calendar's link.
type Link struct {
	Hash account.Hash
	Gone bool
}

type (
	// shared is a new link, which replaces the previous one.
	shared struct{ Feed calendar.Feed }
	// unshared is the end of the link.
	unshared struct{ Hash account.Hash }
	// concealed is a calendar for which readers cannot create a link.
	concealed struct{}
	// fetched is a link with a recorded use, or one that outlives its key.
	fetched struct{ Feed calendar.Feed }
)

func (e shared) apply(s *State) { s.setCalendar(s.Calendar.Sharing(&e.Feed, false)) }
func (e shared) rows(s *State, r *Rows) {
	r.calendar(s)
	r.Links = append(r.Links, Link{Hash: e.Feed.Hash})
}

func (concealed) apply(s *State)         { s.setCalendar(s.Calendar.Sharing(nil, true)) }
func (concealed) rows(s *State, r *Rows) { r.calendar(s) }

func (unshared) apply(s *State) { s.setCalendar(s.Calendar.Sharing(nil, false)) }
func (e unshared) rows(s *State, r *Rows) {
	r.calendar(s)
	r.Links = append(r.Links, Link{Hash: e.Hash, Gone: true})
}

func (e fetched) apply(s *State)       { s.setCalendar(s.Calendar.Sharing(&e.Feed, false)) }
func (fetched) rows(s *State, r *Rows) { r.calendar(s) }

// setCalendar sets another calendar with the same meetings.
func (s *State) setCalendar(b *calendar.Book) { s.Calendar, s.HasCalendar = b, true }

// calendar writes the calendar's own row, without its meetings.
func (r *Rows) calendar(s *State) {
	r.profile(s)
	r.Calendar = s.Calendar
}

// hide ends the link, if there is one, and removes its row.
func (s *State) hide() []Event {
	if link := s.Calendar.Link(); link != nil {
		return []Event{unshared{link.Hash}}
	}
	return nil
}

// errHidden is for readers of a calendar whose link was turned off.
var errHidden = fault.New(fault.NotFound, "The link to this calendar was turned off. A session or a key with inbox:manage can turn it on again")

func (c ShareCalendar) decide(s *State, env Env) ([]Event, Outcome, error) {
	if link := s.Calendar.Link(); link != nil && !c.Rotate && link.Hash != c.Ended {
		return nil, Outcome{}, nil
	}
	if !c.By.Manage && s.Calendar.IsHidden() {
		return nil, Outcome{}, errHidden
	}
	made := calendar.Feed{Hash: c.Hash, Sealed: c.Sealed, CreatedAt: env.Now, Key: c.By.Key}
	return append(s.hide(), shared{made}), Outcome{Count: 1}, nil
}

func (c KeepLink) decide(s *State, _ Env) ([]Event, Outcome, error) {
	link := s.Calendar.Link()
	if link == nil || link.Hash != c.Hash || !link.Bound() {
		return nil, Outcome{}, nil
	}
	kept := *link
	kept.Key = [32]byte{}
	return []Event{fetched{kept}}, Outcome{Count: 1}, nil
}

func (HideCalendar) decide(s *State, _ Env) ([]Event, Outcome, error) {
	if s.Calendar.IsHidden() {
		return nil, Outcome{}, nil
	}
	return append(s.hide(), concealed{}), Outcome{Count: 1}, nil
}

func (c NoteFetch) decide(s *State, _ Env) ([]Event, Outcome, error) {
	link := s.Calendar.Link()
	if link == nil || link.Hash != c.Hash || !c.At.After(link.FetchedAt) {
		return nil, Outcome{}, nil
	}
	next := *link
	next.FetchedAt, next.Client, next.Had, next.Fetches = c.At, c.Client, c.Had, max(c.Total, link.Fetches)
	return []Event{fetched{next}}, Outcome{Count: 1}, nil
}
