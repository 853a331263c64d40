// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"

	"github.com/prometheus/prometheus/promql/parser"
)

// CheckQuery says what is wrong with a PromQL query; nil when Prometheus can be
// asked for one sample by it. It is Prometheus' own parser that judges.
// Experimental functions are let through: whether they are switched on is the
// server's affair, and its refusal is never a pass.
func CheckQuery(query string) error {
	expr, err := parser.NewParser(parser.Options{
		EnableExperimentalFunctions: true, ExperimentalDurationExpr: true,
		EnableExtendedRangeSelectors: true, EnableBinopFillModifiers: true,
	}).ParseExpr(query)
	if err != nil {
		return fmt.Errorf("isn't PromQL: %w", err)
	}
	switch expr.Type() {
	case parser.ValueTypeVector, parser.ValueTypeScalar:
		return nil
	default:
		return fmt.Errorf("answers with a %s, not with one sample: aggregate it, for example sum(rate(…[5m]))",
			parser.DocumentedType(expr.Type()))
	}
}
