package http

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"inboxd/http/contract"
	"inboxd/http/dashboard"
	"inboxd/http/wire"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/tools"
)

// pages serves documents for programs, models and people, the pages that reset a password and
// verify an address, and the web dashboard.
type pages struct {
	openAPI   func() *contract.Document
	docs      func() (*contract.Document, error)
	functions map[string]func() (*contract.Document, error) // the core tools, by schema format

	dashboard  func() (*dashboard.Page, error)
	signupOpen func() bool
}

func newPages(o *Options) *pages {
	p := &pages{
		openAPI:   sync.OnceValue(contract.OpenAPI),
		docs:      sync.OnceValues(func() (*contract.Document, error) { return contract.Docs(o.BaseURL, cmp.Or(o.SMTP, "127.0.0.1:2525")) }),
		functions: map[string]func() (*contract.Document, error){},
		dashboard: sync.OnceValues(func() (*dashboard.Page, error) {
			return dashboard.New(dashboard.Options{BaseURL: o.BaseURL, Domain: o.Domain})
		}),
		signupOpen: o.SignupOpen,
	}
	for _, format := range tools.FormatNames() {
		p.functions[format] = sync.OnceValues(func() (*contract.Document, error) {
			text, err := tools.Functions(format)
			return contract.NewDocument("application/json", text), err
		})
	}
	return p
}

// These say how long caches may keep a document. Pages and functions change only with the program.
// Functions have a lifetime, because programs that start often fetch them.
const (
	cacheAsk       = "public, no-cache"
	cacheFunctions = "public, max-age=300"
	cacheForGood   = "public, max-age=31536000, immutable"
)

func (p *pages) routes() []route {
	return []route{
		{get, "/", nobody, none, false, nil, p.showDashboard},
		{get, "/assets/{name}", nobody, none, false, nil, p.showAsset},
		{get, "/openapi.json", nobody, none, false, nil, p.showOpenAPI},
		{get, "/docs", nobody, none, false, nil, p.showDocs},
		{get, "/api/v1/tools", nobody, none, false, nil, p.showFunctions},
		{get, "/reset", nobody, none, false, nil, resetPage.show},
		{get, "/verify", nobody, none, false, nil, verifyPage.show},
	}
}

func (p *pages) showOpenAPI(r *request) error { return r.document(p.openAPI(), cacheAsk) }

// showFunctions responds with the core tools in the format of a model provider's API
// (specification, Tool server).
func (p *pages) showFunctions(r *request) error {
	document, known := p.functions[r.query().raw("format")]
	if !known {
		return fault.Field("format", "must be one of %s", strings.Join(tools.FormatNames(), ", "))
	}
	d, err := document()
	if err != nil {
		return err
	}
	return r.document(d, cacheFunctions)
}

func (p *pages) showDocs(r *request) error {
	d, err := p.docs()
	if err != nil {
		return err
	}
	r.http.Response.Header.Set("Content-Security-Policy", contract.Policy())
	return r.document(d, cacheAsk)
}

// document responds with a document, or with 304 if the client has it.
func (r *request) document(d *contract.Document, cache string) error {
	h := &r.http.Response.Header
	h.Set("ETag", d.ETag)
	h.SetCanonical(headerCache, []byte(cache))
	if wire.Matches(r.http.Request.Header.Peek("If-None-Match"), []byte(d.ETag)) {
		r.http.SetStatusCode(fasthttp.StatusNotModified)
		return nil
	}
	h.SetContentType(d.Type)
	r.http.Response.SetBodyRaw(d.Body)
	return nil
}

// dashboardHeaders isolate the page from others. DNS prefetch is off, so that the host names of
// links in messages are not resolved.
var dashboardHeaders = [...]struct{ name, value []byte }{
	{[]byte("Content-Security-Policy"), []byte(dashboard.Policy)},
	{[]byte("X-Frame-Options"), []byte("DENY")},
	{[]byte("Referrer-Policy"), []byte("no-referrer")},
	{[]byte("Cross-Origin-Opener-Policy"), []byte("same-origin")},
	{[]byte("Cross-Origin-Resource-Policy"), []byte("same-origin")},
	{[]byte("X-Dns-Prefetch-Control"), []byte("off")},
}

func (p *pages) showDashboard(r *request) error {
	page, err := p.dashboard()
	if err != nil {
		return err
	}
	for i := range dashboardHeaders {
		r.http.Response.Header.SetCanonical(dashboardHeaders[i].name, dashboardHeaders[i].value)
	}
	f := page.Index(p.signupOpen())
	return r.document(&contract.Document{Type: f.Type, ETag: f.ETag, Body: f.Body}, cacheAsk)
}

// showAsset responds with a file whose name contains its hash, so that it can be cached forever.
func (p *pages) showAsset(r *request) error {
	page, err := p.dashboard()
	if err != nil {
		return err
	}
	f := page.Asset(parameter(r.http, "name"))
	if f == nil {
		return errNoPath
	}
	h := &r.http.Response.Header
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	d := contract.Document{Type: f.Type, ETag: f.ETag, Body: f.Body}
	if accepts(&r.http.Request.Header, headerAcceptEncoding, "gzip") && f.Zipped != nil {
		h.SetContentEncoding("gzip")
		d.Body = f.Zipped
	}
	return r.document(&d, cacheForGood)
}

// linkPage is the page that a link in a message about an account opens. The token is in the URL
// fragment: only the page's script can read it, and it sends it when the user asks for it. So a
// program that only follows links does not use up the token.
type linkPage struct {
	text   []byte
	policy string
}

//go:embed resetpage.html
var resetText []byte

//go:embed verifypage.html
var verifyText []byte

var resetPage, verifyPage = newLinkPage(resetText), newLinkPage(verifyText)

// newLinkPage permits the page to run its own script and style and to call its own service, nothing
// else.
func newLinkPage(text []byte) *linkPage {
	return &linkPage{text, "default-src 'none'; connect-src 'self'; script-src " + inlineHash(text, "script") + "; style-src " + inlineHash(text, "style") +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
}

// inlineHash returns the source expression of the only inline element of that type (CSP level 3,
// section 2.3.1).
func inlineHash(page []byte, element string) string {
	_, rest, _ := bytes.Cut(page, []byte("<"+element+">"))
	text, _, _ := bytes.Cut(rest, []byte("</"+element+">"))
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (p *linkPage) show(r *request) error {
	h := &r.http.Response.Header
	h.SetContentType("text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.SetCanonical(headerCache, cacheNever)
	r.http.SetStatusCode(fasthttp.StatusOK)
	r.http.Response.SetBodyRaw(p.text)
	return nil
}
