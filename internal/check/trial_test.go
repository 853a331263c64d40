// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

func TestATrialCountsWhatAPolicyWouldDo(t *testing.T) {
	tried := aPolicy("p", "package p\n\nimport rego.v1\n\ndeny contains \"no\"", "ConfigMap")
	snapshot := inForce(t, []*v1alpha1.ClusterRegoPolicy{tried})
	p := snapshot.Definition("p")
	trials := check.NewTrials(snapshot)
	for i, name := range []string{"a", "b", "c", "d"} {
		subject := check.Subject{Object: map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
		trials.Took(&subject, []catalog.Result{{Decision: policy.Decision{Policy: "p"},
			Took: time.Duration(i+1) * time.Millisecond}})
	}
	violations := []policy.Violation{{Message: "no"}}
	report := &check.Report{Results: []check.Result{
		{Policy: p, Violations: violations, Fix: "a diff"},
		{Policy: p, Violations: violations, NoFix: "the policy proposes none for this object"},
		{Policy: p, Violations: violations, Waived: &catalog.Waiver{Name: "w"}},
		{Policy: p, Err: errors.New("stopped at its time limit")},
		{Policy: p, Warnings: violations},
	}}
	revision, _ := snapshot.Revision("p")
	want := []check.Trial{{
		Policy: "p", Action: v1alpha1.AdmissionDeny, Revision: revision, Objects: 4, Violating: 3, Waived: 1,
		Unjudged: 1, Proven: 1, Unfixed: map[string]int{"the policy proposes none for this object": 1},
		Mean: 2500 * time.Microsecond, Slowest: 4 * time.Millisecond, SlowestObject: "ConfigMap d"}}
	if diff := cmp.Diff(want, trials.Of(report)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
