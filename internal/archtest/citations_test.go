package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the project, from the folder of this package.
const root = "../.."

// passage is a comment or a paragraph of a document, on one line.
type passage struct {
	at   string // file:line
	file string
	text string
}

// passages returns all comments of the sources and all paragraphs of the documents.
func passages(t *testing.T) []passage {
	t.Helper()
	var all []passage
	for _, name := range files(t, ".go", ".md") {
		if strings.HasSuffix(name, ".go") {
			all = append(all, comments(t, name)...)
		} else {
			all = append(all, paragraphs(name, read(t, name))...)
		}
	}
	return all
}

// files returns the files with one of the extensions, except for test data.
func files(t *testing.T, extensions ...string) []string {
	t.Helper()
	return slices.DeleteFunc(everything(t), func(name string) bool {
		return strings.Contains(name, "testdata/") || !slices.Contains(extensions, path.Ext(name))
	})
}

// everything returns the paths of all files, relative to root.
func everything(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".deps" || d.Name() == "bin" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// comments returns the comments of a Go file.
func comments(t *testing.T, name string) []passage {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, read(t, name), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []passage
	for _, c := range f.Comments {
		all = append(all, passage{set.Position(c.Pos()).String(), name, oneLine(c.Text())})
	}
	return all
}

// paragraphs returns the paragraphs of a document.
func paragraphs(name, text string) []passage {
	var all []passage
	line := 1
	for p := range strings.SplitSeq(text, "\n\n") {
		at := token.Position{Filename: name, Line: line, Column: 1}
		all = append(all, passage{at.String(), name, oneLine(p)})
		line += strings.Count(p, "\n") + 2
	}
	return all
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

var (
	// References to documents that are not in this repository.
	elsewhere = regexp.MustCompile(`(?i)service-api|\bhardening\b|\bdecisions?,? (§|section)|\(decisions\b`)
	cited     = regexp.MustCompile(`(.{0,20})\b[Ss]pecification\b(, [A-Z][^,;:.()"]*)?(\.md)?`)
	adr       = regexp.MustCompile(`\bADRs? (\d+)`)
	heading   = regexp.MustCompile(`(?m)^## (.+)$`)
)

// specificationOf are the names before the word in the names of other documents.
var specificationOf = []string{"Standard Webhooks "}

// TestCitationsAreThere checks that the ADRs that comments and documents cite exist, and the
// sections of docs/specification.md.
func TestCitationsAreThere(t *testing.T) {
	var sections []string
	for _, m := range heading.FindAllStringSubmatch(read(t, "docs/specification.md"), -1) {
		sections = append(sections, m[1])
	}
	adrs := map[string]bool{}
	for _, name := range files(t, ".md") {
		if strings.HasPrefix(name, "docs/adr/") {
			adrs[filepath.Base(name)[:4]] = true
		}
	}
	for _, p := range passages(t) {
		if found := elsewhere.FindString(p.text); found != "" {
			t.Errorf("%s: %q cites what is not in this repository", p.at, found)
		}
		for _, m := range adr.FindAllStringSubmatch(p.text, -1) {
			if !adrs[m[1]] {
				t.Errorf("%s: there is no ADR %s", p.at, m[1])
			}
		}
		for _, m := range cited.FindAllStringSubmatch(p.text, -1) {
			before, section, file := m[1], strings.TrimPrefix(m[2], ", "), m[3]
			switch {
			case file != "", endsInAny(before, specificationOf), startsWithAny(section, sections):
			case section == "" && strings.HasSuffix(p.file, ".md"): // a mention without a section
			default:
				t.Errorf("%s: %q is no section of docs/specification.md", p.at, m[0])
			}
		}
	}
}

func endsInAny(s string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(s, end) })
}

// startsWithAny reports whether s is one of names, alone or with further words.
func startsWithAny(s string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return s == name || strings.HasPrefix(s, name+" ") })
}

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	fileName = regexp.MustCompile(`^[\w-]+(?:[./][\w-]+)*\.(?:go|md|json|tsv|py)$`)
	folder   = regexp.MustCompile(`^(?:actors|bench|cmd|docs|http|internal|persist|smtp)(?:/[a-z-]+)+/?$`)
	testName = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w+$`)
	goFile   = regexp.MustCompile(`\b[\w/]+\.go\b`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
)

// TestNamedFilesAndTestsAreThere checks that the files that comments name exist, and the files,
// folders and tests that documents name.
func TestNamedFilesAndTestsAreThere(t *testing.T) {
	there := map[string]bool{}
	for _, name := range everything(t) {
		there[name], there[path.Base(name)] = true, true
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			there[dir] = true
		}
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(read(t, name), -1) {
				there[m[1]] = true
			}
		}
	}
	for _, p := range passages(t) {
		var named []string
		if strings.HasSuffix(p.file, ".go") {
			named = goFile.FindAllString(p.text, -1)
		} else {
			for _, m := range quoted.FindAllStringSubmatch(p.text, -1) {
				if fileName.MatchString(m[1]) || folder.MatchString(m[1]) || testName.MatchString(m[1]) {
					named = append(named, m[1])
				}
			}
		}
		for _, name := range named {
			if !there[strings.TrimSuffix(name, "/")] {
				t.Errorf("%s names %s, which is not there", p.at, name)
			}
		}
	}
}

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence      = regexp.MustCompile("(?ms)^```.*?^```")
	anyHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksAreThere checks that each relative link of a document leads to a file or folder, and its
// fragment to a heading of that file.
func TestLinksAreThere(t *testing.T) {
	there := map[string]bool{}
	for _, name := range everything(t) {
		there[name] = true
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			there[dir] = true
		}
	}
	for _, name := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(read(t, name), ""), -1) {
			if strings.Contains(m[1], ":") {
				continue // an absolute URL
			}
			file, fragment, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if !there[target] {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			} else if fragment != "" && !slices.Contains(slugs(read(t, target)), fragment) {
				t.Errorf("%s links to %s, but there is no such heading", name, m[1])
			}
		}
	}
}

// slugs returns the fragments that code hosting sites generate for the headings of a document.
func slugs(text string) (all []string) {
	for _, m := range anyHeading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
