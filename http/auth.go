package http

import (
	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/fault"
)

type signedInAnswer struct {
	SessionToken string        `json:"session_token"`
	ExpiresAt    string        `json:"expires_at"`
	Account      accountAnswer `json:"account"`
}

type accountAnswer struct {
	ID         string           `json:"id"`
	Email      string           `json:"email"`
	Plan       account.PlanName `json:"plan"`
	Limits     limitsAnswer     `json:"limits"`
	Usage      usageAnswer      `json:"usage"`
	Encryption encryptionAnswer `json:"encryption"`
	CreatedAt  string           `json:"created_at"`
}

type limitsAnswer struct {
	Inboxes               int64 `json:"inboxes"`
	DefaultRetentionHours int   `json:"default_retention_hours"`
	MaxRetentionHours     int   `json:"max_retention_hours"`
	Labels                bool  `json:"labels"`
	Subdomains            bool  `json:"subdomains"`
	AccountKeys           int64 `json:"account_keys"`
	SendsPerDay           int64 `json:"sends_per_day"`
	Recipients            int   `json:"recipients_per_message"`
	Attachments           int   `json:"attachments_per_message"`
	AttachmentBytes       int64 `json:"attachment_bytes_per_message"`
	Webhooks              int   `json:"webhooks"`
}

type usageAnswer struct {
	Inboxes int64 `json:"inboxes"`
	Keys    int64 `json:"keys"`
	Sends   int64 `json:"sends_today"`
}

// encryptionAnswer says whether the account gave a public key.
type encryptionAnswer struct {
	Enabled bool `json:"enabled"`
}

func accountOf(u account.Usage) accountAnswer {
	return accountAnswer{
		ID: u.Profile.ID.String(), Email: u.Profile.Email, Plan: u.Profile.Plan,
		Limits: limitsAnswer{
			Inboxes: u.Plan.MaxInboxes, DefaultRetentionHours: u.Plan.DefaultRetentionHours,
			MaxRetentionHours: u.Plan.MaxRetentionHours, Labels: u.Plan.Labels, Subdomains: u.Plan.Subdomains,
			AccountKeys: u.Plan.MaxKeys, SendsPerDay: u.Plan.SendsPerDay, Recipients: u.Plan.MaxRecipients,
			Attachments: u.Plan.MaxAttachments, AttachmentBytes: u.Plan.MaxAttachmentBytes, Webhooks: u.Plan.MaxWebhooks,
		},
		Usage:     usageAnswer{Inboxes: u.Inboxes, Keys: u.Keys, Sends: u.Sends},
		CreatedAt: wireTime(u.Profile.CreatedAt),
	}
}

func (s *Server) signUp(r *request) error {
	if !s.opts.SignupOpen() {
		return fault.New(fault.Forbidden, "Sign-up is closed on this service. Ask its operator for an account")
	}
	email, password, err := s.signInForm(r)
	if err != nil {
		return err
	}
	if err := account.CheckPassword(password); err != nil {
		return err
	}
	in, err := s.accounts.SignUp(r.ctx, email, password)
	if err != nil {
		return err
	}
	return s.signedIn(r, fasthttp.StatusCreated, in)
}

func (s *Server) logIn(r *request) error {
	email, password, err := s.signInForm(r)
	if err != nil {
		return err
	}
	in, err := s.accounts.LogIn(r.ctx, email, password)
	if err != nil {
		return err
	}
	return s.signedIn(r, fasthttp.StatusOK, in)
}

// signInForm returns a canonical e-mail address, whose tries are counted, and a password.
func (s *Server) signInForm(r *request) (email, password string, err error) {
	email, err = s.countedEmail(r)
	return email, *r.body.text("password"), err
}

func (s *Server) countedEmail(r *request) (string, error) {
	email, err := account.CanonicalEmail(*r.body.text("email"))
	if err != nil {
		return "", err
	}
	return email, s.tries.count("email "+email, r.now)
}

func (s *Server) signedIn(r *request, status int, in account.SignedIn) error {
	usage, err := s.accounts.Usage(r.ctx, in.Profile.ID)
	if err != nil {
		return err
	}
	return r.json(status, signedInAnswer{in.Token, wireTime(in.ExpiresAt), accountOf(usage)})
}

func (s *Server) logOut(r *request) error {
	if err := s.accounts.LogOut(r.ctx, r.principal); err != nil {
		return err
	}
	return r.ok()
}

func (s *Server) account(r *request) error {
	usage, err := s.accounts.Usage(r.ctx, r.principal.Account)
	if err != nil {
		return err
	}
	return r.json(fasthttp.StatusOK, struct {
		Account accountAnswer `json:"account"`
	}{accountOf(usage)})
}
