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
		topdown.RegisterBuiltinFunc(name, capped(e.estimate, original))
	}
}

// limited is the estimate of a built-in; metered says that what it makes counts towards
// the evaluation's limit.
type limited struct {
	estimate estimate
	metered  bool
	// why says what grows.
	why string
}

func capped(e estimate, original topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		size, err := e(operands)
		if err != nil {
			return err
		}
		if size > maxResult {
			return fmt.Errorf("its result may be of %d bytes or more: at most %d are allowed", size, int64(maxResult))
		}
		if w, ok := bctx.Cancel.(*watch); ok && !w.spend(size) {
			return topdown.Halt{Err: ErrMemoryLimit}
		}
		return original(bctx, operands, iter)
	}
}
