package http

import (
	"inboxd/internal/fault"
)

// operator answers those who run the service.
type operator struct {
	opts     *Options
	stopping <-chan struct{}
}

func (o *operator) routes() []route {
	all := []route{
		{get, "/healthz", nobody, none, false, nil, o.healthy},
		{get, "/readyz", nobody, none, false, nil, o.ready},
	}
	if o.opts.MetricsHandler != nil {
		all = append(all, route{get, "/metrics", nobody, none, false, nil, o.metrics})
	}
	if o.opts.ChallengeHandler != nil {
		all = append(all, route{get, "/.well-known/acme-challenge/{token}", nobody, none, false, nil, o.challenge})
	}
	return all
}

// healthy says that the process answers.
func (o *operator) healthy(r *request) error { return r.ok(nil) }

// ready says whether work can be taken on.
func (o *operator) ready(r *request) error {
	if stopped(o.stopping) {
		return fault.New(fault.Unavailable, "The service is stopping")
	}
	if err := o.opts.Ready(); err != nil {
		return fault.Wrap(fault.Unavailable, "The service is not ready", err)
	}
	return r.ok(nil)
}

// challenge answers an ACME authority that checks whose host this is.
func (o *operator) challenge(r *request) error {
	r.http.SetContentType("text/plain")
	o.opts.ChallengeHandler(r.http)
	return nil
}

// metrics serves loopback peers only, unless the operator opened it. A header of a proxy
// means that somebody else stands behind the loopback peer.
func (o *operator) metrics(r *request) error {
	h := &r.http.Request.Header
	local := peerAddr(r.http).IsLoopback() && len(h.Peek("X-Forwarded-For")) == 0 && len(h.Peek("Forwarded")) == 0
	if !o.opts.MetricsPublic && !local {
		return fault.New(fault.Forbidden, "Metrics are served to loopback addresses only")
	}
	o.opts.MetricsHandler(r.http)
	return nil
}
