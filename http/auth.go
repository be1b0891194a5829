package http

import (
	"context"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/wire"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/mail/sealed"
)

// Auth is what the handlers of accounts and sessions need.
type Auth interface {
	SignUp(ctx context.Context, email, password string) (account.SignedIn, error)
	LogIn(ctx context.Context, email, password string) (account.SignedIn, error)
	LogOut(ctx context.Context, p *account.Principal) error
	// RequestReset sends a password-reset token if an account has the address. It always returns
	// immediately.
	RequestReset(email string)
	// ResetPassword uses such a token, and revokes all earlier access to the account. It returns
	// Refused if the token is not valid.
	ResetPassword(ctx context.Context, token, password string) (account.ResetSummary, error)
	// ListSessions returns the sessions of the account, oldest first, and the time of last use of
	// each.
	ListSessions(ctx context.Context, id account.ID) ([]account.Session, []time.Time, error)
	// EndSession ends a session by its id. It returns NotFound if the session does not exist.
	EndSession(ctx context.Context, id account.ID, session string) error
	// ChangePassword sets a new password and ends all sessions except that of p. A wrong old
	// password is Forbidden.
	ChangePassword(ctx context.Context, p *account.Principal, old, password string) error
	// RequestVerification sends a token that verifies the e-mail address of the account. It sends
	// none if the address is verified or enough tokens are outstanding.
	RequestVerification(ctx context.Context, id account.ID) error
	// VerifyEmail uses such a token. It returns Refused if the token is not valid.
	VerifyEmail(ctx context.Context, token string) error
	AccountUsage(ctx context.Context, id account.ID) (account.QuotaUsage, error)
	// SetRecipient sets the public key of the account, for messages received after it returns.
	// Changing an existing key needs the password: Invalid without it, Forbidden for a wrong one.
	SetRecipient(ctx context.Context, id account.ID, recipient sealed.RecipientKey, password string) error
	// DropRecipient removes the key. The same password rule applies; Refused while encrypted
	// inboxes exist.
	DropRecipient(ctx context.Context, id account.ID, password string) error
}

// auth has the handlers of accounts and sessions.
type auth struct {
	accounts       Auth
	tryCounter     *tryCounter
	signupOpen     func() bool
	onFailedSignIn func(r *apiRequest, email string)
}

func (a *auth) listRoutes() []routeSpec {
	return []routeSpec{
		{methodPost, "/api/auth/signup", noCredential, noScope, true, signInShape, a.signUp},
		{methodPost, "/api/auth/login", noCredential, noScope, true, signInShape, a.logIn},
		{methodPost, "/api/auth/password-reset", noCredential, noScope, true, resetShape, a.requestReset},
		{methodPost, "/api/auth/password-reset/confirm", noCredential, noScope, true, confirmShape, a.confirmReset},
		{methodPost, "/api/auth/verify-email", sessionTokens, noScope, false, emptyShape, a.requestVerification},
		{methodPost, "/api/auth/verify-email/confirm", noCredential, noScope, true, verifyShape, a.confirmVerification},
		{methodPost, "/api/auth/logout", sessionTokens, noScope, false, emptyShape, a.logOut},
		{methodGet, "/api/account/sessions", sessionTokens, noScope, false, nil, a.listSessions},
		{methodDelete, "/api/account/sessions/{id}", sessionTokens, noScope, false, nil, a.endSession},
		{methodPost, "/api/account/password", sessionTokens, noScope, false, passwordShape, a.changePassword},
		{methodGet, "/api/account", sessionTokens, noScope, false, nil, a.showAccount},
		{methodPut, "/api/account/encryption", sessionTokens, noScope, false, encryptionShape, a.setEncryption},
		{methodDelete, "/api/account/encryption", sessionTokens, noScope, false, passwordOnly, a.endEncryption},
	}
}

type signedInResponse struct {
	SessionToken string          `json:"session_token"`
	ExpiresAt    string          `json:"expires_at"`
	Account      accountResponse `json:"account"`
}

type accountResponse struct {
	ID            string             `json:"id"`
	Email         string             `json:"email"`
	EmailVerified bool               `json:"email_verified"`
	Plan          account.PlanName   `json:"plan"`
	Limits        limitsResponse     `json:"limits"`
	Usage         usageResponse      `json:"usage"`
	Encryption    encryptionResponse `json:"encryption"`
	CreatedAt     string             `json:"created_at"`
}

type limitsResponse struct {
	Inboxes               int64 `json:"inboxes"`
	DefaultRetentionHours int   `json:"default_retention_hours"`
	MaxRetentionHours     int   `json:"max_retention_hours"`
	Labels                bool  `json:"labels"`
	Subdomains            bool  `json:"subdomains"`
	MaxSubdomains         int64 `json:"max_subdomains"`
	AccountKeys           int64 `json:"account_keys"`
	SendsPerDay           int64 `json:"sends_per_day"`
	Recipients            int   `json:"recipients_per_message"`
	Attachments           int   `json:"attachments_per_message"`
	AttachmentBytes       int64 `json:"attachment_bytes_per_message"`
	Webhooks              int   `json:"webhooks"`
	MaxMessages           int   `json:"max_messages"` // of one inbox, like max_bytes
	MaxBytes              int64 `json:"max_bytes"`
}

