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

// Inboxes is what the handlers of inboxes need.
type Inboxes interface {
	// CreateInbox creates the inbox of an order within the limits of the account's plan.
	CreateInbox(ctx context.Context, id account.ID, order inbox.Order) (*inbox.View, inbox.Placement, error)
	// CreateInboxOnce is CreateInbox for a request with an idempotency key. The first result is
	// stored with the inbox, and every repeat gets it. tell makes the response, and must use only
	// its arguments.
	CreateInboxOnce(ctx context.Context, id account.ID, order inbox.Order, req idempotency.Request, tell func(inbox.Placement, time.Time) []byte) (idempotency.Result, error)
	// CheckRequest refuses an idempotency key of a creation that was used with a different request.
	// It changes nothing.
	CheckRequest(ctx context.Context, id account.ID, req idempotency.Request) error
	// ListInboxes pages through those of the account's inboxes for which take returns true, newest
	// first. An empty cursor starts at the beginning; an empty returned cursor means the end.
	ListInboxes(ctx context.Context, id account.ID, cursor string, limit int, take func(*inbox.View) bool) (inbox.Page, error)
	// HaveKeys reports which of the inboxes have a key, expired or not.
	HaveKeys(ctx context.Context, id account.ID, addresses []string) ([]bool, error)
	// Capacity returns how many messages each inbox of the account may hold.
	Capacity(ctx context.Context, id account.ID) (inbox.Capacity, error)
	// UpdateInbox changes what the owner may change, within the account's plan. ignored lists the
	// fields that the plan does not include, and note says why.
	UpdateInbox(ctx context.Context, id account.ID, address string, cmd inbox.Update) (ignored []string, note string, err error)
	DeleteInbox(ctx context.Context, id account.ID, address string) error
	// Do sends a command to the inbox and returns after its commit.
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
}

// inboxes has the handlers that create, show and delete inboxes.
type inboxes struct {
	port    Inboxes
	baseURL string
}

