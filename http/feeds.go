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

// FeedLinks is what the handlers of calendar links need. A token gives anyone who holds it access to
// one calendar, so it is in no log, metric or list.
type FeedLinks interface {
	// ShareFeed returns the token of the inbox's link and its usage. It creates a token if there is
	// none, or if the key that created it no longer exists. If the link was hidden, it creates one
	// only for a principal that may manage the inbox. It returns NotFound for other principals, and
	// for a HEAD request.
	ShareFeed(ctx context.Context, address string, by calendar.LinkReader) (token string, f calendar.SubscriptionLink, err error)
	// RotateLink revokes the token, if there is one, and creates a new one. A repeated request gets the
	// token of the first.
	RotateLink(ctx context.Context, address string, by calendar.LinkReader, req idempotency.Request) (token string, f calendar.SubscriptionLink, err error)
	// HideFeed revokes the token. Without one it does nothing.
	HideFeed(ctx context.Context, address string) error
	// OpenFeed returns the view of the inbox that the token belongs to, or NotFound.
	OpenFeed(ctx context.Context, token string) (*inbox.View, error)
	// NoteFetch records that a client fetched the calendar of a view that Open returned.
	NoteFetch(view *inbox.View, client string, at time.Time)
}

// OwnerManager is what the handlers of the owner's copies need.
type OwnerManager interface {
	ReadOwner(ctx context.Context, address string) (calendar.OwnerSetting, error)
	// SetOwner returns the setting after its commit.
	SetOwner(ctx context.Context, address string, enabled bool) (calendar.OwnerSetting, error)
}

// feedHandlers serves calendars to holders of their links, and creates and revokes the links.
type feedHandlers struct {
	feedLinks    FeedLinks
	ownerManager OwnerManager
	feedCache    *meetings.FeedCache
	baseURL      string
	fetchCounts  *fetchCounts
}

func newFeeds(p Ports, o *Options, count *fetchCounts) *feedHandlers {
	return &feedHandlers{p.Feeds, p.Owners, meetings.NewFeeds(), o.BaseURL, count}
}

var ownerShape = bodyShape{{name: "enabled", valueKind: booleanField, isRequired: true}}

func (f *feedHandlers) listRoutes() []routeSpec {
	const calendar = agentInbox + "/calendar"
	return []routeSpec{
		{methodGet, FeedPath + "{token}" + feedSuffix, noCredential, noScope, false, nil, f.serveFeed},
		{methodGet, calendar + "/owner", accountCredentials, scopeRead, false, nil, f.showOwner},
		{methodPut, calendar + "/owner", accountCredentials, scopeManage, false, ownerShape, ofCalendar(f.setOwner)},
		{methodGet, calendar + "/feed", anyCredential, scopeRead, false, nil, ofCalendar(f.shareFeed)},
		{methodPost, calendar + "/feed/rotate", anyCredential, scopeManage, false, emptyShape, ofCalendar(f.rotateFeed)},
		{methodDelete, calendar + "/feed", anyCredential, scopeManage, false, nil, ofCalendar(f.hideFeed)},
	}
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
func (f *feedHandlers) endIfRevoked(r *apiRequest, made calendar.SubscriptionLink) error {
	before := r.inboxView.Calendar.CurrentLink()
	if !r.principal.IsRevoked() || before != nil && before.TokenHash == made.TokenHash {
		return nil
	}
	return cmp.Or(f.feedLinks.HideFeed(r.ctx, r.inboxAddress), errNoCredential)
}

// giveFeed responds with the link. The link is stale if the calendar changed after the last fetch.
func (f *feedHandlers) giveFeed(r *apiRequest, token string, feed calendar.SubscriptionLink, err error) error {
	if err == nil {
		err = f.endIfRevoked(r, feed)
	}
	link := f.baseURL + FeedPath + token + feedSuffix
	_, rest, _ := strings.Cut(link, "://")
	webcal := "webcal://" + rest
	return r.json(fasthttp.StatusOK, feedResponse{
		Enabled: true, FeedURL: link, WebcalURL: webcal, CreatedAt: wireTimeOrNull(feed.CreatedAt), FetchCount: feed.FetchCount,
		SubscribeLinks: subscribeLinks{
			Google:  "https://calendar.google.com/calendar/r?cid=" + url.QueryEscape(webcal),
			Apple:   webcal,
			Outlook: "https://outlook.live.com/calendar/0/addfromweb?url=" + url.QueryEscape(link) + "&name=" + url.QueryEscape(r.inboxAddress),
		},
		LastFetchedAt: wireTimeOrNull(feed.FetchedAt), LastClient: stringOrNull(feed.LastClient),
		Stale: r.inboxView.Calendar.ChangedSinceFetch(feed),
	}, err)
}

func (f *feedHandlers) shareFeed(r *apiRequest) error {
	token, feed, err := f.feedLinks.ShareFeed(r.ctx, r.inboxAddress, r.calendarReader())
	return f.giveFeed(r, token, feed, err)
}

// calendarReader describes the principal that asks for the link.
func (r *apiRequest) calendarReader() calendar.LinkReader {
	by := calendar.LinkReader{CanManage: r.principal.Scopes.Allows(account.ScopeManage), IsHead: r.httpCtx.IsHead()}
	if r.principal.Kind != account.KindSession {
		by.KeyHash = r.principal.Hash
	}
	return by
}

func (f *feedHandlers) rotateFeed(r *apiRequest) error {
	req, err := r.idempotencyRequest()
	if err != nil {
		return err
	}
	token, feed, err := f.feedLinks.RotateLink(r.ctx, r.inboxAddress, r.calendarReader(), req)
	return f.giveFeed(r, token, feed, err)
}

func (f *feedHandlers) hideFeed(r *apiRequest) error {
	return r.json(fasthttp.StatusOK, struct {
		Enabled bool `json:"enabled"`
	}{}, f.feedLinks.HideFeed(r.ctx, r.inboxAddress))
}

// fetchCounts counts the fetches of calendar links since the process started, by outcome.
type fetchCounts struct{ fullReplies, unchanged, unknown atomic.Uint64 }

func (f *fetchCounts) readCounts() map[string]uint64 {
	return map[string]uint64{"whole": f.fullReplies.Load(), "unchanged": f.unchanged.Load(), "unknown": f.unknown.Load()}
}

// serveFeed responds to a calendar program that polls the link: with the text of the calendar, or
// with 304 if the client has it.
func (f *feedHandlers) serveFeed(r *apiRequest) error {
	view, err := f.feedLinks.OpenFeed(r.ctx, pathParameter(r.httpCtx, "token"))
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			f.fetchCounts.unknown.Add(1)
		}
		return err
	}
	text, err := f.renderFeed(r, view)
	if err != nil {
		return err
	}
	counter := &f.fetchCounts.unchanged
	if !r.isNotModified(text) {
		counter = &f.fetchCounts.fullReplies
		r.httpCtx.Response.SetBodyRaw(text.Text)
		if err := r.holdCharge(view.Account); err != nil {
			return err
		}
	}
	counter.Add(1)
	at := r.requestTime
	if changed := bookOf(view).ChangedAt; changed.After(at) { // between the start of the request and Open
		at = changed
	}
	f.feedLinks.NoteFetch(view, calendar.ClientName(string(r.httpCtx.UserAgent())), at)
	return nil
}

