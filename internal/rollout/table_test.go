// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// noon is when every table of this package takes place.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// situation is what a phase is asked about: a plan of three waves in that phase, with these targets. Two targets may be
// in flight, a wave must be verified within ten minutes and soaks for five.
func situation(phase v1alpha1.RemediationPhase, wave int32, targets ...TargetView) Observation {
	o := Observation{Now: noon, UID: "plan", Targets: targets}
	o.Spec.Plan.Policy.Name = "limits"
	o.Spec.Plan.Waves = fixture.PlannedWaves(1, 2, 3)
	fixture.PlannedSoak(&o.Spec.Plan, 5*time.Minute)
	o.Spec.Plan.Rollout = v1alpha1.PlannedRollout{Mode: v1alpha1.RemediationAutomatic, MaxInFlight: 2,
		OnFailure: v1alpha1.FailureRollback, RollbackScope: v1alpha1.RollbackWave,
		ProgressDeadline: metav1.Duration{Duration: 10 * time.Minute}}
	o.Status.Phase, o.Status.Wave = phase, wave
	for i := range o.Targets {
		object := &o.Targets[i].Object
		object.Kind, object.Name, object.UID = "Deployment", string(rune('a'+i)), "uid-"+string(rune('a'+i))
	}
	return o
}

// stages makes the plan one of two stages: "staging" is its first wave, "prod" the others.
func stages(o *Observation) {
	o.Spec.Plan.Stages = []v1alpha1.PlannedStage{{Name: "staging", FirstWave: 0}, {Name: "prod", FirstWave: 1}}
}

// askedAfterCanary has a person approve what follows the canary.
func askedAfterCanary(o *Observation) { o.Spec.Plan.Waves[0].Approval = v1alpha1.ApprovalRequired }

// approvedWave is a yes to a wave that is recorded.
func approvedWave(wave int32) func(*Observation) {
	return func(o *Observation) {
		o.Status.Approval = &v1alpha1.ApprovalRecord{Decision: v1alpha1.DecisionApprove, Wave: wave}
	}
}

func all(given ...func(*Observation)) func(*Observation) {
	return func(o *Observation) {
		for _, do := range given {
			do(o)
		}
	}
}

// target is one of a wave in a state, in namespace shop unless something else is said.
func target(wave int32, state v1alpha1.TargetState, with ...func(*TargetView)) TargetView {
	t := TargetView{Wave: wave, State: state, Object: v1alpha1.ObjectReference{Namespace: "shop"}}
	for _, w := range with {
		w(&t)
	}
	return t
}

func in(namespace string) func(*TargetView) {
	return func(t *TargetView) { t.Object.Namespace = namespace }
}

func because(reason string) func(*TargetView) {
	return func(t *TargetView) { t.Reason = reason }
}

func barred(reason, why string) func(*TargetView) {
	return func(t *TargetView) { t.BarredReason, t.Barred = reason, why }
}

// again is when the next try may begin, from now.
func again(in time.Duration) func(*TargetView) {
	return func(t *TargetView) { t.NextAttemptAt = noon.Add(in) }
}

// lands is until when a write of unknown outcome may arrive, from now.
func lands(in time.Duration) func(*TargetView) {
	return func(t *TargetView) { t.LandsUntil = noon.Add(in) }
}

func applied(ago time.Duration) func(*TargetView) {
	return func(t *TargetView) { t.AppliedAt = noon.Add(-ago) }
}

func seen(result CheckResult, reason, message string) func(*TargetView) {
	return func(t *TargetView) { t.Check = &Check{Result: result, Reason: reason, Message: message} }
}

func recovering(ago time.Duration) func(*TargetView) {
	return func(t *TargetView) { t.Recovering, t.RevertedAt = true, noon.Add(-ago) }
}

func attempts(n int32) func(*TargetView) {
	return func(t *TargetView) { t.Attempts = n }
}

func ago(d time.Duration) *metav1.MicroTime {
	at := metav1.NewMicroTime(noon.Add(-d))
	return &at
}

// told tells all of an intent in one line.
func told(i Intent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s w%d %s: %s", i.Phase, i.Wave, i.Reason, i.Message)
	for _, list := range []struct {
		name    string
		targets []int
	}{{"resolve", i.Resolve}, {"write", i.Write}, {"preview", i.Preview}, {"revert", i.Revert}} {
		if len(list.targets) > 0 {
			fmt.Fprintf(&b, " | %s %v", list.name, list.targets)
		}
	}
	for _, m := range i.Marks {
		fmt.Fprintf(&b, " | mark %d %s", m.Target, m.State)
		if m.Reason+m.Message != "" {
			fmt.Fprintf(&b, " %s: %s", m.Reason, m.Message)
		}
		if m.Wave != nil {
			fmt.Fprintf(&b, " into w%d", *m.Wave)
		}
		if m.Recovered {
			b.WriteString(" recovered")
		}
	}
	for _, o := range i.Outcomes {
		fmt.Fprintf(&b, " | count %s %s %d", strings.TrimPrefix(string(o.Type), "Target"), o.Key, o.Count)
		for _, n := range slices.Sorted(maps.Keys(o.Namespaces)) {
			fmt.Fprintf(&b, " %s=%d", n, o.Namespaces[n])
		}
	}
	if i.FailedIn != nil {
		fmt.Fprintf(&b, " | failed in %q", i.FailedIn)
	}
	for _, flag := range []struct {
		is   bool
		name string
	}{{i.HeldFrom != "", "from " + string(i.HeldFrom)}, {i.Anew, "anew"}, {i.Retry != "", "retry " + i.Retry},
		{i.Stuck, "stuck"},
		{!i.HealthySince.IsZero(), "healthy for " + noon.Sub(i.HealthySince).String()}, {i.Wait > 0,
			"wait " + i.Wait.String()}} {
		if flag.is {
			b.WriteString(" | " + flag.name)
		}
	}
	return b.String()
}

// step is a case of a table: a situation and what is done in it.
type step struct {
	reason string
	in     Observation
	// given changes the situation; nil leaves it.
	given func(*Observation)
	want  string
}

func runSteps(t *testing.T, cases map[string]step) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.given != nil {
				tc.given(&tc.in)
			}
			intent, err := Step(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(intent); got != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
