package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// Account is the account behind a session.
type Account struct {
	ID         string     `json:"id"`
	Email      string     `json:"email"`
	Verified   bool       `json:"email_verified"` // else it may send only to inboxes of its own
	Plan       string     `json:"plan"`
	Limits     Limits     `json:"limits"`
	Usage      Usage      `json:"usage"`
	Encryption Encryption `json:"encryption"`
	CreatedAt  time.Time  `json:"created_at"`
}

// Limits are the figures of the account's plan.
type Limits struct {
	Inboxes               int64 `json:"inboxes"`
	DefaultRetentionHours int   `json:"default_retention_hours"`
	MaxRetentionHours     int   `json:"max_retention_hours"`
	Labels                bool  `json:"labels"`     // inboxes may have a label of your own
	Subdomains            bool  `json:"subdomains"` // a subdomain may be chosen
	MaxSubdomains         int64 `json:"max_subdomains"`
	AccountKeys           int64 `json:"account_keys"`
	SendsPerDay           int64 `json:"sends_per_day"`
	Recipients            int   `json:"recipients_per_message"` // to, cc and bcc together
	Attachments           int   `json:"attachments_per_message"`
	AttachmentBytes       int64 `json:"attachment_bytes_per_message"` // all files together, raw
	Webhooks              int   `json:"webhooks"`
	MaxMessages           int   `json:"max_messages"` // that one inbox holds
	MaxBytes              int64 `json:"max_bytes"`    // of all messages of one inbox
}

// Usage is what counts against the limits.
type Usage struct {
	Inboxes int64 `json:"inboxes"`
	Keys    int64 `json:"keys"` // account keys and inbox keys
}

// Encryption is the public key that the account gave, if it did.
type Encryption struct {
	Enabled          bool      `json:"enabled"`
	PublicKey        string    `json:"public_key"` // empty: none
	SetAt            time.Time `json:"set_at"`     // zero without a key
	EncryptedInboxes int       `json:"encrypted_inboxes"`
}

// SetEncryption makes an age X25519 recipient the account's public key: mail for its encrypted
// inboxes is encrypted for it from then on. It needs a session.
// The password is needed to change a key that is set; empty otherwise.
func (c *Client) SetEncryption(ctx context.Context, publicKey, password string) (Encryption, error) {
	in := struct {
		PublicKey string `json:"public_key"`
		Password  string `json:"password,omitempty"`
	}{publicKey, password}
	out, err := fetch[struct{ Encryption Encryption }](ctx, c, call{method: "PUT", path: "/api/account/encryption", in: in})
	return out.Encryption, err
}

// EndEncryption takes the public key away, with the password of the account; refused while encrypted
// inboxes live.
func (c *Client) EndEncryption(ctx context.Context, password string) (Encryption, error) {
	in := struct {
		Password string `json:"password"`
	}{password}
	out, err := fetch[struct{ Encryption Encryption }](ctx, c, call{method: "DELETE", path: "/api/account/encryption", in: in})
	return out.Encryption, err
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
	return do(ctx, c, call{method: "POST", path: "/api/auth/logout"}, nil)
}

// RequestPasswordReset has a link mailed to the address, if an account has it; the answer is
// the same either way.
func (c *Client) RequestPasswordReset(ctx context.Context, email string) error {
	in := struct {
		Email string `json:"email"`
	}{email}
	return do(ctx, c, call{method: "POST", path: "/api/auth/password-reset", in: in}, nil)
}

// Ended counts what a password reset ended.
type Ended struct {
	Sessions      int64 `json:"sessions"`
	Keys          int64 `json:"keys"`
	Webhooks      int64 `json:"webhooks"`
	CalendarLinks int64 `json:"calendar_links"`
}

// ResetPassword sets a new password with the token of a reset link, and ends every session, key,
// webhook and link to a calendar of the account.
func (c *Client) ResetPassword(ctx context.Context, token, password string) (Ended, error) {
	in := struct {
		Token    string `json:"token"`
		Password string `json:"password"`
	}{token, password}
	return fetch[Ended](ctx, c, call{method: "POST", path: "/api/auth/password-reset/confirm", in: in})
}

// SignIn is what is about how the account is signed in to: its address, password and sessions.
type SignIn struct{ client *Client }

// SignIn returns the calls about how the account is signed in to.
func (c *Client) SignIn() SignIn { return SignIn{c} }

// SessionInfo is an entry of the list of sessions, which never holds the token.
type SessionInfo struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"created_at"`
	LastUsedAt time.Time `json:"last_used_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	Current    bool      `json:"current"` // of this client
}

// Sessions returns the sessions of the account, oldest first. It needs a session.
func (s SignIn) Sessions(ctx context.Context) ([]SessionInfo, error) {
	out, err := fetch[struct {
		Sessions []SessionInfo `json:"sessions"`
	}](ctx, s.client, call{method: "GET", path: "/api/account/sessions"})
	return out.Sessions, err
}

// EndSession ends one of them at once. It needs a session.
func (s SignIn) EndSession(ctx context.Context, id string) error {
	return do(ctx, s.client, call{method: "DELETE", path: "/api/account/sessions/" + url.PathEscape(id)}, nil)
}

// ChangePassword sets another password and ends all sessions but the one that asks.
func (s SignIn) ChangePassword(ctx context.Context, old, password string) error {
	in := struct {
		Old string `json:"old"`
		New string `json:"new"`
	}{old, password}
	return do(ctx, s.client, call{method: "POST", path: "/api/account/password", in: in}, nil)
}

// RequestVerification has the link sent again that verifies the account's address. It needs a session.
func (s SignIn) RequestVerification(ctx context.Context) error {
	return do(ctx, s.client, call{method: "POST", path: "/api/auth/verify-email"}, nil)
}

// VerifyEmail verifies an account's address with the token of such a link.
func (s SignIn) VerifyEmail(ctx context.Context, token string) error {
	in := struct {
		Token string `json:"token"`
	}{token}
	return do(ctx, s.client, call{method: "POST", path: "/api/auth/verify-email/confirm", in: in}, nil)
}

// Account returns the account of a session, with its limits and what counts against them.
func (c *Client) Account(ctx context.Context) (Account, error) {
	out, err := fetch[struct{ Account Account }](ctx, c, call{method: "GET", path: "/api/account"})
	return out.Account, err
}

// Permissions of an API key (specification, Permissions).
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
	return do(ctx, c, call{method: "DELETE", path: "/api/inboxes/" + url.PathEscape(address) + "/key"}, nil)
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

// Keys goes through the inventory, account keys and inbox keys, oldest first. It needs a
// session and ends after an error.
func (c *Client) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return listing[Key](ctx, c, "/api/keys", "keys", nil, nil)
}

// RevokeKey ends a key at once. It needs a session.
func (c *Client) RevokeKey(ctx context.Context, id int64) error {
	return do(ctx, c, call{method: "DELETE", path: "/api/keys/" + number(id)}, nil)
}
