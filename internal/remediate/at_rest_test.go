// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// A plan that rests says of which generation it speaks, once.
func TestAPlanAtRestSpeaksOfWhatIsAskedOfIt(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "plan", Generation: 2},
		Spec:   v1alpha1.RemediationSpec{Plan: v1alpha1.RemediationPlan{Targets: 20, Waves: fixture.PlannedWaves(20)}},
		Status: v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseSucceeded, ObservedGeneration: 1}}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rem).WithStatusSubresource(rem).Build()
	c := &Controller{client: server, clock: clocktesting.NewFakePassiveClock(time.Unix(9, 0))}
	var version string
	for _, when := range []string{"first", "again"} {
		now := &v1alpha1.Remediation{}
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(rem), now); err != nil {
			t.Fatal(err)
		}
		if err := c.tellAtRest(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if when == "again" && now.ResourceVersion != version {
			t.Error("it is written again, though nothing has changed")
		}
		version = now.ResourceVersion
		var types []string
		for _, told := range now.Status.Conditions {
			types = append(types, told.Type)
		}
		slices.Sort(types)
		if !slices.Equal(types, []string{"Complete", "Ended", "Progressing", "Ready"}) ||
			now.Status.ObservedGeneration != 2 {
			t.Errorf("%s: %q of generation %d", when, types, now.Status.ObservedGeneration)
		}
		if ready := meta.FindStatusCondition(
			now.Status.Conditions, v1alpha1.ConditionReady); ready.ObservedGeneration != 2 {
			t.Errorf("%s: Ready speaks of generation %d", when, ready.ObservedGeneration)
		}
	}
}

func TestRests(t *testing.T) {
	cases := map[string]struct {
		reason string
		phase  v1alpha1.RemediationPhase
		undo   bool
		done   int32
		goes   bool
		want   bool
	}{
		"A plan at work never rests":        {phase: v1alpha1.PhaseApplying, done: 1},
		"An ended plan rests":               {phase: v1alpha1.PhaseSucceeded, done: 1, want: true},
		"One that is to be undone doesn't":  {phase: v1alpha1.PhaseSucceeded, done: 1, undo: true},
		"One of which nothing stands rests": {phase: v1alpha1.PhaseRolledBack, undo: true, want: true},
		"A dry run has written nothing": {
			reason: "its targets count as done", phase: v1alpha1.PhasePreviewed, done: 1, undo: true, want: true},
		"One that is being deleted can't be held back": {phase: v1alpha1.PhaseSucceeded, done: 1, undo: true,
			goes: true, want: true},
		"What stands of one that was rolled back is undone": {phase: v1alpha1.PhaseRolledBack, done: 2, undo: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := &v1alpha1.Remediation{}
			rem.Status.Phase, rem.Status.Counts.Done = tc.phase, tc.done
			if tc.undo {
				rem.Spec.DesiredState = v1alpha1.StateUndone
			}
			if tc.goes {
				rem.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)}
			}
			if got := rem.Rests(); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}
