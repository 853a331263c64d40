// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
)

// resultVar is bound to what a part gives. It is no identifier of Rego, so no rule
// has a variable of that name.
const resultVar = ast.Var("the result")

// rule is one rule of the entry package, ready to be asked.
type rule struct {
	name string
	// parts give the elements together. Each is asked on its own, so that one which
	// fails or is stopped takes nothing from the others.
	parts []part
}

// part is a prepared query for elements of a rule.
type part struct {
	body ast.Body
	// queries is nil for a body that the compiler has compiled already.
	queries ast.QueryCompiler
	// each says that every answer is one element; otherwise the one answer is the
	// collection of all of them.
	each bool
}

// prepare makes a part of each definition of a rule, `deny contains … if …`. A
// rule of another form is one part, its value.
func prepare(compiler *ast.Compiler, entry ast.Ref, name string) (rule, error) {
	ref := entry.Append(ast.StringTerm(name))
	if definitions := setDefinitions(compiler.RuleTree.Find(ref)); len(definitions) > 0 {
		parts := make([]part, 0, len(definitions))
		for _, definition := range definitions {
			body := slices.Clone(definition.Body)
			body.Append(ast.Equality.Expr(ast.NewTerm(resultVar), definition.Head.Key))
			parts = append(parts, part{body: body, each: true})
		}
		return rule{name: name, parts: parts}, nil
	}
	queries := compiler.QueryCompiler()
	body, err := queries.Compile(ast.NewBody(ast.Equality.Expr(ast.NewTerm(resultVar), ast.NewTerm(ref))))
	if err != nil {
		return rule{}, fmt.Errorf("prepare %s: %w", name, err)
	}
	return rule{name: name, parts: []part{{body: body, queries: queries}}}, nil
}

// setDefinitions are the definitions of a rule that is nothing but a set; none
// for a rule of another form.
func setDefinitions(node *ast.TreeNode) []*ast.Rule {
	if node == nil || len(node.Children) > 0 {
		return nil
	}
	for _, r := range node.Values {
		if r.Head.RuleKind() != ast.MultiValue || r.Head.Key == nil || len(r.Head.Ref()) != 1 || r.Default ||
			r.Else != nil {
			return nil
		}
	}
	return node.Values
}

// elements asks all parts of a rule, and lists what they hold; nothing when the
// policy lacks the rule or the rule is undefined. What was found before an error,
// and in spite of one, is in the list.
func (e *evaluation) elements(ctx context.Context, name string) ([]*ast.Term, error) {
	var found []*ast.Term
	var problems []error
	for i := range e.policy.rules[name].parts {
		e.watch.Begin()
		elements, err := e.ask(ctx, name, &e.policy.rules[name].parts[i])
		err = cmp.Or(err, e.watch.Refused())
		found = append(found, elements...)
		if err != nil {
			problems = append(problems, e.explain(ctx, name, err))
		}
	}
	return found, firstOf(problems)
}

// ask runs the query of one part. A panic is an error of that part.
func (e *evaluation) ask(ctx context.Context, name string, p *part) (found []*ast.Term, err error) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case budget.ErrDeep, budget.ErrCopied, budget.ErrGathered:
			err = fmt.Errorf("%w: %w", budget.ErrMemory, cause.(error))
		default:
			err = fmt.Errorf("the engine panicked: %v", cause)
		}
	}()
	seen := ast.NewSet()
	query := topdown.NewQuery(p.body).
		WithQueryCompiler(p.queries).
		WithCompiler(e.policy.compiler).
		WithStore(e.store).
		WithInput(e.input).
		WithTime(e.now).
		WithCancel(e.watch).
		WithVirtualCache(e.cache).
		WithMetrics(metrics.NoOp()).
		WithStrictBuiltinErrors(e.policy.definition.Spec.Rego.Strict())
	if e.guard != nil {
		query = query.WithQueryTracer(e.guard)
	}
	if e.trace != nil {
		e.trace.begin(name)
		query = query.WithQueryTracer(e.trace).WithIndexing(false) // rules that an index leaves out aren't in a trace
	}
	err = query.Iter(ctx, func(answer topdown.QueryResult) error {
		if !p.each {
			list, err := e.decoder.elements(name, answer[resultVar])
			found = list
			return err
		}
		if element := answer[resultVar]; !seen.Contains(element) {
			seen.Add(element)
			found = append(found, element)
		}
		if len(found) > maxFound {
			return errTooMany
		}
		return nil
	})
	if len(found) > maxFound {
		return found[:maxFound], errTooMany
	}
	return found, err
}

// explain says which rule failed, and of a stop whether time or the caller made it.
func (e *evaluation) explain(ctx context.Context, name string, err error) error {
	var kind notASet
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("rule %s is %s: it must be a set, as in `%s contains …`", name, article(string(kind)),
			name)
	case e.watch.Deep():
		e.cache = topdown.NewVirtualCache()
		return fmt.Errorf("%w in rule %s: its rules ask for one another too deep", budget.ErrMemory, name)
	case e.watch.Exhausted():
		e.cache = topdown.NewVirtualCache() // it may hold what is too much
		return fmt.Errorf("%w in rule %s: what it holds together grows too large", budget.ErrMemory, name)
	case !topdown.IsCancel(err):
		return fmt.Errorf("rule %s: %w", name, err)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return fmt.Errorf("%w of %s in rule %s: make its rules cheaper", budget.ErrTime, e.watch.Limit(), name)
	}
}
