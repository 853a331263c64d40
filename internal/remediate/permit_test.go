// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// probing makes the policy's breaker half-open, with nobody's permit.
func probing(t *testing.T) *breakertest.Circuit {
	c := breakertest.New(t).In("team-a", "team-b", "team-c", "team-d")
	c.Change(breaker.PolicyScope("tags"), func(cb *v1alpha1.RemediationBreaker) {
		cb.Status = circuit.Open(cb.Status, v1alpha1.ReasonStorm, "many", v1alpha1.BreakerStrategy{}, c.Time.Now())
	})
	c.After(31 * time.Minute)
	return c
}

// plannedIn is a plan of some targets with its controller and one step's pass.
func plannedIn(c *breakertest.Circuit, name string, states ...v1alpha1.TargetState) (*Controller, *execute.Pass) {
	c.Helper()
	rem, slices, _, err := newFleet(len(states)).plan()
	c.Must(err)
	rem.Name, rem.Spec.Plan.Policy = name, c.Plan(name).Spec.Plan.Policy
	b := &record.Records{}
	b.Add(slices[0])
	for i, state := range states {
		b.Record(i).State = state
	}
	return &Controller{breakers: c.Set, clock: c.Time}, &execute.Pass{Remediation: rem, Records: b}
}

func TestLookingTakesNoPermit(t *testing.T) {
	c := probing(t)
	control, p := plannedIn(c, "a", v1alpha1.TargetPending)
	gate, err := c.Consult(c.Ctx, p.Remediation)
	if c.Must(err); gate.Closed || c.Read("policy-tags").Status.Permit != nil {
		t.Fatalf("a look: gate %+v, permit %+v", gate, c.Read("policy-tags").Status.Permit)
	}
	waits := rollout.Intent{Phase: v1alpha1.PhaseApplying, Reason: v1alpha1.ReasonBudgetSpent, Wait: time.Second}
	if _, err := control.executor().permitted(c.Ctx, p, waits); err != nil ||
		c.Read("policy-tags").Status.Permit != nil {
		t.Fatalf("a plan without room takes the permit: %+v, %v", c.Read("policy-tags").Status.Permit, err)
	}
	got, err := control.executor().permitted(c.Ctx, p, rollout.Intent{Phase: v1alpha1.PhaseApplying, Write: []int{0}})
	if c.Must(err); len(got.Write) != 1 || !circuit.Holds(c.Read("policy-tags").Status, "a") {
		t.Fatalf("a write: %+v, permit %+v", got, c.Read("policy-tags").Status.Permit)
	}
	control, p = plannedIn(c, "b", v1alpha1.TargetPending)
	got, err = control.executor().permitted(c.Ctx, p, rollout.Intent{Phase: v1alpha1.PhaseApplying, Write: []int{0}})
	if c.Must(err); len(got.Write) != 0 || got.Wait == 0 || got.Message == "" {
		t.Errorf("a write while another plan has the permit: %+v", got)
	}
}

func TestAPermitIsGivenBackWhileNothingCanBeWritten(t *testing.T) {
	pending, applied := v1alpha1.TargetPending, v1alpha1.TargetApplied
	held := rollout.Intent{Phase: v1alpha1.PhaseHeld, HeldFrom: v1alpha1.PhaseApplying, Wait: time.Second}
	cases := map[string]struct {
		reason string
		intent rollout.Intent
		states []v1alpha1.TargetState
		keeps  bool
	}{
		"Held": {"Who knows for how long.", held, []v1alpha1.TargetState{pending}, false},
		"Without room in a budget": {
			"Other plans have it.", rollout.Intent{Phase: v1alpha1.PhaseApplying, Wait: time.Second},
			[]v1alpha1.TargetState{pending}, false},
		"Held, with writes in flight": {"They are the probe.", held, []v1alpha1.TargetState{applied, pending},
			true},
		"Verifying": {
			"It is the probe.", rollout.Intent{Phase: v1alpha1.PhaseVerifying, Wait: time.Second},
			[]v1alpha1.TargetState{applied}, true},
		"Between two waves": {"It goes on at once.", rollout.Intent{Phase: v1alpha1.PhaseApplying},
			[]v1alpha1.TargetState{v1alpha1.TargetDone, pending}, true},
		"Ended without having done anything": {"It proved nothing.", rollout.Intent{Phase: v1alpha1.PhaseSuperseded},
			[]v1alpha1.TargetState{pending}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := probing(t)
			control, p := plannedIn(c, "a", tc.states...)
			if gate := c.Admitted(p.Remediation); gate.Closed {
				t.Fatalf("%+v", gate)
			}
			c.Must(control.executor().giveBack(c.Ctx, p, tc.intent))
			if keeps := circuit.Holds(c.Read("policy-tags").Status, "a"); keeps != tc.keeps {
				t.Errorf("%s\nthe plan keeps the permit: %t, want %t", tc.reason, keeps, tc.keeps)
			}
		})
	}
}

// A plan that is held for a day, and asks and waits in turn, neither opens the
// breaker again nor keeps others from probing.
func TestAHeldPlanOpensNothing(t *testing.T) {
	c := probing(t)
	control, p := plannedIn(c, "a", v1alpha1.TargetPending)
	for range 24 * 12 {
		c.Admitted(p.Remediation)
		c.Must(control.executor().giveBack(
			c.Ctx, p, rollout.Intent{Phase: v1alpha1.PhaseHeld, HeldFrom: v1alpha1.PhaseApplying, Wait: time.Second}))
		c.After(5 * time.Minute)
		c.Reconciled("policy-tags")
	}
	if st := c.Read("policy-tags").Status; st.State != v1alpha1.BreakerHalfOpen || st.Openings != 1 ||
		st.Demoted != nil {
		t.Errorf("after a day: %s, %d openings, demoted %v", st.State, st.Openings, st.Demoted)
	}
	if gate := c.Admitted(c.Plan("b")); gate.Closed {
		t.Errorf("another plan can't probe: %+v", gate)
	}
}

// A denied dry run has told what it was asked. However many are denied, no breaker
// hears of it.
func TestADeniedPreviewIsNoHarm(t *testing.T) {
	for mode, want := range map[v1alpha1.RemediationMode]int{
		v1alpha1.RemediationDryRun: 0, v1alpha1.RemediationAutomatic: 3, v1alpha1.RemediationManual: 3,
	} {
		c := breakertest.New(t)
		_, p := plannedIn(c, "a", v1alpha1.TargetPending, v1alpha1.TargetPending, v1alpha1.TargetPending)
		p.Remediation.Spec.Plan.Rollout.Mode = mode
		for i := range 3 {
			p.SetRecord(i, v1alpha1.TargetRecord{State: v1alpha1.TargetFailed, Reason: v1alpha1.ReasonAdmissionDenied})
		}
		if got := p.Denials(); len(got) != want {
			t.Errorf("%s: %d denials are counted, want %d", mode, len(got), want)
		}
		c.Must(c.Record(c.Ctx, p.Remediation, p.Denials()))
		if own, global := c.Read("policy-tags"), c.Read("global"); want == 0 && (own != nil || global != nil) ||
			want > 0 && (own.Status.State != v1alpha1.BreakerOpen || global.Status.State != v1alpha1.BreakerClosed) {
			t.Errorf("%s: the policy's breaker is %+v, the global one %+v", mode, own, global)
		}
	}
}
