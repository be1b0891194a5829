package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rules are the paths of packages without side effects. noRules are exceptions, which use the
// network.
var (
	rules   = []string{"internal/base", "internal/mail", "internal/core", "internal/intake"}
	noRules = map[string]string{
		"internal/base/resolve": "asks a DNS server, by the clock",
		"internal/intake/spam":  "asks a scanner over HTTP or TCP, by the clock",
	}
)

// unreachable are the packages that rules must not import, directly or indirectly: frameworks,
// HTTP, logs.
var unreachable = []string{
	"github.com/asynkron/protoactor-go", "github.com/cockroachdb/pebble", "github.com/valyala/fasthttp", "github.com/emersion/go-smtp",
	"net/http", "log/slog",
}

// noImport and noClock are the packages and the functions of package time that must not be used
// directly by rules, or by packages of the project that rules import.
var (
	noImport = []string{"unsafe"}
	noClock  = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}
)

// exempt are the imports, as "from to", that the test ignores, with the reason.
var exempt = map[string]string{
	"golang.org/x/net/publicsuffix net/http/cookiejar": "the list is offered as a cookie jar's; nothing of net/http runs",
	"inboxd/internal/intake/ingest log/slog":           "a recovered panic of a parser is logged where it is caught: no return value reports it",
	"inboxd/internal/mail/mailauth log/slog":           "the same for the authentication of a message",
}

// TestRulesReachNothingOutside checks that the rules have no side effects, and that every exception
// is needed.
func TestRulesReachNothingOutside(t *testing.T) {
	imports := graph(t)
	unused, clocked := map[string]bool{}, map[string]bool{}
	for step := range exempt {
		unused[step] = true
	}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "inboxd/")
		if noRules[name] == "" && slices.ContainsFunc(rules, func(path string) bool { return below(name, path) }) {
			checkReach(t, imports, p.ImportPath, unused, clocked)
		}
	}
	for name := range noRules {
		if imports["inboxd/"+name].ImportPath == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for step := range unused {
		t.Errorf("nobody needs the exemption: %s", step)
	}
}

// checkReach checks all direct and indirect imports of a package.
func checkReach(t *testing.T, imports map[string]goPackage, from string, unused, clocked map[string]bool) {
	t.Helper()
	seen := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		p := imports[next[0]]
		own := strings.HasPrefix(p.ImportPath, "inboxd/")
		if own && !clocked[p.ImportPath] {
			clocked[p.ImportPath] = true
			checkClock(t, p)
		}
		for _, to := range p.Imports {
			switch step := p.ImportPath + " " + to; {
			case exempt[step] != "":
				delete(unused, step)
				continue
			case own && slices.Contains(noImport, to), slices.ContainsFunc(unreachable, func(u string) bool { return to == u || strings.HasPrefix(to, u+"/") }):
				t.Errorf("%s reaches %s, by %s", from, to, p.ImportPath)
				continue
			}
			if !seen[to] {
				seen[to] = true
				next = append(next, to)
			}
		}
	}
}

// checkClock checks that a package does not read the clock and does not set timers. It may use the
// types of package time.
func checkClock(t *testing.T, p goPackage) {
	t.Helper()
	for _, file := range p.GoFiles {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(noClock, s.Sel.Name) {
					t.Errorf("%s: rules are told the time, they do not ask for it", set.Position(s.Pos()))
				}
			}
			return true
		})
	}
}
