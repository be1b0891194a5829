package http

import (
	"sync"

	"github.com/valyala/fasthttp"

	"inboxd/http/contract"
	"inboxd/http/wire"
)

// pages are the documents to read, for programs and for people.
type pages struct {
	openAPI func() *contract.Document
	docs    func() (*contract.Document, error)
}

func newPages(baseURL string) *pages {
	return &pages{
		openAPI: sync.OnceValue(contract.OpenAPI),
		docs:    sync.OnceValues(func() (*contract.Document, error) { return contract.Docs(baseURL) }),
	}
}

func (p *pages) showOpenAPI(r *request) error { return r.document(p.openAPI()) }

func (p *pages) showDocs(r *request) error {
	d, err := p.docs()
	if err != nil {
		return err
	}
	r.http.Response.Header.Set("Content-Security-Policy", contract.Policy)
	r.http.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	return r.document(d)
}

// document answers with a document, or with 304 when the client has it.
func (r *request) document(d *contract.Document) error {
	h := &r.http.Response.Header
	h.Set("ETag", d.ETag)
	h.SetCanonical(headerCache, []byte("public, no-cache"))
	if wire.Matches(r.http.Request.Header.Peek("If-None-Match"), []byte(d.ETag)) {
		r.http.SetStatusCode(fasthttp.StatusNotModified)
		return nil
	}
	h.SetContentType(d.Type)
	r.http.Response.SetBodyRaw(d.Body)
	return nil
}

func (s *Server) showOpenAPI(r *request) error { return s.pages.showOpenAPI(r) }

func (s *Server) showDocs(r *request) error { return s.pages.showDocs(r) }
