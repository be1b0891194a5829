package client

import (
	"context"
	"net/url"
	"time"
)

// Account is the account behind a session.
type Account struct {
	ID        string         `json:"id"`
	Email     string         `json:"email"`
	Plan      string         `json:"plan"`
	Limits    map[string]any `json:"limits"`
	Usage     map[string]any `json:"usage"`
	CreatedAt time.Time      `json:"created_at"`
}

// Session is the answer of sign-up and login.
type Session struct {
	Token     string    `json:"session_token"`
	ExpiresAt time.Time `json:"expires_at"`
	Account   Account   `json:"account"`
}

type signIn struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// SignUp opens an account; the session's token is a credential.
func (c *Client) SignUp(ctx context.Context, email, password string) (Session, error) {
	return fetch[Session](ctx, c, call{method: "POST", path: "/api/auth/signup", in: signIn{email, password}})
}

// LogIn starts a session.
func (c *Client) LogIn(ctx context.Context, email, password string) (Session, error) {
	return fetch[Session](ctx, c, call{method: "POST", path: "/api/auth/login", in: signIn{email, password}})
}

// LogOut ends the session of this client.
func (c *Client) LogOut(ctx context.Context) error {
	return c.do(ctx, call{method: "POST", path: "/api/auth/logout"}, nil)
}

// Account returns the account of a session, with its limits and what counts against them.
func (c *Client) Account(ctx context.Context) (Account, error) {
	out, err := fetch[struct{ Account Account }](ctx, c, call{method: "GET", path: "/api/account"})
	return out.Account, err
}

// Permissions of an API key (specification section 5.3).
const (
	ScopeRead   = "inbox:read"
	ScopeSend   = "email:send"
	ScopeWrite  = "message:write"
	ScopeManage = "inbox:manage"
	ScopeFull   = "full"
)

// KeyOrder is what a new key may and how long it lasts.
type KeyOrder struct {
	Label         string   `json:"label,omitempty"` // of account keys
	Scopes        []string `json:"scopes,omitempty"`
	ExpiresInDays int      `json:"expires_in_days,omitempty"` // 30, 90 or 365; 0: never
}

// IssuedKey is a new key; Key is shown once and never again.
type IssuedKey struct {
	Key       string
	ID        int64
	Label     string
	Scopes    string     // comma-joined
	ExpiresAt *time.Time // nil: never
}

type issuedKey struct {
	Key       string     `json:"key"`
	InboxKey  string     `json:"api_key"`
	ID        int64      `json:"id"`
	Label     string     `json:"label"`
	Scopes    string     `json:"scopes"`
	ExpiresAt *time.Time `json:"expires_at"`
}

func (k issuedKey) public() IssuedKey {
	return IssuedKey{k.Key + k.InboxKey, k.ID, k.Label, k.Scopes, k.ExpiresAt}
}

// IssueKey makes an account key. It needs a session.
func (c *Client) IssueKey(ctx context.Context, order KeyOrder) (IssuedKey, error) {
	out, err := fetch[issuedKey](ctx, c, call{method: "POST", path: "/api/keys", in: order})
	return out.public(), err
}

// IssueInboxKey makes the one key of an inbox. It needs a session.
func (c *Client) IssueInboxKey(ctx context.Context, address string, order KeyOrder) (IssuedKey, error) {
	out, err := fetch[issuedKey](ctx, c, call{method: "POST", path: "/api/inboxes/" + url.PathEscape(address) + "/key", in: order})
	return out.public(), err
}

// RevokeInboxKey ends the key of an inbox and frees its place. It needs a session.
func (c *Client) RevokeInboxKey(ctx context.Context, address string) error {
	return c.do(ctx, call{method: "DELETE", path: "/api/inboxes/" + url.PathEscape(address) + "/key"}, nil)
}

// Key is an entry of the inventory, which never holds the key itself.
type Key struct {
	ID         int64      `json:"id"`
	Kind       string     `json:"kind"` // account, inbox
	Label      string     `json:"label"`
	Scopes     string     `json:"scopes"`
	Prefix     string     `json:"prefix"`
	Inbox      *string    `json:"inbox"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	Expired    bool       `json:"expired"`
	LastUsedAt *time.Time `json:"last_used_at"`
}

// RevokeKey ends a key at once. It needs a session.
func (c *Client) RevokeKey(ctx context.Context, id int64) error {
	return c.do(ctx, call{method: "DELETE", path: "/api/keys/" + number(id)}, nil)
}
