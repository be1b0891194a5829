package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	nethttp "net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"inboxd/http/contract"
	"inboxd/internal/core/account"
)

// mirror compares every exchange of this package's tests with the contract, and records which
// operations and statuses occurred.
type mirror struct {
	doc    *openapi3.T
	picked *openapi3.T // the same, for responses whose members fields= selects
	paths  []mirrorPath

	mu   sync.Mutex
	seen map[string]bool            // "GET /path 200"
	held map[[sha256.Size]byte]bool // exchanges that the contract was held against: many are the same
}

type mirrorPath struct {
	path string
	like *regexp.Regexp
	item *openapi3.PathItem
}

var theMirror = sync.OnceValues(func() (*mirror, error) {
	var tree any
	if err := json.Unmarshal(contract.OpenAPI().BodyBytes, &tree); err != nil {
		return nil, err
	}
	closeObjects(tree)
	strict, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(strict)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background(), openapi3.IsOpenAPI31OrLater()); err != nil {
		return nil, err
	}
	// Invalid entries of a batch are refused individually, so the request itself is valid.
	batch := doc.Paths.Value("/api/v1/inboxes/batch").Post.RequestBody.Value.Content["application/json"].Schema.Value
	batch.Properties["inboxes"].Value.Items = openapi3.NewSchemaRef("", openapi3.NewSchema())
	picked, err := openapi3.NewLoader().LoadFromData(strict)
	if err != nil {
		return nil, err
	}
	picked.Components.Schemas["Message"].Value.Required = nil
	m := &mirror{doc: doc, picked: picked, seen: map[string]bool{}, held: map[[sha256.Size]byte]bool{}}
	parameter := regexp.MustCompile(`\\\{[a-z_]+\\\}`)
	for path, item := range doc.Paths.Map() {
		like := regexp.MustCompile("^" + parameter.ReplaceAllString(regexp.QuoteMeta(path), "([^/]+)") + "$")
		m.paths = append(m.paths, mirrorPath{path, like, item})
	}
	slices.SortFunc(m.paths, func(a, b mirrorPath) int { // a literal segment goes before a parameter
		return cmp.Or(strings.Count(a.path, "{")-strings.Count(b.path, "{"), strings.Compare(a.path, b.path))
	})
	return m, nil
})

// closeObjects forbids undocumented members in objects. Clients must tolerate more members, but an
// unknown member here is one that is not documented.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, object := v["properties"].(map[string]any); object && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for key, inner := range v {
			if key != "example" {
				closeObjects(inner)
			}
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

var (
	parameterName = regexp.MustCompile(`\{([a-z_]+)\}`)
	emptyValue    = regexp.MustCompile(`[a-z]+=(&|$)`)
	zeroFraction  = regexp.MustCompile(`=(\d+)\.0+(&|$)`)
)

// route returns the operation of a request, or nil if the contract has none.
func (m *mirror) route(method, path string) (*routers.Route, map[string]string) {
	for _, p := range m.paths {
		values := p.like.FindStringSubmatch(path)
		op := p.item.GetOperation(method)
		if values == nil || op == nil {
			continue
		}
		params := map[string]string{}
		for i, name := range parameterName.FindAllStringSubmatch(p.path, -1) {
			params[name[1]] = values[i+1]
		}
		return &routers.Route{Spec: m.doc, Path: p.path, PathItem: p.item, Method: method, Operation: op}, params
	}
	return nil, nil
}

