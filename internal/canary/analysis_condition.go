// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

const (
	// conditionCost bounds the evaluation of a condition, in CEL's units of cost:
	// about one an operator. The longest expression that the API takes needs less.
	conditionCost = 2000
	// conditionLength is the longest condition, in characters, as in the API.
	conditionLength = 1024

	sampleVariable   = "sample"
	baselineVariable = "baseline"
)

// errNoNumber: a condition is never judged by NaN or an infinity, neither as the
// answer of a query nor as the result of its own arithmetic.
var errNoNumber = errors.New("isn't a finite number")

// Condition is a metric's success condition: a CEL expression over the numbers
// sample and baseline.
type Condition struct {
	program       cel.Program
	needsBaseline bool
}

// CheckCondition says what is wrong with a success condition; nil when it can be
// evaluated.
func CheckCondition(expr string) error {
	_, err := ParseCondition(expr)
	return err
}

// ParseCondition compiles a success condition. It must be a CEL expression that
// is true or false, and that looks at sample. It may use + - * / (on doubles, with
// whole-number literals beside them), comparisons, && || ! and ?:. There are no
// functions, no macros, no strings' or lists' operators and no time.
func ParseCondition(expr string) (*Condition, error) {
	env, err := conditionEnv()
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	checked, issues := env.Compile(expr)
	if issues.Err() != nil {
		return nil, fmt.Errorf("isn't a condition: %s", explainIssues(issues))
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("must be true or false, not a %s: compare it, for example sample <= baseline * 1.1",
			checked.OutputType())
	}
	if !uses(checked, sampleVariable) {
		return nil, errors.New(
			"doesn't use sample, and so says nothing of the metric: compare it, for example sample < 0.05")
	}
	program, err := env.Program(checked, cel.CostLimit(conditionCost))
	if err != nil {
		return nil, fmt.Errorf("can't be evaluated: %w", err)
	}
	return &Condition{program: program, needsBaseline: uses(checked, baselineVariable)}, nil
}

// NeedsBaseline says whether the condition looks at baseline.
func (c *Condition) NeedsBaseline() bool { return c.needsBaseline }

// Met says whether a sample meets the condition. The baseline is looked at only
// if NeedsBaseline. It errs when a number that it needs, or comes upon, is NaN or
// infinite: such a sample is neither met nor missed.
func (c *Condition) Met(sample, baseline float64) (bool, error) {
	in := map[string]any{sampleVariable: sample}
	if !finite(sample) {
		return false, fmt.Errorf("the sample %s %w", Number(sample), errNoNumber)
	}
	if c.needsBaseline {
		if !finite(baseline) {
			return false, fmt.Errorf("the baseline %s %w", Number(baseline), errNoNumber)
		}
		in[baselineVariable] = baseline
	}
	out, _, err := c.program.Eval(in)
	if err != nil {
		return false, fmt.Errorf("evaluate the condition: %w", err)
	}
	return out == types.True, nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// explainIssues is the first of CEL's complaints in one line, with the advice
// that most need.
func explainIssues(issues *cel.Issues) string {
	first := issues.Errors()[0]
	message := fmt.Sprintf("column %d: %s", first.Location.Column()+1, first.Message)
	if strings.Contains(first.Message, "undeclared reference") {
		message += ": use sample, baseline, numbers, + - * /, comparisons, && || ! and ?:"
	}
	if strings.Contains(first.Message, "no matching overload") {
		message += ": write a calculation's whole numbers with a decimal point, for example 2.0"
	}
	return message
}

func uses(checked *cel.Ast, variable string) bool {
	root := celast.NavigateAST(checked.NativeRep())
	return len(celast.MatchDescendants(root, func(e celast.NavigableExpr) bool {
		return e.Kind() == celast.IdentKind && e.AsIdent() == variable
	})) > 0
}
