// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// bare asks for all that has defaults of its own, and gives none of them.
func bare() v1alpha1.RemediationStrategySpec {
	return v1alpha1.RemediationStrategySpec{
		Windows: []v1alpha1.MaintenanceWindow{{Schedule: "0 22 * * *"}},
		Analysis: &v1alpha1.AnalysisStrategy{
			Metrics: []v1alpha1.AnalysisMetric{{Name: "errors", Query: "q", SuccessCondition: "sample < 1.0"}}},
		Breaker: v1alpha1.BreakerStrategy{SLO: &v1alpha1.SLOStrategy{Query: "q", Objective: "99.9"}},
	}
}

// TestAPlansStrategyNeedsNoDefault: a plan is made with a strategy that is resolved, and
// stored. Read again, by a version with other defaults say, nothing of it is absent that
// has a default.
func TestAPlansStrategyNeedsNoDefault(t *testing.T) {
	strategy, policy := bare(), v1alpha1.PolicyRemediation{}
	strategy.SetDefaults()
	policy.SetDefaults()
	text, err := json.Marshal(canary.Rollout(policy, &strategy, 20))
	if err != nil {
		t.Fatal(err)
	}
	var stored map[string]any
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	// What bare leaves out, as it is written down. A change of a default changes this list,
	// and no plan that exists.
	want := map[string]any{
		"mode": "Disabled", "allowedActions": []any{"Patch"}, "maxInFlight": 10.0, "progressDeadline": "10m0s",
		"retryLimit": 5.0,
		"windows":    []any{map[string]any{"schedule": "0 22 * * *", "duration": "0s", "timeZone": "UTC"}},
		"metrics": []any{map[string]any{
			"name": "errors", "query": "q", "successCondition": "sample < 1.0", "interval": "30s", "samples": 3.0,
		}},
		"approvalTimeout": "24h0m0s", "escalationDeadline": "30m0s", "onFailure": "Rollback", "rollbackScope": "Wave",
		"managedObjects": "Notify",
		"breaker": map[string]any{
			"consecutiveFailures": 3.0, "failurePercent": 20.0, "minSamples": 5.0, "window": "30m0s",
			"cooldown": "30m0s",
			"storm":    map[string]any{"newViolations": 100.0},
			"slo":      map[string]any{"query": "q", "objective": "99.9", "period": "720h0m0s"},
		},
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("the stored strategy (-want +got):\n%s", diff)
	}
}

// TestDefaultsAreResolvedOnce: resolving what is resolved changes nothing.
func TestDefaultsAreResolvedOnce(t *testing.T) {
	once := bare()
	once.SetDefaults()
	twice := once.DeepCopy()
	twice.SetDefaults()
	if diff := cmp.Diff(&once, twice); diff != "" {
		t.Errorf("resolved again (-once +twice):\n%s", diff)
	}
}

// TestNothingIsWrittenThatWasNotAuthored: what has no value leaves no trace, not even an
// empty object.
func TestNothingIsWrittenThatWasNotAuthored(t *testing.T) {
	text, err := json.Marshal(v1alpha1.RegoPolicySpec{Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var spec map[string]any
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"admission", "remediation", "parameters", "severity", "owner", "runbookURL"} {
		if value, has := spec[field]; has {
			t.Errorf("%s is written as %v", field, value)
		}
	}
	source, err := json.Marshal(v1alpha1.PolicySourceSpec{URL: "https://example.com/policies.git"})
	if err != nil || string(source) != `{"url":"https://example.com/policies.git"}` {
		t.Errorf("a source with nothing but its URL is written as %s, %v", source, err)
	}
}
