package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// Account is the account that a session belongs to.
type Account struct {
	ID         string     `json:"id"`
	Email      string     `json:"email"`
	Verified   bool       `json:"email_verified"` // otherwise it may send only to its own inboxes
	Plan       string     `json:"plan"`
	Limits     Limits     `json:"limits"`
	Usage      Usage      `json:"usage"`
	Encryption Encryption `json:"encryption"`
	CreatedAt  time.Time  `json:"created_at"`
}

// Limits are the limits of the account's plan.
type Limits struct {
	Inboxes               int64 `json:"inboxes"`
	DefaultRetentionHours int   `json:"default_retention_hours"`
	MaxRetentionHours     int   `json:"max_retention_hours"`
	Labels                bool  `json:"labels"`     // inboxes may have labels
	Subdomains            bool  `json:"subdomains"` // subdomains may be chosen
	MaxSubdomains         int64 `json:"max_subdomains"`
	AccountKeys           int64 `json:"account_keys"`
	SendsPerDay           int64 `json:"sends_per_day"`
	Recipients            int   `json:"recipients_per_message"` // to, cc and bcc together
	Attachments           int   `json:"attachments_per_message"`
	AttachmentBytes       int64 `json:"attachment_bytes_per_message"` // all files together, unencoded
	Webhooks              int   `json:"webhooks"`
	MaxMessages           int   `json:"max_messages"` // per inbox
	MaxBytes              int64 `json:"max_bytes"`    // of all messages in one inbox
}

// Usage is the usage that counts against the limits.
type Usage struct {
	Inboxes    int64 `json:"inboxes"`
	Keys       int64 `json:"keys"` // account keys and inbox keys
	SendsToday int64 `json:"sends_today"`
}

// Encryption is the account's public key, if it has one.
type Encryption struct {
	Enabled          bool      `json:"enabled"`
	PublicKey        string    `json:"public_key"` // empty without a key
	SetAt            time.Time `json:"set_at"`     // zero without a key
	EncryptedInboxes int       `json:"encrypted_inboxes"`
}

// SetEncryption sets the account's public key, an age X25519 recipient. From then on, messages to
// its encrypted inboxes are encrypted with it. It needs a session. The password is required to
// replace an existing key; otherwise it may be empty.
func (c *Client) SetEncryption(ctx context.Context, publicKey, password string) (Encryption, error) {
	in := struct {
		PublicKey string `json:"public_key"`
		Password  string `json:"password,omitempty"`
	}{publicKey, password}
	out, err := fetchJSON[struct{ Encryption Encryption }](ctx, c, apiCall{method: "PUT", path: "/api/account/encryption", in: in})
	return out.Encryption, err
}

// EndEncryption removes the public key. It needs the account's password, and fails while encrypted
// inboxes exist.
func (c *Client) EndEncryption(ctx context.Context, password string) (Encryption, error) {
	in := struct {
		Password string `json:"password"`
	}{password}
	out, err := fetchJSON[struct{ Encryption Encryption }](ctx, c, apiCall{method: "DELETE", path: "/api/account/encryption", in: in})
	return out.Encryption, err
}

// Session is the response to sign-up and log-in.
type Session struct {
	Token     string    `json:"session_token"`
	ExpiresAt time.Time `json:"expires_at"`
	Account   Account   `json:"account"`
}

type signIn struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// SignUp creates an account. The token of the session is a credential.
func (c *Client) SignUp(ctx context.Context, email, password string) (Session, error) {
	return fetchJSON[Session](ctx, c, apiCall{method: "POST", path: "/api/auth/signup", in: signIn{email, password}})
}

// LogIn starts a session.
func (c *Client) LogIn(ctx context.Context, email, password string) (Session, error) {
	return fetchJSON[Session](ctx, c, apiCall{method: "POST", path: "/api/auth/login", in: signIn{email, password}})
}

// LogOut ends the session whose token is this client's credential.
func (c *Client) LogOut(ctx context.Context) error {
	return do(ctx, c, apiCall{method: "POST", path: "/api/auth/logout"}, nil)
}

// RequestPasswordReset sends a reset link to the address if an account has it. The response is the
// same in both cases.
func (c *Client) RequestPasswordReset(ctx context.Context, email string) error {
	in := struct {
		Email string `json:"email"`
	}{email}
	return do(ctx, c, apiCall{method: "POST", path: "/api/auth/password-reset", in: in}, nil)
}

// Ended counts what a password reset has ended.
type Ended struct {
	Sessions      int64 `json:"sessions"`
	Keys          int64 `json:"keys"`
	Webhooks      int64 `json:"webhooks"`
	CalendarLinks int64 `json:"calendar_links"`
}

// ResetPassword sets a new password with the token of a reset link. It ends all sessions, keys,
// webhooks and calendar links of the account.
func (c *Client) ResetPassword(ctx context.Context, token, password string) (Ended, error) {
	in := struct {
		Token    string `json:"token"`
		Password string `json:"password"`
	}{token, password}
	return fetchJSON[Ended](ctx, c, apiCall{method: "POST", path: "/api/auth/password-reset/confirm", in: in})
}

