package http

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/search"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// InboxManager is what the handlers of inboxes need.
type InboxManager interface {
	// CreateInbox creates the inbox of an order within the limits of the account's plan.
	CreateInbox(ctx context.Context, id account.ID, order inbox.CreationRequest) (*inbox.View, inbox.Placement, error)
	// CreateInboxOnce is CreateInbox for a request with an idempotency key. The first result is
	// stored with the inbox, and every repeat gets it. encode makes the response, and must use only
	// its arguments.
	CreateInboxOnce(ctx context.Context, id account.ID, order inbox.CreationRequest, req idempotency.Request, encode func(inbox.Placement, time.Time) []byte) (idempotency.FirstResult, error)
	// CheckRequest refuses an idempotency key of a creation that was used with a different request.
	// It changes nothing.
	CheckRequest(ctx context.Context, id account.ID, req idempotency.Request) error
	// ListInboxes pages through those of the account's inboxes for which take returns true, newest
	// first. An empty cursor starts at the beginning; an empty returned cursor means the end.
	ListInboxes(ctx context.Context, id account.ID, cursor string, limit int, take func(*inbox.View) bool) (inbox.ListPage, error)
	// HaveKeys reports which of the inboxes have a key, expired or not.
	HaveKeys(ctx context.Context, id account.ID, addresses []string) ([]bool, error)
	// InboxCapacity returns how many messages each inbox of the account may hold.
	InboxCapacity(ctx context.Context, id account.ID) (inbox.Capacity, error)
	// UpdateInbox changes what the owner may change, within the account's plan. ignored lists the
	// fields that the plan does not include, and note says why.
	UpdateInbox(ctx context.Context, id account.ID, address string, cmd inbox.UpdateSettings) (ignored []string, note string, err error)
	DeleteInbox(ctx context.Context, id account.ID, address string) error
	// Do sends a command to the inbox and returns after its commit.
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.CommandOutcome, error)
}

// inboxHandlers has the handlers that create, show and delete inboxes.
type inboxHandlers struct {
	inboxManager InboxManager
	baseURL      string
}

func (in *inboxHandlers) listRoutes() []routeSpec {
	return []routeSpec{
		{methodPost, "/api/inboxes", sessionTokens, noScope, false, sessionOrderShape, in.createInbox},
		{methodGet, "/api/inboxes", sessionTokens, noScope, false, nil, in.listInboxes},
		{methodPost, agentInboxes, accountCredentials, scopeManage, false, orderShape, in.createInbox},
		{methodGet, agentInboxes, anyCredential, scopeRead, false, nil, in.listInboxes},
		{methodGet, agentInbox, anyCredential, scopeRead, false, nil, in.showInbox},
		{methodPatch, agentInbox, anyCredential, scopeManage, false, updateShape, in.updateInbox},
		{methodDelete, agentInbox, anyCredential, scopeManage, false, nil, in.deleteInbox},
		{methodPost, agentInbox + "/burn", anyCredential, scopeManage, false, emptyShape, in.deleteMessages},
	}
}

type createdResponse struct {
	Address        string   `json:"address"`
	RetentionHours int      `json:"retention_hours"`
	APIKey         *string  `json:"api_key"` // always null (specification, Keys)
	Label          string   `json:"label"`
	Name           string   `json:"name"` // the label
	CreatedAt      string   `json:"created_at"`
	Encrypted      bool     `json:"encrypted"`
	KeepNewest     bool     `json:"keep_newest"`
	Full           bool     `json:"full"` // always false: a plan permits at least one message
	IgnoredFields  []string `json:"ignored_fields,omitempty"`
	Note           string   `json:"note,omitempty"`
}

