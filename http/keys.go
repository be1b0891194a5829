package http

import (
	"context"
	"fmt"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// Keys is what the handlers of keys need.
type Keys interface {
	IssueKey(ctx context.Context, by *account.Principal, label string, scopes account.Scope, days *int) (account.Issued, error)
	// IssueInboxKey creates the key of an inbox. It returns Refused while the inbox has one.
	IssueInboxKey(ctx context.Context, by *account.Principal, address string, scopes account.Scope, days *int) (account.Issued, error)
	// RevokeInboxKey revokes that key. It returns NotFound if there is none.
	RevokeInboxKey(ctx context.Context, id account.ID, address string) error
	// Keys pages through the list of keys, oldest first. The cursors work like those of
	// ListInboxes.
	Keys(ctx context.Context, id account.ID, cursor string, limit int) ([]account.Key, string, error)
	RevokeKey(ctx context.Context, id account.ID, key int64) error
}

// keys has the handlers that issue and revoke API keys.
type keys struct{ port Keys }

func (k *keys) routes() []route {
	return []route{
		{post, "/api/keys", sessions, none, false, keyShape, k.issueKey},
		{get, "/api/keys", sessions, none, false, nil, k.listKeys},
		{remove, "/api/keys/{id}", sessions, none, false, nil, k.revokeKey},
		{post, perInbox + "/key", sessions, none, false, inboxKeyShape, k.issueInboxKey},
		{remove, perInbox + "/key", sessions, none, false, nil, k.revokeInboxKey},
	}
}

// issuedResponse contains the key itself. No other response ever does.
type issuedResponse struct {
	Key       string  `json:"key"`
	ID        int64   `json:"id"`
	Label     string  `json:"label"`
	Scopes    string  `json:"scopes"`
	ExpiresAt *string `json:"expires_at"`
}

type keyResponse struct {
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

// grant returns the scopes and the lifetime that a request asks for.
func (r *request) grant() (account.Scope, *int, error) {
	scopes, err := account.ParseScopes(r.body.list("scopes"))
	if err != nil {
		return 0, nil, err
	}
	days := r.body.number("expires_in_days")
	_, err = account.Lifetime(days, r.now)
	return scopes, days, err
}

// issueInboxKey creates the only key of the inbox (specification, Keys).
func (k *keys) issueInboxKey(r *request) error {
	scopes, days, err := r.grant()
	if err != nil {
		return err
	}
	issued, err := k.port.IssueInboxKey(r.ctx, r.principal, r.address, scopes, days)
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusCreated, struct {
		Key       string  `json:"api_key"`
		ID        int64   `json:"id"`
		Scopes    string  `json:"scopes"`
		ExpiresAt *string `json:"expires_at"`
	}{issued.Token, issued.Key.ID, issued.Key.Scopes.String(), wireTimeOrNull(issued.Key.ExpiresAt)}, nil)
}

// revokeInboxKey revokes the key, so that another one can be issued.
func (k *keys) revokeInboxKey(r *request) error {
	return r.ok(k.port.RevokeInboxKey(r.ctx, r.principal.Account, r.address))
}

func (k *keys) issueKey(r *request) error {
	scopes, days, err := r.grant()
	if err != nil {
		return err
	}
	label := ""
	if given := r.body.text("label"); given != nil {
		label = *given
	}
	issued, err := k.port.IssueKey(r.ctx, r.principal, label, scopes, days)
	if err != nil {
		return err
	}
	made := issued.Key
	return r.json(fasthttp.StatusCreated, issuedResponse{issued.Token, made.ID, made.Label, made.Scopes.String(), wireTimeOrNull(made.ExpiresAt)}, nil)
}

const (
	defaultKeys = 100
	maxKeys     = 1000
)

// listKeys pages through the list of keys, including those of inboxes.
func (k *keys) listKeys(r *request) error {
	q := r.query()
	limit, cursor := q.number("limit", defaultKeys, 1, maxKeys), q.raw("cursor")
	if q.err != nil {
		return q.err
	}
	held, next, err := k.port.Keys(r.ctx, r.principal.Account, cursor, int(limit))
	if err != nil {
		return err
	}
	out := make([]keyResponse, len(held))
	for i, k := range held {
		out[i] = keyResponse{
			ID: k.ID, Kind: k.Kind.Name(), Label: k.Label, Scopes: k.Scopes.String(), Prefix: k.Prefix,
			Inbox: stringOrNull(k.Inbox), CreatedAt: wireTime(k.CreatedAt), ExpiresAt: wireTimeOrNull(k.ExpiresAt),
			Expired: k.Expired(account.Env{Now: r.now}), LastUsedAt: wireTimeOrNull(k.LastUsedAt),
		}
	}
	return r.json(fasthttp.StatusOK, struct {
		Keys       []keyResponse `json:"keys"`
		NextCursor *string       `json:"next_cursor"`
	}{out, stringOrNull(next)}, nil)
}

func (k *keys) revokeKey(r *request) error {
	given := parameter(r.http, "id")
	id, ok := number(given)
	if !ok {
		return fault.New(fault.NotFound, fmt.Sprintf("API key %s not found", given))
	}
	return r.ok(k.port.RevokeKey(r.ctx, r.principal.Account, id))
}