// check compares one exchange with the contract. An accepted request must have the documented
// shape; a response always must.
func (m *mirror) check(req *nethttp.Request, sent string, got reply) error {
	method := req.Method
	if method == nethttp.MethodHead {
		method = methodGet // like GET, without a body
	}
	route, params := m.route(method, req.URL.EscapedPath())
	if route == nil {
		switch {
		case got.status < 400 && req.Method != nethttp.MethodOptions:
			return fmt.Errorf("%s %s answers %d and is not in the contract", req.Method, req.URL.Path, got.status)
		case got.status >= 400 && req.Method != nethttp.MethodHead:
			return m.checkError(got.body)
		}
		return nil
	}
	same := exchangeSum(req, sent, got, route.Path)
	m.mu.Lock()
	known := m.held[same]
	m.mu.Unlock()
	if known {
		return nil
	}
	options := &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true, IncludeResponseStatus: true,
		ExcludeResponseBody: req.Method == nethttp.MethodHead,
	}
	if req.URL.Query().Has("fields") {
		item := m.picked.Paths.Value(route.Path)
		route = &routers.Route{Spec: m.picked, Path: route.Path, PathItem: item, Method: method, Operation: item.GetOperation(method)}
	}
	again := req.Clone(context.Background())
	again.URL.RawQuery = emptyValue.ReplaceAllString(again.URL.RawQuery, "")        // absent equals empty
	again.URL.RawQuery = zeroFraction.ReplaceAllString(again.URL.RawQuery, "=$1$2") // the validating library rejects 1.0 for an integer
	again.Body = io.NopCloser(strings.NewReader(sent))
	if sent != "" {
		again.Header.Set("Content-Type", "application/json") // the server ignores the type
	}
	asked := &openapi3filter.RequestValidationInput{Request: again, PathParams: params, Route: route, Options: options}
	if got.status < 400 {
		if err := openapi3filter.ValidateRequest(context.Background(), asked); err != nil {
			return fmt.Errorf("%s %s was taken: %w", req.Method, req.URL.Path, err)
		}
	}
	if route.Operation.Responses.Status(got.status) == nil && route.Operation.Responses.Default() == nil {
		return fmt.Errorf("%s %s answers %d, which is not in the contract", req.Method, route.Path, got.status)
	}
	if kind := got.header.Get("Content-Type"); kind != "application/json" && got.status != 304 {
		if r := route.Operation.Responses.Status(got.status); r == nil || r.Value.Content.Get(kind) == nil {
			return fmt.Errorf("%s %s answers %d as %s, which is not in the contract", req.Method, route.Path, got.status, kind)
		}
		options.ExcludeResponseBody = true // the validating library parses JSON only
	}
	answered := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: asked, Status: got.status, Header: got.header,
		Body: io.NopCloser(bytes.NewReader([]byte(got.body))), Options: options,
	}
	if err := openapi3filter.ValidateResponse(context.Background(), answered); err != nil {
		return fmt.Errorf("%s %s: %w\nin %s", req.Method, req.URL.Path, err, got.body)
	}
	m.mu.Lock()
	m.held[same] = true
	m.seen[fmt.Sprintf("%s %s %d", req.Method, route.Path, got.status)] = true
	m.mu.Unlock()
	return nil
}

// checkError compares the body of an error response with the contract, whatever the path.
func (m *mirror) checkError(body string) error {
	var members any
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}
	if err := m.doc.Components.Schemas["Error"].Value.VisitJSON(members, openapi3.EnableJSONSchema2020()); err != nil {
		return fmt.Errorf("%w\nin %s", err, body)
	}
	return nil
}

// exchangeSum is equal for exchanges that the contract checks alike. For an error, only the response
// counts.
func exchangeSum(req *nethttp.Request, sent string, got reply, path string) (sum [sha256.Size]byte) {
	asked, answered := req.Header.Clone(), got.header.Clone()
	for _, h := range []nethttp.Header{asked, answered} {
		for _, name := range []string{"Authorization", "X-API-Key", "Cookie", "Date", "X-Request-Id"} {
			h.Del(name)
		}
	}
	h := sha256.New()
	if got.status < 400 {
		fmt.Fprintf(h, "%q %q %v", req.URL.RequestURI(), sent, asked)
	}
	fmt.Fprintf(h, "%s %q %t %d %v\n%s", req.Method, path, req.URL.Query().Has("fields"), got.status, answered, got.body)
	h.Sum(sum[:0])
	return sum
}

