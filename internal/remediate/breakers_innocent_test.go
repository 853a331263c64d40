// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// Only what speaks against the fix counts as a failure: a denial by admission, and
// what verification finds. An API server that is busy or down, somebody else's
// write and an owner's no say nothing of it, however often they come.
func TestWhatTheBreakersNeverCount(t *testing.T) {
	web := schema.GroupResource{Group: "apps", Resource: "deployments"}
	cases := map[string]struct {
		reason string
		err    error
		optOut bool
		tries  int32 // that have failed before
		want   int
	}{
		"A conflict (409)": {
			reason: "Somebody else wrote first.", err: apierrors.NewConflict(web, "web", errors.New("it has changed"))},
		"A throttled call (429)": {
			reason: "The API server is busy.", err: apierrors.NewTooManyRequests("slow down", 1)},
		"A server that is down (503)": {
			reason: "The API server is down.", err: apierrors.NewServiceUnavailable("no leader")},
		"A server that is slow (504)": {
			reason: "The API server is slow.", err: apierrors.NewTimeoutError("too slow", 1)},
		"A 503 that outlasts every try": {
			reason: "The target fails, the fix hasn't.", err: apierrors.NewServiceUnavailable("no leader"), tries: 20},
		"A permission that is missing (403)": {
			reason: "RBAC said no.", err: apierrors.NewForbidden(web, "web", errors.New("RBAC: not allowed"))},
		"An object that is gone (404)": {
			reason: "Nothing is left to fix.", err: apierrors.NewNotFound(web, "web")},
		"An owner's no": {reason: "The object has opted out.", optOut: true},
		"A denial by a webhook does count": {
			reason: "It speaks against the fix.",
			err: apierrors.NewForbidden(
				web, "web", errors.New(`admission webhook "x.example.com" denied the request`)), want: 1},
		"A denial by an admission policy does too": {
			reason: "It speaks against the fix.",
			err: apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"},
				`web: ValidatingAdmissionPolicy 'p' denied`, nil), want: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem, slices, _, err := newFleet(1).plan()
			if err != nil {
				t.Fatal(err)
			}
			b := &record.Records{}
			b.Add(slices[0])
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			if tc.optOut {
				obj.SetAnnotations(map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused})
			}
			a := &fix.Attempt{Targets: &targets.Client{Clock: clocktesting.NewFakePassiveClock(breakertest.Noon)},
				Plan: rem.Spec.Plan, Target: b.Target(0),
				Previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Attempts: tc.tries}, Object: obj}
			p := &execute.Pass{Remediation: rem, Records: b, Save: func(context.Context) error { return nil }}
			rec := fix.RespectOptOut(t.Context(), a)
			if tc.err != nil {
				rec = a.FromError(tc.err)
			}
			if rec == nil {
				t.Fatal("the target's matter isn't settled")
			}
			p.SetRecord(0, *rec)
			if got := p.Denials(); len(got) != tc.want {
				t.Errorf("%s\n%d failures are counted, want %d; the target is %s: %s, %s", tc.reason, len(got), tc.want,
					rec.State, rec.Reason, rec.Message)
			}
		})
	}
}

// The same of whole rollouts: a fleet with all of it ends without a failure.
func TestARolloutThroughBadWeatherCountsNoFailure(t *testing.T) {
	s, err := newSimulation(newFleet(12).at(map[int]behaviour{
		1: {PreErrors: 3}, 2: {Conflicts: 2}, 3: {CheckErrors: 4}, 4: {Skips: v1alpha1.ReasonOptOut},
		5: {GoneBefore: true},
		6: {Heals: 30 * time.Second}, 7: {Answer: "lost"}, 8: {Answer: "landed"}, 9: {Skips: v1alpha1.ReasonManaged}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(2000); err != nil {
		t.Fatal(err)
	}
	succeeded := int32(0)
	for _, o := range s.told {
		if o.Harmed() || o.Type == circuit.PlanFailed {
			t.Errorf("a failure is counted: %+v", o)
		}
		if o.Type == circuit.TargetSucceeded {
			succeeded += o.Count
		}
	}
	if succeeded != 9 {
		t.Errorf("%d targets are counted as fixed, want 9 of 12", succeeded)
	}
}