// renderFeed returns the text of the calendar. Rendering a long one waits for a turn.
func (f *feedHandlers) renderFeed(r *apiRequest, view *inbox.View) (*meetings.FeedText, error) {
	name, book := feedName(view), bookOf(view)
	if cached := f.feedCache.FindCached(view.Address, name, book); cached != nil {
		return cached, nil
	}
	if err := r.waitForTurn(book, len(book.Meetings), false); err != nil {
		return nil, err
	}
	return f.feedCache.RenderFeed(view.Address, name, book, r.requestTime), nil
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

// isNotModified writes the header of the response and reports whether the client has the text. If
// so, the response is 304.
func (r *apiRequest) isNotModified(text *meetings.FeedText) bool {
	h, asked := &r.httpCtx.Response.Header, &r.httpCtx.Request.Header
	h.Set("ETag", text.ETag)
	h.SetCanonical(headerCache, []byte(feedCache))
	dated := text.HasTime(r.requestTime)
	if dated {
		h.SetLastModified(text.ModifiedAt)
	}
	known := asked.PeekCanonical(headerIfNoneMatch)
	if wire.MatchesETag(known, []byte(text.ETag)) || len(known) == 0 && dated && !r.httpCtx.IfModifiedSince(text.ModifiedAt) {
		r.httpCtx.SetStatusCode(fasthttp.StatusNotModified)
		return true
	}
	h.SetContentType("text/calendar; charset=utf-8")
	r.httpCtx.SetStatusCode(fasthttp.StatusOK)
	return false
}

func (f *feedHandlers) showOwner(r *apiRequest) error {
	set, err := f.ownerManager.ReadOwner(r.ctx, r.inboxAddress)
	return giveOwner(r, set, err)
}

func (f *feedHandlers) setOwner(r *apiRequest) error {
	set, err := f.ownerManager.SetOwner(r.ctx, r.inboxAddress, r.bodyValues.flagOr("enabled", false))
	return giveOwner(r, set, err)
}

func giveOwner(r *apiRequest, set calendar.OwnerSetting, err error) error {
	return r.json(fasthttp.StatusOK, struct {
		Enabled   bool   `json:"enabled"`
		Email     string `json:"email"`
		Available bool   `json:"available"`
		Blocked   bool   `json:"blocked"`
	}{set.Enabled, set.Email, set.EmailAvailable, set.Blocked}, err)
}