type usageResponse struct {
	Inboxes    int64 `json:"inboxes"`
	Keys       int64 `json:"keys"`
	SendsToday int64 `json:"sends_today"`
}

// encryptionResponse is the public key of the account, if it has one.
type encryptionResponse struct {
	Enabled          bool    `json:"enabled"`
	PublicKey        *string `json:"public_key"`
	SetAt            *string `json:"set_at"`
	EncryptedInboxes int64   `json:"encrypted_inboxes"`
}

func accountOf(u account.QuotaUsage) accountResponse {
	return accountResponse{
		ID: u.Profile.ID.String(), Email: u.Profile.Email, EmailVerified: !u.Profile.EmailUnverified, Plan: u.Profile.Plan,
		Limits: limitsResponse{
			Inboxes: u.Plan.MaxInboxes, DefaultRetentionHours: u.Plan.DefaultRetentionHours,
			MaxRetentionHours: u.Plan.MaxRetentionHours, Labels: u.Plan.LabelsAllowed, Subdomains: u.Plan.Subdomains, MaxSubdomains: u.Plan.MaxSubdomains,
			AccountKeys: u.Plan.MaxKeys, SendsPerDay: u.Plan.SendsPerDay, Recipients: u.Plan.MaxRecipients,
			Attachments: u.Plan.MaxAttachments, AttachmentBytes: u.Plan.MaxAttachmentBytes, Webhooks: u.Plan.MaxWebhooks,
			MaxMessages: u.Plan.MaxMessages, MaxBytes: u.Plan.MaxBytes,
		},
		Usage:      usageResponse{Inboxes: u.InboxCount, Keys: u.KeyCount, SendsToday: u.SendsToday},
		Encryption: encryptionOf(u),
		CreatedAt:  wireTime(u.Profile.CreatedAt),
	}
}

func encryptionOf(u account.QuotaUsage) encryptionResponse {
	e := u.Profile.Encryption
	return encryptionResponse{Enabled: e.PublicKey != "", PublicKey: stringOrNull(e.PublicKey), SetAt: wireTimeOrNull(e.SetAt), EncryptedInboxes: u.EncryptedCount()}
}

func (a *auth) signUp(r *apiRequest) error {
	if !a.signupOpen() {
		return fault.New(fault.Forbidden, "Sign-up is closed on this service. Ask its operator for an account")
	}
	email, password, err := a.signInForm(r)
	if err != nil {
		return err
	}
	if err := account.CheckPassword(password); err != nil {
		return err
	}
	in, err := a.accounts.SignUp(r.ctx, email, password)
	return a.signedIn(r, fasthttp.StatusCreated, in, err)
}

func (a *auth) logIn(r *apiRequest) error {
	email, password, err := a.signInForm(r)
	if err != nil {
		return err
	}
	in, err := a.accounts.LogIn(r.ctx, email, password)
	if fault.Is(err, fault.Unauthenticated) {
		a.onFailedSignIn(r, email)
	}
	return a.signedIn(r, fasthttp.StatusOK, in, err)
}

// signInForm returns a canonical e-mail address, whose attempt was counted, and a password.
func (a *auth) signInForm(r *apiRequest) (email, password string, err error) {
	email, err = a.countedEmail(r)
	return email, *r.bodyValues.textOf("password"), err
}

func (a *auth) countedEmail(r *apiRequest) (string, error) {
	email, err := account.CanonicalEmail(*r.bodyValues.textOf("email"))
	if err != nil {
		return "", err
	}
	return email, a.tryCounter.countEmail(email, r.clientGroup(), r.requestTime)
}

func (a *auth) signedIn(r *apiRequest, status int, in account.SignedIn, err error) error {
	if err != nil {
		return err
	}
	a.tryCounter.signedIn(in.Profile.Email, r.clientGroup())
	usage, err := a.accounts.AccountUsage(r.ctx, in.Profile.ID)
	return r.json(status, signedInResponse{in.Token, wireTime(in.ExpiresAt), accountOf(usage)}, err)
}

func (a *auth) logOut(r *apiRequest) error {
	return r.ok(a.accounts.LogOut(r.ctx, r.principal))
}

func (a *auth) showAccount(r *apiRequest) error {
	usage, err := a.accounts.AccountUsage(r.ctx, r.principal.Account)
	if err == nil {
		a.tryCounter.signedIn(usage.Profile.Email, r.clientGroup()) // also after a restart, which forgets the clients that signed in
	}
	return r.json(fasthttp.StatusOK, struct {
		Account accountResponse `json:"account"`
	}{accountOf(usage)}, err)
}

// requestReset has the same response and duration whether or not an account has the address.
func (a *auth) requestReset(r *apiRequest) error {
	email, err := a.countedEmail(r)
	if err != nil {
		return err
	}
	a.accounts.RequestReset(email)
	return r.json(fasthttp.StatusAccepted, okResponse{true}, nil)
}