// unseen lists documented responses that no test of this package caused.
func (m *mirror) unseen() (missing []string) {
	for _, p := range m.paths {
		for method, op := range p.item.Operations() {
			for status := range op.Responses.Map() {
				if name := fmt.Sprintf("%s %s %s", method, p.path, status); status != "default" && !m.seen[name] {
					missing = append(missing, name)
				}
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// TestMain fails a complete run in which some documented response never occurred.
func TestMain(m *testing.M) {
	code := m.Run()
	filtered := flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" || testing.Short()
	listed := flag.Lookup("test.list").Value.String() != "" || flag.Lookup("test.fuzz").Value.String() != ""
	if code == 0 && !filtered && !listed {
		mirror, err := theMirror()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		} else if missing := mirror.unseen(); len(missing) > 0 {
			fmt.Fprintf(os.Stderr, "no test saw these answers of the contract:\n%s\n", strings.Join(missing, "\n"))
			code = 1
		}
	}
	os.Exit(code)
}

var schemeKinds = map[string]credentialSet{"session": sessionTokens, "accountKey": accountKeys, "inboxKey": inboxKeys}

// TestContractAndRoutesAgree: every route has an operation and every operation a route, with the
// same credentials, permission and path parameters.
func TestContractAndRoutesAgree(t *testing.T) {
	m, err := theMirror()
	if err != nil {
		t.Fatal(err)
	}
	w := prepare(t, withMetrics, withChallenge)
	routed := map[string]bool{}
	for i := range w.server.routes {
		rt := &w.server.routes[i]
		routed[rt.routeName()] = true
		item := m.doc.Paths.Value(rt.pathPattern)
		if item == nil || item.GetOperation(rt.method) == nil {
			t.Errorf("%s is not in the contract", rt.routeName())
			continue
		}
		op := item.GetOperation(rt.method)
		var who credentialSet
		for _, s := range *op.Security {
			for name := range s {
				who |= schemeKinds[name]
			}
		}
		if who != rt.acceptedCredentials {
			t.Errorf("%s: the contract lets in %03b, the route %03b", rt.routeName(), who, rt.acceptedCredentials)
		}
		permission, _ := op.Extensions["x-permission"].(string)
		if want := scopeName(rt.requiredScope); permission != want {
			t.Errorf("%s: the contract asks for %q, the route for %q", rt.routeName(), permission, want)
		}
		if (op.RequestBody != nil) != (len(rt.bodyShape) > 0) {
			t.Errorf("%s: only one of contract and route takes a body", rt.routeName())
		} else if op.RequestBody != nil {
			checkShape(t, rt, op.RequestBody.Value.Content["application/json"].Schema.Value)
		}
		for _, name := range parameterName.FindAllStringSubmatch(rt.pathPattern, -1) {
			if item.Parameters.GetByInAndName("path", name[1]) == nil {
				t.Errorf("%s: parameter %s is not in the contract", rt.routeName(), name[1])
			}
		}
	}
	for path, item := range m.doc.Paths.Map() {
		for method := range item.Operations() {
			if !routed[method+" "+path] {
				t.Errorf("no route %s %s", method, path)
			}
		}
	}
}

func scopeName(s account.ScopeSet) string {
	if s == 0 {
		return ""
	}
	return s.String()
}

// checkShape compares the fields of a body, their limits and which are required.
func checkShape(t *testing.T, rt *routeSpec, schema *openapi3.Schema) {
	t.Helper()
	for name, property := range schema.Properties {
		f := rt.bodyShape.findField(name)
		if f == nil {
			t.Errorf("%s: %s is in the contract only", rt.routeName(), name)
			continue
		}
		if f.isRequired != slices.Contains(schema.Required, name) {
			t.Errorf("%s: contract and route differ on whether %s is required", rt.routeName(), name)
		}
		limit := property.Value.MaxLength
		if (f.valueKind == lineField || f.valueKind == textField) && (limit == nil || *limit != uint64(f.maxLength)) {
			t.Errorf("%s: %s takes %d characters, the contract says otherwise", rt.routeName(), name, f.maxLength)
		}
	}
	for _, f := range rt.bodyShape {
		if schema.Properties[f.name] == nil {
			t.Errorf("%s: %s is not in the contract", rt.routeName(), f.name)
		}
	}
}

// TestExamplesConform: the documented examples match their schemas.
func TestExamplesConform(t *testing.T) {
	m, err := theMirror()
	if err != nil {
		t.Fatal(err)
	}
	check := func(where string, content openapi3.Content) {
		for kind, media := range content {
			if media.Example == nil {
				continue
			}
			if err := media.Schema.Value.VisitJSON(media.Example, openapi3.EnableJSONSchema2020()); err != nil {
				t.Errorf("%s, %s: %v", where, kind, err)
			}
		}
	}
	for path, item := range m.doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody != nil {
				check(method+" "+path, op.RequestBody.Value.Content)
			}
			for status, r := range op.Responses.Map() {
				check(method+" "+path+" "+status, r.Value.Content)
			}
		}
	}
}

func TestDocsPage(t *testing.T) {
	w := start(t)
	r := w.expect(200, w.call(methodGet, "/docs", "", ""))
	scripts := regexp.MustCompile("(?s)<script>(.*?)</script>").FindAllStringSubmatch(r.body, -1)
	if len(scripts) != 1 {
		t.Fatalf("the page has %d scripts of its own", len(scripts))
	}
	digest := sha256.Sum256([]byte(scripts[0][1]))
	for _, part := range []string{"text/html", "default-src 'none'", "script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "';"} {
		if !strings.Contains(fmt.Sprint(r.header), part) {
			t.Errorf("the head lacks %q: %v", part, r.header)
		}
	}
	for i := range w.server.routes {
		if path := w.server.routes[i].pathPattern; !strings.Contains(r.body, "</b> "+path+"</p>") {
			t.Errorf("the page lacks %s", path)
		}
	}
	for _, call := range []string{
		`curl -H "Authorization: Bearer $SESSION" "$BASE/api/account"`,
		`curl -H "X-API-Key: $KEY" "$BASE/api/v1/inboxes"`,
		`curl -H "X-API-Key: $INBOX_KEY" "$BASE/api/inboxes/$ADDRESS/latest"`,
		`curl "$BASE/healthz"`,
		`httpx.get(f"{BASE}/healthz").json()`, "const response = await fetch(`${BASE}/healthz`);\nconst result = await response.json();",
		`httpx.request("DELETE", f"{BASE}/api/account/encryption", headers={"Authorization": f"Bearer {SESSION}"}, json={"password":"a long enough secret"}).json()`,
		`httpx.get(f"{BASE}/api/inboxes/{ADDRESS}/emails/{id}/raw", headers={"X-API-Key": INBOX_KEY}).content`,
		`{"email":"ben@example.org","optional":True}]}`,
		"await fetch(`${BASE}/api/keys/${id}`, { method: \"DELETE\", headers: { \"Authorization\": `Bearer ${SESSION}` } });",
		`code = inbox.wait_for_otp(timeout=60)`, `const code = await inbox.waitForOtp({ timeout: 60_000 });`,
		`<code>attachments[].content_b64</code>`, `<code>attendees[].optional</code>`, `<a href="#object-Mailbox">Mailbox</a>`,
	} {
		if !strings.Contains(html.UnescapeString(r.body), call) {
			t.Errorf("the page lacks %s", call)
		}
	}
	for _, outside := range []string{"<script ", "src=", "@import", "url("} {
		if strings.Contains(r.body, outside) {
			t.Errorf("the page holds %q", outside)
		}
	}
	w.expect(304, w.call(methodGet, "/docs", "", "", "If-None-Match", r.header.Get("ETag")))
	w.expect(304, w.call(methodGet, "/openapi.json", "", "", "If-None-Match", w.call(methodGet, "/openapi.json", "", "").header.Get("ETag")))
}

var (
	llmsForm     = regexp.MustCompile(`^# .+\n\n> .+\n\n([^#>\n].*\n\n)+(## .+\n\n(- \[[^]\n]+\]\([^)\n]+\): .+\n)+\n?)+$`)
	markdownLink = regexp.MustCompile(`\]\(http://service\.test(/[^)#]*)#?([^)]*)\)`)
)

// TestLLMsTxt: the overview has the form of https://llmstxt.org: a title, a summary, details and lists
// of links. What it links to is served, and so is what is linked from there, with its anchors.
func TestLLMsTxt(t *testing.T) {
	w := start(t, withBase)
	overview := w.expect(200, w.call(methodGet, "/llms.txt", "", "")).body
	if !llmsForm.MatchString(overview) {
		t.Errorf("the form is another one:\n%s", overview)
	}
	page := w.call(methodGet, "/docs", "", "").body
	texts, parts := []string{overview}, 0
	for _, link := range markdownLink.FindAllStringSubmatch(overview, -1) {
		r := w.expect(200, w.call(methodGet, link[1], "", ""))
		if strings.HasSuffix(link[1], ".md") {
			texts, parts = append(texts, r.body), parts+1
		}
	}
	if parts < 17 {
		t.Errorf("there are %d parts", parts)
	}
	for _, link := range markdownLink.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		if link[1] == "/docs" && !strings.Contains(page, `id="`+link[2]+`"`) {
			t.Errorf("the page has no anchor %s", link[2])
		} else if link[1] != "/docs" && w.call("HEAD", link[1], "", "").status != 200 {
			t.Errorf("%s is not served", link[1])
		}
	}
	for i := range w.server.routes {
		if rt := &w.server.routes[i]; !strings.Contains(texts[len(texts)-1], "**"+rt.method+"** "+rt.pathPattern+"\n") {
			t.Errorf("/docs.md lacks %s", rt.routeName())
		}
	}
	w.expect(404, w.call(methodGet, "/docs/nothing.md", "", ""))
}

