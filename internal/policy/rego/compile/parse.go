// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
)

// Parse reads the modules, in order, and refuses forbidden built-ins and what would take too
// long to compile. The error is a *Error.
func Parse(sources []v1alpha1.RegoLibrary, version v1alpha1.RegoVersion) ([]*ast.Module, error) {
	options := ast.ParserOptions{RegoVersion: Version(version), Capabilities: budget.Permitted()}
	modules := make([]*ast.Module, 0, len(sources))
	var problems []Problem
	if problems := textLimit(sources); problems != nil {
		return nil, &Error{Problems: problems}
	}
	var within bounds
	for _, source := range sources {
		if tooMuch := within.text(source); tooMuch != nil {
			return nil, &Error{Problems: tooMuch}
		}
		module, err := ast.ParseModuleWithOpts(source.Name, source.Source, options)
		switch {
		case err != nil:
			problems = append(problems, ProblemsOf(err, source.Name)...)
		case module == nil:
			problems = append(problems,
				Problem{File: source.Name, Message: "the module is empty: it must begin with a package"})
		default:
			modules = append(modules, module)
			if tooMuch := within.parsed(module); tooMuch != nil {
				return nil, &Error{Problems: tooMuch}
			}
			problems = append(problems, forbiddenCalls(module)...)
		}
	}
	if len(problems) > 0 {
		return nil, ErrorOf(problems)
	}
	return modules, nil
}

// bounds add up what all modules of a policy together may be.
type bounds struct {
	written, nested weight
	cost            compileCost
	deep            depths
}

func (b *bounds) text(source v1alpha1.RegoLibrary) []Problem {
	if b.written += nestedText(source.Source); b.written > maxNesting {
		return b.written.problem(source.Name)
	}
	if deepText(source.Source) {
		return tooDeep(source.Name)
	}
	return nil
}

func (b *bounds) parsed(module *ast.Module) []Problem {
	file := module.Package.Location.File
	if tooMuch := b.deep.add(module); tooMuch != nil {
		return tooMuch
	}
	if b.nested += nestedTerms(module); b.nested > maxNesting {
		return b.nested.problem(file)
	}
	return b.cost.add(module)
}

// Version is the syntax that modules of a version are read by.
func Version(v v1alpha1.RegoVersion) ast.RegoVersion {
	if v == v1alpha1.RegoV0 {
		return ast.RegoV0
	}
	return ast.RegoV1
}
