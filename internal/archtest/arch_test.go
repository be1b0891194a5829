// Package archtest holds who may import whom. It knows the project's folders only; a new
// package does not pass until it is listed here with its reason to exist.
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

// allowed lists, for each package, which packages of the project it may import.
var allowed = map[string][]string{
	"internal/fault":     {},
	"internal/partition": {"internal/fault"},
	"internal/address":   {}, // shared by all that meet an address or a name
	"internal/message":   {"internal/message/html"},
	"internal/otp":       {"internal/address", "internal/otp/concept", "internal/otp/link", "internal/otp/model", "internal/otp/quote", "internal/otp/text"},
	"internal/once":      {"internal/fault"}, // shared by the rules of accounts and of inboxes
	"internal/account":   {"internal/address", "internal/fault", "internal/once", "internal/partition"},
	"internal/inbox":     {"internal/account", "internal/address", "internal/calendar", "internal/delivery", "internal/fault", "internal/message", "internal/message/compose", "internal/once", "internal/partition", "internal/sealed"},
	"internal/domain":    {"internal/account", "internal/address", "internal/fault", "internal/mailauth"},
	"internal/delivery":  {"internal/message"},
	"internal/deep":      {"internal/fault"},
	"internal/failpoint": {},
	"internal/sealed":    {"internal/fault", "internal/message"},
	"internal/dueline":   {}, // shared by the mail queue and the webhooks
	"internal/ingest":    {"internal/address", "internal/calendar", "internal/fault", "internal/icalendar", "internal/inbox", "internal/mailauth", "internal/message", "internal/message/html", "internal/otp", "internal/otp/link", "internal/otp/quote", "internal/sealed"},

	// Rooms of package message.
	"internal/message/html":    {},
	"internal/message/compose": {"internal/address", "internal/message"},

	// Calendar files of strangers.
	"internal/icalendar":      {"internal/icalendar/rule", "internal/icalendar/zone"},
	"internal/icalendar/rule": {},
	"internal/icalendar/zone": {"internal/icalendar/rule"},
	"internal/calendar":       {"internal/address", "internal/fault", "internal/icalendar", "internal/icalendar/zone"},

	// Rooms of package otp.
	"internal/otp/text":        {},
	"internal/otp/concept":     {"internal/otp/text"},
	"internal/otp/link":        {"internal/otp/concept", "internal/otp/model", "internal/otp/text"},
	"internal/otp/model":       {},
	"internal/otp/quote":       {"internal/otp/text"},
	"internal/otp/model/train": {"internal/otp/model"},

	// What the outside says of a mail and of a domain, and how it is asked.
	"internal/domain/lookup":   {"internal/domain"},
	"internal/resolve":         {"internal/address"},
	"internal/resolve/dnstest": {},
	"internal/mailauth":        {"internal/address", "internal/fault", "internal/message"},
	"internal/spam":            {"internal/inbox", "internal/ingest"},
	"internal/spam/spamtest":   {"internal/testdeps"},
	"internal/netguard":        {},

	// Following the change journals, and what is told of an event.
	"internal/follow":  {"internal/account", "internal/inbox"},
	"internal/webhook": {"internal/account", "internal/address", "internal/calendar", "internal/delivery", "internal/fault", "internal/icalendar", "internal/icalendar/zone", "internal/inbox"},

	"internal/archtest":        {},
	"internal/meter":           {}, // shared by the edges and the store
	"internal/version":         {}, // shared by all programs
	"internal/testdeps":        {}, // for tests that start programs
	"internal/cost":            {}, // for tests that bound what work takes
	"internal/often":           {}, // for tests that draw at random
	"internal/archtest/house":  {},
	"internal/archtest/notice": {},

	// The rooms of actors; the engine knows no product word.
	"actors/calendars": {"actors/engine", "actors/tenure", "internal/account", "internal/address", "internal/calendar", "internal/failpoint", "internal/fault", "internal/inbox", "internal/once", "internal/partition"},
	"actors/engine":    {"internal/deep", "internal/fault", "internal/partition"},
	"actors/hooks":     {"actors/engine", "actors/tenure", "internal/account", "internal/deep", "internal/dueline", "internal/failpoint", "internal/fault", "internal/inbox", "internal/meter", "internal/partition", "internal/webhook"},
	"actors/journal":   {"actors/engine", "internal/account", "internal/fault", "internal/follow", "internal/inbox", "internal/partition", "internal/webhook"},
	"actors/mailqueue": {"actors/tenure", "internal/address", "internal/deep", "internal/delivery", "internal/domain", "internal/dueline", "internal/failpoint", "internal/fault", "internal/inbox", "internal/meter", "internal/partition"},
	"actors/names":     {"actors/engine", "internal/account"},
	"actors/sealing":   {"actors/engine", "internal/account", "internal/inbox", "internal/message", "internal/once", "internal/sealed"},
	"actors/tenure":    {"internal/partition"},
	"actors/retention": {"actors/tenure", "internal/account", "internal/fault", "internal/inbox", "internal/once", "internal/partition", "internal/webhook"},

	// The adapters import the rules and never each other.
	"persist":       {"internal/account", "internal/calendar", "internal/delivery", "internal/domain", "internal/failpoint", "internal/fault", "internal/follow", "internal/icalendar", "internal/icalendar/zone", "internal/inbox", "internal/meter", "internal/message", "internal/once", "internal/partition", "internal/webhook", "persist/disk"},
	"actors":        {"actors/calendars", "actors/engine", "actors/hooks", "actors/journal", "actors/mailqueue", "actors/names", "actors/retention", "actors/sealing", "actors/tenure", "internal/account", "internal/address", "internal/calendar", "internal/delivery", "internal/domain", "internal/domain/lookup", "internal/failpoint", "internal/fault", "internal/follow", "internal/icalendar", "internal/inbox", "internal/ingest", "internal/mailauth", "internal/message", "internal/message/compose", "internal/once", "internal/partition", "internal/sealed", "internal/webhook"},
	"http":          {"http/contract", "http/dashboard", "http/meetings", "http/search", "http/wire", "internal/account", "internal/address", "internal/calendar", "internal/deep", "internal/domain", "internal/fault", "internal/follow", "internal/inbox", "internal/message", "internal/message/compose", "internal/once", "internal/partition", "internal/sealed", "internal/tools", "internal/webhook"},
	"http/meetings": {"internal/calendar", "internal/webhook"},
	// What goes past fasthttp.
	"http/wire": {"internal/account", "internal/address", "internal/fault", "internal/inbox", "internal/meter", "internal/partition"},
	// What a search needs beside the mails.
	"http/search": {"internal/account", "internal/fault"},
	"smtp":        {"internal/address", "internal/fault", "internal/meter", "smtp/lines"},

	// What lies between a session and the network, and mail that leaves.
	"smtp/lines":           {},
	"smtp/lines/linestest": {},
	"smtp/courier":         {"internal/address", "internal/deep", "internal/delivery", "internal/netguard"},

	// The data folder as files, without rows.
	"persist/disk": {"internal/fault", "internal/partition"},

	// A store in memory, for the tests of everything above it.
	"persist/persisttest": {"internal/account", "internal/domain", "internal/fault", "internal/inbox", "internal/partition", "internal/webhook", "persist"},

	// The caller of webhooks: an outgoing edge of its own.
	"http/post": {"internal/fault", "internal/netguard", "internal/webhook"},

	// What models are offered, in words.
	"internal/tools": {},

	"cmd/inboxd": {"cmd/inboxd/operator", "actors", "actors/mailqueue", "http", "http/post", "persist", "smtp", "smtp/courier",
		"internal/account", "internal/address", "internal/delivery", "internal/inbox", "internal/ingest",
		"internal/mailauth", "internal/meter", "internal/netguard", "internal/partition", "internal/resolve", "internal/sealed", "internal/spam", "internal/version", "internal/webhook"},

	// What an operator says to a running server, and the socket that hears it.
	"cmd/inboxd/operator": {"actors", "actors/mailqueue", "http", "persist", "smtp", "internal/account", "internal/address",
		"internal/domain", "internal/domain/lookup", "internal/fault", "internal/inbox", "internal/ingest"},

	// The public client and the bench meet the server as strangers: over its public surfaces.
	"http/client":    {},
	"http/contract":  {},
	"http/dashboard": {},
	"bench":          {"bench/drive", "bench/peer", "bench/report", "http/client", "internal/version"},

	// What drives a server and measures it, what is told of that, and a server for the loads' own tests.
	"bench/drive":     {},
	"bench/report":    {"bench/drive"},
	"bench/benchtest": {"bench/peer"},
	"bench/progress":  {"bench/drive"},
	"bench/foreign":   {"bench", "bench/drive"},
	"bench/mixed":     {"bench", "bench/drive", "bench/peer", "http/client"},

	// The tool server is a stranger, too: what it does, it does by the public client.
	"internal/toolserver": {"http/client", "internal/tools"},
	"cmd/inbox-mcp":       {"http/client", "internal/tools", "internal/toolserver", "internal/version"},
	"bench/peer":          {},
	"bench/toolcalls":     {"bench", "bench/drive", "http/client"},
	"cmd/inbox-bench":     {"bench", "bench/drive", "bench/foreign", "bench/mixed", "bench/peer", "bench/progress", "bench/report", "bench/toolcalls", "internal/version"},
}

