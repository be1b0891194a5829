package wire

import (
	"slices"

	"github.com/valyala/fasthttp"
)

// AllowedOrigins are the web origins whose pages may read responses (Fetch standard, CORS protocol): in
// the form that a browser sends, or "*" for all. Cookies never matter here: the service has none.
type AllowedOrigins []string

const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	corsFields  = "Authorization, Content-Type, Idempotency-Key, If-Modified-Since, If-None-Match, Last-Event-ID, X-API-Key"
	corsExposed = "Content-Disposition, Date, ETag, Last-Modified, Retry-After, X-Request-Id"
	corsMaxAge  = "7200"
)

var headerOrigin = []byte("Origin")

// allowedOrigin returns the Access-Control-Allow-Origin of a response to a page of this origin.
// Empty: the browser does not let the page read the response.
func (o AllowedOrigins) allowedOrigin(origin []byte) string {
	switch {
	case len(origin) == 0:
	case slices.Contains(o, string(origin)):
		return string(origin)
	case slices.Contains(o, "*"):
		return "*"
	}
	return ""
}

// setHeaders sets the headers that let pages of other origins read the response.
func (o AllowedOrigins) setHeaders(h *fasthttp.ResponseHeader, origin []byte) {
	if len(o) == 0 {
		return
	}
	h.Add("Vary", "Origin") // even without an Origin: a cache must not give that response to a page
	if allowed := o.allowedOrigin(origin); allowed != "" {
		h.Set("Access-Control-Allow-Origin", allowed)
		h.Set("Access-Control-Expose-Headers", corsExposed)
	}
}

// Preflight responds to OPTIONS, which a browser sends before a cross-origin request.
func (o AllowedOrigins) Preflight(c *fasthttp.RequestCtx) {
	c.SetStatusCode(fasthttp.StatusNoContent)
	h := &c.Request.Header
	if o.allowedOrigin(h.PeekBytes(headerOrigin)) == "" || len(h.Peek("Access-Control-Request-Method")) == 0 {
		return
	}
	out := &c.Response.Header
	out.Set("Access-Control-Allow-Methods", corsMethods)
	out.Set("Access-Control-Allow-Headers", corsFields)
	out.Set("Access-Control-Max-Age", corsMaxAge)
}

// headerFields returns the headers of share as text, for a stream.
func (o AllowedOrigins) headerFields(origin []byte) string {
	if len(o) == 0 {
		return ""
	}
	text := "Vary: Origin\r\n"
	if allowed := o.allowedOrigin(origin); allowed != "" {
		text += "Access-Control-Allow-Origin: " + allowed + "\r\nAccess-Control-Expose-Headers: " + corsExposed + "\r\n"
	}
	return text
}
