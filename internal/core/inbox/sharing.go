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
	// ShareCalendar creates the link for By, unless there is one that is not EndedLink. With Rotate it
	// replaces any. Hash is the token's, Sealed the token encrypted under the folder's key. If the
	// calendar was hidden, the command is NotFound unless By may manage the inbox.
	ShareCalendar struct {
		TokenHash      account.TokenHash
		EncryptedToken []byte
		By             calendar.LinkReader
		Rotate         bool
		EndedLink      account.TokenHash // of a link whose key no longer exists
	}
	// KeepLink reports that a session or a key with inbox:manage read the link. The link then
	// outlives the key that created it (specification, Calendar).
	KeepLink struct{ TokenHash account.TokenHash }
	// HideCalendar ends the link, if there is one, and prevents readers from creating another.
	HideCalendar struct{}
	// NoteFetch reports that the calendar was fetched by the link with that token. A later fetch
	// that was recorded before is not overwritten.
	NoteFetch struct {
		TokenHash         account.TokenHash
		At                time.Time
		ClientName        string
		LastChangeFetched time.Time // Feed.LastChangeFetched
		FetchCount        int64     // Feed.FetchCount, including this one
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
func ReadLinkToken(token string) (home partition.ID, hash account.TokenHash, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 2+linkRandom || base64.RawURLEncoding.EncodedLen(len(raw)) != len(token) {
		return 0, hash, false
	}
	home = partition.ID(binary.BigEndian.Uint16(raw))
	return home, account.HashToken([]byte(token)), home < partition.NumPartitions
}

// LinkRow is a row that finds an inbox by the token of its calendar's link.
type LinkRow struct {
	TokenHash account.TokenHash
	IsRemoved bool
}

type (
	// linkShared is a new link, which replaces the previous one.
	linkShared struct{ Feed calendar.SubscriptionLink }
	// unshared is the end of the link.
	unshared struct{ TokenHash account.TokenHash }
	// linkConcealed is a calendar for which readers cannot create a link.
	linkConcealed struct{}
	// linkFetched is a link with a recorded use, or one that outlives its key.
	linkFetched struct{ Feed calendar.SubscriptionLink }
)

func (e linkShared) applyTo(s *State) { s.setCalendar(s.Calendar.WithLink(&e.Feed, false)) }
func (e linkShared) collectRows(s *State, r *Rows) {
	r.writeCalendar(s)
	r.LinkRows = append(r.LinkRows, LinkRow{TokenHash: e.Feed.TokenHash})
}

func (linkConcealed) applyTo(s *State)              { s.setCalendar(s.Calendar.WithLink(nil, true)) }
func (linkConcealed) collectRows(s *State, r *Rows) { r.writeCalendar(s) }

func (unshared) applyTo(s *State) { s.setCalendar(s.Calendar.WithLink(nil, false)) }
func (e unshared) collectRows(s *State, r *Rows) {
	r.writeCalendar(s)
	r.LinkRows = append(r.LinkRows, LinkRow{TokenHash: e.TokenHash, IsRemoved: true})
}

func (e linkFetched) applyTo(s *State)            { s.setCalendar(s.Calendar.WithLink(&e.Feed, false)) }
func (linkFetched) collectRows(s *State, r *Rows) { r.writeCalendar(s) }

// setCalendar sets another calendar with the same meetings.
func (s *State) setCalendar(b *calendar.Book) { s.Calendar, s.HasCalendar = b, true }

// writeCalendar writes the calendar's own row, without its meetings.
func (r *Rows) writeCalendar(s *State) {
	r.writeProfile(s)
	r.Calendar = s.Calendar
}

// endLink ends the link, if there is one, and removes its row.
func (s *State) endLink() []Event {
	if link := s.Calendar.CurrentLink(); link != nil {
		return []Event{unshared{link.TokenHash}}
	}
	return nil
}

// errHidden is for readers of a calendar whose link was turned off.
var errHidden = fault.New(fault.NotFound, "The link to this calendar was turned off. A session or a key with inbox:manage can turn it on again")

func (c ShareCalendar) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	if link := s.Calendar.CurrentLink(); link != nil && !c.Rotate && link.TokenHash != c.EndedLink {
		return nil, CommandOutcome{}, nil
	}
	if !c.By.CanManage && s.Calendar.IsHidden() {
		return nil, CommandOutcome{}, errHidden
	}
	made := calendar.SubscriptionLink{TokenHash: c.TokenHash, EncryptedToken: c.EncryptedToken, CreatedAt: env.Now, CreatorKey: c.By.KeyHash}
	return append(s.endLink(), linkShared{made}), CommandOutcome{Count: 1}, nil
}

func (c KeepLink) decideEvents(s *State, _ Env) ([]Event, CommandOutcome, error) {
	link := s.Calendar.CurrentLink()
	if link == nil || link.TokenHash != c.TokenHash || !link.EndsWithKey() {
		return nil, CommandOutcome{}, nil
	}
	kept := *link
	kept.CreatorKey = [32]byte{}
	return []Event{linkFetched{kept}}, CommandOutcome{Count: 1}, nil
}

func (HideCalendar) decideEvents(s *State, _ Env) ([]Event, CommandOutcome, error) {
	if s.Calendar.IsHidden() {
		return nil, CommandOutcome{}, nil
	}
	return append(s.endLink(), linkConcealed{}), CommandOutcome{Count: 1}, nil
}

func (c NoteFetch) decideEvents(s *State, _ Env) ([]Event, CommandOutcome, error) {
	link := s.Calendar.CurrentLink()
	if link == nil || link.TokenHash != c.TokenHash || !c.At.After(link.FetchedAt) {
		return nil, CommandOutcome{}, nil
	}
	next := *link
	next.FetchedAt, next.LastClient, next.LastChangeFetched, next.FetchCount = c.At, c.ClientName, c.LastChangeFetched, max(c.FetchCount, link.FetchCount)
	return []Event{linkFetched{next}}, CommandOutcome{Count: 1}, nil
}
