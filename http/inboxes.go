package http

import (
	"net/url"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

type createdAnswer struct {
	Address        string   `json:"address"`
	RetentionHours int      `json:"retention_hours"`
	APIKey         *string  `json:"api_key"` // always null (specification, Keys)
	Label          string   `json:"label"`
	CreatedAt      string   `json:"created_at"`
	Encrypted      bool     `json:"encrypted"`
	IgnoredFields  []string `json:"ignored_fields,omitempty"`
	Note           string   `json:"note,omitempty"`
}

type inboxAnswer struct {
	Address        string  `json:"address"`
	Label          string  `json:"label"`
	RetentionHours int     `json:"retention_hours"`
	CreatedAt      string  `json:"created_at"`
	Encrypted      bool    `json:"encrypted"`
	HasKey         bool    `json:"has_key"`
	MessageCount   int     `json:"message_count"`
	UnreadCount    int     `json:"unread_count"`
	LastMessageAt  *string `json:"last_message_at"`
}

type shownAnswer struct {
	Inbox         inboxAnswer `json:"inbox"`
	IgnoredFields []string    `json:"ignored_fields,omitempty"`
	Note          string      `json:"note,omitempty"`
}

// createInbox serves both surfaces; the session surface also takes encrypted.
func (s *Server) createInbox(r *request) error {
	req, err := r.once()
	if err != nil {
		return err
	}
	if r.body.flag("encrypted", false) {
		return fault.New(fault.Refused, "This account has no encryption key yet. Set up encryption in the dashboard first")
	}
	order := inbox.Order{
		Prefix: r.body.text("prefix"), Subdomain: r.body.text("subdomain"), Domain: r.body.text("domain"),
		Label: r.body.text("label"), RetentionHours: r.body.number("retention_hours"),
	}
	if req.Repeatable() {
		made, err := s.accounts.CreateInboxOnce(r.ctx, r.principal.Account, order, req, created)
		if err != nil {
			return err
		}
		return s.giveInbox(r, made.Address, made.Told)
	}
	view, place, err := s.accounts.CreateInbox(r.ctx, r.principal.Account, order)
	if err != nil {
		return err
	}
	return s.giveInbox(r, view.Address, created(place, view.CreatedAt))
}

func (s *Server) giveInbox(r *request, address string, body []byte) error {
	r.http.Response.Header.Set("Location", s.opts.BaseURL+"/api/v1/inboxes/"+url.PathEscape(address))
	writeJSON(r.http, fasthttp.StatusCreated, body)
	return nil
}

// created is what is told of a new inbox.
func created(place inbox.Placement, at time.Time) []byte {
	body, _ := marshal(createdAnswer{ // holds nothing that has no JSON form
		Address: place.Address, RetentionHours: place.RetentionHours, Label: place.Label,
		CreatedAt: wireTime(at), IgnoredFields: place.Ignored, Note: place.Note,
	})
	return body
}

const (
	defaultInboxes = 100
	maxInboxes     = 1000
)

// listInboxes pages through the account's inboxes; an inbox key sees its own only
// (specification, Credentials).
func (s *Server) listInboxes(r *request) error {
	q := r.query()
	limit := q.number("limit", defaultInboxes, 1, maxInboxes)
	cursor := q.raw("cursor")
	if q.err != nil {
		return q.err
	}
	views, next, err := s.visibleInboxes(r, cursor, int(limit))
	if err != nil {
		return err
	}
	keyed, err := s.keyed(r, views...)
	if err != nil {
		return err
	}
	items := make([]inboxAnswer, len(views))
	for i, v := range views {
		items[i] = describe(v, keyed[i], r.now)
	}
	return r.json(fasthttp.StatusOK, struct {
		Inboxes    []inboxAnswer `json:"inboxes"`
		NextCursor *string       `json:"next_cursor"`
	}{items, stringOrNull(next)})
}

func (s *Server) visibleInboxes(r *request, cursor string, limit int) ([]*inbox.View, string, error) {
	if r.principal.Kind != account.KindInboxKey {
		return s.accounts.ListInboxes(r.ctx, r.principal.Account, cursor, limit)
	}
	r.address = r.principal.Inbox
	if err := s.look(r); err != nil {
		return nil, "", err
	}
	return []*inbox.View{r.view}, "", nil
}

// keyed tells which inboxes hold a key, expired or not.
func (s *Server) keyed(r *request, views ...*inbox.View) ([]bool, error) {
	addresses := make([]string, len(views))
	for i, v := range views {
		addresses[i] = v.Address
	}
	return s.accounts.HaveKeys(r.ctx, r.principal.Account, addresses)
}

func describe(v *inbox.View, keyed bool, now time.Time) inboxAnswer {
	messages, unread, last := v.Counts(now)
	return inboxAnswer{
		Address: v.Address, Label: v.Label, RetentionHours: v.RetentionHours, CreatedAt: wireTime(v.CreatedAt),
		HasKey: keyed, MessageCount: messages, UnreadCount: unread, LastMessageAt: wireTimeOrNull(last),
	}
}

func (s *Server) showInbox(r *request) error { return s.shown(r, nil, "") }

// shown answers with the inbox as r.view has it.
func (s *Server) shown(r *request, ignored []string, note string) error {
	keyed, err := s.keyed(r, r.view)
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusOK, shownAnswer{describe(r.view, keyed[0], r.now), ignored, note})
}

func (s *Server) updateInbox(r *request) error {
	ignored, note, err := s.accounts.UpdateInbox(r.ctx, r.principal.Account, r.address, inbox.Update{
		Label: r.body.text("label"), RetentionHours: r.body.number("retention_hours"),
	})
	if err != nil {
		return err
	}
	if err := s.look(r); err != nil {
		return err
	}
	return s.shown(r, ignored, note)
}

func (s *Server) deleteInbox(r *request) error {
	if err := s.accounts.DeleteInbox(r.ctx, r.principal.Account, r.address); err != nil {
		return err
	}
	return r.ok()
}

// burn deletes every message and keeps the address.
func (s *Server) burn(r *request) error {
	answer, err := s.inboxes.Do(r.ctx, r.address, inbox.Burn{})
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusOK, struct {
		OK      bool `json:"ok"`
		Deleted int  `json:"deleted"`
	}{true, answer.Count})
}
