// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// maxBrief is the most that the built-ins of a brief evaluation may make together, in bytes.
const maxBrief = 8 << 20

// Brief holds an evaluation to a moment. It has no parts and takes no turns: what doesn't end
// in time is begun anew with a Watch. It is OPA's topdown.Cancel, and a Meter.
type Brief struct {
	timer        *time.Timer
	over         atomic.Bool
	made, hashed int64
	scale        *size.Scale
	refusals
}

// Meter is what built-ins ask that make much. The Cancel of an evaluation is one.
type Meter interface {
	// Spend counts what a built-in is about to make, in bytes; false when it is too much.
	Spend(bytes int64) bool
	// Heavy says that a value takes too long to compare.
	Heavy(v ast.Value) bool
	// MostBytes is the longest text that may be made.
	MostBytes() int64
	// Refuse remembers that a call was refused because of a limit, and why: the evaluation goes on, and
	// whoever reads what it gave must ask Refused.
	Refuse(why error)
}

// NewBrief begins an evaluation's time.
func NewBrief(allowed time.Duration, scale *size.Scale) *Brief {
	b := &Brief{scale: scale}
	b.timer = time.AfterFunc(allowed, b.Cancel)
	return b
}

// Stop ends it; nothing is stopped by it any more.
func (b *Brief) Stop() { b.timer.Stop() }

// Cancel stops the evaluation.
func (b *Brief) Cancel() { b.over.Store(true) }

// Cancelled says that the evaluation must stop.
func (b *Brief) Cancelled() bool { return b.over.Load() }

// Spend counts what a built-in is about to make; false when it is too much.
func (b *Brief) Spend(bytes int64) bool {
	b.made += bytes
	return b.made <= maxBrief
}

// Heavy says that a value takes too long to compare.
func (b *Brief) Heavy(v ast.Value) bool { return b.scale.Exceeds(v) }

// MostBytes is the longest text that may be made.
func (b *Brief) MostBytes() int64 { return b.scale.MostBytes() }

// BriefFunctions are the functions that rules call to have weighed what they gather. Any
// number of brief evaluations may share them.
func BriefFunctions() map[string]*topdown.Builtin {
	return map[string]*topdown.Builtin{
		string(Weigh):     briefly(Weigh, (*Brief).Heavy),
		string(WeighText): briefly(WeighText, (*Brief).longText),
	}
}

func briefly(name ast.Var, heavy func(*Brief, ast.Value) bool) *topdown.Builtin {
	return &topdown.Builtin{
		Decl: declOf(name),
		Func: func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
			if b, ok := bctx.Cancel.(*Brief); !ok || heavy(b, operands[0].Value) {
				return topdown.Halt{Err: ErrHeavy}
			}
			return iter(nil)
		},
	}
}

func (b *Brief) longText(v ast.Value) bool { return hashedTooMuch(v, &b.hashed) }
