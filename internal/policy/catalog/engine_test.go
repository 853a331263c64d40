// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// TestEvaluationsAreCountedByEngine, and those of a deleted policy no longer.
func TestEvaluationsAreCountedByEngine(t *testing.T) {
	const metric = "evenkeel_engine_evaluations_total"
	c := catalog.New(catalog.Options{TimeLimit: time.Minute, Engine: rego.CompiledEngine})
	registry := prometheus.NewRegistry()
	if err := c.RegisterMetrics(registry); err != nil {
		t.Fatal(err)
	}
	for name, rule := range map[string]string{
		"compiled": `deny contains "x" if input.object`,
		"fails":    `deny contains "x" if to_number(input.object.kind) > 1`,
		"topdown":  `deny contains "x" if { some x in ["a", "b"]; count({x, "a"}) == 1 }`,
	} {
		if err := c.Set(withRego(name, "package p\n\nimport rego.v1\n\n"+rule)); err != nil {
			t.Fatal(err)
		}
	}
	c.Snapshot().Evaluate(t.Context(), podRequest())
	c.Snapshot().EvaluateOne(t.Context(), "compiled", podRequest())
	counted := func(lines ...string) {
		t.Helper()
		want := strings.Join(lines, "\n") + "\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), metric); err != nil {
			t.Error(err)
		}
	}
	help := "# HELP " + metric + " Evaluations of policies, of admission, the scan and fixes, by policy, by engine " +
		"(compiled, topdown) and by the reason for which topdown evaluated the rules although the compiled engine is " +
		"in use (NotCompilable, EngineStopped, EvaluationFailed; empty otherwise).\n# TYPE " + metric + " counter"
	compiled := metric + `{engine="compiled",policy="compiled",reason=""} 2`
	fails := metric + `{engine="topdown",policy="fails",reason="EvaluationFailed"} 1`
	counted(help, compiled, fails, metric+`{engine="topdown",policy="topdown",reason="NotCompilable"} 1`)
	c.Delete("topdown")
	counted(help, compiled, fails)
}
