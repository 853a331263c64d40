// SPDX-License-Identifier: Apache-2.0

package builtins

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/limit"
)

// Bounds of what one call may make.
const (
	// maxResult is the most that it may make, in bytes.
	maxResult = 16 << 20
	// maxElements is the most elements that it may make.
	maxElements = 250_000
	// maxParsed is the longest text that is parsed as JSON, YAML, a key or a token.
	maxParsed = 1 << 20
	// maxKeys is the longest text that is parsed as keys, certificates and tokens.
	maxKeys = 64 << 10
	// bytesOfElement is what an element takes besides what it holds.
	bytesOfElement = 32
)

// estimate says how many bytes a call would make at most, before it does, or why it
// must not be made at all.
type estimate func(operands []*ast.Term) (int64, error)

// init puts the caps before OPA's own functions. OPA looks a function up in a table
// of the process, which a query can't override; so this is the one place where a
// package of ours changes something global, once, before anything is evaluated.
func init() {
	for name, e := range estimates() {
		original := topdown.GetBuiltin(name)
		if original == nil {
			panic("OPA has no built-in function " + name)
		}
		ast.BuiltinMap[name].CanSkipBctx = false // which brings the meter
		topdown.RegisterBuiltinFunc(name, capped(name, e, original))
	}
}

// limited is the estimate of a built-in; metered says that what it makes counts towards
// the evaluation's limit.
type limited struct {
	estimate estimate
	metered  bool
	// gathers says that it gives a collection, which is weighed.
	gathers bool
	// why says what grows.
	why string
}

func capped(name string, e limited, original topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		w, watched := bctx.Cancel.(limit.Meter)
		size, err := e.estimate(operands)
		if err != nil {
			return refused(name, bctx, err)
		}
		most := int64(maxResult)
		if watched {
			most = min(most, w.MostBytes())
		}
		if size > most {
			return refused(name, bctx,
				fmt.Errorf("its result may be of %d bytes or more: at most %d are allowed", size, most))
		}
		if !watched || !e.metered {
			return original(bctx, operands, iter)
		}
		if !w.Spend(size) {
			return topdown.Halt{Err: limit.ErrMemory}
		}
		if !e.gathers {
			return original(bctx, operands, iter)
		}
		return original(bctx, operands, func(result *ast.Term) error {
			if result != nil && w.Heavy(result.Value) {
				return topdown.Halt{Err: limit.ErrHeavy}
			}
			return iter(result)
		})
	}
}

// refused makes a call undefined because of a limit, so that whatever else its rule finds is found, and has
// the meter remember it: where built-in functions may fail unsaid (strictBuiltinErrors: false), an object would
// pass for being too large.
func refused(name string, bctx topdown.BuiltinContext, why error) error {
	err := &topdown.Error{Code: topdown.BuiltinErr, Location: bctx.Location, Message: name + ": " + why.Error()}
	if w, watched := bctx.Cancel.(limit.Meter); watched {
		w.Refuse(err)
	}
	return err
}
