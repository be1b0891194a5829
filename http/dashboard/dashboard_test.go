package dashboard

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// sinks are functions that turn text into markup or code. Neither the page nor its libraries may
// contain one: the policy would block it, and the page would break.
var sinks = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|createContextualFragment|parseFromString|srcdoc`)

// elsewhere matches other hosts from which a script or a style might load. Namespaces and comments
// may name other hosts.
var elsewhere = regexp.MustCompile(`(?:import|from|fetch|url)\s*\(?\s*["'` + "`" + `](?:https?:)?//`)

func page(t *testing.T) *DashboardPage {
	t.Helper()
	p, err := New(Options{BaseURL: "https://mail.example.com", ServiceDomain: "inbox.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBuiltFiles(t *testing.T) {
	p := page(t)
	if !sinks.MatchString("a.innerHTML=b") || !elsewhere.MatchString(`import("//cdn.example/x.js")`) {
		t.Fatal("the search finds nothing")
	}
	for name, f := range p.assetFiles {
		if strings.HasSuffix(name, ".txt") {
			continue // text for people
		}
		if m := sinks.Find(f.BodyBytes); m != nil {
			t.Errorf("%s holds %s", name, m)
		}
		if m := elsewhere.Find(f.BodyBytes); m != nil {
			t.Errorf("%s asks elsewhere: %s", name, m)
		}
		if bytes.Contains(f.BodyBytes, []byte("sourceMappingURL")) {
			t.Errorf("%s names a source map", name)
		}
	}
}

// The licences of bundled libraries require their text to be included (MIT, BSD), and to state
// where the source is (MPL 2.0 section 3.2).
func TestLicencesOfWhatIsBundled(t *testing.T) {
	lock, err := os.ReadFile("web/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var locked struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(lock, &locked); err != nil {
		t.Fatal(err)
	}
	p := page(t)
	name, err := p.findNamed("licences.", ".txt")
	if err != nil {
		t.Fatal(err)
	}
	text, n := string(p.FindAsset(name).BodyBytes), 0
	for path, one := range locked.Packages {
		if path == "" || one.Dev {
			continue
		}
		n++
		_, of, _ := strings.Cut(text, fmt.Sprintf("\n%s %s (%s)\nSource: ", path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):], one.Version, one.License))
		of, _, _ = strings.Cut(of, "\n"+strings.Repeat("-", 80)+"\n")
		if !strings.HasPrefix(of, "http") || len(of) < 900 {
			t.Errorf("%s %s: no source or no text of %s: %.100q", path, one.Version, one.License, of)
		}
	}
	if n < 9 {
		t.Errorf("the lock file names %d packages", n)
	}
	if app, err := p.findNamed("app.", ".js"); err != nil || !bytes.Contains(p.FindAsset(app).BodyBytes, []byte(name)) {
		t.Errorf("nothing in the page leads to %s: %v", name, err)
	}
}

// The first load is what the page refers to, and what its script imports before it runs.
func TestFirstLoadIsSmall(t *testing.T) {
	p := page(t)
	imports := regexp.MustCompile(`(?:from|import)\s*"\./([^"]+)"`)
	seen, sum := map[string]bool{}, 0
	var load func(name string)
	load = func(name string) {
		f := p.FindAsset(name)
		if f == nil {
			t.Fatalf("there is no %s", name)
		}
		if seen[name] {
			return
		}
		seen[name], sum = true, sum+len(f.ZippedBody)
		for _, m := range imports.FindAllSubmatch(f.BodyBytes, -1) {
			load(string(m[1]))
		}
	}
	for _, m := range regexp.MustCompile(`/assets/([^"]+)"`).FindAllSubmatch(p.IndexFile(true).BodyBytes, -1) {
		load(string(m[1]))
	}
	if len(seen) < 2 || sum > 90<<10 {
		t.Errorf("the first load has %d bytes in %d files", sum, len(seen))
	}
	all := 0
	for name, f := range p.assetFiles {
		if !strings.HasSuffix(name, ".txt") {
			all += len(f.ZippedBody)
		}
	}
	if rest := all - sum; rest > 120<<10 {
		t.Errorf("what opens encrypted mail has %d bytes", rest)
	}
	t.Logf("first load %d bytes, the rest %d", sum, all-sum)
}

func TestIndex(t *testing.T) {
	p := page(t)
	open, closed := p.IndexFile(true), p.IndexFile(false)
	for _, want := range []string{`data-base="https://mail.example.com"`, `data-domain="inbox.example.com"`, `data-signup="open"`} {
		if !strings.Contains(string(open.BodyBytes), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if open.ETag == closed.ETag || !strings.Contains(string(closed.BodyBytes), `data-signup="closed"`) {
		t.Errorf("a closed sign-up looks like an open one")
	}
	inline := regexp.MustCompile(`<script[^>]*>[^<]|<style| on[a-z]+=|javascript:`)
	if m := inline.Find(open.BodyBytes); m != nil {
		t.Errorf("the page holds %s", m)
	}
	odd, err := New(Options{BaseURL: `https://x/"><script>alert(1)</script>`})
	if err != nil || inline.Match(odd.IndexFile(true).BodyBytes) {
		t.Errorf("a base URL became markup: %v %s", err, odd.IndexFile(true).BodyBytes)
	}
}

func TestAssetsComeCompressed(t *testing.T) {
	p := page(t)
	if p.FindAsset("app.js") != nil || p.FindAsset("../dashboard.go") != nil || p.FindAsset("") != nil {
		t.Error("a file that was never built is there")
	}
	for name, f := range p.assetFiles {
		r, err := gzip.NewReader(bytes.NewReader(f.ZippedBody))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil || !bytes.Equal(b.Bytes(), f.BodyBytes) {
			t.Errorf("%s differs when it is compressed: %v", name, err)
		}
		if !regexp.MustCompile(`^[a-z]+\.[0-9A-Z]{8}\.(js|css|svg|txt)$`).MatchString(name) {
			t.Errorf("%s has no digest in its name", name)
		}
	}
}
