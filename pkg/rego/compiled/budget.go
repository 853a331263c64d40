// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
)

// What stops an evaluation besides its context and its Cancel.
var (
	// ErrSteps says that it took more steps than the budget has.
	ErrSteps = errors.New("the evaluation takes too many steps")
	// ErrMemory says that it made more values than the budget has.
	ErrMemory = errors.New("the evaluation makes too many values")
	// ErrDepth says that calls are nested too deep.
	ErrDepth = errors.New("calls of rules are nested too deep")
)

const (
	// stepsBetweenLooks is how many steps are taken before Cancel is asked again.
	stepsBetweenLooks = 16
	// maxDepth is how deep calls may be nested. A policy can't call itself, so that this is
	// about as many rules as there are in one after the other.
	maxDepth = 5000
	// bytesOfCell is how much text counts as one value.
	bytesOfCell = 64
	// bytesOfStep is how large a value may be that is compared, hashed or sorted in about the time of a step.
	bytesOfStep = 256
	// fewCells is how many values may be made before elements and keys are weighed: most rules look at parts of the
	// input only, and weighing those takes longer than anything else that is done with them.
	fewCells = 1000
	// longText is from how many bytes on it may take longer to compare, search or hash a text than a few
	// steps do, and longArray likewise for the elements of an array that are looked at one after the other.
	longText, longArray = 4096, 256
	// digitsOfInteger is how long a number may be that is compared as an integer; the time for any other grows with the
	// square of its digits.
	digitsOfInteger = 19
)

// Budget bounds an evaluation. Where a bound isn't positive there is none.
type Budget struct {
	// Steps is how many turns of loops and calls of functions there may be; large values that are compared, hashed or
	// sorted count for more.
	Steps int64
	// Values is how many values may be made: collections, their elements, what built-in
	// functions give, each 64 bytes of a text as one.
	Values int64
}

// budget counts what an evaluation takes.
type budget struct {
	limit Budget
	// steps and cells were used; due is when Cancel is asked next.
	steps, due, cells int64
}

func (b *budget) begin(o *Options) {
	*b = budget{limit: o.Budget, due: stepsBetweenLooks}
}

// tick counts a step.
func (m *machine) tick() outcome {
	if m.steps++; m.steps < m.due {
		return next
	}
	return m.inspect()
}

func (m *machine) inspect() outcome {
	m.due = m.steps + stepsBetweenLooks
	if m.options.Cancel != nil && m.options.Cancel.Cancelled() {
		return m.fail(cancelled())
	}
	if m.ctx.Err() != nil {
		return m.fail(cancelled())
	}
	if m.limit.Steps > 0 && m.steps > m.limit.Steps {
		return m.fail(ErrSteps)
	}
	return m.made(0)
}

// made counts values.
func (m *machine) made(values int64) outcome {
	m.cells += values
	if m.limit.Values > 0 && m.cells > m.limit.Values {
		return m.fail(ErrMemory)
	}
	return next
}

// gave counts what a built-in function gave.
func (m *machine) gave(t *ast.Term) outcome {
	if s, ok := t.Value.(ast.String); ok {
		return m.made(int64(len(s))/bytesOfCell + 1)
	}
	return m.made(lengthOf(t) + 1)
}

func (m *machine) deeper() outcome {
	if m.depth >= maxDepth {
		return m.fail(ErrDepth)
	}
	return next
}

// large says that one comparison of a value, or looking it up, may take as long as many thousand steps: how
// much a collection holds isn't known without looking at all of it.
func large(t *ast.Term) bool {
	switch v := t.Value.(type) {
	case ast.String:
		return len(v) >= longText
	case ast.Number:
		return len(v) > digitsOfInteger
	case ast.Boolean, ast.Null:
		return false
	case *ast.Array:
		return v.Len() > 0
	default:
		return true
	}
}

// isLongText says that a value is a text which takes long to hash. What a collection hashes to, it knows.
func isLongText(t *ast.Term) bool {
	text, ok := t.Value.(ast.String)
	return ok && len(text) >= longText
}

// before weighs a value that becomes an element of a set or a key: equal ones are compared, and all are sorted some
// time. As long as few values were made, rules make a large one on purpose only.
func (m *machine) before(element *ast.Term) outcome {
	if !large(element) {
		return next
	}
	if m.cells < fewCells && !isLongText(element) {
		return m.inspect()
	}
	return m.weigh(element)
}

// beforeEntry does so before a key and its value become an entry of an object.
func (m *machine) beforeEntry(key, value *ast.Term) outcome {
	if m.before(key) == failed {
		return failed
	}
	return m.beforeHash(value)
}

// beforeHash weighs a text that is hashed.
func (m *machine) beforeHash(t *ast.Term) outcome {
	if !isLongText(t) {
		return next
	}
	return m.weigh(t)
}

// beforeBoth weighs the smaller of two values that are compared: with one that isn't large, that doesn't take long.
func (m *machine) beforeBoth(a, b *ast.Term) outcome {
	if !large(a) || !large(b) {
		return next
	}
	return m.weigh(a, b)
}

// weigh takes steps for what is done with all parts of the smallest of values at once, which nothing stops, and asks
// whether to go on with it.
func (m *machine) weigh(values ...*ast.Term) outcome {
	if m.limit.Steps > 0 {
		least := (m.limit.Steps - m.steps + 1) * bytesOfStep
		for _, t := range values {
			least = min(least, Size(t.Value, least))
		}
		m.steps += least / bytesOfStep
	}
	return m.inspect()
}
