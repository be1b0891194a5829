package http

import (
	"context"
	"fmt"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// KeyManager is what the handlers of keys need.
type KeyManager interface {
	IssueKey(ctx context.Context, by *account.Principal, label string, scopes account.ScopeSet, days *int) (account.IssuedKey, error)
	// IssueInboxKey creates the key of an inbox. It returns Refused while the inbox has one.
	IssueInboxKey(ctx context.Context, by *account.Principal, address string, scopes account.ScopeSet, days *int) (account.IssuedKey, error)
	// RevokeInboxKey revokes that key. It returns NotFound if there is none.
	RevokeInboxKey(ctx context.Context, id account.ID, address string) error
	// AccountKeys pages through the list of keys, oldest first. The cursors work like those of
	// ListInboxes.
	AccountKeys(ctx context.Context, id account.ID, cursor string, limit int) ([]account.APIKey, string, error)
	RevokeKey(ctx context.Context, id account.ID, key int64) error
}

// keyHandlers has the handlers that issue and revoke API keys.
type keyHandlers struct{ keyManager KeyManager }

func (k *keyHandlers) listRoutes() []routeSpec {
	return []routeSpec{
		{methodPost, "/api/keys", sessionTokens, noScope, false, keyShape, k.issueKey},
		{methodGet, "/api/keys", sessionTokens, noScope, false, nil, k.listKeys},
		{methodDelete, "/api/keys/{id}", sessionTokens, noScope, false, nil, k.revokeKey},
		{methodPost, perInbox + "/key", sessionTokens, noScope, false, inboxKeyShape, k.issueInboxKey},
		{methodDelete, perInbox + "/key", sessionTokens, noScope, false, nil, k.revokeInboxKey},
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

// readGrant returns the scopes and the lifetime that a request asks for.
func (r *apiRequest) readGrant() (account.ScopeSet, *int, error) {
	scopes, err := account.ParseScopes(r.bodyValues.listOf("scopes"))
	if err != nil {
		return 0, nil, err
	}
	days := r.bodyValues.numberOf("expires_in_days")
	_, err = account.ExpiryAfter(days, r.requestTime)
	return scopes, days, err
}

// issueInboxKey creates the only key of the inbox (specification, Keys).
func (k *keyHandlers) issueInboxKey(r *apiRequest) error {
	scopes, days, err := r.readGrant()
	if err != nil {
		return err
	}
	issued, err := k.keyManager.IssueInboxKey(r.ctx, r.principal, r.inboxAddress, scopes, days)
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
func (k *keyHandlers) revokeInboxKey(r *apiRequest) error {
	return r.ok(k.keyManager.RevokeInboxKey(r.ctx, r.principal.Account, r.inboxAddress))
}

func (k *keyHandlers) issueKey(r *apiRequest) error {
	scopes, days, err := r.readGrant()
	if err != nil {
		return err
	}
	label := ""
	if given := r.bodyValues.textOf("label"); given != nil {
		label = *given
	}
	issued, err := k.keyManager.IssueKey(r.ctx, r.principal, label, scopes, days)
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
func (k *keyHandlers) listKeys(r *apiRequest) error {
	q := r.queryReader()
	limit, cursor := q.readNumber("limit", defaultKeys, 1, maxKeys), q.rawValue("cursor")
	if q.firstErr != nil {
		return q.firstErr
	}
	held, next, err := k.keyManager.AccountKeys(r.ctx, r.principal.Account, cursor, int(limit))
	if err != nil {
		return err
	}
	out := make([]keyResponse, len(held))
	for i, k := range held {
		out[i] = keyResponse{
			ID: k.ID, Kind: k.Kind.WireName(), Label: k.Label, Scopes: k.Scopes.String(), Prefix: k.Prefix,
			Inbox: stringOrNull(k.Inbox), CreatedAt: wireTime(k.CreatedAt), ExpiresAt: wireTimeOrNull(k.ExpiresAt),
			Expired: k.Expired(account.Env{Now: r.requestTime}), LastUsedAt: wireTimeOrNull(k.LastUsedAt),
		}
	}
	return r.json(fasthttp.StatusOK, struct {
		Keys       []keyResponse `json:"keys"`
		NextCursor *string       `json:"next_cursor"`
	}{out, stringOrNull(next)}, nil)
}

func (k *keyHandlers) revokeKey(r *apiRequest) error {
	given := pathParameter(r.httpCtx, "id")
	id, ok := parseID(given)
	if !ok {
		return fault.New(fault.NotFound, fmt.Sprintf("API key %s not found", given))
	}
	return r.ok(k.keyManager.RevokeKey(r.ctx, r.principal.Account, id))
}
