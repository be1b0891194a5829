// Package archtest holds who may import whom. It knows the project's folders only; a new
// package does not pass until it is listed here with its reason to exist.
package archtest

import (
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

// allowed lists, for each package, which packages of the project it may import.
var allowed = map[string][]string{
	"internal/fault":     {},
	"internal/partition": {},
	"internal/message":   {},
	"internal/otp":       {},
	"internal/once":      {"internal/fault"}, // shared by the rules of accounts and of inboxes
	"internal/account":   {"internal/fault", "internal/once", "internal/partition"},
	"internal/inbox":     {"internal/account", "internal/delivery", "internal/fault", "internal/message", "internal/once"},
	"internal/domain":    {"internal/account", "internal/fault", "internal/mailauth"},
	"internal/delivery":  {"internal/message"},
	"internal/ingest":    {"internal/inbox", "internal/message", "internal/otp"},

	// What the outside says of a mail, and how it is asked.
	"internal/resolve":         {},
	"internal/resolve/dnstest": {},
	"internal/mailauth":        {"internal/message"},
	"internal/spam":            {"internal/inbox", "internal/ingest"},
	"internal/spam/spamtest":   {},
	"internal/netguard":        {},

	// Following the change journals, and what is told of an event.
	"internal/follow":  {"internal/account", "internal/inbox"},
	"internal/webhook": {"internal/account", "internal/fault", "internal/inbox", "internal/message"},

	"internal/archtest":       {},
	"internal/archtest/house": {},

	// The adapters import the rules and never each other.
	"persist": {"internal/account", "internal/delivery", "internal/domain", "internal/fault", "internal/follow", "internal/inbox", "internal/message", "internal/once", "internal/partition", "internal/webhook"},
	"actors":  {"actors/engine", "internal/account", "internal/delivery", "internal/domain", "internal/fault", "internal/follow", "internal/inbox", "internal/ingest", "internal/mailauth", "internal/message", "internal/once", "internal/partition", "internal/webhook"},
	// The engine of the actors knows no product word.
	"actors/engine": {"internal/fault"},
	"http":          {"internal/account", "internal/domain", "internal/fault", "internal/follow", "internal/inbox", "internal/message", "internal/netguard", "internal/once", "internal/webhook"},
	"smtp":          {"internal/fault"},

	// The other half of SMTP: mail that leaves.
	"smtp/courier": {"internal/delivery", "internal/fault", "internal/netguard"},

	// A store in memory, for the tests of everything above it.
	"persist/persisttest": {"internal/account", "internal/domain", "internal/fault", "internal/inbox", "internal/webhook", "persist"},

	"cmd/inboxd": {"actors", "http", "persist", "smtp", "smtp/courier",
		"internal/account", "internal/delivery", "internal/domain", "internal/fault", "internal/inbox", "internal/ingest",
		"internal/mailauth", "internal/netguard", "internal/resolve", "internal/spam", "internal/webhook"},

	// The public client and the bench meet the server as strangers: over its public surfaces.
	"http/client":     {},
	"bench":           {"http/client"},
	"cmd/inbox-bench": {"bench"},
}

// homes gives each third-party module the one place that may import it.
var homes = map[string][]string{
	"github.com/asynkron/protoactor-go":       {"actors/engine"},
	"github.com/cockroachdb/pebble/v2":        {"persist", "persist/persisttest"},
	"github.com/fxamacker/cbor/v2":            {"persist"},
	"github.com/valyala/fasthttp":             {"bench", "cmd/inboxd", "http"}, // cmd adapts the metrics handler
	"github.com/fasthttp/router":              {"http"},
	"github.com/go-json-experiment/json":      {"bench", "http", "internal/webhook"},
	"github.com/emersion/go-smtp":             {"smtp"},
	"github.com/zeebo/xxh3":                   {"actors/engine", "http", "internal/partition", "persist"},
	"github.com/puzpuzpuz/xsync/v4":           {"actors", "actors/engine", "http"},
	"github.com/alecthomas/kong":              {"cmd/inbox-bench", "cmd/inboxd"},
	"github.com/pelletier/go-toml/v2":         {"cmd/inboxd"},
	"github.com/prometheus/client_golang":     {"cmd/inboxd"},
	"github.com/HdrHistogram/hdrhistogram-go": {"bench"},
	"blitiri.com.ar/go/spf":                   {"internal/mailauth"},
	"github.com/miekg/dns":                    {"bench", "internal/resolve", "internal/resolve/dnstest"},
	"golang.org/x/crypto":                     {"cmd/inboxd", "internal/account"}, // cmd has acme/autocert
	"golang.org/x/net":                        {"internal/domain", "internal/inbox", "internal/mailauth", "internal/message", "internal/otp", "internal/webhook", "smtp", "smtp/courier"},
	"golang.org/x/text":                       {"http", "internal/message", "internal/otp", "smtp"},
	"golang.org/x/time":                       {"smtp"},
}

type goPackage struct {
	Dir, ImportPath string
	Imports         []string
	GoFiles         []string
}

func list(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,Imports,GoFiles", "inboxd/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "inboxd/")
		may, known := allowed[name]
		if !known {
			t.Errorf("%s is not in the list: say what it may import", name)
			continue
		}
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, "inboxd/"); ok {
				if !slices.Contains(may, own) {
					t.Errorf("%s imports %s", name, own)
				}
			} else if strings.Contains(strings.Split(imported, "/")[0], ".") {
				checkHome(t, name, imported)
			}
		}
	}
}

func checkHome(t *testing.T, name, imported string) {
	t.Helper()
	for module, places := range homes {
		if imported == module || strings.HasPrefix(imported, module+"/") {
			if !slices.Contains(places, name) {
				t.Errorf("%s imports %s, whose home is %v", name, imported, places)
			}
			return
		}
	}
	t.Errorf("%s imports %s, which has no home in the list", name, imported)
}

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

// TestRulesAreFreeOfFrameworks holds for what the rules reach, not only what they name.
func TestRulesAreFreeOfFrameworks(t *testing.T) {
	for _, rules := range []string{"inboxd/internal/inbox", "inboxd/internal/account", "inboxd/internal/otp", "inboxd/internal/ingest"} {
		out, err := exec.Command("go", "list", "-deps", rules).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, dep := range strings.Fields(string(out)) {
			for _, framework := range []string{"protoactor-go", "cockroachdb/pebble", "valyala/fasthttp", "emersion/go-smtp", "net/http"} {
				if strings.Contains(dep, framework) {
					t.Errorf("%s reaches %s", rules, dep)
				}
			}
		}
	}
}
