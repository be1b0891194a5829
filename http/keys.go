package http

import (
	"fmt"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/fault"
)

// issuedAnswer holds the key itself; no other answer ever does.
type issuedAnswer struct {
	Key       string  `json:"key"`
	ID        int64   `json:"id"`
	Label     string  `json:"label"`
	Scopes    string  `json:"scopes"`
	ExpiresAt *string `json:"expires_at"`
}

type keyAnswer struct {
	ID         int64   `json:"id"`
	Kind       string  `json:"kind"`
	Label      string  `json:"label"`
	Scopes     string  `json:"scopes"`
	Prefix     string  `json:"prefix"`
	Inbox      *string `json:"inbox"` // null for an account key
	CreatedAt  string  `json:"created_at"`
	ExpiresAt  *string `json:"expires_at"`
	Expired    bool    `json:"expired"`
	LastUsedAt *string `json:"last_used_at"`
}

// grant is what a request asks of a new key.
func (r *request) grant() (account.Scope, *int, error) {
	scopes, err := account.ParseScopes(r.body.list("scopes"))
	if err != nil {
		return 0, nil, err
	}
	days := r.body.number("expires_in_days")
	_, err = account.Lifetime(days, r.now)
	return scopes, days, err
}

// issueInboxKey makes the one key of the inbox (specification, Keys).
func (s *Server) issueInboxKey(r *request) error {
	scopes, days, err := r.grant()
	if err != nil {
		return err
	}
	issued, err := s.accounts.IssueInboxKey(r.ctx, r.principal.Account, r.address, scopes, days)
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusCreated, struct {
		Key       string  `json:"api_key"`
		ID        int64   `json:"id"`
		Scopes    string  `json:"scopes"`
		ExpiresAt *string `json:"expires_at"`
	}{issued.Token, issued.Key.ID, issued.Key.Scopes.String(), wireTimeOrNull(issued.Key.ExpiresAt)})
}

// revokeInboxKey frees the place for another key.
func (s *Server) revokeInboxKey(r *request) error {
	if err := s.accounts.RevokeInboxKey(r.ctx, r.principal.Account, r.address); err != nil {
		return err
	}
	return r.ok()
}

func (s *Server) issueKey(r *request) error {
	scopes, days, err := r.grant()
	if err != nil {
		return err
	}
	label := ""
	if given := r.body.text("label"); given != nil {
		label = *given
	}
	issued, err := s.accounts.IssueKey(r.ctx, r.principal.Account, label, scopes, days)
	if err != nil {
		return err
	}
	k := issued.Key
	return r.json(fasthttp.StatusCreated, issuedAnswer{issued.Token, k.ID, k.Label, k.Scopes.String(), wireTimeOrNull(k.ExpiresAt)})
}

const (
	defaultKeys = 100
	maxKeys     = 1000
)

// listKeys pages through the inventory, inboxes' own keys too.
func (s *Server) listKeys(r *request) error {
	q := r.query()
	limit, cursor := q.number("limit", defaultKeys, 1, maxKeys), q.raw("cursor")
	if q.err != nil {
		return q.err
	}
	keys, next, err := s.accounts.Keys(r.ctx, r.principal.Account, cursor, int(limit))
	if err != nil {
		return err
	}
	out := make([]keyAnswer, len(keys))
	for i, k := range keys {
		out[i] = keyAnswer{
			ID: k.ID, Kind: k.Kind.Name(), Label: k.Label, Scopes: k.Scopes.String(), Prefix: k.Prefix,
			Inbox: stringOrNull(k.Inbox), CreatedAt: wireTime(k.CreatedAt), ExpiresAt: wireTimeOrNull(k.ExpiresAt),
			Expired: k.Expired(r.now), LastUsedAt: wireTimeOrNull(k.LastUsedAt),
		}
	}
	return r.json(fasthttp.StatusOK, struct {
		Keys       []keyAnswer `json:"keys"`
		NextCursor *string     `json:"next_cursor"`
	}{out, stringOrNull(next)})
}

func (s *Server) revokeKey(r *request) error {
	given := parameter(r.http, "id")
	id, ok := number(given)
	if !ok {
		return fault.New(fault.NotFound, fmt.Sprintf("API key %s not found", given))
	}
	if err := s.accounts.RevokeKey(r.ctx, r.principal.Account, id); err != nil {
		return err
	}
	return r.ok()
}
