// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// maxHashed is how much text longer than longText an evaluation puts into lists, each
// time that it does.
const (
	maxHashed = 1 << 30
	longText  = 512
)

// Weigh is the function that rules call, unseen, with what a comprehension has gathered.
// No text of a policy can name it: it is no identifier of Rego.
const Weigh = ast.Var("weigh what is gathered")

// WeighText is called likewise, with each element of a list.
const WeighText = ast.Var("weigh a text")

// weighing are the functions of one evaluation that weigh.
func (w *Watch) weighing() map[string]*topdown.Builtin {
	out := map[string]*topdown.Builtin{}
	for name, heavy := range map[ast.Var]func(ast.Value) bool{Weigh: w.Heavy, WeighText: w.longText} {
		out[string(name)] = &topdown.Builtin{
			Decl: declOf(name),
			Func: func(_ topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
				if heavy(operands[0].Value) {
					return topdown.Halt{Err: ErrHeavy}
				}
				return iter(nil)
			},
		}
	}
	return out
}

func declOf(name ast.Var) *ast.Builtin {
	return &ast.Builtin{Name: string(name), Decl: types.NewFunction(types.Args(types.A), nil), CanSkipBctx: true}
}

func (w *Watch) longText(v ast.Value) bool { return hashedTooMuch(v, &w.hashed) }

// hashedTooMuch counts the texts in lists that take more than a moment to hash, and says when
// they are too much.
func hashedTooMuch(v ast.Value, hashed *int64) bool {
	text, ok := v.(ast.String)
	if !ok || len(text) < longText {
		return false
	}
	*hashed += int64(len(text))
	return *hashed > maxHashed
}

// Heavy says that a value takes too long to compare.
func (w *Watch) Heavy(v ast.Value) bool { return w.scale.Exceeds(v) }

// MostBytes is the longest text that may be made.
func (w *Watch) MostBytes() int64 { return w.scale.MostBytes() }
