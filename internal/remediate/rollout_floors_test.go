// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/test/fixture"
)

// flags are what the administrator asks of every strategy from some time on, as a
// manager has them that is started anew in the middle of a plan.
type flags struct {
	From        time.Duration
	MaxWave     string
	MaxInFlight int32
	MinSoak     time.Duration
}

func (f flags) floors() limits.Floors {
	out := limits.Floors{MaxInFlight: f.MaxInFlight, MinSoak: f.MinSoak}
	if f.MaxWave != "" {
		most := intstr.Parse(f.MaxWave)
		out.MaxWave = &most
	}
	return out
}

func (f flags) apply(s *simulation) {
	s.floors = func(s *simulation) limits.Floors {
		if s.since() < f.From {
			return limits.Floors{}
		}
		return f.floors()
	}
}

func anyFloors() *rapid.Generator[flags] {
	return rapid.Custom(func(t *rapid.T) flags {
		if rapid.Bool().Draw(t, "no flags") {
			return flags{}
		}
		return flags{From: durations(0, 0, 30, 90).Draw(t, "from"),
			MaxWave:     rapid.SampledFrom([]string{"", "1", "2", "30%"}).Draw(t, "max wave"),
			MaxInFlight: rapid.Int32Range(0, 3).Draw(t, "max concurrent"),
			MinSoak:     durations(0, 20, 90).Draw(t, "min soak")}
	})
}

// checkFloors: no write passes what the administrator allows by now, whatever the plan
// has frozen.
func (r *rules) checkFloors(s simStep) {
	if r.sim.floors == nil {
		return
	}
	floors, strategy := r.sim.floors(r.sim), s.Observation.Spec.Plan.Rollout
	inWork := len(s.Intent.Write)
	for _, t := range s.Before {
		switch {
		case t.Wave != s.Observation.Status.Wave:
		case t.State == v1alpha1.TargetIntent, t.State == v1alpha1.TargetApplied, t.State == v1alpha1.TargetVerified:
			inWork++
		}
	}
	if most := floors.Wave(len(s.Before)); most > 0 && inWork > most {
		r.sim.fault("%d targets of a wave are in work: the administrator allows %d", inWork, most)
	}
	if floors.MaxInFlight > 0 && strategy.MaxInFlight > floors.MaxInFlight || s.Observation.Soak() < floors.MinSoak {
		r.sim.fault("%d at a time, soaking for %s: the administrator allows %d and %s", strategy.MaxInFlight,
			s.Observation.Soak(), floors.MaxInFlight, floors.MinSoak)
	}
}

// What is undone is never slowed by the flags: it keeps to what its plan has frozen.
func TestARollbackIsNotSlowedByFloors(t *testing.T) {
	floors := flags{MaxWave: "1", MaxInFlight: 1, MinSoak: time.Hour}.floors()
	rem := &v1alpha1.Remediation{
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{
				Targets: 20, Waves: fixture.PlannedWaves(20), Rollout: v1alpha1.PlannedRollout{MaxInFlight: 7}}}}
	rem.Status.Phase = v1alpha1.PhaseApplying
	if spec, most := withinFloors(&floors, rem); spec.Plan.Rollout.MaxInFlight != 1 || most != 1 ||
		spec.Plan.Waves[0].Soak.Duration != time.Hour {
		t.Errorf("what begins isn't bounded: %+v, %d", spec.Plan.Rollout, most)
	}
	rem.Status.Phase = v1alpha1.PhaseRollingBack
	if spec, most := withinFloors(&floors, rem); spec.Plan.Rollout.MaxInFlight != 7 || most != 0 {
		t.Errorf("what is undone is slowed: %+v, %d", spec.Plan.Rollout, most)
	}
	if rem.Spec.Plan.Rollout.MaxInFlight != 7 || rem.Spec.Plan.Waves[0].Soak.Duration == time.Hour {
		t.Error("the plan itself is changed")
	}
}
