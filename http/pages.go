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

// pageHandlers serves documents for programs, models and people, the packages of the clients, the
// pages that reset a password and verify an address, and the web dashboard.
type pageHandlers struct {
	library       *contract.Library
	toolDocuments map[string]func() (*contract.CachedDocument, error) // the core tools, by schema format

	loadDashboard func() (*dashboard.DashboardPage, error)
	signupOpen    func() bool
}

func newPages(o *Options) *pageHandlers {
	p := &pageHandlers{
		library:       contract.NewLibrary(o.BaseURL, cmp.Or(o.SMTP, "127.0.0.1:2525")),
		toolDocuments: map[string]func() (*contract.CachedDocument, error){},
		loadDashboard: sync.OnceValues(func() (*dashboard.DashboardPage, error) {
			return dashboard.New(dashboard.Options{BaseURL: o.BaseURL, ServiceDomain: o.ServiceDomain})
		}),
		signupOpen: o.SignupOpen,
	}
	for _, format := range tools.FormatNames() {
		p.toolDocuments[format] = sync.OnceValues(func() (*contract.CachedDocument, error) {
			text, err := tools.FunctionsJSON(format)
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

func (p *pageHandlers) listRoutes() []routeSpec {
	routes := []routeSpec{
		{methodGet, "/", noCredential, noScope, false, nil, p.showDashboard},
		{methodGet, "/assets/{name}", noCredential, noScope, false, nil, p.showAsset},
		{methodGet, "/api/v1/tools", noCredential, noScope, false, nil, p.showFunctions},
		{methodGet, "/reset", noCredential, noScope, false, nil, resetPage.showPage},
		{methodGet, "/verify", noCredential, noScope, false, nil, verifyPage.showPage},
	}
	for _, path := range []string{"/openapi.json", "/docs", "/docs.md", "/docs/{part}.md", "/llms.txt", "/clients", "/clients/{language}/{file}"} {
		routes = append(routes, routeSpec{methodGet, path, noCredential, noScope, false, nil, p.showDocument})
	}
	return routes
}

// showDocument responds with a document about the API, or a package of a client. They change only with
// the program, and the packages keep their names: caches ask whether they did.
func (p *pageHandlers) showDocument(r *apiRequest) error {
	d, err := p.library.Find(string(r.httpCtx.Path()))
	if err != nil {
		return err
	}
	if d == nil {
		return errNoPath
	}
	r.httpCtx.Response.Header.Set("Content-Security-Policy", d.Policy)
	return r.answerDocument(d, cacheAsk)
}

// showFunctions responds with the core tools in the format of a model provider's API
// (specification, Tool server).
func (p *pageHandlers) showFunctions(r *apiRequest) error {
	document, known := p.toolDocuments[r.queryReader().rawValue("format")]
	if !known {
		return fault.InvalidField("format", "must be one of %s", strings.Join(tools.FormatNames(), ", "))
	}
	d, err := document()
	if err != nil {
		return err
	}
	return r.answerDocument(d, cacheFunctions)
}

// answerDocument responds with a document, or with 304 if the client has it.
func (r *apiRequest) answerDocument(d *contract.CachedDocument, cache string) error {
	h := &r.httpCtx.Response.Header
	h.Set("ETag", d.ETag)
	h.SetCanonical(headerCache, []byte(cache))
	if wire.MatchesETag(r.httpCtx.Request.Header.Peek("If-None-Match"), []byte(d.ETag)) {
		r.httpCtx.SetStatusCode(fasthttp.StatusNotModified)
		return nil
	}
	h.SetContentType(d.ContentType)
	r.httpCtx.Response.SetBodyRaw(d.BodyBytes)
	return nil
}

// dashboardHeaders isolate the page from others. DNS prefetch is off, so that the host names of
// links in messages are not resolved.
var dashboardHeaders = [...]struct{ name, value []byte }{
	{[]byte("Content-Security-Policy"), []byte(dashboard.ContentPolicy)},
	{[]byte("X-Frame-Options"), []byte("DENY")},
	{[]byte("Referrer-Policy"), []byte("no-referrer")},
	{[]byte("Cross-Origin-Opener-Policy"), []byte("same-origin")},
	{[]byte("Cross-Origin-Resource-Policy"), []byte("same-origin")},
	{[]byte("X-Dns-Prefetch-Control"), []byte("off")},
}

func (p *pageHandlers) showDashboard(r *apiRequest) error {
	page, err := p.loadDashboard()
	if err != nil {
		return err
	}
	for i := range dashboardHeaders {
		r.httpCtx.Response.Header.SetCanonical(dashboardHeaders[i].name, dashboardHeaders[i].value)
	}
	f := page.IndexFile(p.signupOpen())
	return r.answerDocument(&contract.CachedDocument{ContentType: f.ContentType, ETag: f.ETag, BodyBytes: f.BodyBytes}, cacheAsk)
}

// showAsset responds with a file whose name contains its hash, so that it can be cached forever.
func (p *pageHandlers) showAsset(r *apiRequest) error {
	page, err := p.loadDashboard()
	if err != nil {
		return err
	}
	f := page.FindAsset(pathParameter(r.httpCtx, "name"))
	if f == nil {
		return errNoPath
	}
	h := &r.httpCtx.Response.Header
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	d := contract.CachedDocument{ContentType: f.ContentType, ETag: f.ETag, BodyBytes: f.BodyBytes}
	if acceptsValue(&r.httpCtx.Request.Header, headerAcceptEncoding, "gzip") && f.ZippedBody != nil {
		h.SetContentEncoding("gzip")
		d.BodyBytes = f.ZippedBody
	}
	return r.answerDocument(&d, cacheForGood)
}

// linkPage is the page that a link in a message about an account opens. The token is in the URL
// fragment: only the page's script can read it, and it sends it when the user asks for it. So a
// program that only follows links does not use up the token.
type linkPage struct {
	pageText      []byte
	contentPolicy string
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

func (p *linkPage) showPage(r *apiRequest) error {
	h := &r.httpCtx.Response.Header
	h.SetContentType("text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.contentPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.SetCanonical(headerCache, cacheNever)
	r.httpCtx.SetStatusCode(fasthttp.StatusOK)
	r.httpCtx.Response.SetBodyRaw(p.pageText)
	return nil
}
