package http

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/meetings"
	"inboxd/http/wire"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// Feeds is what the handlers of calendar links need. A token opens one calendar, for whoever
// holds it: it is in no log, metric or list.
type Feeds interface {
	// Share returns the token of the inbox's link and what is known of its use; it makes one when
	// there is none, or when the key that made it is no more. Where it was hidden, it does so only for who may
	// manage the inbox: NotFound for others, and for who only looks.
	Share(ctx context.Context, address string, by calendar.Reader) (token string, f calendar.Feed, err error)
	// Rotate ends the token, if there is one, and makes another. A request that is repeated gets the
	// first one's.
	Rotate(ctx context.Context, address string, by calendar.Reader, req idempotency.Request) (token string, f calendar.Feed, err error)
	// Hide ends the token; without one it does nothing.
	Hide(ctx context.Context, address string) error
	// Open returns the view of the inbox whose token it is: NotFound when it is nobody's.
	Open(ctx context.Context, token string) (*inbox.View, error)
	// Fetched notes that a client looked at the calendar of the view, which Open gave, at that time.
	Fetched(view *inbox.View, client string, at time.Time)
}

// Owners is what the handlers of the owner's copies need.
type Owners interface {
	Owner(ctx context.Context, address string) (calendar.OwnerSetting, error)
	// SetOwner answers with the setting after its commit.
	SetOwner(ctx context.Context, address string, enabled bool) (calendar.OwnerSetting, error)
}

// feeds shows calendars to whoever holds their links, and hands out and ends those.
type feeds struct {
	port    Feeds
	owners  Owners
	texts   *meetings.Feeds
	baseURL string
	count   *fetches
}

func newFeeds(p Ports, o *Options, count *fetches) *feeds {
	return &feeds{p.Feeds, p.Owners, meetings.NewFeeds(), o.BaseURL, count}
}

var ownerShape = shape{{name: "enabled", kind: boolean, required: true}}

func (f *feeds) routes() []route {
	all := []route{
		{get, FeedPath + "{token}" + feedSuffix, nobody, none, false, nil, f.serveFeed},
		{get, agentInbox + "/calendar/owner", creators, read, false, nil, f.showOwner},
		{put, agentInbox + "/calendar/owner", creators, manage, false, ownerShape, ofCalendar(f.setOwner)},
	}
	for _, on := range []struct {
		calendar string
		who      credentials
	}{{agentInbox + "/calendar", anyone}, {perInbox + "/calendar", insiders}} {
		all = append(all,
			route{get, on.calendar + "/feed", on.who, read, false, nil, ofCalendar(f.shareFeed)},
			route{post, on.calendar + "/feed/rotate", on.who, manage, false, emptyShape, ofCalendar(f.rotateFeed)},
			route{remove, on.calendar + "/feed", on.who, manage, false, nil, ofCalendar(f.hideFeed)},
		)
	}
	return all
}

// FeedPath begins the path of a link to a calendar; what follows opens it.
const FeedPath, feedSuffix = "/calendar/feeds/", ".ics"

type feedResponse struct {
	Enabled        bool           `json:"enabled"` // always: without a link it is made, or refused
	FeedURL        string         `json:"feed_url"`
	WebcalURL      string         `json:"webcal_url"`
	SubscribeLinks subscribeLinks `json:"subscribe_links"`
	CreatedAt      *string        `json:"created_at"` // null: by a version that did not keep it
	FetchCount     int64          `json:"fetch_count"`
	LastFetchedAt  *string        `json:"last_fetched_at"`
	LastClient     *string        `json:"last_client"`
	Stale          bool           `json:"stale"`
}

// subscribeLinks open the calendar in the programs that most people have.
type subscribeLinks struct {
	Google  string `json:"google"`
	Apple   string `json:"apple"`
	Outlook string `json:"outlook"`
}

// endIfRevoked ends a link again that was made for a credential which was revoked meanwhile: the password
// reset that did so may have looked at this calendar before the link was there.
func (f *feeds) endIfRevoked(r *request, made calendar.Feed) error {
	before := r.view.Calendar.Link()
	if !r.principal.Revoked() || before != nil && before.Hash == made.Hash {
		return nil
	}
	return cmp.Or(f.port.Hide(r.ctx, r.address), errNoCredential)
}

// giveFeed answers with the link. It is stale when the calendar changed after somebody looked.
func (f *feeds) giveFeed(r *request, token string, feed calendar.Feed, err error) error {
	if err == nil {
		err = f.endIfRevoked(r, feed)
	}
	link := f.baseURL + FeedPath + token + feedSuffix
	_, rest, _ := strings.Cut(link, "://")
	webcal := "webcal://" + rest
	return r.json(fasthttp.StatusOK, feedResponse{
		Enabled: true, FeedURL: link, WebcalURL: webcal, CreatedAt: wireTimeOrNull(feed.CreatedAt), FetchCount: feed.Fetches,
		SubscribeLinks: subscribeLinks{
			Google:  "https://calendar.google.com/calendar/r?cid=" + url.QueryEscape(webcal),
			Apple:   webcal,
			Outlook: "https://outlook.live.com/calendar/0/addfromweb?url=" + url.QueryEscape(link) + "&name=" + url.QueryEscape(r.address),
		},
		LastFetchedAt: wireTimeOrNull(feed.FetchedAt), LastClient: stringOrNull(feed.Client),
		Stale: r.view.Calendar.Stale(feed),
	}, err)
}

