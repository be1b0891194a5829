package http

import (
	"bytes"
	_ "embed"
	"sync"

	"github.com/valyala/fasthttp"
	"github.com/zeebo/xxh3"
)

// contract is the OpenAPI 3.1 document, written by hand as the mirror of the route table. A
// test holds it to the table and to what the server answers.
//
//go:embed contract.json
var contract []byte

// page is a document that never changes while the server runs.
type page struct {
	kind string
	body []byte
	etag []byte
}

func newPage(kind string, body []byte) *page {
	sum := xxh3.Hash128(body).Bytes()
	return &page{kind, body, appendQuotedHex(nil, sum[:])}
}

func appendQuotedHex(dst, b []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range b {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return append(dst, '"')
}

func (p *page) serve(r *request) error {
	h := &r.http.Response.Header
	h.SetCanonical(headerETag, p.etag)
	h.SetCanonical(headerCache, []byte("public, no-cache"))
	if matches(r.http.Request.Header.PeekCanonical(headerIfNoneMatch), p.etag) {
		r.http.SetStatusCode(fasthttp.StatusNotModified)
		return nil
	}
	h.SetContentType(p.kind)
	r.http.Response.SetBodyRaw(p.body)
	return nil
}

var contractPage = sync.OnceValue(func() *page { return newPage("application/json", bytes.TrimSpace(contract)) })

func (s *Server) showContract(r *request) error { return contractPage().serve(r) }
