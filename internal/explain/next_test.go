// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestNext(t *testing.T) {
	until := time.Date(2027, 3, 31, 0, 0, 0, 0, time.UTC)
	verdict := func(change ...func(*Verdict)) []Verdict {
		v := Verdict{Policy: "tags", Verdict: Violates, Mode: v1alpha1.RemediationAutomatic, Fix: "replace /data/tag",
			Managed: v1alpha1.ManagedNotify}
		for _, c := range change {
			c(&v)
		}
		return []Verdict{v}
	}
	mode := func(m v1alpha1.RemediationMode) func(*Verdict) { return func(v *Verdict) { v.Mode = m } }
	in := func(phase v1alpha1.RemediationPhase, state v1alpha1.TargetState, wave int32) []Touch {
		return []Touch{{Plan: "tags-1", Policy: "tags", Phase: phase, State: state, Wave: wave, SameObject: true,
			waits: "the plan's message", Reason: "Why", Message: "the record's message"}}
	}
	notAttempted := func(plans []Touch) []Touch {
		plans[0].Reason = v1alpha1.ReasonNotAttempted
		return plans
	}
	fought := func(plans []Touch) []Touch {
		plans[0].Reason = v1alpha1.ReasonFighting
		return plans
	}
	blocking := func(plans []Touch) []Touch {
		plans[0].blocks = true
		return plans
	}
	written := func(plans []Touch) []Touch {
		plans[0].At = &until
		return plans
	}
	setBack := func(plans []Touch) []Touch {
		plans[0].UndoneAt = &until
		return plans
	}
	root := []v1alpha1.ObjectReference{{Kind: "ReplicaSet", Name: "web-7d4b", Namespace: "shop"},
		{Kind: "Deployment", Name: "web", Namespace: "shop"}}
	open := []Breaker{{Name: "global", State: v1alpha1.BreakerOpen}}
	cases := map[string]struct {
		e    Explanation
		want string
	}{
		"Nothing concerns it": {Explanation{}, "nothing: no policy concerns it"},
		"A controller makes it, and it is judged there": {
			Explanation{Owners: root},
			"nothing here: a workload is judged and fixed at its root: evenkeel explain Deployment/web -n shop"},
		"It is clean": {
			Explanation{Policies: verdict(func(v *Verdict) { v.Verdict = Clean })}, "nothing: it violates no policy"},
		"It is clean, and watched by a plan": {
			Explanation{Policies: verdict(func(v *Verdict) { v.Verdict = Clean }),
				Plans: in(v1alpha1.PhaseSoaking, v1alpha1.TargetVerified, 0)},
			"plan tags-1 has fixed it, and watches it: the plan's message"},
		"It is clean, and its plan is being rolled back": {
			Explanation{Policies: verdict(func(v *Verdict) { v.Verdict = Clean }),
				Plans: written(in(v1alpha1.PhaseRollingBack, v1alpha1.TargetDone, 0))},
			"plan tags-1, which has fixed it, is being rolled back, and may revert it to what it was: the plan's " +
				"message"},
		"It is clean, and has been set back": {
			Explanation{Policies: verdict(func(v *Verdict) { v.Verdict = Clean }),
				Plans: setBack(written(in(v1alpha1.PhaseRollingBack, v1alpha1.TargetReverted, 0)))},
			"nothing: it violates no policy"},
		"It couldn't be judged": {Explanation{Policies: verdict(func(v *Verdict) {
			v.Verdict = Unjudged
		})}, "tags: nothing until the policy can judge it: fix its Rego"},
		"It is waived": {Explanation{Policies: verdict(func(v *Verdict) {
			v.Verdict, v.WaivedUntil = Waived, &until
		})}, "tags: nothing until 2027-03-31T00:00:00Z, when its waiver ends"},
		"The mode is Disabled": {
			Explanation{Policies: verdict(mode(v1alpha1.RemediationDisabled))},
			"tags: nothing: the policy's mode is Disabled"},
		"Its strategy isn't there": {
			Explanation{Policies: verdict(mode(v1alpha1.RemediationDisabled), func(v *Verdict) {
				v.Unresolved = "there is no strategy"
			})}, "tags: nothing: there is no strategy"},
		"There is no fix": {
			Explanation{Policies: verdict(func(v *Verdict) { v.Fix = "" })},
			"tags: nothing: the policy offers no fix for it; fix it by hand"},
		"It opted out": {
			Explanation{Policies: verdict(), OptOut: "the object has the annotation"},
			"tags: skipped: the object has the annotation"},
		"It had opted out when the plan was made, and doesn't any more": {
			Explanation{Policies: verdict(), Plans: []Touch{{Plan: "tags-1", Policy: "tags", SameObject: true,
				Phase: v1alpha1.PhaseSucceeded, State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonOptOut}}},
			"tags: the next plan fixes it"},
		"A finalizer keeps it": {
			Explanation{Policies: verdict(), Deleting: "its finalizers: example.com/keep"},
			"tags: nothing: the object is being deleted; it counts until it is gone, and waits for its finalizers: " +
				"example.com/keep"},
		"A tool manages it": {
			Explanation{Policies: verdict(), ManagedBy: "Argo CD (app shop)"},
			"tags: skipped: managed by Argo CD (app shop); change it at its source"},
		"A tool manages it, and the policy dares": {Explanation{Policies: verdict(func(v *Verdict) {
			v.Managed = v1alpha1.ManagedRemediate
		}), ManagedBy: "Argo CD"}, "tags: the next plan fixes it"},
		"A controller makes it": {Explanation{Policies: verdict(), Owners: root},
			"tags: fixed at its root owner, Deployment web: evenkeel explain Deployment/web -n shop"},
		"A tool manages its root": {
			Explanation{Policies: verdict(), Owners: root, ManagedBy: "Flux"},
			"tags: skipped: it comes from Deployment web, which is managed by Flux; change it at its source"},
		"No plan yet": {
			Explanation{Policies: verdict()}, "tags: the next plan fixes it"},
		"No plan yet, in mode Manual": {
			Explanation{Policies: verdict(mode(v1alpha1.RemediationManual))},
			"tags: the next plan fixes it, once a person has approved it"},
		"No plan yet, in mode DryRun": {
			Explanation{Policies: verdict(mode(v1alpha1.RemediationDryRun))},
			"tags: the next plan tries the fix, and writes nothing: the policy's mode is DryRun"},
		"A later wave": {
			Explanation{Policies: verdict(), Plans: in(v1alpha1.PhaseSoaking, v1alpha1.TargetPending, 2)},
			"tags: wave 2 of plan tags-1 will fix it"},
		"A later wave behind a breaker": {
			Explanation{Policies: verdict(), Plans: in(v1alpha1.PhaseApplying, v1alpha1.TargetPending, 0),
				Breakers: open},
			"tags: the canary of plan tags-1 will fix it; breaker global is Open, so no write begins"},
		"A plan that awaits approval": {
			Explanation{Policies: verdict(), Plans: in(v1alpha1.PhaseAwaitingApproval, v1alpha1.TargetPending, 0)},
			"tags: waits for approval of tags-1: evenkeel rollout approve tags-1"},
		"A plan that is held": {
			Explanation{Policies: verdict(), Plans: in(v1alpha1.PhaseHeld, v1alpha1.TargetPending, 1)},
			"tags: plan tags-1 is held: the plan's message"},
		"A plan that was undone": {
			Explanation{Policies: verdict(), Plans: in(v1alpha1.PhaseRolledBack, v1alpha1.TargetReverted, 1)},
			"tags: nothing until the policy changes or somebody says: evenkeel rollout retry tags-1 (plan tags-1 was " +
				"undone: the plan's message)"},
		"A plan that ended before its turn": {
			Explanation{Policies: verdict(),
				Plans: notAttempted(in(v1alpha1.PhaseRolledBack, v1alpha1.TargetSkipped, 1))},
			"tags: nothing until the policy changes or somebody says: evenkeel rollout retry tags-1 (plan tags-1 " +
				"ended before its turn: the plan's message)"},
		"A plan that another took over from": {
			Explanation{Policies: verdict(),
				Plans: notAttempted(in(v1alpha1.PhaseSuperseded, v1alpha1.TargetSkipped, 1))},
			"tags: the next plan fixes it"},
		"It couldn't be fixed": {
			Explanation{Policies: verdict(), Plans: in(v1alpha1.PhaseSucceeded, v1alpha1.TargetFailed, 1)},
			"tags: tried again by itself, less and less often; at once: evenkeel rollout retry tags-1 (Why: the " +
				"record's message)"},
		"It was set back before it had soaked": {
			Explanation{Policies: verdict(), Plans: fought(in(v1alpha1.PhaseSucceeded, v1alpha1.TargetFailed, 1))},
			"tags: it was fixed, and reverted in a fight: the record's message; tried again by itself, less and less " +
				"often; at once: evenkeel rollout retry tags-1"},
		"It was set back, and so was each candidate": {
			Explanation{Policies: verdict(),
				Plans: blocking(fought(in(v1alpha1.PhaseAborted, v1alpha1.TargetFailed, 0)))},
			"tags: it was fixed, and reverted in a fight: the record's message; nothing until the policy changes or, " +
				"once the fight has ended, somebody says: evenkeel rollout retry tags-1"},
		"It was set back again and again": {
			Explanation{Policies: verdict(), Plans: fought(in(v1alpha1.PhaseSucceeded, v1alpha1.TargetSkipped, 1))},
			"tags: left alone: somebody keeps reverting it; once that has ended: evenkeel rollout retry tags-1 " +
				"(Fighting: the record's message)"},
		"It couldn't be fixed, nor could any other": {
			Explanation{Policies: verdict(), Plans: blocking(in(v1alpha1.PhaseAborted, v1alpha1.TargetFailed, 0))},
			"tags: nothing until the policy changes or, once the cause is gone, somebody says: evenkeel rollout " +
				"retry tags-1 (Why: the record's message)"},
		"It was fixed, and violates again": {
			Explanation{Policies: verdict(), Plans: in(v1alpha1.PhaseSucceeded, v1alpha1.TargetDone, 1)},
			"tags: the next plan fixes it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.e.next()
			if diff := cmp.Diff(append([]string{tc.want}, tc.e.choices()...), tc.e.Next); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