// clientPackageOf returns the first package of a client below /clients.
func clientPackageOf(w *world) string {
	return regexp.MustCompile(`"clients/([^#"]+)#`).FindStringSubmatch(w.call(methodGet, "/clients", "", "").body)[1]
}

// TestClientPackages: the list of the clients' packages names each with its digest, and each is
// served. Nothing else is below that path.
func TestClientPackages(t *testing.T) {
	w := start(t)
	page := w.expect(200, w.call(methodGet, "/clients", "", ""))
	links := regexp.MustCompile(`<a href="(clients/[^#"]+)#sha256=([0-9a-f]{64})">`).FindAllStringSubmatch(page.body, -1)
	if len(links) != 2 {
		t.Fatalf("the list is %s", page.body)
	}
	for _, link := range links {
		r := w.expect(200, w.call(methodGet, "/"+link[1], "", ""))
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(r.body))); sum != link[2] {
			t.Errorf("%s has the digest %s, and the list says %s", link[1], sum, link[2])
		}
		w.expect(304, w.call(methodGet, "/"+link[1], "", "", "If-None-Match", r.header.Get("ETag")))
	}
	for _, none := range []string{"/clients/", "/clients/python/x", "/clients/python/..", "/clients/go/x", "/clients/python"} {
		w.expect(404, w.call(methodGet, none, "", ""))
	}
}

