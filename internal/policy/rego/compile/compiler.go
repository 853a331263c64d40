// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
)

// Compiled are modules that were compiled together. It is immutable.
type Compiled struct {
	Compiler *ast.Compiler
	// Costly says that rules replace a part of the input or of data (with input.a as …), or make large values of
	// little: topdown is guarded, which costs time.
	Costly bool
	// Lookup is the first place that names data.inventory, which no module defines; nil where none
	// does.
	Lookup *Problem
}

// Modules compiles what parse gave of the same sources: the first of them names the
// file of problems without a place. The error is a *Error.
func Modules(version v1alpha1.RegoVersion, sources []v1alpha1.RegoLibrary, modules []*ast.Module) (Compiled, error) {
	byName := make(map[string]*ast.Module, len(modules))
	for i, module := range modules {
		byName[sources[i].Name] = module
	}
	if len(byName) < len(modules) {
		return Compiled{}, &Error{
			Problems: []Problem{{Message: "two modules of spec.rego have the same name: rename one"}}}
	}
	out := Compiled{}
	out.Compiler = NewCompiler(version).WithStageAfterID(ast.StageCheckRecursion,
		ast.CompilerStageDefinition{Name: "CheckWith", MetricName: "check_with", Stage: replacedFunctions})
	if out.Compiler.Compile(byName); out.Compiler.Failed() {
		return Compiled{}, &Error{Problems: ProblemsOf(out.Compiler.Errors, sources[0].Name)}
	}
	problems, lookup := undefinedData(out.Compiler, sources[0].Name)
	if len(problems) > 0 {
		return Compiled{}, ErrorOf(problems)
	}
	out.Lookup = lookup
	out.Costly = costly(sources, out.Compiler)
	return out, nil
}

// costly reports whether rules replace a part of the input or of data, or call or hold what large values are made of.
func costly(sources []v1alpha1.RegoLibrary, compiler *ast.Compiler) (found bool) {
	for _, source := range sources {
		found = found || len(source.Source) > budget.Large/4
	}
	for _, module := range compiler.Modules {
		ast.WalkExprs(module, func(e *ast.Expr) bool {
			found = found || budget.ReplacesPart(e)
			return found
		})
	}
	for _, b := range compiler.Required.Builtins {
		found = found || strings.HasPrefix(b.Name, "numbers.range") || strings.HasSuffix(b.Name, ".unmarshal")
	}
	return found
}

// replacedFunctions refuses a function that `with` has give the value of a rule: a rule that calls the function asks
// for itself then, and goes on until the stack of the process overflows. OPA 1.22.2 looks for recursion in what rules
// name, not in what `with` puts in its place. Tests may do so.
func replacedFunctions(c *ast.Compiler) (err *ast.Error) {
	isFunction := func(ref ast.Ref) bool {
		_, builtIn := ast.BuiltinMap[ref.String()]
		return builtIn || slices.ContainsFunc(c.GetRulesExact(ref),
			func(r *ast.Rule) bool { return len(r.Head.Args) > 0 })
	}
	for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
		ast.WalkExprs(c.Modules[name], func(e *ast.Expr) bool {
			for _, with := range e.With {
				target, isRef := with.Target.Value.(ast.Ref)
				value, fromRef := with.Value.Value.(ast.Ref)
				if err == nil && isRef && fromRef && value.HasPrefix(ast.DefaultRootRef) && isFunction(target) &&
					!isFunction(value) {
					err = ast.NewError(ast.RecursionErr, with.Loc(), "the function %s is replaced by the value of %s, "+
						"which may call it: give the function the value as an argument", target, value)
				}
			}
			return false
		})
	}
	return err
}

// NewCompiler knows what policies may call, and refuses what would grow too large. It is strict, but for Rego v0, which
// it takes as Gatekeeper does: with variables and imports that nothing uses, and with deprecated functions.
func NewCompiler(version v1alpha1.RegoVersion) *ast.Compiler {
	return ast.NewCompiler().
		WithCapabilities(budget.Permitted()).
		WithDefaultRegoVersion(Version(version)).
		WithStrict(version != v1alpha1.RegoV0).
		// Before types are told, which takes as long as what is told of.
		WithStageAfterID(ast.StageCheckRecursion,
			ast.CompilerStageDefinition{Name: "CheckTypesDepth", MetricName: "check_types_depth", Stage: tooDeepTypes}).
		WithStageAfterID(ast.StageCheckRecursion,
			ast.CompilerStageDefinition{Name: "CheckHeads", MetricName: "check_heads", Stage: overlappingHeads})
}