type inboxResponse struct {
	Address        string  `json:"address"`
	Label          string  `json:"label"`
	Name           string  `json:"name"` // the label
	RetentionHours int     `json:"retention_hours"`
	CreatedAt      string  `json:"created_at"`
	Encrypted      bool    `json:"encrypted"`
	HasKey         bool    `json:"has_key"`
	MessageCount   int     `json:"message_count"`
	UnreadCount    int     `json:"unread_count"`
	LastMessageAt  *string `json:"last_message_at"`
	KeepNewest     bool    `json:"keep_newest"`
	Full           bool    `json:"full"`
}

type shownResponse struct {
	Inbox         inboxResponse `json:"inbox"`
	IgnoredFields []string      `json:"ignored_fields,omitempty"`
	Note          string        `json:"note,omitempty"`
}

// createInbox serves both surfaces. Only the session surface accepts encrypted.
func (in *inboxHandlers) createInbox(r *apiRequest) error {
	req, err := r.idempotencyRequest()
	if err != nil {
		return err
	}
	order := r.bodyValues.inboxOrder()
	if req.IsRepeatable() {
		made, err := in.inboxManager.CreateInboxOnce(r.ctx, r.principal.Account, order, req, createdBody)
		if err != nil {
			return err
		}
		return in.giveInbox(r, made.Address, made.EncodedResponse)
	}
	view, place, err := in.inboxManager.CreateInbox(r.ctx, r.principal.Account, order)
	if err != nil {
		return err
	}
	return in.giveInbox(r, view.Address, createdBody(place, view.CreatedAt))
}

// inboxOrder returns the order in the body of a creation.
func (v bodyValues) inboxOrder() inbox.CreationRequest {
	return inbox.CreationRequest{
		Prefix: v.textOf("prefix"), Subdomain: v.textOf("subdomain"), Domain: v.textOf("domain"),
		Label: v.textOf("label"), RetentionHours: v.numberOf("retention_hours"), KeepNewest: v.flagOr("keep_newest", false),
		Encrypted: v.flagOr("encrypted", false),
	}
}

func (in *inboxHandlers) giveInbox(r *apiRequest, address string, body []byte) error {
	r.httpCtx.Response.Header.Set("Location", in.baseURL+"/api/v1/inboxes/"+url.PathEscape(address))
	writeJSON(r.httpCtx, fasthttp.StatusCreated, body)
	return nil
}

// createdBody returns the response for a new inbox.
func createdBody(place inbox.Placement, at time.Time) []byte {
	body, _ := marshalJSON(createdResponse{ // every value has a JSON form
		Address: place.Address, RetentionHours: place.RetentionHours, Label: place.Label, Name: place.Label,
		CreatedAt: wireTime(at), Encrypted: place.Encrypted, KeepNewest: place.KeepNewest, IgnoredFields: place.IgnoredFields, Note: place.Note,
	})
	return body
}

const (
	defaultInboxes = 100
	maxInboxes     = 1000
)

// listInboxes pages through the account's inboxes. An inbox key sees only its own inbox
// (specification, Credentials).
func (in *inboxHandlers) listInboxes(r *apiRequest) error {
	q := r.queryReader()
	limit := q.readNumber("limit", q.responseForm.inboxLimit, 1, maxInboxes)
	cursor, which := q.rawValue("cursor"), q.readInboxFilter()
	if q.firstErr != nil {
		return q.firstErr
	}
	page, err := in.chosenInboxes(r, cursor, int(limit), which)
	if err != nil {
		return err
	}
	items, err := in.describeInboxes(r, page.Views...)
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusOK, struct {
		Inboxes    []inboxResponse `json:"inboxes"`
		NextCursor *string         `json:"next_cursor"`
		Damaged    []string        `json:"damaged,omitempty"`
	}{items, stringOrNull(page.NextCursor), page.DamagedAddresses}, nil)
}

// inboxFilter filter a list of inboxes.
type inboxFilter struct{ labelPart, addressPrefix string } // label is folded, prefix is lower case

func (q *queryReader) readInboxFilter() inboxFilter {
	return inboxFilter{labelPart: q.readFolded("label"), addressPrefix: strings.ToLower(plusSigns(q.readWords("prefix")))}
}

