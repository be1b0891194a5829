package http

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"inboxd/internal/address"
	"inboxd/internal/fault"
)

// parameter returns a path parameter, percent-decoded once; a bad escape stays as it is.
// The router matches the path as sent, so a decoded slash never moves a segment.
func parameter(c *fasthttp.RequestCtx, name string) string {
	raw, _ := c.UserValue(name).(string)
	decoded, err := url.PathUnescape(raw)
	if err != nil {
		decoded = raw
	}
	return strings.Clone(decoded)
}

// own finds the inbox of the path and refuses it unless the credential owns it. Whatever
// the reason, the refusal has the same bytes.
func (s *Server) own(r *request) error {
	given := parameter(r.http, "addr")
	canonical, ok := address.Inbox(given)
	if !ok {
		return noInbox(strings.ToValidUTF8(given, "\ufffd"))
	}
	r.address = address.WithoutTag(canonical)
	if !reaches(r.principal, r.address) {
		return noInbox(r.address)
	}
	return s.look(r)
}

// look takes the present view of the inbox into r.view, or finds that it is gone.
func (s *Server) look(r *request) error {
	view, err := s.inboxes.ViewFor(r.ctx, r.principal.Account, r.address)
	switch {
	case fault.Is(err, fault.NoInbox):
		return noInbox(r.address)
	case err != nil:
		return err
	case view == nil || !owns(r.principal, view):
		return noInbox(r.address)
	}
	r.view = view
	return nil
}

// number reads an id of a path: a whole number above zero in its one decimal form.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}
