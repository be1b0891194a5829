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

// TestExportedIdentifiersAreDocumented checks that every exported identifier of the production code
// has a doc comment. A comment on a block of constants or variables counts for all of its lines, and
// methods of the standard library's interfaces need none.
func TestExportedIdentifiersAreDocumented(t *testing.T) {
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range undocumented(file) {
			t.Errorf("%s:%d: %s has no doc comment", name, fset.Position(id.Pos()).Line, id.Name)
		}
	}
}

// undocumented returns the exported identifiers of the file's top level that have no comment.
func undocumented(file *ast.File) (ids []*ast.Ident) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			standard := d.Recv != nil && slices.Contains([]string{"Error", "String", "Unwrap"}, d.Name.Name)
			if d.Name.IsExported() && d.Doc == nil && !standard && exportedReceiver(d) {
				ids = append(ids, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
						ids = append(ids, s.Name)
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
							ids = append(ids, id)
						}
					}
				}
			}
		}
	}
	return ids
}

// exportedReceiver reports whether a function has no receiver or one of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	kind := d.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	if generic, ok := kind.(*ast.IndexExpr); ok {
		kind = generic.X
	}
	id, ok := kind.(*ast.Ident)
	return ok && id.IsExported()
}
