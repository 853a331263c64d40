package rego

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// errHeavy ends the evaluation that makes a value which takes too long to compare.
var errHeavy = errors.New("a value holds too much, written out")

// weigh is the function that rules call, unseen, with what a comprehension has gathered.
// No text of a policy can name it: it is no identifier of Rego.
const weigh = ast.Var("weigh what is gathered")

// weighText is called likewise, with each element of a list.
const weighText = ast.Var("weigh a text")

// scaleOf weighs for one evaluation. What rules may do with the input as it is, they must
// be able to do with all copies that they may make of it.
func (c *Compiled) scaleOf(in *Input) (*scale, error) {
	parts, size := in.sizes()
	if size/4 > c.most {
		return nil, fmt.Errorf("%w: the input is too large for rules that hold one part of it so many times", ErrMemoryLimit)
	}
	return &scale{most: max(c.most, size), input: parts, known: map[ast.Value]int64{}, remember: largeValue}, nil
}

// weighing are the functions of one evaluation that weigh.
func (w *watch) weighing() map[string]*topdown.Builtin {
	out := map[string]*topdown.Builtin{}
	for name, heavy := range map[ast.Var]func(ast.Value) bool{weigh: w.heavy, weighText: w.longText} {
		out[string(name)] = &topdown.Builtin{
			Decl: &ast.Builtin{Name: string(name), Decl: types.NewFunction(types.Args(types.A), nil), CanSkipBctx: true},
			Func: func(_ topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
				if heavy(operands[0].Value) {
					return topdown.Halt{Err: errHeavy}
				}
				return iter(nil)
			},
		}
	}
	return out
}

// longText counts the texts in lists that take more than a moment to hash, and says when
// they are too much.
func (w *watch) longText(v ast.Value) bool {
	text, ok := v.(ast.String)
	if !ok || len(text) < longText {
		return false
	}
	w.hashed += int64(len(text))
	return w.hashed > maxHashed
}

// heavy says that a value takes too long to compare.
func (w *watch) heavy(v ast.Value) bool { return w.scale.of(v) > w.scale.most }

// weighedRules are the values that rules gave: each passes here before it is used.
type weighedRules struct {
	topdown.VirtualCache
	watch *watch
}

// Put keeps what a rule gave, and ends the evaluation if that is too much.
func (r *weighedRules) Put(ref ast.Ref, value *ast.Term) {
	if value != nil && r.watch.heavy(value.Value) {
		panic(errHeavy)
	}
	r.VirtualCache.Put(ref, value)
}