func (in *inboxes) routes() []route {
	return []route{
		{post, "/api/inboxes", sessions, none, false, sessionOrderShape, in.createInbox},
		{get, "/api/inboxes", sessions, none, false, nil, in.listInboxes},
		{post, agentInboxes, creators, manage, false, orderShape, in.createInbox},
		{get, agentInboxes, anyone, read, false, nil, in.listInboxes},
		{get, agentInbox, anyone, read, false, nil, in.showInbox},
		{patch, agentInbox, anyone, manage, false, updateShape, in.updateInbox},
		{remove, agentInbox, anyone, manage, false, nil, in.deleteInbox},
		{post, agentInbox + "/burn", anyone, manage, false, emptyShape, in.burn},
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
func (in *inboxes) createInbox(r *request) error {
	req, err := r.once()
	if err != nil {
		return err
	}
	order := r.body.order()
	if req.Repeatable() {
		made, err := in.port.CreateInboxOnce(r.ctx, r.principal.Account, order, req, created)
		if err != nil {
			return err
		}
		return in.giveInbox(r, made.Address, made.Told)
	}
	view, place, err := in.port.CreateInbox(r.ctx, r.principal.Account, order)
	if err != nil {
		return err
	}
	return in.giveInbox(r, view.Address, created(place, view.CreatedAt))
}

// order returns the order in the body of a creation.
func (v values) order() inbox.Order {
	return inbox.Order{
		Prefix: v.text("prefix"), Subdomain: v.text("subdomain"), Domain: v.text("domain"),
		Label: v.text("label"), RetentionHours: v.number("retention_hours"), KeepNewest: v.flag("keep_newest", false),
		Encrypted: v.flag("encrypted", false),
	}
}

func (in *inboxes) giveInbox(r *request, address string, body []byte) error {
	r.http.Response.Header.Set("Location", in.baseURL+"/api/v1/inboxes/"+url.PathEscape(address))
	writeJSON(r.http, fasthttp.StatusCreated, body)
	return nil
}

// created returns the response for a new inbox.
func created(place inbox.Placement, at time.Time) []byte {
	body, _ := marshal(createdResponse{ // every value has a JSON form
		Address: place.Address, RetentionHours: place.RetentionHours, Label: place.Label, Name: place.Label,
		CreatedAt: wireTime(at), Encrypted: place.Encrypted, KeepNewest: place.KeepNewest, IgnoredFields: place.Ignored, Note: place.Note,
	})
	return body
}

const (
	defaultInboxes = 100
	maxInboxes     = 1000
)

// listInboxes pages through the account's inboxes. An inbox key sees only its own inbox
// (specification, Credentials).
func (in *inboxes) listInboxes(r *request) error {
	q := r.query()
	limit := q.number("limit", q.form.inboxes, 1, maxInboxes)
	cursor, which := q.raw("cursor"), q.boxes()
	if q.err != nil {
		return q.err
	}
	page, err := in.chosenInboxes(r, cursor, int(limit), which)
	if err != nil {
		return err
	}
	items, err := in.describe(r, page.Views...)
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusOK, struct {
		Inboxes    []inboxResponse `json:"inboxes"`
		NextCursor *string         `json:"next_cursor"`
		Damaged    []string        `json:"damaged,omitempty"`
	}{items, stringOrNull(page.Next), page.Damaged}, nil)
}

// boxes filter a list of inboxes.
type boxes struct{ label, prefix string } // label is folded, prefix is lower case

func (q *query) boxes() boxes {
	return boxes{label: q.text("label"), prefix: strings.ToLower(plusSigns(q.words("prefix")))}
}

func (b boxes) take(v *inbox.View) bool {
	return strings.Contains(search.Fold(v.Label), b.label) && !b.passes(v.Address)
}

// passes reports whether an address does not match. Nothing but its address is known of a damaged
// inbox.
func (b boxes) passes(address string) bool { return !strings.HasPrefix(address, b.prefix) }

func (in *inboxes) chosenInboxes(r *request, cursor string, limit int, which boxes) (inbox.Page, error) {
	if r.principal.Kind != account.KindInboxKey {
		page, err := in.port.ListInboxes(r.ctx, r.principal.Account, cursor, limit, which.take)
		page.Damaged = slices.DeleteFunc(page.Damaged, which.passes)
		return page, err
	}
	r.address = r.principal.Inbox
	if err := r.look(); err != nil || !which.take(r.view) {
		return inbox.Page{}, err
	}
	return inbox.Page{Views: []*inbox.View{r.view}}, nil
}

// describe renders inboxes of the account.
func (in *inboxes) describe(r *request, views ...*inbox.View) ([]inboxResponse, error) {
	addresses := make([]string, len(views))
	for i, v := range views {
		addresses[i] = v.Address
	}
	keyed, err := in.port.HaveKeys(r.ctx, r.principal.Account, addresses)
	if err != nil {
		return nil, err
	}
	capacity, err := in.port.Capacity(r.ctx, r.principal.Account)
	items := make([]inboxResponse, len(views))
	for i, v := range views {
		messages, unread, last := v.Counts(r.now)
		items[i] = inboxResponse{
			Address: v.Address, Label: v.Label, Name: v.Label, RetentionHours: v.RetentionHours, CreatedAt: wireTime(v.CreatedAt),
			Encrypted: v.Encrypted, HasKey: keyed[i], MessageCount: messages, UnreadCount: unread, LastMessageAt: wireTimeOrNull(last),
			KeepNewest: v.KeepNewest, Full: v.Full(capacity, r.now),
		}
	}
	return items, err
}

func (in *inboxes) showInbox(r *request) error { return in.shown(r, nil, "") }

// shown responds with the inbox in r.view.
func (in *inboxes) shown(r *request, ignored []string, note string) error {
	items, err := in.describe(r, r.view)
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusOK, shownResponse{items[0], ignored, note}, nil)
}

func (in *inboxes) updateInbox(r *request) error {
	ignored, note, err := in.port.UpdateInbox(r.ctx, r.principal.Account, r.address, inbox.Update{
		Label: r.body.text("label"), RetentionHours: r.body.number("retention_hours"), KeepNewest: r.body.truth("keep_newest"),
	})
	if err != nil {
		return err
	}
	if err := r.look(); err != nil {
		return err
	}
	return in.shown(r, ignored, note)
}

func (in *inboxes) deleteInbox(r *request) error {
	return r.ok(in.port.DeleteInbox(r.ctx, r.principal.Account, r.address))
}

// burn deletes every message and keeps the address.
func (in *inboxes) burn(r *request) error {
	burned, err := in.port.Do(r.ctx, r.address, inbox.Burn{})
	return r.json(fasthttp.StatusOK, struct {
		OK      bool `json:"ok"`
		Deleted int  `json:"deleted"`
		Burned  int  `json:"burned"` // same as deleted
	}{true, burned.Count, burned.Count}, err)
}
