// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"flag"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "correct the places that the page names")

const architecturePage = "docs/architecture.md"

// step is a function that the page names: [`webhook.Handler.ServeHTTP`](../internal/webhook/handler.go).
var step = regexp.MustCompile("\\[`(\\w+)\\.([\\w.]+)`\\]\\(\\.\\./([^)]+\\.go)\\)")

// TestTheArchitectureNamesWhatThereIs: each function that docs/architecture.md names stands in the file that the page
// links to, and its package is called so.
func TestTheArchitectureNamesWhatThereIs(t *testing.T) {
	functions := declared(t)
	page := read(t, architecturePage)
	steps := step.FindAllStringSubmatch(page, -1)
	if len(steps) < 30 {
		t.Fatalf("%s names %d functions: this test looks for them in the wrong form", architecturePage, len(steps))
	}
	for _, named := range steps {
		pkg, function, file := named[1], named[2], named[3]
		places := functions[function]
		if slices.Contains(places, file) && pkg == filepath.Base(filepath.Dir(file)) {
			continue
		}
		place, known := nearest(places, pkg)
		switch {
		case !known && len(places) == 0:
			t.Errorf("%s names %s.%s in %s, and there is no function %s any more: name what has taken its place",
				architecturePage, pkg, function, file, function)
		case !known:
			t.Errorf("%s names %s.%s in %s; it isn't there, and several have that name: %s. Name the one that is meant",
				architecturePage, pkg, function, file, strings.Join(places, ", "))
		case *update:
			moved := "[`" + filepath.Base(filepath.Dir(place)) + "." + function + "`](../" + place + ")"
			page = strings.ReplaceAll(page, named[0], moved)
		default:
			t.Errorf("%s names %s.%s in %s, and it is in %s now. Run\n    go test ./test/docs -run "+
				"TestTheArchitectureNamesWhatThereIs -update", architecturePage, pkg, function, file, place)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, architecturePage), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// nearest is where a function has moved to: the one place that there is, or the one in the package of that name.
func nearest(places []string, pkg string) (place string, known bool) {
	for _, p := range places {
		if len(places) > 1 && pkg != filepath.Base(filepath.Dir(p)) {
			continue
		}
		if known {
			return "", false
		}
		place, known = p, true
	}
	return place, known
}

// declared are the files of all functions and methods in internal, by their name or Type.Method.
func declared(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	parsedIn(t, "internal", false, func(path string, _ *token.FileSet, parsed *ast.File) {
		file, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				name := receiver(f) + f.Name.Name
				found[name] = append(found[name], filepath.ToSlash(file))
			}
		}
	})
	if len(found) == 0 {
		t.Fatal("no function is found")
	}
	return found
}

// receiver is the type of a method with a dot behind it, or nothing.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
