package http

import (
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
)

// operator has the handlers for those who run the service.
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

// healthy responds if the process is alive.
func (o *operator) healthy(r *request) error { return r.ok(nil) }

// ready reports whether the service can accept work.
func (o *operator) ready(r *request) error {
	if stopped(o.stopping) {
		return fault.New(fault.Unavailable, "The service is stopping")
	}
	if err := o.opts.Ready(); err != nil {
		return fault.Wrap(fault.Unavailable, "The service is not ready", err)
	}
	return r.ok(nil)
}

// challenge responds to an ACME certificate authority that validates control of the host.
func (o *operator) challenge(r *request) error {
	r.http.SetContentType("text/plain")
	o.opts.ChallengeHandler(r.http)
	return nil
}

// metrics serves only loopback peers, unless the operator opened it. A header field of a proxy, or
// another host name, means that the real client is not on this machine.
func (o *operator) metrics(r *request) error {
	h := &r.http.Request.Header
	if err := o.opts.checkHost(r.http); err != nil {
		return err
	}
	if !o.opts.MetricsPublic && !(peerAddr(r.http).IsLoopback() && namesLocalHost(r.http) && !isForwarded(h)) {
		return fault.New(fault.Forbidden, "Metrics are served only to loopback clients, under a name such as localhost and without a proxy. --metrics public opens them")
	}
	o.opts.MetricsHandler(r.http)
	return nil
}

// isForwarded reports whether the header shows that a proxy forwarded the request.
func isForwarded(h *fasthttp.RequestHeader) bool {
	for name := range h.All() {
		switch field := strings.ToLower(string(name)); {
		case field == "forwarded", field == "via", field == "x-real-ip", strings.HasPrefix(field, "x-forwarded-"):
			return true
		}
	}
	return false
}

// checkHost refuses a request with another host name if the server serves only this machine. This
// prevents DNS rebinding: the page of a stranger whose name resolves to this machine sends its own
// host name.
func (o *Options) checkHost(c *fasthttp.RequestCtx) error {
	if o.LocalOnly && !namesLocalHost(c) {
		return fault.New(fault.Forbidden, "This server is reachable only from its own machine. Use the host name localhost or 127.0.0.1, or start it with --base-url")
	}
	return nil
}

// namesLocalHost reports whether the Host field, and the URL in the request line, name this
// machine.
func namesLocalHost(c *fasthttp.RequestCtx) bool {
	return isLocalHost(string(c.Request.Header.Host())) && isLocalHost(string(c.Host()))
}

// isLocalHost reports whether a Host field names the client's own machine: a loopback address,
// localhost, or a name below it (RFC 6761 section 6.3).
func isLocalHost(field string) bool {
	host := field
	if at := strings.LastIndexByte(field, ':'); at >= 0 && !strings.HasSuffix(field, "]") {
		if host = field[:at]; strings.Trim(field[at+1:], "0123456789") != "" {
			return false
		}
	}
	if inner, is := strings.CutPrefix(host, "["); is {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && strings.HasSuffix(inner, "]") && addr.Is6() && addr.Unmap().IsLoopback()
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Is4() && addr.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
