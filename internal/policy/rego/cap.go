package rego

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// ErrMemoryLimit is in the chain of Decision.Err when a policy was stopped because
// it made too much.
var ErrMemoryLimit = errors.New("stopped at its memory limit")

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
		if e.metered {
			ast.BuiltinMap[name].CanSkipBctx = false
		}
		topdown.RegisterBuiltinFunc(name, capped(e, original))
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

func capped(e limited, original topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		size, err := e.estimate(operands)
		if err != nil {
			return err
		}
		w, watched := bctx.Cancel.(*watch)
		most := int64(maxResult)
		if watched {
			most = min(most, w.scale.most*bytesOfUnit)
		}
		if size > most {
			return fmt.Errorf("its result may be of %d bytes or more: at most %d are allowed", size, most)
		}
		if !watched {
			return original(bctx, operands, iter)
		}
		if !w.spend(size) {
			return topdown.Halt{Err: ErrMemoryLimit}
		}
		if !e.gathers {
			return original(bctx, operands, iter)
		}
		return original(bctx, operands, func(result *ast.Term) error {
			if result != nil && w.heavy(result.Value) {
				return topdown.Halt{Err: errHeavy}
			}
			return iter(result)
		})
	}
}
