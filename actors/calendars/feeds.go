package calendars

import (
	"context"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// Inboxes is what this package needs of those whose calendars they are.
type Inboxes interface {
	View(ctx context.Context, address string) (*inbox.View, error)
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
	DoOnce(ctx context.Context, address string, cmd inbox.Command, req idempotency.Request, tell func(inbox.Outcome) []byte) (idempotency.Result, error)
}

// LinkStore is what links need of the disk.
type LinkStore interface {
	// Linked finds the inbox whose calendar a token opens; empty: none.
	Linked(home partition.ID, token account.Hash) (address string, err error)
	Encrypt(purpose string, secret []byte) ([]byte, error)
	Decrypt(purpose string, encrypted []byte) ([]byte, error)
}

// Keys reports whether the key that made a link is still valid.
type Keys interface {
	// Opens asks the account's actor and the disk.
	Opens(ctx context.Context, id account.ID, key account.Hash) (bool, error)
	// IsInUse answers from memory: false when that does not know.
	IsInUse(key account.Hash) bool
}

// Feeds makes, ends and follows the links to calendars. It never changes but for the fetches, which
// guard themselves; any goroutine may use it.
type Feeds struct {
	inboxes Inboxes
	store   LinkStore
	keys    Keys
	random  func([]byte)
	fetches fetches
}

// NewFeeds returns the links of inboxes.
func NewFeeds(inboxes Inboxes, store LinkStore, keys Keys, random func([]byte)) *Feeds {
	return &Feeds{inboxes: inboxes, store: store, keys: keys, random: random, fetches: fetches{of: map[string]*fetch{}}}
}

// sealedFor ties an encrypted token to its inbox: a row copied to another one is refused.
func sealedFor(address string) string { return "feed " + address }

// shareTries bounds how often Share meets somebody who hides the calendar meanwhile.
const shareTries = 4

// errNoLink is for who only looks whether there is a link.
var errNoLink = fault.New(fault.NotFound, "This calendar has no link. Create one with GET .../calendar/feed")

// Share returns the token of an inbox's link and what is known of its use. The first call makes the
// link, and the first after its key ended; of a hidden calendar only one that may manage the inbox does.
func (f *Feeds) Share(ctx context.Context, address string, by calendar.Reader) (string, calendar.Feed, error) {
	for range shareTries {
		view, err := f.inboxes.View(ctx, address)
		if err != nil {
			return "", calendar.Feed{}, err
		}
		link, live, err := f.linkOf(ctx, view)
		switch {
		case err != nil:
			return "", calendar.Feed{}, err
		case live:
			return f.read(ctx, address, link, by)
		case by.Looks:
			return "", calendar.Feed{}, errNoLink
		}
		order, err := f.minted(address)
		if err != nil {
			return "", calendar.Feed{}, err
		}
		order.By = by
		if link != nil {
			order.Ended = link.Hash
		}
		if _, err := f.inboxes.Do(ctx, address, order); err != nil {
			return "", calendar.Feed{}, err
		}
	}
	return "", calendar.Feed{}, engine.Busy(nil)
}

// linkOf is the link of a calendar, nil without one, and whether it opens anything: not when the key that made
// it was revoked or expired.
func (f *Feeds) linkOf(ctx context.Context, view *inbox.View) (link *calendar.Feed, live bool, err error) {
	link = view.Calendar.Link()
	if link == nil || !link.Bound() || f.keys.IsInUse(link.Key) {
		return link, link != nil, nil
	}
	live, err = f.keys.Opens(ctx, view.Account, link.Key)
	return link, live, err
}

// read returns the token of a link. After a session or a key with inbox:manage has read it, the link outlives
// the key that made it.
func (f *Feeds) read(ctx context.Context, address string, link *calendar.Feed, by calendar.Reader) (string, calendar.Feed, error) {
	if link.Bound() && by.Manage && !by.Looks {
		if _, err := f.inboxes.Do(ctx, address, inbox.KeepLink{Hash: link.Hash}); err != nil {
			return "", calendar.Feed{}, err
		}
	}
	token, err := f.store.Decrypt(sealedFor(address), link.Sealed)
	return string(token), f.fetches.known(address, *link), err
}

// minted makes a token and the order that makes it the link's.
func (f *Feeds) minted(address string) (order inbox.ShareCalendar, err error) {
	var random [32]byte
	f.random(random[:])
	token := []byte(inbox.LinkToken(partition.Of(address), random))
	order.Hash = account.HashToken(token)
	order.Sealed, err = f.store.Encrypt(sealedFor(address), token)
	return order, err
}

// Rotate ends the token of an inbox's link, if there is one, and makes another. A request that is
// repeated gets the first one's, whatever became of it: its record holds the token sealed.
func (f *Feeds) Rotate(ctx context.Context, address string, by calendar.Reader, req idempotency.Request) (string, calendar.Feed, error) {
	order, err := f.minted(address)
	if err != nil {
		return "", calendar.Feed{}, err
	}
	order.Rotate, order.By = true, by
	sealed := order.Sealed
	if req.Repeatable() {
		var given idempotency.Result
		given, err = f.inboxes.DoOnce(ctx, address, order, req, func(inbox.Outcome) []byte { return order.Sealed })
		sealed = given.Told
	} else {
		_, err = f.inboxes.Do(ctx, address, order)
	}
	if err != nil {
		return "", calendar.Feed{}, err
	}
	first, err := f.store.Decrypt(sealedFor(address), sealed)
	if err != nil {
		return "", calendar.Feed{}, err
	}
	view, err := f.inboxes.View(ctx, address)
	if err != nil {
		return "", calendar.Feed{}, err
	}
	made := calendar.Feed{Hash: account.HashToken(first), Sealed: sealed}
	if link := view.Calendar.Link(); link != nil && link.Hash == made.Hash { // not ended meanwhile
		made = f.fetches.known(address, *link)
	}
	return string(first), made, nil
}

// Hide ends the token of an inbox's link; without one it does nothing.
func (f *Feeds) Hide(ctx context.Context, address string) error {
	_, err := f.inboxes.Do(ctx, address, inbox.HideCalendar{})
	return err
}

var errNoFeed = fault.New(fault.NotFound, "This calendar link is invalid or was turned off. Ask the calendar's owner for the current link")

// Open returns the view of the inbox whose calendar a token opens; NotFound when it opens none. Of one
// that is on the move nobody knows: a program that was told NotFound would follow it no more.
func (f *Feeds) Open(ctx context.Context, token string) (*inbox.View, error) {
	home, hash, ok := inbox.ReadLinkToken(token)
	if !ok {
		return nil, errNoFeed
	}
	address, err := f.store.Linked(home, hash)
	if err != nil || address == "" {
		return nil, unlinked(err)
	}
	view, err := f.inboxes.View(ctx, address)
	if err != nil {
		return nil, unlinked(err)
	}
	link, live, err := f.linkOf(ctx, view)
	if err != nil {
		return nil, engine.Busy(err)
	}
	if !live || link.Hash != hash {
		return nil, errNoFeed // ended meanwhile
	}
	return view, nil
}

// unlinked is what a stranger is told who could not be shown a calendar.
func unlinked(err error) error {
	if err == nil || fault.Is(err, fault.NoInbox) {
		return errNoFeed
	}
	return engine.Busy(err)
}

// Fetched notes that a client looked at the calendar of an inbox as view has it.
func (f *Feeds) Fetched(view *inbox.View, client string, at time.Time) {
	if link := view.Calendar.Link(); link != nil {
		f.fetches.note(view.Address, link, fetch{inbox.NoteFetch{Hash: link.Hash, At: at, Client: client, Had: view.Calendar.ChangedAt}})
	}
}