// assetOf returns the name of the first file to which the page refers.
func assetOf(w *world) string {
	m := regexp.MustCompile(`/assets/([^"]+)"`).FindStringSubmatch(w.call(methodGet, "/", "", "").body)
	if m == nil {
		return "none"
	}
	return m[1]
}

func TestTheDashboardIsServed(t *testing.T) {
	w := start(t)
	r := w.expect(200, w.call(methodGet, "/", "", ""))
	for field, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; connect-src 'self'; font-src 'none'; frame-src blob:; object-src 'none'; " +
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "public, no-cache", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := r.header.Get(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	w.expect(304, w.call(methodGet, "/", "", "", "If-None-Match", r.header.Get("ETag")))
	if r := w.expect(200, w.call("HEAD", "/", "", "")); r.body != "" || r.header.Get("ETag") == "" {
		t.Errorf("HEAD answers %q, %v", r.body, r.header)
	}
	asset := "/assets/" + assetOf(w)
	plain, zipped := w.expect(200, w.call(methodGet, asset, "", "", "Accept-Encoding", "identity")), w.expect(200, w.call(methodGet, asset, "", "", "Accept-Encoding", "gzip"))
	if plain.header.Get("Content-Encoding") != "" || zipped.header.Get("Content-Encoding") != "gzip" || len(zipped.body) >= len(plain.body) {
		t.Errorf("plain has %d bytes as %q, compressed %d as %q", len(plain.body), plain.header.Get("Content-Encoding"), len(zipped.body), zipped.header.Get("Content-Encoding"))
	}
	for _, r := range []reply{plain, zipped} {
		if r.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || r.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("an asset has %v", r.header)
		}
	}
	for coding, want := range map[string]string{"gzip;q=0": "", "deflate,GZIP;q=0.5": "gzip", "br, gzip": "gzip", "xgzip": "", "*": ""} {
		if r := w.expect(200, w.call(methodGet, asset, "", "", "Accept-Encoding", coding)); r.header.Get("Content-Encoding") != want {
			t.Errorf("of %q an asset comes as %q", coding, r.header.Get("Content-Encoding"))
		}
	}
	w.expect(304, w.call(methodGet, asset, "", "", "If-None-Match", plain.header.Get("ETag")))
	for _, path := range []string{"/assets/app.js", "/assets/", "/assets", "/index.html", "/assets/..%2fdashboard.go"} {
		if r := w.expect(404, w.call(methodGet, path, "", "")); !strings.Contains(r.body, `,"code":"unknown_path"}`) {
			t.Errorf("%s answers %s", path, r.body)
		}
	}
}
