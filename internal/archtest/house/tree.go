package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// modulePrefix is the prefix of the project's own imports.
const modulePrefix = "inboxd/"

// sourceFile is one production file.
type sourceFile struct {
	path, folder  string
	lineCount     int
	tokenCount    int // of Go, without comments
	isDocumented  bool
	imports       []string            // folders of the project
	methods       map[string][]string // names, by receiver; those of an interface, too
	embeddedTypes map[string][]string // by type: "folder Type" of what it embeds
	functions     []countedPlace      // with their lines
	complexLines  []countedPlace      // lines with at least four && and ||
}

// countedPlace is somewhere in the tree and a number that was counted there.
type countedPlace struct {
	at string
	n  int
}

// tree is every production file below a root.
type tree []*sourceFile

func readTree(root string) (tree, error) {
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
		s, err := parseFile(path, filepath.ToSlash(name))
		t = append(t, s)
		return err
	})
	return t, err
}

func parseFile(file, name string) (*sourceFile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &sourceFile{
		path:          name,
		folder:        filepath.ToSlash(filepath.Dir(name)),
		lineCount:     bytes.Count(text, []byte("\n")),
		isDocumented:  f.Doc.Text() != "",
		methods:       map[string][]string{},
		embeddedTypes: map[string][]string{},
	}
	s.tokenCount, s.complexLines = scanTokens(name, text)
	folders := map[string]string{} // by the name in this file
	for _, i := range f.Imports {
		if own, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), modulePrefix); ok {
			s.imports = append(s.imports, own)
			folders[path.Base(own)] = own
			if i.Name != nil {
				folders[i.Name.Name] = own
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.addFunction(set, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					s.typeSpec(t, folders)
				}
			}
		}
	}
	return s, nil
}

func (s *sourceFile) addFunction(set *token.FileSet, fn *ast.FuncDecl) {
	name := fn.Name.Name
	if fn.Recv != nil {
		receiver := receiverOf(fn.Recv.List[0].Type)
		s.methods[receiver] = append(s.methods[receiver], name)
		name = receiver + "." + name
	}
	lines := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1
	s.functions = append(s.functions, countedPlace{s.path + " " + name, lines})
}

// typeSpec notes what a type embeds, and the methods of an interface.
func (s *sourceFile) typeSpec(t *ast.TypeSpec, folders map[string]string) {
	var fields []*ast.Field
	name, methods := t.Name.Name, false
	switch declared := t.Type.(type) {
	case *ast.StructType:
		fields = declared.Fields.List
	case *ast.InterfaceType:
		fields, methods = declared.Methods.List, true
	}
	for _, field := range fields {
		if len(field.Names) == 0 {
			pkg, other, imported := strings.Cut(receiverOf(field.Type), ".")
			if !imported {
				s.embeddedTypes[name] = append(s.embeddedTypes[name], s.folder+" "+pkg)
			} else if folders[pkg] != "" {
				s.embeddedTypes[name] = append(s.embeddedTypes[name], folders[pkg]+" "+other)
			}
		} else if methods {
			s.methods[name] = append(s.methods[name], field.Names[0].Name)
		}
	}
}

func receiverOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return receiverOf(e.X) + "." + e.Sel.Name
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

// scanTokens counts tokens, and finds the lines with at least four && and ||. What is in strings
// and comments does not count, nor do semicolons that no one wrote.
func scanTokens(name string, text []byte) (tokens int, found []countedPlace) {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	line, n := 0, 0
	for {
		pos, tok, literal := s.Scan()
		if tok != token.EOF && literal != "\n" {
			tokens++
		}
		at := set.PositionFor(pos, false)
		if at.Line != line || tok == token.EOF {
			if n >= 4 {
				found = append(found, countedPlace{token.Position{Filename: name, Line: line}.String(), n})
			}
			line, n = at.Line, 0
		}
		switch tok {
		case token.LAND, token.LOR:
			n++
		case token.EOF:
			return tokens, found
		}
	}
}
