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

// InboxViewer is what this package needs of the inboxes that own the calendars.
type InboxViewer interface {
	InboxView(ctx context.Context, address string) (*inbox.View, error)
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.CommandOutcome, error)
	DoOnce(ctx context.Context, address string, cmd inbox.Command, req idempotency.Request, encode func(inbox.CommandOutcome) []byte) (idempotency.FirstResult, error)
}

// LinkStore is the storage that links need.
type LinkStore interface {
	// FindLinked finds the inbox whose calendar a token opens; empty if none.
	FindLinked(home partition.ID, token account.TokenHash) (address string, err error)
	EncryptSecret(purpose string, secret []byte) ([]byte, error)
	Decrypt(purpose string, encrypted []byte) ([]byte, error)
}

// KeyChecker reports whether the key that made a link is still valid.
type KeyChecker interface {
	// IsKeyValid asks the account's actor and the disk.
	IsKeyValid(ctx context.Context, id account.ID, key account.TokenHash) (bool, error)
	// IsInUse checks only memory: false if the key is not cached.
	IsInUse(key account.TokenHash) bool
}

// FeedService creates, ends and resolves calendar links, and records their use. It is immutable except
// for the fetches, which are safe for concurrent use; any goroutine may use it.
type FeedService struct {
	inboxes    InboxViewer
	store      LinkStore
	keys       KeyChecker
	fillRandom func([]byte)
	fetches    pendingFetches
}

// NewFeeds returns the calendar links of inboxes.
func NewFeeds(inboxes InboxViewer, store LinkStore, keys KeyChecker, random func([]byte)) *FeedService {
	return &FeedService{inboxes: inboxes, store: store, keys: keys, fillRandom: random, fetches: pendingFetches{of: map[string]*lastFetch{}}}
}

// sealedFor binds an encrypted token to its inbox: a row copied to another inbox is refused.
func sealedFor(address string) string { return "feed " + address }

// shareTries bounds the retries of ShareFeed if somebody hides the calendar concurrently.
const shareTries = 4

// errNoLink is returned to a reader that must not create a link.
var errNoLink = fault.New(fault.NotFound, "This calendar has no link. Create one with GET .../calendar/feed")

// ShareFeed returns the token of an inbox's link and the last use of the link. The first call creates
// the link, and so does the first call after the key that created it ended. For a hidden calendar,
// only a reader that may manage the inbox creates it.
func (f *FeedService) ShareFeed(ctx context.Context, address string, by calendar.LinkReader) (string, calendar.SubscriptionLink, error) {
	for range shareTries {
		view, err := f.inboxes.InboxView(ctx, address)
		if err != nil {
			return "", calendar.SubscriptionLink{}, err
		}
		link, live, err := f.linkOf(ctx, view)
		switch {
		case err != nil:
			return "", calendar.SubscriptionLink{}, err
		case live:
			return f.readToken(ctx, address, link, by)
		case by.IsHead:
			return "", calendar.SubscriptionLink{}, errNoLink
		}
		order, err := f.mintShare(address)
		if err != nil {
			return "", calendar.SubscriptionLink{}, err
		}
		order.By = by
		if link != nil {
			order.EndedLink = link.TokenHash
		}
		if _, err := f.inboxes.Do(ctx, address, order); err != nil {
			return "", calendar.SubscriptionLink{}, err
		}
	}
	return "", calendar.SubscriptionLink{}, engine.BusyError(nil)
}

// linkOf returns the link of a calendar, or nil if it has none, and whether the link works. It does
// not work if the key that created it was revoked or has expired.
func (f *FeedService) linkOf(ctx context.Context, view *inbox.View) (link *calendar.SubscriptionLink, live bool, err error) {
	link = view.Calendar.CurrentLink()
	if link == nil || !link.EndsWithKey() || f.keys.IsInUse(link.CreatorKey) {
		return link, link != nil, nil
	}
	live, err = f.keys.IsKeyValid(ctx, view.Account, link.CreatorKey)
	return link, live, err
}

