package http

import (
	"inboxd/internal/fault"
)

// healthy says that the process answers.
func (s *Server) healthy(r *request) error { return r.ok() }

// ready says whether work can be taken on.
func (s *Server) ready(r *request) error {
	if stopped(s.wire.Stopping()) {
		return fault.New(fault.Unavailable, "The service is stopping")
	}
	if err := s.opts.Ready(); err != nil {
		return fault.Wrap(fault.Unavailable, "The service is not ready", err)
	}
	return r.ok()
}

// challenge answers an ACME authority that checks whose host this is.
func (s *Server) challenge(r *request) error {
	r.http.SetContentType("text/plain")
	s.opts.ChallengeHandler(r.http)
	return nil
}

// metrics serves loopback peers only, unless the operator opened it. A header of a proxy
// means that somebody else stands behind the loopback peer.
func (s *Server) metrics(r *request) error {
	h := &r.http.Request.Header
	local := peerAddr(r.http).IsLoopback() && len(h.Peek("X-Forwarded-For")) == 0 && len(h.Peek("Forwarded")) == 0
	if !s.opts.MetricsPublic && !local {
		return fault.New(fault.Forbidden, "Metrics are served to loopback addresses only")
	}
	s.opts.MetricsHandler(r.http)
	return nil
}
