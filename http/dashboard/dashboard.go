// Package dashboard serves the web dashboard: a browser program, built from the sources in web
// (make page) and embedded. It knows its files and their content security policy. It does not know
// requests or the service's data: the page gets its data over the public API (ADR 0076).
package dashboard

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/zeebo/xxh3"
)

//go:embed built
var builtFiles embed.FS

//go:embed index.html
var indexTemplate string

// ContentPolicy is the Content-Security-Policy of the page (CSP level 3, Trusted Types). It permits the
// page's own scripts, calls to its own service, and blobs that show messages and inherit the
// policy. Inline styles are permitted because messages use them. Images are never 'self', so that
// no message can make the browser call the service.
const ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; connect-src 'self'; font-src 'none'; frame-src blob:; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Options is what the page must know before anybody signs in.
type Options struct {
	BaseURL       string // URL of the service for clients; empty: same as the page
	ServiceDomain string // service domain, shown next to the name
}

// AssetFile is one response, identical for every client. It is immutable.
type AssetFile struct {
	ContentType, ETag string
	BodyBytes         []byte
	ZippedBody        []byte // Body compressed by gzip; nil if compression is not worthwhile
}

// DashboardPage holds the files by name.
type DashboardPage struct {
	openIndex, closedIndex *AssetFile
	assetFiles             map[string]*AssetFile
}

// New reads the built files. They are embedded, so an error is a defect of the build.
func New(o Options) (*DashboardPage, error) {
	p := &DashboardPage{assetFiles: map[string]*AssetFile{}}
	names, err := fs.Glob(builtFiles, "built/*.gz")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := unpackAsset(name)
		if err != nil {
			return nil, fmt.Errorf("dashboard: %s: %w", name, err)
		}
		p.assetFiles[strings.TrimSuffix(path.Base(name), ".gz")] = f
	}
	for _, one := range []struct {
		to     **AssetFile
		signup string
	}{{&p.openIndex, "open"}, {&p.closedIndex, "closed"}} {
		if *one.to, err = p.renderIndex(o, one.signup); err != nil {
			return nil, fmt.Errorf("dashboard: the page: %w", err)
		}
	}
	return p, nil
}

var contentTypes = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}

func unpackAsset(name string) (*AssetFile, error) {
	zipped, err := builtFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	kind := contentTypes[path.Ext(strings.TrimSuffix(name, ".gz"))]
	if kind == "" {
		return nil, fmt.Errorf("a file of no known type")
	}
	return &AssetFile{kind, etag(body), body, zipped}, nil
}

func etag(body []byte) string { return fmt.Sprintf(`"%x"`, xxh3.Hash128(body).Bytes()) }

// renderIndex renders the page, which refers to its script and its style by their hashes.
func (p *DashboardPage) renderIndex(o Options, signup string) (*AssetFile, error) {
	t, err := template.New("index").Parse(indexTemplate)
	if err != nil {
		return nil, err
	}
	script, err := p.findNamed("app.", ".js")
	if err != nil {
		return nil, err
	}
	style, err := p.findNamed("style.", ".css")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]string{"Base": o.BaseURL, "Domain": o.ServiceDomain, "Signup": signup, "Script": script, "Style": style}); err != nil {
		return nil, err
	}
	return &AssetFile{ContentType: "text/html; charset=utf-8", ETag: etag(b.Bytes()), BodyBytes: b.Bytes()}, nil
}

// findNamed returns the name of the only file that begins and ends with these strings.
func (p *DashboardPage) findNamed(begin, end string) (name string, err error) {
	for n := range p.assetFiles {
		if !strings.HasPrefix(n, begin) || !strings.HasSuffix(n, end) {
			continue
		}
		if name != "" {
			return "", fmt.Errorf("both %s and %s are there: run make page", name, n)
		}
		name = n
	}
	if name == "" {
		return "", fmt.Errorf("there is no %s*%s: run make page", begin, end)
	}
	return name, nil
}

// IndexFile returns the page itself. signup says whether sign-up is open.
func (p *DashboardPage) IndexFile(signup bool) *AssetFile {
	if signup {
		return p.openIndex
	}
	return p.closedIndex
}

// FindAsset returns a file of the page by its name, which includes the hash; nil if it does not exist.
func (p *DashboardPage) FindAsset(name string) *AssetFile { return p.assetFiles[name] }
