// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reasonCalls are the functions that take a reason, wherever it stands among their arguments.
func reasonCalls() []string {
	return []string{"ConditionTrue", "ConditionFalse", "Ready", "Underway", "Stalled", "Rollout", "Target", "Breaker",
		"Policy", "Failed", "Pending", "Skipped", "ended", "waitFor", "noCanary"}
}

// camelCase is a reason as conditions, events and targets bear it.
var camelCase = regexp.MustCompile(`^[A-Z][a-z]+[A-Za-z]*$`)

// TestReasonsAreConstantsOfTheAPI looks for reasons that the code spells out: alerts and
// scripts match on them, and docs/reference/signals.md is made from the constants.
func TestReasonsAreConstantsOfTheAPI(t *testing.T) {
	looked := 0
	err := filepath.WalkDir("../../internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		looked++
		for _, found := range literalReasons(t, path, nil) {
			t.Errorf("%s: the reason is spelt out: make it a constant of api/v1alpha1", found)
		}
		return nil
	})
	if err != nil || looked < 300 {
		t.Fatalf("looked at %d files: %v", looked, err)
	}
}

func TestLiteralReasonsAreFound(t *testing.T) {
	const source = `package p
func f() {
	c := metav1.Condition{Type: "Ready", Reason: "SpeltOut"}
	c.Reason = "Assigned"
	s.Reason, s.Message = "OfTwo", "the text"
	kube.ConditionTrue(v1alpha1.ConditionReady, "InACall", "text")
	c.Reason = v1alpha1.ReasonReady
	return a.Failed("OfATarget", "the text")
	log.Info("Reason", "reason", "text")
}`
	got := literalReasons(t, "source.go", source)
	want := []string{"source.go:3: SpeltOut", "source.go:4: Assigned", "source.go:5: OfTwo", "source.go:6: InACall",
		"source.go:8: OfATarget"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// literalReasons are the reasons that a file spells out, each with its place. The source is
// the file's text, or nil to read it.
func literalReasons(t *testing.T, path string, source any) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	look := func(e ast.Expr) {
		literal, ok := e.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return
		}
		if value, err := strconv.Unquote(literal.Value); err == nil && camelCase.MatchString(value) {
			found = append(found, fmt.Sprintf("%s:%d: %s", path, files.Position(literal.Pos()).Line, value))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "reason") {
				look(n.Value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if to, ok := left.(*ast.SelectorExpr); ok && to.Sel.Name == "Reason" && i < len(n.Rhs) {
					look(n.Rhs[i])
				}
			}
		case *ast.CallExpr:
			if to, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(reasonCalls(), to.Sel.Name) {
				for _, argument := range n.Args {
					look(argument)
				}
			}
		}
		return true
	})
	return found
}
