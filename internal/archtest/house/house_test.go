package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small is a tree with one package in each role: the server's, the bench's and a test's.
var small = map[string]string{
	"cmd/inboxd/main.go":        "// Command inboxd serves.\npackage main\n\nimport _ \"inboxd/rules\"\n",
	"rules/a.go":                "package rules\n\ntype list[T any] struct{}\n\nfunc (l *list[T]) one(a, b, c, d, e bool) bool {\n\treturn a && b || c && d || e // && ||\n}\n",
	"rules/b.go":                "package rules\n\nfunc (list[T]) two() string { return \"&& || && ||\" }\n",
	"rules/c.go":                "package rules\n\ntype both struct {\n\t*list[int]\n\tasker\n}\n\ntype asker interface{ ask() }\n",
	"rules/b_test.go":           "package rules\n\nfunc (list[T]) three() {}\n",
	"rules/rulestest/fake.go":   "// Package rulestest fakes.\npackage rulestest\n",
	"rules/testdata/no.go":      "no Go at all",
	"bench/bench.go":            "// Package bench measures.\npackage bench\n",
	"internal/mail/otp/find.go": "// Package otp finds.\npackage otp\n\nvar x = true && true && true && true && true\n",
}

func TestFigures(t *testing.T) {
	root := t.TempDir()
	for name, text := range small {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		name, first string
		n           int
		over        bool
	}{
		{"production files in one folder", "rules", 3, false},
		{"methods declared on one type", "rules list", 2, false},
		{"methods of one type with those of what it embeds", "rules both", 3, false},
		{"tokens of one package", "rules", 84, false},
		{"packages with more, which grew", "", 0, false},
		{"lines with four or more && and ||, outside of internal/mail/otp", "rules/a.go:6", 1, false},
		{"the same in internal/mail/otp", "", 1, false},
		{"packages without their sentence", "rules", 1, true},
		{"tokens of production code, without the bench", "", 89, false},
		{"its lines", "", 22, false},
		{"lines of test support and tools, not among them", "internal/mail/otp", 6, false},
	}
	for i, f := range got.computeFigures() {
		w := want[i]
		first := ""
		if len(f.worstPlaces) > 0 {
			first = f.worstPlaces[0].at
		}
		if f.name != w.name || f.n != w.n || f.isOver() != w.over || first != w.first {
			t.Errorf("%q = %d at %q over %v, want %q = %d at %q over %v", f.name, f.n, first, f.isOver(), w.name, w.n, w.first, w.over)
		}
		if f.isOver() != strings.HasPrefix(f.String(), "over") {
			t.Errorf("%q is over: %v, printed as %q", f.name, f.isOver(), f)
		}
	}
}
