package http

import (
	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
)

// requestReset answers alike, and as fast, whether or not an account has the address.
func (s *Server) requestReset(r *request) error {
	email, err := s.countedEmail(r)
	if err != nil {
		return err
	}
	s.accounts.RequestReset(email)
	return r.json(fasthttp.StatusAccepted, okAnswer{true})
}

// confirmReset sets the password and ends every session of the account.
func (s *Server) confirmReset(r *request) error {
	password := *r.body.text("password")
	if err := account.CheckPassword(password); err != nil {
		return err
	}
	if err := s.accounts.ResetPassword(r.ctx, *r.body.text("token"), password); err != nil {
		return err
	}
	return r.ok()
}
