// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/test/fixture"
)

func TestATargetThatIsSetBackFailsAloneAndIsCounted(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	since := metav1.NewMicroTime(now.Add(-time.Hour))
	o := Observation{Now: now, Targets: []TargetView{
		{Object: v1alpha1.ObjectReference{Name: "a", UID: "ua"}, Wave: 1, State: v1alpha1.TargetVerified,
			Check: &Check{CheckPassed, "", ""}},
		{Object: v1alpha1.ObjectReference{Name: "b", UID: "ub"}, Wave: 1, State: v1alpha1.TargetVerified,
			Check: &Check{CheckSetBack, v1alpha1.ReasonFighting, "night-job set it back"}},
	}}
	o.Spec.Plan.Hash, o.Spec.Plan.Waves = "0123456789abcdef0123", fixture.PlannedWaves(1, 2)
	o.Spec.Plan.Rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
	o.Status.Phase, o.Status.Wave, o.Status.HealthyTime = v1alpha1.PhaseSoaking, 1, &since

	intent, err := Step(o)
	if err != nil {
		t.Fatal(err)
	}
	if intent.Phase != v1alpha1.PhaseApplying {
		t.Errorf("the wave isn't rolled back for it: want %s, got %s: %s", v1alpha1.PhaseApplying, intent.Phase,
			intent.Message)
	}
	marks := []Mark{
		{Target: 1, State: v1alpha1.TargetFailed, Reason: v1alpha1.ReasonFighting, Message: "night-job set it back"},
		{Target: 0, State: v1alpha1.TargetDone},
	}
	if diff := cmp.Diff(marks, intent.Marks); diff != "" {
		t.Errorf("marks: -want +got\n%s", diff)
	}
	got := map[circuit.EventType]int32{}
	for _, outcome := range intent.Outcomes {
		got[outcome.Type] += outcome.Count
	}
	want := map[circuit.EventType]int32{circuit.TargetFailed: 1, circuit.TargetSucceeded: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes: -want +got\n%s", diff)
	}
}
