// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/demo/internal/fleet"
)

// planned is a rollout with one target a wave letter, in the given states.
func planned(waves string, states ...v1alpha1.TargetState) *rollout {
	r := &rollout{}
	slice := v1alpha1.RemediationSlice{}
	for i, wave := range waves {
		slice.Targets = append(slice.Targets, v1alpha1.Target{
			Object: v1alpha1.ObjectReference{Namespace: "shop", Name: string(rune('a' + i))}, Wave: wave - '0'})
	}
	for _, state := range states {
		slice.Records = append(slice.Records, v1alpha1.TargetRecord{State: state})
	}
	r.slices = []v1alpha1.RemediationSlice{slice}
	r.plan.Spec.Plan.Targets = int32(len(waves))
	r.plan.Spec.Plan.Waves = make([]v1alpha1.PlannedWave, waves[len(waves)-1]-'0'+1)
	return r
}

func at(name string, second int) fleet.Write {
	return fleet.Write{Object: types.NamespacedName{Namespace: "shop", Name: name}, At: time.Unix(int64(second), 0),
		Manager: v1alpha1.FieldManager}
}

func TestChecksOfTheOrder(t *testing.T) {
	cases := map[string]struct {
		reason string
		writes []fleet.Write
		alone  bool
		waves  bool
	}{
		"canary, soak, wave, soak, wave": {
			"as it must be", []fleet.Write{at("a", 0), at("b", 5), at("c", 6), at("d", 10)}, true, true},
		"the wave comes while the canary soaks": {
			"it proved nothing yet", []fleet.Write{at("a", 0), at("b", 1), at("c", 6), at("d", 10)}, false, false},
		"another object goes first": {
			"it isn't the canary", []fleet.Write{at("b", 0), at("a", 5), at("c", 6), at("d", 10)}, false, false},
		"a straggler of an earlier wave": {
			"its wave wasn't over", []fleet.Write{at("a", 0), at("b", 5), at("d", 10), at("c", 15)}, true, false},
		"only the canary was written": {"there were no waves", []fleet.Write{at("a", 0)}, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := planned("0112")
			seen, alone, err := canaryAlone(r, tc.writes)(context.Background())
			if err != nil || alone != tc.alone {
				t.Errorf("canary alone: got %t (%s), %v; want %t: %s", alone, seen, err, tc.alone, tc.reason)
			}
			seen, waves, err := wavesInOrder(r, tc.writes)(context.Background())
			if err != nil || waves != tc.waves {
				t.Errorf("waves in order: got %t (%s), %v; want %t: %s", waves, seen, err, tc.waves, tc.reason)
			}
		})
	}
}

func TestAllDoneNeedsEveryRecord(t *testing.T) {
	r := planned("01", v1alpha1.TargetDone, v1alpha1.TargetVerified)
	r.plan.Status.Phase, r.plan.Status.Counts.Done = v1alpha1.PhaseSucceeded, 2
	if seen, holds, _ := allDone(r)(context.Background()); holds {
		t.Errorf("got %s taken for done: one record is only Verified", seen)
	}
}

func TestALineShowsWhereARolloutIs(t *testing.T) {
	r := planned("01", v1alpha1.TargetDone, v1alpha1.TargetVerified)
	r.plan.Status.Phase, r.plan.Status.Wave, r.plan.Status.Counts.Done = v1alpha1.PhaseApplying, 1, 1
	want := "  1.0s  Applying     wave 1   0 pending, 0 in flight, 1 done, 0 skipped, 0 failed, 0 reverted; " +
		"not scanned yet; breaker Closed"
	if got := r.line(time.Second); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestQuoted(t *testing.T) {
	want := `patch policy x -p '{"a":1}'`
	if got := quoted([]string{"patch", "policy", "x", "-p", `{"a":1}`}); got != want {
		t.Errorf("got %s, want %s: it must be possible to paste the line", got, want)
	}
}