// home is the one place that imports a third-party module, or a package of one that is a bag
// of unlike things. Whoever else may, has a reason.
type home struct {
	place string
	also  map[string]string // place to reason
}

var homes = map[string]home{
	"github.com/modelcontextprotocol/go-sdk": {place: "internal/toolserver"},
	"github.com/asynkron/protoactor-go":      {place: "actors/engine"},
	"github.com/cockroachdb/pebble/v2": {place: "persist", also: map[string]string{
		"persist/disk":        "its file systems, under the engine",
		"persist/persisttest": "a file system in memory that fails when told to",
	}},
	"github.com/fxamacker/cbor/v2":            {place: "persist"},
	"github.com/fasthttp/router":              {place: "http"},
	"github.com/emersion/go-smtp":             {place: "smtp"},
	"github.com/emersion/go-ical":             {place: "internal/icalendar"},
	"github.com/pelletier/go-toml/v2":         {place: "cmd/inboxd"},
	"github.com/prometheus/client_golang":     {place: "cmd/inboxd"},
	"github.com/HdrHistogram/hdrhistogram-go": {place: "bench/drive"},
	"blitiri.com.ar/go/spf":                   {place: "internal/mailauth"},
	"golang.org/x/crypto/argon2":              {place: "internal/account"},
	"golang.org/x/crypto/chacha20poly1305":    {place: "internal/sealed"},
	"golang.org/x/crypto/acme":                {place: "cmd/inboxd"},
	"golang.org/x/text/encoding":              {place: "internal/message"},
	"golang.org/x/text/unicode": {place: "internal/address", also: map[string]string{
		"http/search": "filters compare in NFC",
	}},
	"golang.org/x/time":                 {place: "smtp"},
	"github.com/valyala/bytebufferpool": {place: "http"}, // fasthttp comes with it
	"github.com/valyala/fasthttp": {place: "http", also: map[string]string{
		"http/wire":  "carries connections to it, and goes past it",
		"bench/peer": "the constant answer that polls are compared with, and a receiver of webhooks as quick as can be",
		"cmd/inboxd": "wraps the metrics handler, which speaks net/http",
	}},
	"github.com/go-json-experiment/json": {place: "http", also: map[string]string{
		"http/contract":    "the page keeps the order of the document's members",
		"internal/webhook": "bodies of events, the same bytes as on the API",
	}},
	"github.com/zeebo/xxh3": {place: "internal/partition", also: map[string]string{
		"http/contract":  "ETag of the contract",
		"http/dashboard": "ETag of the page",
		"persist":        "checksums on disk",
		"persist/disk":   "checksums on disk",
	}},
	"github.com/puzpuzpuz/xsync/v4": {place: "actors/engine", also: map[string]string{
		"actors": "principals and signers, read on every request and mail",
	}},
	"filippo.io/age": {place: "internal/sealed"},
	"github.com/alecthomas/kong": {place: "cmd/inboxd", also: map[string]string{
		"cmd/inbox-bench": "another program with flags",
		"cmd/inbox-mcp":   "another program with flags",
	}},
	"github.com/miekg/dns": {place: "internal/resolve", also: map[string]string{
		"internal/resolve/dnstest": "a server for tests",
		"bench/peer":               "a server for loads",
	}},
	"golang.org/x/net/publicsuffix": {place: "internal/mailauth", also: map[string]string{
		"internal/domain": "a public suffix is nobody's to claim",
	}},
	"golang.org/x/net/idna": {place: "internal/address"},
}

type goPackage struct {
	Dir, ImportPath string
	Imports         []string
	GoFiles         []string
}

func list(t *testing.T) []goPackage {
	t.Helper()
	return goList(t, "inboxd/...")
}

// graph is every package that the project reaches, the standard library's too.
func graph(t *testing.T) map[string]goPackage {
	t.Helper()
	all := map[string]goPackage{}
	for _, p := range goList(t, "-deps", "inboxd/internal/...") {
		all[p.ImportPath] = p
	}
	return all
}

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

func TestImports(t *testing.T) {
	unused := permissions()
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "inboxd/")
		may, known := allowed[name]
		if !known {
			t.Errorf("%s is not in the list: say what it may import", name)
			continue
		}
		delete(unused, name)
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, "inboxd/"); ok {
				delete(unused, name+" may import "+own)
				if !slices.Contains(may, own) {
					t.Errorf("%s imports %s", name, own)
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

// permissions is everything that the two lists allow.
func permissions() map[string]bool {
	all := map[string]bool{}
	for name, may := range allowed {
		all[name] = true
		for _, own := range may {
			all[name+" may import "+own] = true
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

// checkHome returns the entry of homes that the import belongs to.
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