// readToken returns the token of a link. Once a session or a key with inbox:manage has read it, the
// link outlives the key that created it.
func (f *FeedService) readToken(ctx context.Context, address string, link *calendar.SubscriptionLink, by calendar.LinkReader) (string, calendar.SubscriptionLink, error) {
	if link.EndsWithKey() && by.CanManage && !by.IsHead {
		if _, err := f.inboxes.Do(ctx, address, inbox.KeepLink{TokenHash: link.TokenHash}); err != nil {
			return "", calendar.SubscriptionLink{}, err
		}
	}
	token, err := f.store.Decrypt(sealedFor(address), link.EncryptedToken)
	return string(token), f.fetches.withLastFetch(address, *link), err
}

// mintShare creates a token and the command that makes it the token of the link.
func (f *FeedService) mintShare(address string) (order inbox.ShareCalendar, err error) {
	var random [32]byte
	f.fillRandom(random[:])
	token := []byte(inbox.LinkToken(partition.Of(address), random))
	order.TokenHash = account.HashToken(token)
	order.EncryptedToken, err = f.store.EncryptSecret(sealedFor(address), token)
	return order, err
}

// RotateLink ends the token of an inbox's link, if one exists, and creates another. A repeated request
// gets the token of the first one, even if that has ended meanwhile: its record holds the token
// encrypted.
func (f *FeedService) RotateLink(ctx context.Context, address string, by calendar.LinkReader, req idempotency.Request) (string, calendar.SubscriptionLink, error) {
	order, err := f.mintShare(address)
	if err != nil {
		return "", calendar.SubscriptionLink{}, err
	}
	order.Rotate, order.By = true, by
	sealed := order.EncryptedToken
	if req.IsRepeatable() {
		var given idempotency.FirstResult
		given, err = f.inboxes.DoOnce(ctx, address, order, req, func(inbox.CommandOutcome) []byte { return order.EncryptedToken })
		sealed = given.EncodedResponse
	} else {
		_, err = f.inboxes.Do(ctx, address, order)
	}
	if err != nil {
		return "", calendar.SubscriptionLink{}, err
	}
	first, err := f.store.Decrypt(sealedFor(address), sealed)
	if err != nil {
		return "", calendar.SubscriptionLink{}, err
	}
	view, err := f.inboxes.InboxView(ctx, address)
	if err != nil {
		return "", calendar.SubscriptionLink{}, err
	}
	made := calendar.SubscriptionLink{TokenHash: account.HashToken(first), EncryptedToken: sealed}
	if link := view.Calendar.CurrentLink(); link != nil && link.TokenHash == made.TokenHash { // not ended meanwhile
		made = f.fetches.withLastFetch(address, *link)
	}
	return string(first), made, nil
}

// HideFeed ends the token of an inbox's link; without a link it does nothing.
func (f *FeedService) HideFeed(ctx context.Context, address string) error {
	_, err := f.inboxes.Do(ctx, address, inbox.HideCalendar{})
	return err
}

var errNoFeed = fault.New(fault.NotFound, "This calendar link is invalid or was turned off. Ask the calendar's owner for the current link")

// OpenFeed returns the view of the inbox whose calendar a token opens; NotFound if it opens none. While
// the inbox moves to another node, OpenFeed returns a temporary error, because calendar programs
// unsubscribe after NotFound.
func (f *FeedService) OpenFeed(ctx context.Context, token string) (*inbox.View, error) {
	home, hash, ok := inbox.ReadLinkToken(token)
	if !ok {
		return nil, errNoFeed
	}
	address, err := f.store.FindLinked(home, hash)
	if err != nil || address == "" {
		return nil, unlinked(err)
	}
	view, err := f.inboxes.InboxView(ctx, address)
	if err != nil {
		return nil, unlinked(err)
	}
	link, live, err := f.linkOf(ctx, view)
	if err != nil {
		return nil, engine.BusyError(err)
	}
	if !live || link.TokenHash != hash {
		return nil, errNoFeed // ended meanwhile
	}
	return view, nil
}

// unlinked returns the error for a client that cannot see a calendar.
func unlinked(err error) error {
	if err == nil || fault.Is(err, fault.NoInbox) {
		return errNoFeed
	}
	return engine.BusyError(err)
}

// NoteFetch records that a client fetched the calendar in the given view.
func (f *FeedService) NoteFetch(view *inbox.View, client string, at time.Time) {
	if link := view.Calendar.CurrentLink(); link != nil {
		f.fetches.noteFetch(view.Address, link, lastFetch{inbox.NoteFetch{TokenHash: link.TokenHash, At: at, ClientName: client, LastChangeFetched: view.Calendar.ChangedAt}})
	}
}
