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

// Inboxes is what this package needs of the inboxes that own the calendars.
type Inboxes interface {
	View(ctx context.Context, address string) (*inbox.View, error)
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
	DoOnce(ctx context.Context, address string, cmd inbox.Command, req idempotency.Request, tell func(inbox.Outcome) []byte) (idempotency.Result, error)
}

// LinkStore is the storage that links need.
type LinkStore interface {
	// Linked finds the inbox whose calendar a token opens; empty if none.
	Linked(home partition.ID, token account.Hash) (address string, err error)
	Encrypt(purpose string, secret []byte) ([]byte, error)
	Decrypt(purpose string, encrypted []byte) ([]byte, error)
}

// Keys reports whether the key that made a link is still valid.
type Keys interface {
	// Opens asks the account's actor and the disk.
	Opens(ctx context.Context, id account.ID, key account.Hash) (bool, error)
	// IsInUse checks only memory: false if the key is not cached.
	IsInUse(key account.Hash) bool
}

// Feeds creates, ends and resolves calendar links, and records their use. It is immutable except
// for the fetches, which are safe for concurrent use; any goroutine may use it.
type Feeds struct {
	inboxes Inboxes
	store   LinkStore
	keys    Keys
	random  func([]byte)
	fetches fetches
}

// NewFeeds returns the calendar links of inboxes.
func NewFeeds(inboxes Inboxes, store LinkStore, keys Keys, random func([]byte)) *Feeds {
	return &Feeds{inboxes: inboxes, store: store, keys: keys, random: random, fetches: fetches{of: map[string]*fetch{}}}
}

// sealedFor binds an encrypted token to its inbox: a row copied to another inbox is refused.
func sealedFor(address string) string { return "feed " + address }

// shareTries bounds the retries of Share if somebody hides the calendar concurrently.
const shareTries = 4

// errNoLink is returned to a reader that must not create a link.
var errNoLink = fault.New(fault.NotFound, "This calendar has no link. Create one with GET .../calendar/feed")

// Share returns the token of an inbox's link and the last use of the link. The first call creates
// the link, and so does the first call after the key that created it ended. For a hidden calendar,
// only a reader that may manage the inbox creates it.
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

// linkOf returns the link of a calendar, or nil if it has none, and whether the link works. It does
// not work if the key that created it was revoked or has expired.
func (f *Feeds) linkOf(ctx context.Context, view *inbox.View) (link *calendar.Feed, live bool, err error) {
	link = view.Calendar.Link()
	if link == nil || !link.Bound() || f.keys.IsInUse(link.Key) {
		return link, link != nil, nil
	}
	live, err = f.keys.Opens(ctx, view.Account, link.Key)
	return link, live, err
}

// read returns the token of a link. Once a session or a key with inbox:manage has read it, the link
// outlives the key that created it.
func (f *Feeds) read(ctx context.Context, address string, link *calendar.Feed, by calendar.Reader) (string, calendar.Feed, error) {
	if link.Bound() && by.Manage && !by.Looks {
		if _, err := f.inboxes.Do(ctx, address, inbox.KeepLink{Hash: link.Hash}); err != nil {
			return "", calendar.Feed{}, err
		}
	}
	token, err := f.store.Decrypt(sealedFor(address), link.Sealed)
	return string(token), f.fetches.known(address, *link), err
}

// minted creates a token and the command that makes it the token of the link.
func (f *Feeds) minted(address string) (order inbox.ShareCalendar, err error) {
	var random [32]byte
	f.random(random[:])
	token := []byte(inbox.LinkToken(partition.Of(address), random))
	order.Hash = account.HashToken(token)
	order.Sealed, err = f.store.Encrypt(sealedFor(address), token)
	return order, err
}

// Rotate ends the token of an inbox's link, if one exists, and creates another. A repeated request
// gets the token of the first one, even if that has ended meanwhile: its record holds the token
// encrypted.
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

// Hide ends the token of an inbox's link; without a link it does nothing.
func (f *Feeds) Hide(ctx context.Context, address string) error {
	_, err := f.inboxes.Do(ctx, address, inbox.HideCalendar{})
	return err
}

var errNoFeed = fault.New(fault.NotFound, "This calendar link is invalid or was turned off. Ask the calendar's owner for the current link")

// Open returns the view of the inbox whose calendar a token opens; NotFound if it opens none. While
// the inbox moves to another node, Open returns a temporary error, because calendar programs
// unsubscribe after NotFound.
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

// unlinked returns the error for a client that cannot see a calendar.
func unlinked(err error) error {
	if err == nil || fault.Is(err, fault.NoInbox) {
		return errNoFeed
	}
	return engine.Busy(err)
}

// Fetched records that a client fetched the calendar in the given view.
func (f *Feeds) Fetched(view *inbox.View, client string, at time.Time) {
	if link := view.Calendar.Link(); link != nil {
		f.fetches.note(view.Address, link, fetch{inbox.NoteFetch{Hash: link.Hash, At: at, Client: client, Had: view.Calendar.ChangedAt}})
	}
}
