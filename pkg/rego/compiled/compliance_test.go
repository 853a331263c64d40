// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/test/cases"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/open-policy-agent/opa/v1/util"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
	"evenkeel.dev/evenkeel/pkg/rego/compiled/planner"
)

func opaDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/open-policy-agent/opa").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestMain(m *testing.M) {
	// A function that OPA's cases of caching call, and only OPA's tests have.
	ast.RegisterBuiltin(&ast.Builtin{Name: "test.sleep", Decl: types.NewFunction(types.Args(types.S), types.Nl)})
	topdown.RegisterBuiltinFunc("test.sleep",
		func(_ topdown.BuiltinContext, _ []*ast.Term, iter func(*ast.Term) error) error {
			return iter(ast.NullTerm())
		})
	m.Run()
}

// TestOPAsComplianceCases runs all cases that OPA's own engine is tested with, from OPA's
// module, on the compiled engine: those too whose policies are left to topdown otherwise.
func TestOPAsComplianceCases(t *testing.T) {
	root := filepath.Join(opaDir(t), "v1", "test", "cases", "testdata")
	for version, want := range map[string]tally{
		"v0": {passed: 2027, topdown: 60},
		"v1": {passed: 2400, topdown: 72},
	} {
		rego := map[string]ast.RegoVersion{"v0": ast.RegoV0, "v1": ast.RegoV1}[version]
		var got tally
		for _, c := range cases.MustLoad(filepath.Join(root, version)).Sorted().Cases {
			t.Run(version+"/"+c.Note, func(t *testing.T) {
				for k, v := range c.Env {
					t.Setenv(k, v)
				}
				why, err := runCase(t.Context(), c, rego)
				if err != nil {
					t.Fatal(err)
				}
				got.passed++
				if why != "" {
					got.topdown++
				}
			})
		}
		t.Logf("%s: %d passed, of which %d are left to topdown", version, got.passed, got.topdown)
		if got != want {
			t.Errorf("%s: %+v, want %+v", version, got, want)
		}
	}
}

// tally counts cases: those that pass, and those of them whose policies NeedsTopdown names.
type tally struct{ passed, topdown int }

func runCase(ctx context.Context, c cases.TestCase, version ast.RegoVersion) (why string, err error) {
	options := ast.ParserOptions{RegoVersion: version}
	if c.ExperimentalKeywords {
		options.Capabilities = ast.CapabilitiesForThisVersion(ast.CapabilitiesExperimentalKeywords(true))
	}
	modules := map[string]string{}
	for i, module := range c.Modules {
		modules[fmt.Sprintf("test-%d.rego", i)] = module
	}
	compiler := ast.MustCompileModulesWithOpts(modules, ast.CompileOpts{ParserOptions: options})
	why = planner.NeedsTopdown(compiler)
	policy, err := planner.Plan(ctx, compiler, ast.MustParseBody(c.Query), nil)
	if err != nil {
		return "", err
	}
	program, err := compiled.Compile(policy)
	if err != nil {
		return "", err
	}
	o := documents(c)
	o.Strict = c.StrictError
	o.Context.Time = ast.IntNumberTerm(int(time.Now().UnixNano())) // some cases hold it against certificates
	o.Context.Capabilities = compiler.Capabilities()
	e := program.Begin(ctx, o)
	defer e.End()
	answers, err := e.Query(planner.QueryName)
	return why, judge(c, answers, err)
}

// documents are a case's input and data.
func documents(c cases.TestCase) *compiled.Options {
	o := &compiled.Options{Data: ast.ObjectTerm()}
	if c.Data != nil {
		o.Data = ast.NewTerm(ast.MustInterfaceToValue(*c.Data))
	}
	switch {
	case c.InputTerm != nil:
		o.Input = ast.MustParseTerm(*c.InputTerm)
	case c.Input != nil:
		o.Input = ast.NewTerm(ast.MustInterfaceToValue(*c.Input))
	}
	return o
}

// judge holds what a query gave against what a case wants, as OPA's own test does.
func judge(c cases.TestCase, answers []*ast.Term, err error) error {
	switch {
	case c.WantError != nil && (err == nil || !strings.Contains(err.Error(), *c.WantError)):
		return fmt.Errorf("got error %w, want %s", err, *c.WantError)
	case c.WantErrorCode != nil:
		var e *topdown.Error
		if !errors.As(err, &e) || e.Code != *c.WantErrorCode {
			return fmt.Errorf("got error %w, want code %s; answers %v", err, *c.WantErrorCode, answers)
		}
	case c.WantError == nil && err != nil:
		return fmt.Errorf("unexpected error: %w", err)
	}
	if c.WantResult == nil {
		return nil
	}
	want, got := ast.NewSet(), ast.NewSet()
	for _, b := range *c.WantResult {
		obj := ast.NewObject()
		for k, v := range b {
			obj.Insert(ast.StringTerm(k), ast.NewTerm(ast.MustInterfaceToValue(v)))
		}
		want.Add(ast.NewTerm(obj))
	}
	for _, answer := range answers {
		obj := ast.NewObject()
		answer.Value.(ast.Object).Foreach(func(k, v *ast.Term) {
			j, err := ast.JSON(v.Value)
			if err != nil {
				panic(err)
			}
			if c.SortBindings {
				slices.SortFunc(j.([]any), util.Compare)
			}
			name := string(k.Value.(ast.String))
			if !strings.HasPrefix(name, "^term") {
				obj.Insert(k, ast.NewTerm(ast.MustInterfaceToValue(j)))
			}
		})
		got.Add(ast.NewTerm(obj))
	}
	if want.Compare(got) != 0 {
		return fmt.Errorf("got  %v\nwant %v", got, want)
	}
	return nil
}