func (b inboxFilter) matchesView(v *inbox.View) bool {
	return strings.Contains(search.FoldText(v.Label), b.labelPart) && !b.matchesDamaged(v.Address)
}

// matchesDamaged reports whether an address does not match. Nothing but its address is known of a
// damaged inbox.
func (b inboxFilter) matchesDamaged(address string) bool {
	return !strings.HasPrefix(address, b.addressPrefix)
}

func (in *inboxHandlers) chosenInboxes(r *apiRequest, cursor string, limit int, which inboxFilter) (inbox.ListPage, error) {
	if r.principal.Kind != account.KindInboxKey {
		page, err := in.inboxManager.ListInboxes(r.ctx, r.principal.Account, cursor, limit, which.matchesView)
		page.DamagedAddresses = slices.DeleteFunc(page.DamagedAddresses, which.matchesDamaged)
		return page, err
	}
	r.inboxAddress = r.principal.Inbox
	if err := r.refreshView(); err != nil || !which.matchesView(r.inboxView) {
		return inbox.ListPage{}, err
	}
	return inbox.ListPage{Views: []*inbox.View{r.inboxView}}, nil
}

// describeInboxes renders inboxes of the account.
func (in *inboxHandlers) describeInboxes(r *apiRequest, views ...*inbox.View) ([]inboxResponse, error) {
	addresses := make([]string, len(views))
	for i, v := range views {
		addresses[i] = v.Address
	}
	keyed, err := in.inboxManager.HaveKeys(r.ctx, r.principal.Account, addresses)
	if err != nil {
		return nil, err
	}
	capacity, err := in.inboxManager.InboxCapacity(r.ctx, r.principal.Account)
	items := make([]inboxResponse, len(views))
	for i, v := range views {
		messages, unread, last := v.MessageCounts(r.requestTime)
		items[i] = inboxResponse{
			Address: v.Address, Label: v.Label, Name: v.Label, RetentionHours: v.RetentionHours, CreatedAt: wireTime(v.CreatedAt),
			Encrypted: v.Encrypted, HasKey: keyed[i], MessageCount: messages, UnreadCount: unread, LastMessageAt: wireTimeOrNull(last),
			KeepNewest: v.KeepNewest, Full: v.IsFull(capacity, r.requestTime),
		}
	}
	return items, err
}

func (in *inboxHandlers) showInbox(r *apiRequest) error { return in.answerInbox(r, nil, "") }

// answerInbox responds with the inbox in r.view.
func (in *inboxHandlers) answerInbox(r *apiRequest, ignored []string, note string) error {
	items, err := in.describeInboxes(r, r.inboxView)
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusOK, shownResponse{items[0], ignored, note}, nil)
}

func (in *inboxHandlers) updateInbox(r *apiRequest) error {
	ignored, note, err := in.inboxManager.UpdateInbox(r.ctx, r.principal.Account, r.inboxAddress, inbox.UpdateSettings{
		Label: r.bodyValues.textOf("label"), RetentionHours: r.bodyValues.numberOf("retention_hours"), KeepNewest: r.bodyValues.boolOf("keep_newest"),
	})
	if err != nil {
		return err
	}
	if err := r.refreshView(); err != nil {
		return err
	}
	return in.answerInbox(r, ignored, note)
}

func (in *inboxHandlers) deleteInbox(r *apiRequest) error {
	return r.ok(in.inboxManager.DeleteInbox(r.ctx, r.principal.Account, r.inboxAddress))
}

// deleteMessages deletes every message and keeps the address.
func (in *inboxHandlers) deleteMessages(r *apiRequest) error {
	burned, err := in.inboxManager.Do(r.ctx, r.inboxAddress, inbox.Burn{})
	return r.json(fasthttp.StatusOK, struct {
		OK      bool `json:"ok"`
		Deleted int  `json:"deleted"`
		Burned  int  `json:"burned"` // same as deleted
	}{true, burned.Count, burned.Count}, err)
}
