// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/builtins"
)

// Compiled are modules that were compiled together, and what is to be known of them to
// evaluate them within bounds. It is immutable.
type Compiled struct {
	Compiler *ast.Compiler
	// Compares says that rules compare values that may be large: they are guarded, which
	// costs time.
	Compares bool
	// Copies is how many times a value may hold one part, at least 1.
	Copies float64
	// Replaces counts the places at which rules replace a part of the input or of data (with input.a as …).
	Replaces int
	// Weighs says that rules call what weighs.
	Weighs bool
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
	out.Compiler = NewCompiler(version).WithStageAfterID(ast.StageBuildRequiredCapabilities,
		ast.CompilerStageDefinition{
			Name: "WeighGathered", MetricName: "weigh_gathered", Stage: weighGathered(&out.Weighs)})
	if out.Compiler.Compile(byName); out.Compiler.Failed() {
		return Compiled{}, &Error{Problems: ProblemsOf(out.Compiler.Errors, sources[0].Name)}
	}
	problems, lookup := undefinedData(out.Compiler, sources[0].Name)
	if len(problems) > 0 {
		return Compiled{}, ErrorOf(problems)
	}
	out.Lookup = lookup
	looked := lookAt(out.Compiler)
	out.Compares, out.Copies, out.Replaces = looked.compares, looked.most, placesReplaced(out.Compiler)
	return out, nil
}

// placesReplaced counts where expressions replace a part of the input or of data.
func placesReplaced(compiler *ast.Compiler) (n int) {
	for _, module := range compiler.Modules {
		ast.WalkExprs(module, func(e *ast.Expr) bool {
			for _, with := range e.With {
				target, isRef := with.Target.Value.(ast.Ref)
				part := isRef && len(target) > 1
				if part && (target.HasPrefix(ast.InputRootRef) || target.HasPrefix(ast.DefaultRootRef)) {
					n++
				}
			}
			return false
		})
	}
	return n
}

// NewCompiler knows what policies may call, and refuses what would grow too large. It is strict, but for Rego v0, which
// it takes as Gatekeeper does: with variables and imports that nothing uses, and with deprecated functions.
func NewCompiler(version v1alpha1.RegoVersion) *ast.Compiler {
	return ast.NewCompiler().
		WithCapabilities(builtins.Permitted()).
		WithDefaultRegoVersion(Version(version)).
		WithStrict(version != v1alpha1.RegoV0).
		// Before types are told, which takes as long as what is told of.
		WithStageAfterID(ast.StageCheckRecursion,
			ast.CompilerStageDefinition{Name: "CheckCopies", MetricName: "check_copies", Stage: tooManyCopies}).
		WithStageAfterID(ast.StageCheckRecursion,
			ast.CompilerStageDefinition{Name: "CheckTypesDepth", MetricName: "check_types_depth", Stage: tooDeepTypes}).
		WithStageAfterID(ast.StageCheckRecursion,
			ast.CompilerStageDefinition{Name: "CheckHeads", MetricName: "check_heads", Stage: overlappingHeads}).
		WithStageAfterID(ast.StageCheckRecursion,
			ast.CompilerStageDefinition{Name: "CheckWith", MetricName: "check_with", Stage: recursionByWith})
}
