// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"strconv"

	"github.com/google/cel-go/cel"
	celenv "github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// conditionEnv is the language of conditions: numbers, their arithmetic and
// comparison, and logic. Arithmetic is our own, because CEL's lets NaN and
// infinity through, and every comparison with NaN is false: the negation of one
// would pass. Here they are errors.
func conditionEnv() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(logicAndComparison())),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(conditionLength),
		cel.Variable(sampleVariable, cel.DoubleType),
		cel.Variable(baselineVariable, cel.DoubleType),
		cel.Function(operators.Negate, cel.Overload("negate_number", []*cel.Type{cel.DoubleType}, cel.DoubleType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return -v.(types.Double) }))),
	}
	for operator, of := range arithmetic() {
		options = append(options, cel.Function(operator,
			numbers(operator, of, cel.DoubleType, cel.DoubleType),
			numbers(operator, of, cel.DoubleType, cel.IntType),
			numbers(operator, of, cel.IntType, cel.DoubleType)))
	}
	return cel.NewCustomEnv(options...)
}

func logicAndComparison() *celenv.LibrarySubset {
	subset := celenv.NewLibrarySubset().SetDisableMacros(true)
	for _, name := range []string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot,
		operators.Conditional,
		operators.Equals, operators.NotEquals} {
		subset.AddIncludedFunctions(celenv.NewFunction(name))
	}
	for name, ids := range map[string][]string{
		operators.Less: {overloads.LessDouble, overloads.LessDoubleInt64, overloads.LessInt64Double},
		operators.LessEquals: {overloads.LessEqualsDouble, overloads.LessEqualsDoubleInt64,
			overloads.LessEqualsInt64Double},
		operators.Greater: {overloads.GreaterDouble, overloads.GreaterDoubleInt64, overloads.GreaterInt64Double},
		operators.GreaterEquals: {overloads.GreaterEqualsDouble, overloads.GreaterEqualsDoubleInt64,
			overloads.GreaterEqualsInt64Double},
	} {
		f := celenv.NewFunction(name)
		for _, id := range ids {
			f.Overloads = append(f.Overloads, celenv.NewOverload(id, nil, nil))
		}
		subset.AddIncludedFunctions(f)
	}
	return subset
}

func arithmetic() map[string]func(a, b float64) float64 {
	return map[string]func(a, b float64) float64{
		operators.Add:      func(a, b float64) float64 { return a + b },
		operators.Subtract: func(a, b float64) float64 { return a - b },
		operators.Multiply: func(a, b float64) float64 { return a * b },
		operators.Divide:   func(a, b float64) float64 { return a / b },
	}
}

// numbers is an operator for two types of numbers; what isn't finite is an error.
// Two whole numbers have none: their division would drop the rest unseen.
func numbers(operator string, of func(a, b float64) float64, left, right *cel.Type) cel.FunctionOpt {
	id := operator + "_" + left.TypeName() + "_" + right.TypeName()
	return cel.Overload(id, []*cel.Type{left, right}, cel.DoubleType, cel.BinaryBinding(func(l, r ref.Val) ref.Val {
		a, b := number(l), number(r)
		result := of(a, b)
		if !finite(result) {
			sign, _ := operators.FindReverseBinaryOperator(operator)
			return types.WrapErr(calculationError{a: a, b: b, operator: sign})
		}
		return types.Double(result)
	}))
}

func number(v ref.Val) float64 {
	switch n := v.(type) {
	case types.Double:
		return float64(n)
	case types.Int:
		return float64(n)
	default:
		return 0 // the type checker lets no other through
	}
}

// calculationError is a calculation whose result is no finite number.
type calculationError struct {
	a, b     float64
	operator string
}

func (e calculationError) Error() string {
	return Number(e.a) + " " + e.operator + " " + Number(e.b) + " " + errNoNumber.Error()
}

func (e calculationError) Unwrap() error { return errNoNumber }

// Number writes a number for people and for the API, in the fewest digits that
// give it back exactly.
func Number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
