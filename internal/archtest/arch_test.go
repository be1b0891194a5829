// Package archtest checks the architecture of the project: which package may import which, and the
// form of comments and documents. It knows only the folders of the project. A new package fails the
// tests until it is listed here.
package archtest

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shelves maps a path to the paths whose packages may be imported by the packages below it. For
// each package the longest matching path counts. Adapters (actors, http, persist, smtp) import the
// rules in internal and never each other; cmd wires them.
var shelves = map[string][]string{
	"internal/base":     {"internal/base"}, // types and functions that every part of the program needs
	"internal/mail":     {"internal/mail", "internal/base"},
	"internal/core":     {"internal/core", "internal/mail", "internal/base"},
	"internal/intake":   {"internal/intake", "internal/core", "internal/mail", "internal/base"},
	"internal/testutil": {"internal/testutil"},
	"internal/archtest": {},

	"actors":              {"actors", "internal/intake/ingest", "internal/core", "internal/mail", "internal/base"},
	"actors/engine":       {"internal/base"}, // generic actors, independent of the product
	"http":                {"http", "internal/core", "internal/mail", "internal/base"},
	"http/client":         {}, // a client like any other, without knowledge of the server
	"http/clientpackages": {},
	"http/contract":       {"http/clientpackages"},
	"http/dashboard":      {},
	"persist":             {"persist/disk", "internal/core", "internal/mail", "internal/base"},
	"persist/disk":        {"internal/base"}, // the files of the data folder, without their rows
	"persist/persisttest": {"persist", "internal/core", "internal/base"},
	"smtp":                {"smtp/lines", "internal/base"},
	"smtp/lines":          {},
	"smtp/courier":        {"internal/core/delivery", "internal/base"},

	"cmd/inboxd":      {"cmd/inboxd", "actors", "http", "persist", "smtp", "internal/intake", "internal/core", "internal/mail", "internal/base"},
	"cmd/inbox":       {"http/client", "internal/base/version"},
	"cmd/inbox-mcp":   {"cmd/inbox-mcp", "http/client", "internal/core/tools", "internal/base/version"},
	"cmd/inbox-bench": {"bench", "internal/base/version"},
	"bench":           {"bench", "http/client", "internal/base/version"}, // it uses a server as any client does
}

// testsOnly are the packages that only tests import.
var testsOnly = []string{"internal/testutil", "persist/persisttest", "smtp/lines/linestest", "bench/benchtest"}

// below reports whether a package is at the path or below it.
func below(name, path string) bool { return name == path || strings.HasPrefix(name, path+"/") }

// shelfOf returns the longest path of shelves that contains the package, or "".
func shelfOf(name string) (shelf string) {
	for path := range shelves {
		if below(name, path) && len(path) > len(shelf) {
			shelf = path
		}
	}
	return shelf
}

// home is the only package that imports a third-party module, or a package of a module with many
// unrelated packages. Other packages need a reason.
type home struct {
	place string
	also  map[string]string // further packages, with their reasons
}

// homes maps a module, or a package of one, to its home.
var homes = map[string]home{
	"github.com/modelcontextprotocol/go-sdk": {place: "cmd/inbox-mcp/toolserver", also: map[string]string{
		"bench/toolcalls": "a client, for a load",
	}},
	"github.com/asynkron/protoactor-go": {place: "actors/engine"},
	"github.com/cockroachdb/pebble/v2": {place: "persist", also: map[string]string{
		"persist/disk":        "its file systems, under the engine",
		"persist/persisttest": "a file system in memory that fails when told to",
	}},
	"github.com/fxamacker/cbor/v2":            {place: "persist"},
	"github.com/fasthttp/router":              {place: "http"},
	"github.com/emersion/go-smtp":             {place: "smtp"},
	"github.com/emersion/go-ical":             {place: "internal/mail/icalendar"},
	"github.com/pelletier/go-toml/v2":         {place: "cmd/inboxd"},
	"github.com/prometheus/client_golang":     {place: "cmd/inboxd"},
	"github.com/HdrHistogram/hdrhistogram-go": {place: "bench/drive"},
	"github.com/cheggaaa/pb/v3":               {place: "bench/progress"},
	"blitiri.com.ar/go/spf":                   {place: "internal/mail/mailauth"},
	"golang.org/x/crypto/argon2":              {place: "internal/core/account"},
	"golang.org/x/crypto/chacha20poly1305":    {place: "internal/mail/sealed"},
	"golang.org/x/crypto/acme":                {place: "cmd/inboxd"},
	"golang.org/x/text/encoding":              {place: "internal/mail/message"},
	"golang.org/x/text/unicode": {place: "internal/base/address", also: map[string]string{
		"http/search": "filters compare in NFC",
	}},
	"golang.org/x/time":                 {place: "smtp"},
	"github.com/valyala/bytebufferpool": {place: "http"}, // a dependency of fasthttp
	"github.com/valyala/fasthttp": {place: "http", also: map[string]string{
		"http/wire":   "carries connections to it, and goes past it",
		"bench/fakes": "the constant answer that polls are compared with, and a receiver of webhooks as quick as can be",
		"cmd/inboxd":  "wraps the metrics handler, which speaks net/http",
	}},
	"github.com/go-json-experiment/json": {place: "http", also: map[string]string{
		"http/contract":         "the page keeps the order of the document's members",
		"http/errorbody":        "sentences become JSON strings as in all responses",
		"internal/core/webhook": "bodies of events, the same bytes as on the API",
	}},
	"github.com/JohannesKaufmann/html-to-markdown/v2": {place: "http/contract"},
	"github.com/zeebo/xxh3": {place: "internal/base/partition", also: map[string]string{
		"http/contract":  "ETag of the contract",
		"http/dashboard": "ETag of the page",
		"persist":        "checksums on disk",
		"persist/disk":   "checksums on disk",
	}},
	"github.com/puzpuzpuz/xsync/v4": {place: "actors/engine", also: map[string]string{
		"actors": "principals and signers, read on every request and mail",
	}},
	"filippo.io/age": {place: "internal/mail/sealed"},
	"github.com/alecthomas/kong": {place: "cmd/inboxd", also: map[string]string{
		"cmd/inbox-bench": "another program with flags",
		"cmd/inbox":       "another program with flags",
		"cmd/inbox-mcp":   "another program with flags",
	}},
	"github.com/miekg/dns": {place: "internal/base/resolve", also: map[string]string{
		"internal/testutil/dnstest": "a server for tests",
		"bench/fakes":               "a server for loads",
	}},
	"golang.org/x/net/publicsuffix": {place: "internal/mail/mailauth", also: map[string]string{
		"internal/core/domain": "a public suffix is nobody's to claim",
		"cmd/inboxd":           "no authority issues a certificate for a name that is not public",
	}},
	"golang.org/x/net/idna": {place: "internal/base/address"},
}

