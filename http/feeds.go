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

// Feeds is what the handlers of calendar links need. A token gives anyone who holds it access to
// one calendar, so it is in no log, metric or list.
type Feeds interface {
	// Share returns the token of the inbox's link and its usage. It creates a token if there is
	// none, or if the key that created it no longer exists. If the link was hidden, it creates one
	// only for a principal that may manage the inbox. It returns NotFound for other principals, and
	// for a HEAD request.
	Share(ctx context.Context, address string, by calendar.Reader) (token string, f calendar.Feed, err error)
	// Rotate revokes the token, if there is one, and creates a new one. A repeated request gets the
	// token of the first.
	Rotate(ctx context.Context, address string, by calendar.Reader, req idempotency.Request) (token string, f calendar.Feed, err error)
	// Hide revokes the token. Without one it does nothing.
	Hide(ctx context.Context, address string) error
	// Open returns the view of the inbox that the token belongs to, or NotFound.
	Open(ctx context.Context, token string) (*inbox.View, error)
	// Fetched records that a client fetched the calendar of a view that Open returned.
	Fetched(view *inbox.View, client string, at time.Time)
}

// Owners is what the handlers of the owner's copies need.
type Owners interface {
	Owner(ctx context.Context, address string) (calendar.OwnerSetting, error)
	// SetOwner returns the setting after its commit.
	SetOwner(ctx context.Context, address string, enabled bool) (calendar.OwnerSetting, error)
}

// feeds serves calendars to holders of their links, and creates and revokes the links.
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

// FeedPath starts the path of a calendar link. The token follows it.
const FeedPath, feedSuffix = "/calendar/feeds/", ".ics"

type feedResponse struct {
	Enabled        bool           `json:"enabled"` // always true: without a link one is created, or the request is refused
	FeedURL        string         `json:"feed_url"`
	WebcalURL      string         `json:"webcal_url"`
	SubscribeLinks subscribeLinks `json:"subscribe_links"`
	CreatedAt      *string        `json:"created_at"` // null: created by a version that did not record it
	FetchCount     int64          `json:"fetch_count"`
	LastFetchedAt  *string        `json:"last_fetched_at"`
	LastClient     *string        `json:"last_client"`
	Stale          bool           `json:"stale"`
}

// subscribeLinks open the calendar in the most common calendar programs.
type subscribeLinks struct {
	Google  string `json:"google"`
	Apple   string `json:"apple"`
	Outlook string `json:"outlook"`
}

// endIfRevoked revokes a new link if the credential was revoked in the meantime. The password reset
// that revoked it may have checked this calendar before the link existed.
func (f *feeds) endIfRevoked(r *request, made calendar.Feed) error {
	before := r.view.Calendar.Link()
	if !r.principal.Revoked() || before != nil && before.Hash == made.Hash {
		return nil
	}
	return cmp.Or(f.port.Hide(r.ctx, r.address), errNoCredential)
}

// giveFeed responds with the link. The link is stale if the calendar changed after the last fetch.
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

// reader describes the principal that asks for the link.
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

// fetches counts the fetches of calendar links since the process started, by outcome.
type fetches struct{ whole, unchanged, unknown atomic.Uint64 }

func (f *fetches) counts() map[string]uint64 {
	return map[string]uint64{"whole": f.whole.Load(), "unchanged": f.unchanged.Load(), "unknown": f.unknown.Load()}
}

// serveFeed responds to a calendar program that polls the link: with the text of the calendar, or
// with 304 if the client has it.
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
	if changed := bookOf(view).ChangedAt; changed.After(at) { // between the start of the request and Open
		at = changed
	}
	f.port.Fetched(view, calendar.Client(string(r.http.UserAgent())), at)
	return nil
}

// text returns the text of the calendar. Rendering a long one waits for a turn.
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

// feedName returns the title of an inbox's calendar.
func feedName(view *inbox.View) string {
	if inbox.IsGeneratedLabel(view.Label) {
		return view.Address
	}
	return cmp.Or(view.Label, view.Address)
}

// feedCache lets programs cache the text and revalidate it with its ETag.
const feedCache = "private, no-cache"

// has writes the header of the response and reports whether the client has the text. If so, the
// response is 304.
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
