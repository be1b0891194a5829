package http

import (
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
)

// operatorHandlers has the handlers for those who run the service.
type operatorHandlers struct {
	opts     *Options
	stopping <-chan struct{}
}

func (o *operatorHandlers) listRoutes() []routeSpec {
	all := []routeSpec{
		{methodGet, "/healthz", noCredential, noScope, false, nil, o.answerHealthy},
		{methodGet, "/readyz", noCredential, noScope, false, nil, o.answerReady},
	}
	if o.opts.MetricsHandler != nil {
		all = append(all, routeSpec{methodGet, "/metrics", noCredential, noScope, false, nil, o.serveMetrics})
	}
	if o.opts.ChallengeHandler != nil {
		all = append(all, routeSpec{methodGet, "/.well-known/acme-challenge/{token}", noCredential, noScope, false, nil, o.answerChallenge})
	}
	return all
}

// answerHealthy responds if the process is alive.
func (o *operatorHandlers) answerHealthy(r *apiRequest) error { return r.ok(nil) }

// answerReady reports whether the service can accept work.
func (o *operatorHandlers) answerReady(r *apiRequest) error {
	if isStopping(o.stopping) {
		return fault.New(fault.TemporarilyUnavailable, "The service is stopping")
	}
	if err := o.opts.CheckReady(); err != nil {
		return fault.Wrap(fault.TemporarilyUnavailable, "The service is not ready", err)
	}
	return r.ok(nil)
}

// answerChallenge responds to an ACME certificate authority that validates control of the host.
func (o *operatorHandlers) answerChallenge(r *apiRequest) error {
	r.httpCtx.SetContentType("text/plain")
	o.opts.ChallengeHandler(r.httpCtx)
	return nil
}

// serveMetrics serves only loopback peers, unless the operator opened it. A header field of a proxy, or
// another host name, means that the real client is not on this machine.
func (o *operatorHandlers) serveMetrics(r *apiRequest) error {
	h := &r.httpCtx.Request.Header
	if err := o.opts.checkHost(r.httpCtx); err != nil {
		return err
	}
	if !o.opts.MetricsPublic && !(peerAddr(r.httpCtx).IsLoopback() && namesLocalHost(r.httpCtx) && !isForwarded(h)) {
		return fault.New(fault.Forbidden, "Metrics are served only to loopback clients, under a name such as localhost and without a proxy. --metrics public opens them")
	}
	o.opts.MetricsHandler(r.httpCtx)
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