type resetResponse struct {
	OK            bool  `json:"ok"`
	Sessions      int64 `json:"sessions"`
	Keys          int64 `json:"keys"`
	Webhooks      int64 `json:"webhooks"`
	CalendarLinks int64 `json:"calendar_links"`
}

// confirmReset sets the password and revokes all earlier access to the account.
func (a *auth) confirmReset(r *apiRequest) error {
	password := *r.bodyValues.textOf("password")
	if err := account.CheckPassword(password); err != nil {
		return err
	}
	ended, err := a.accounts.ResetPassword(r.ctx, *r.bodyValues.textOf("token"), password)
	if err == nil {
		a.tryCounter.signedIn(ended.Email, r.clientGroup()) // the client had the link, so it is not a stranger
	}
	return r.json(fasthttp.StatusOK, resetResponse{true, ended.Sessions, ended.Keys, ended.Webhooks, ended.Links}, err)
}

type sessionResponse struct {
	ID         string `json:"id"`
	CreatedAt  string `json:"created_at"`
	LastUsedAt string `json:"last_used_at"`
	ExpiresAt  string `json:"expires_at"`
	Current    bool   `json:"current"`
}

func (a *auth) listSessions(r *apiRequest) error {
	list, used, err := a.accounts.ListSessions(r.ctx, r.principal.Account)
	out := make([]sessionResponse, len(list))
	for i := range list {
		s := &list[i]
		out[i] = sessionResponse{s.ID(), wireTime(s.CreatedAt), wireTime(used[i]), wireTime(s.ExpiresAt), s.Hash == r.principal.Hash}
	}
	return r.json(fasthttp.StatusOK, struct {
		Sessions []sessionResponse `json:"sessions"`
	}{out}, err)
}

func (a *auth) endSession(r *apiRequest) error {
	return r.ok(a.accounts.EndSession(r.ctx, r.principal.Account, pathParameter(r.httpCtx, "id")))
}

func (a *auth) changePassword(r *apiRequest) error {
	password := *r.bodyValues.textOf("new")
	if err := account.CheckPasswordIn("new", password); err != nil {
		return err
	}
	if err := a.tryCounter.countTry("password "+r.principal.Account.String(), r.requestTime); err != nil {
		return err
	}
	return r.ok(a.accounts.ChangePassword(r.ctx, r.principal, *r.bodyValues.textOf("old"), password))
}

// shownPassword returns the password given for a change of the key, or the empty string. Each
// password counts as an attempt.
func (a *auth) shownPassword(r *apiRequest) (string, error) {
	shown := r.bodyValues.textOf("password")
	if shown == nil || *shown == "" {
		return "", nil
	}
	return *shown, a.tryCounter.countTry("password "+r.principal.Account.String(), r.requestTime)
}

// requestVerification sends the verification link for the account's address again.
func (a *auth) requestVerification(r *apiRequest) error {
	err := a.tryCounter.countTry("verification "+r.principal.Account.String(), r.requestTime)
	if err == nil {
		err = a.accounts.RequestVerification(r.ctx, r.principal.Account)
	}
	return r.json(fasthttp.StatusAccepted, okResponse{true}, err)
}

func (a *auth) confirmVerification(r *apiRequest) error {
	return r.ok(a.accounts.VerifyEmail(r.ctx, *r.bodyValues.textOf("token")))
}

// setEncryption sets a public key (specification, Encryption). The error for anything else does not
// quote it, because it may be the private key.
func (a *auth) setEncryption(r *apiRequest) error {
	recipient, err := sealed.ParseRecipient("public_key", *r.bodyValues.textOf("public_key"))
	if err != nil {
		return err
	}
	password, err := a.shownPassword(r)
	if err == nil {
		err = a.accounts.SetRecipient(r.ctx, r.principal.Account, recipient, password)
	}
	return a.showEncryption(r, err)
}

func (a *auth) endEncryption(r *apiRequest) error {
	password, err := a.shownPassword(r)
	if err == nil {
		err = a.accounts.DropRecipient(r.ctx, r.principal.Account, password)
	}
	return a.showEncryption(r, err)
}

// showEncryption responds to a change, or returns its error.
func (a *auth) showEncryption(r *apiRequest, err error) error {
	if err != nil {
		return err
	}
	usage, err := a.accounts.AccountUsage(r.ctx, r.principal.Account)
	return r.json(fasthttp.StatusOK, struct {
		Encryption encryptionResponse `json:"encryption"`
	}{encryptionOf(usage)}, err)
}

// noteFailedSignIn counts and logs a login with a wrong address or password, so that tools can ban
// addresses that guess.
func (s *Server) noteFailedSignIn(r *apiRequest, email string) {
	s.failedSignIns.Add(1)
	s.opts.Logger.Info("sign-in failed", "client", s.admission.clientAddr(r.httpCtx).String(), "email", email, "request", wire.RequestID(r.httpCtx))
}
