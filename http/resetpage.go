package http

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"

	"github.com/valyala/fasthttp"
)

// resetPage is where the link of a password reset leads. The token stands behind the # of
// the address: the page alone reads it, and hands it to the confirmation.
//
//go:embed resetpage.html
var resetPage []byte

// resetPolicy lets the page run its own script and style and call its own service, no more.
var resetPolicy = "default-src 'none'; connect-src 'self'; script-src " + inlineHash("script") + "; style-src " + inlineHash("style") +
	"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// inlineHash is the source expression of the one inline element (CSP level 3, section 2.3.1).
func inlineHash(element string) string {
	_, rest, _ := bytes.Cut(resetPage, []byte("<"+element+">"))
	text, _, _ := bytes.Cut(rest, []byte("</"+element+">"))
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (s *Server) showResetPage(r *request) error {
	h := &r.http.Response.Header
	h.SetContentType("text/html; charset=utf-8")
	h.Set("Content-Security-Policy", resetPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.SetCanonical(headerCache, cacheNever)
	r.http.SetStatusCode(fasthttp.StatusOK)
	r.http.Response.SetBodyRaw(resetPage)
	return nil
}