// goPackage is a package in the output of go list.
type goPackage struct {
	Dir, ImportPath string
	Imports         []string
	GoFiles         []string
}

// list returns all packages of the project.
func list(t *testing.T) []goPackage {
	t.Helper()
	return goList(t, "inboxd/...")
}

// graph returns all packages that the project imports, directly or indirectly, by import path. It
// includes the standard library.
func graph(t *testing.T) map[string]goPackage {
	t.Helper()
	all := map[string]goPackage{}
	for _, p := range goList(t, "-deps", "inboxd/internal/...") {
		all[p.ImportPath] = p
	}
	return all
}

// goList runs go list.
func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Imports,GoFiles"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestImports checks that every package imports only what shelves and homes allow, and that every
// entry of these is needed.
func TestImports(t *testing.T) {
	unused := permissions()
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "inboxd/")
		shelf := shelfOf(name)
		if shelf == "" {
			t.Errorf("%s is on no shelf: say what it may import", name)
			continue
		}
		delete(unused, shelf)
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, "inboxd/"); ok {
				at := slices.IndexFunc(shelves[shelf], func(path string) bool { return below(own, path) })
				if at < 0 {
					t.Errorf("%s imports %s", name, own)
					continue
				}
				delete(unused, shelf+" may import "+shelves[shelf][at])
				if inTests(own) && !inTests(name) {
					t.Errorf("%s imports %s, which is for tests", name, own)
				}
			} else if strings.Contains(strings.Split(imported, "/")[0], ".") {
				delete(unused, name+" may import "+checkHome(t, name, imported))
			}
		}
	}
	for permission := range unused {
		t.Errorf("nobody needs the entry: %s", permission)
	}
}

// inTests reports whether only tests may import a package.
func inTests(name string) bool {
	return slices.ContainsFunc(testsOnly, func(path string) bool { return below(name, path) })
}

// permissions returns every entry of shelves and homes.
func permissions() map[string]bool {
	all := map[string]bool{}
	for shelf, may := range shelves {
		all[shelf] = true
		for _, own := range may {
			all[shelf+" may import "+own] = true
		}
	}
	for module, h := range homes {
		all[h.place+" may import "+module] = true
		for place := range h.also {
			all[place+" may import "+module] = true
		}
	}
	return all
}

// checkHome checks an import of a third-party package, and returns its key in homes.
func checkHome(t *testing.T, name, imported string) string {
	t.Helper()
	for module, h := range homes {
		if imported == module || strings.HasPrefix(imported, module+"/") {
			if h.place != name && h.also[name] == "" {
				t.Errorf("%s imports %s, whose home is %s; another place needs a reason", name, imported, h.place)
			}
			return module
		}
	}
	t.Errorf("%s imports %s, which has no home in the list", name, imported)
	return ""
}

// TestEveryPackageSaysWhatItIs checks that every package has a package comment.
func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) > 0 && !documented(t, p) {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func documented(t *testing.T, p goPackage) bool {
	t.Helper()
	for _, file := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if docOf(f) != "" {
			return true
		}
	}
	return false
}

func docOf(f *ast.File) string { return f.Doc.Text() }