func (f *feeds) shareFeed(r *request) error {
	token, feed, err := f.port.Share(r.ctx, r.address, r.reader())
	return f.giveFeed(r, token, feed, err)
}

// reader is who asks for the link.
func (r *request) reader() calendar.Reader {
	by := calendar.Reader{Manage: r.principal.Scopes.Allows(account.ScopeManage), Looks: r.http.IsHead()}
	if r.principal.Kind != account.KindSession {
		by.Key = r.principal.Hash
	}
	return by
}

func (f *feeds) rotateFeed(r *request) error {
	req, err := r.once()
	if err != nil {
		return err
	}
	token, feed, err := f.port.Rotate(r.ctx, r.address, r.reader(), req)
	return f.giveFeed(r, token, feed, err)
}

func (f *feeds) hideFeed(r *request) error {
	return r.json(fasthttp.StatusOK, struct {
		Enabled bool `json:"enabled"`
	}{}, f.port.Hide(r.ctx, r.address))
}

// fetches counts what came of following links, to the end of the process.
type fetches struct{ whole, unchanged, unknown atomic.Uint64 }

func (f *fetches) counts() map[string]uint64 {
	return map[string]uint64{"whole": f.whole.Load(), "unchanged": f.unchanged.Load(), "unknown": f.unknown.Load()}
}

// serveFeed answers a calendar program, which asks again and again: with the text of the calendar, or
// with 304 when that is what it has.
func (f *feeds) serveFeed(r *request) error {
	view, err := f.port.Open(r.ctx, parameter(r.http, "token"))
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			f.count.unknown.Add(1)
		}
		return err
	}
	text, err := f.text(r, view)
	if err != nil {
		return err
	}
	counter := &f.count.unchanged
	if !r.has(text) {
		counter = &f.count.whole
		r.http.Response.SetBodyRaw(text.Text)
		if err := r.hold(view.Account); err != nil {
			return err
		}
	}
	counter.Add(1)
	at := r.now
	if changed := bookOf(view).ChangedAt; changed.After(at) { // between the request and the look
		at = changed
	}
	f.port.Fetched(view, calendar.Client(string(r.http.UserAgent())), at)
	return nil
}

// text is the calendar's, made by turns when it is a long one.
func (f *feeds) text(r *request, view *inbox.View) (*meetings.Feed, error) {
	name, book := feedName(view), bookOf(view)
	if cached := f.texts.Cached(view.Address, name, book); cached != nil {
		return cached, nil
	}
	if err := r.waitForTurn(book, len(book.Meetings), false); err != nil {
		return nil, err
	}
	return f.texts.Make(view.Address, name, book, r.now), nil
}

// feedName is what programs call the calendar of an inbox.
func feedName(view *inbox.View) string {
	if inbox.IsGeneratedLabel(view.Label) {
		return view.Address
	}
	return cmp.Or(view.Label, view.Address)
}

// feedCache lets programs keep the text and ask with its tag.
const feedCache = "private, no-cache"

// has writes the head of the answer and reports whether the client has the text, which makes it 304.
func (r *request) has(text *meetings.Feed) bool {
	h, asked := &r.http.Response.Header, &r.http.Request.Header
	h.Set("ETag", text.ETag)
	h.SetCanonical(headerCache, []byte(feedCache))
	dated := text.Dated(r.now)
	if dated {
		h.SetLastModified(text.Modified)
	}
	known := asked.PeekCanonical(headerIfNoneMatch)
	if wire.Matches(known, []byte(text.ETag)) || len(known) == 0 && dated && !r.http.IfModifiedSince(text.Modified) {
		r.http.SetStatusCode(fasthttp.StatusNotModified)
		return true
	}
	h.SetContentType("text/calendar; charset=utf-8")
	r.http.SetStatusCode(fasthttp.StatusOK)
	return false
}

func (f *feeds) showOwner(r *request) error {
	set, err := f.owners.Owner(r.ctx, r.address)
	return giveOwner(r, set, err)
}

func (f *feeds) setOwner(r *request) error {
	set, err := f.owners.SetOwner(r.ctx, r.address, r.body.flag("enabled", false))
	return giveOwner(r, set, err)
}

func giveOwner(r *request, set calendar.OwnerSetting, err error) error {
	return r.json(fasthttp.StatusOK, struct {
		Enabled   bool   `json:"enabled"`
		Email     string `json:"email"`
		Available bool   `json:"available"`
		Blocked   bool   `json:"blocked"`
	}{set.Enabled, set.Email, set.Available, set.Blocked}, err)
}
