// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// TestStoppedEvaluationsAreCounted is what the alert EvenkeelPolicySlow goes by.
func TestStoppedEvaluationsAreCounted(t *testing.T) {
	m, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	m.judged(&policy.Request{DryRun: true}, &verdict{failed: []failure{
		{policy: "slow", err: fmt.Errorf("policy slow: %w", rego.ErrTimeLimit)},
		{policy: "slow", err: fmt.Errorf("policy slow: %w", rego.ErrMemoryLimit)},
		{policy: "broken", err: errors.New("another error")},
	}})
	for name, want := range map[string]float64{"slow": 2, "broken": 0} {
		if got := testutil.ToFloat64(m.stopped.WithLabelValues(name)); got != want {
			t.Errorf("policy %s: %g evaluations are counted as stopped, want %g", name, got, want)
		}
	}
}