// SignIn groups the calls about logging in to the account: address, password and sessions.
type SignIn struct{ apiClient *Client }

// SignIn returns the calls about logging in to the account.
func (c *Client) SignIn() SignIn { return SignIn{c} }

// SessionInfo is an entry of the list of sessions. It does not contain the token.
type SessionInfo struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"created_at"`
	LastUsedAt time.Time `json:"last_used_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	Current    bool      `json:"current"` // the session of this client
}

// Sessions returns the sessions of the account, oldest first. It needs a session.
func (s SignIn) Sessions(ctx context.Context) ([]SessionInfo, error) {
	out, err := fetchJSON[struct {
		Sessions []SessionInfo `json:"sessions"`
	}](ctx, s.apiClient, apiCall{method: "GET", path: "/api/account/sessions"})
	return out.Sessions, err
}

// EndSession ends a session immediately. It needs a session.
func (s SignIn) EndSession(ctx context.Context, id string) error {
	return do(ctx, s.apiClient, apiCall{method: "DELETE", path: "/api/account/sessions/" + url.PathEscape(id)}, nil)
}

// ChangePassword sets a new password and ends all other sessions.
func (s SignIn) ChangePassword(ctx context.Context, old, password string) error {
	in := struct {
		Old string `json:"old"`
		New string `json:"new"`
	}{old, password}
	return do(ctx, s.apiClient, apiCall{method: "POST", path: "/api/account/password", in: in}, nil)
}

// RequestVerification sends the link that verifies the account's address again. It needs a session.
func (s SignIn) RequestVerification(ctx context.Context) error {
	return do(ctx, s.apiClient, apiCall{method: "POST", path: "/api/auth/verify-email"}, nil)
}

// VerifyEmail verifies an account's address with the token of a verification link.
func (s SignIn) VerifyEmail(ctx context.Context, token string) error {
	in := struct {
		Token string `json:"token"`
	}{token}
	return do(ctx, s.apiClient, apiCall{method: "POST", path: "/api/auth/verify-email/confirm", in: in}, nil)
}

// Account returns the account of the session, with its limits and usage.
func (c *Client) Account(ctx context.Context) (Account, error) {
	out, err := fetchJSON[struct{ Account Account }](ctx, c, apiCall{method: "GET", path: "/api/account"})
	return out.Account, err
}

// These are the permissions of an API key (specification, Permissions).
const (
	ScopeRead     = "inbox:read"
	ScopeSend     = "email:send"
	ScopeWrite    = "message:write"
	ScopeManage   = "inbox:manage"
	ScopeWebhooks = "webhooks:manage" // only for account keys
	ScopeDomains  = "domains:manage"  // only for account keys
	ScopeFull     = "full"
)

// KeyOrder describes a new key: its permissions and its lifetime.
type KeyOrder struct {
	Label         string   `json:"label,omitempty"` // only for account keys
	Scopes        []string `json:"scopes,omitempty"`
	ExpiresInDays int      `json:"expires_in_days,omitempty"` // 30, 90 or 365; 0: it does not expire
}

// IssuedKey is a new key. Key is returned only once.
type IssuedKey struct {
	Key       string
	ID        int64
	Label     string
	Scopes    string     // comma-separated
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

func (k issuedKey) toIssued() IssuedKey {
	return IssuedKey{k.Key + k.InboxKey, k.ID, k.Label, k.Scopes, k.ExpiresAt}
}

// IssueKey creates an account key. It needs a session.
func (c *Client) IssueKey(ctx context.Context, order KeyOrder) (IssuedKey, error) {
	out, err := fetchJSON[issuedKey](ctx, c, apiCall{method: "POST", path: "/api/keys", in: order})
	return out.toIssued(), err
}

// IssueInboxKey creates the key of an inbox, which can have only one. It needs a session.
func (c *Client) IssueInboxKey(ctx context.Context, address string, order KeyOrder) (IssuedKey, error) {
	out, err := fetchJSON[issuedKey](ctx, c, apiCall{method: "POST", path: "/api/inboxes/" + url.PathEscape(address) + "/key", in: order})
	return out.toIssued(), err
}

// RevokeInboxKey revokes the key of an inbox, so that a new one can be created. It needs a session.
func (c *Client) RevokeInboxKey(ctx context.Context, address string) error {
	return do(ctx, c, apiCall{method: "DELETE", path: "/api/inboxes/" + url.PathEscape(address) + "/key"}, nil)
}

// Key is an entry of the list of keys. It does not contain the key itself.
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

// Keys iterates over account keys and inbox keys, oldest first. It needs a session and ends after
// an error.
func (c *Client) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return listItems[Key](ctx, c, "/api/keys", "keys", nil, nil)
}

// RevokeKey revokes a key immediately. It needs a session.
func (c *Client) RevokeKey(ctx context.Context, id int64) error {
	return do(ctx, c, apiCall{method: "DELETE", path: "/api/keys/" + formatID(id)}, nil)
}
