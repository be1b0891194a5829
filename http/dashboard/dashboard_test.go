package dashboard

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"strings"
	"testing"
)

// sinks are what turns text into markup or code. Neither the page nor a library in it may
// hold one: the policy would stop it, and then something would not work.
var sinks = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|createContextualFragment|parseFromString|srcdoc`)

// elsewhere are addresses that a script or a style might load from; namespaces and comments
// name others.
var elsewhere = regexp.MustCompile(`(?:import|from|fetch|url)\s*\(?\s*["'` + "`" + `](?:https?:)?//`)

func page(t *testing.T) *Page {
	t.Helper()
	p, err := New(Options{BaseURL: "https://mail.example.com", Domain: "inbox.example.com"})
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
	for name, f := range p.assets {
		if m := sinks.Find(f.Body); m != nil {
			t.Errorf("%s holds %s", name, m)
		}
		if m := elsewhere.Find(f.Body); m != nil {
			t.Errorf("%s asks elsewhere: %s", name, m)
		}
		if bytes.Contains(f.Body, []byte("sourceMappingURL")) {
			t.Errorf("%s names a source map", name)
		}
	}
}

// First load: what the page names, and what its script imports before it runs.
func TestFirstLoadIsSmall(t *testing.T) {
	p := page(t)
	imports := regexp.MustCompile(`(?:from|import)\s*"\./([^"]+)"`)
	seen, sum := map[string]bool{}, 0
	var load func(name string)
	load = func(name string) {
		f := p.Asset(name)
		if f == nil {
			t.Fatalf("there is no %s", name)
		}
		if seen[name] {
			return
		}
		seen[name], sum = true, sum+len(f.Zipped)
		for _, m := range imports.FindAllSubmatch(f.Body, -1) {
			load(string(m[1]))
		}
	}
	for _, m := range regexp.MustCompile(`/assets/([^"]+)"`).FindAllSubmatch(p.Index(true).Body, -1) {
		load(string(m[1]))
	}
	if len(seen) < 2 || sum > 90<<10 {
		t.Errorf("the first load has %d bytes in %d files", sum, len(seen))
	}
	all := 0
	for _, f := range p.assets {
		all += len(f.Zipped)
	}
	if rest := all - sum; rest > 120<<10 {
		t.Errorf("what opens encrypted mail has %d bytes", rest)
	}
	t.Logf("first load %d bytes, the rest %d", sum, all-sum)
}

func TestIndex(t *testing.T) {
	p := page(t)
	open, closed := p.Index(true), p.Index(false)
	for _, want := range []string{`data-base="https://mail.example.com"`, `data-domain="inbox.example.com"`, `data-signup="open"`} {
		if !strings.Contains(string(open.Body), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if open.ETag == closed.ETag || !strings.Contains(string(closed.Body), `data-signup="closed"`) {
		t.Errorf("a closed sign-up looks like an open one")
	}
	inline := regexp.MustCompile(`<script[^>]*>[^<]|<style| on[a-z]+=|javascript:`)
	if m := inline.Find(open.Body); m != nil {
		t.Errorf("the page holds %s", m)
	}
	odd, err := New(Options{BaseURL: `https://x/"><script>alert(1)</script>`})
	if err != nil || inline.Match(odd.Index(true).Body) {
		t.Errorf("a base URL became markup: %v %s", err, odd.Index(true).Body)
	}
}

func TestAssetsComeCompressed(t *testing.T) {
	p := page(t)
	if p.Asset("app.js") != nil || p.Asset("../dashboard.go") != nil || p.Asset("") != nil {
		t.Error("a file that was never built is there")
	}
	for name, f := range p.assets {
		r, err := gzip.NewReader(bytes.NewReader(f.Zipped))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil || !bytes.Equal(b.Bytes(), f.Body) {
			t.Errorf("%s differs when it is compressed: %v", name, err)
		}
		if !regexp.MustCompile(`^[a-z]+\.[0-9A-Z]{8}\.(js|css|svg)$`).MatchString(name) {
			t.Errorf("%s has no digest in its name", name)
		}
	}
}
