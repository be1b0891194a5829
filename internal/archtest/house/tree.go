package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// module is the prefix of the project's own imports.
const module = "inboxd/"

// source is one production file.
type source struct {
	path, folder string
	lines        int
	documented   bool
	imports      []string // folders of the project
	methods      []string // receivers, one for each method
	functions    []place  // with their lines
	operators    []place  // lines with at least four && and ||
}

// place is somewhere in the tree and a number that was counted there.
type place struct {
	at string
	n  int
}

// tree is every production file below a root.
type tree []*source

func read(root string) (tree, error) {
	var t tree
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s, err := parse(path, filepath.ToSlash(name))
		t = append(t, s)
		return err
	})
	return t, err
}

func parse(path, name string) (*source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &source{
		path:       name,
		folder:     filepath.ToSlash(filepath.Dir(name)),
		lines:      bytes.Count(text, []byte("\n")),
		documented: f.Doc.Text() != "",
		operators:  operators(name, text),
	}
	for _, i := range f.Imports {
		if own, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ok {
			s.imports = append(s.imports, own)
		}
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			s.function(set, fn)
		}
	}
	return s, nil
}

func (s *source) function(set *token.FileSet, fn *ast.FuncDecl) {
	name := fn.Name.Name
	if fn.Recv != nil {
		receiver := receiverOf(fn.Recv.List[0].Type)
		s.methods = append(s.methods, receiver)
		name = receiver + "." + name
	}
	lines := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1
	s.functions = append(s.functions, place{s.path + " " + name, lines})
}

func receiverOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverOf(e.X)
	case *ast.IndexExpr:
		return receiverOf(e.X)
	case *ast.IndexListExpr:
		return receiverOf(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// operators finds the lines with at least four && and ||; those in strings and comments do
// not count.
func operators(name string, text []byte) []place {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	var found []place
	line, n := 0, 0
	for {
		pos, tok, _ := s.Scan()
		at := set.PositionFor(pos, false)
		if at.Line != line || tok == token.EOF {
			if n >= 4 {
				found = append(found, place{token.Position{Filename: name, Line: line}.String(), n})
			}
			line, n = at.Line, 0
		}
		switch tok {
		case token.LAND, token.LOR:
			n++
		case token.EOF:
			return found
		}
	}
}
