// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestRefuse(t *testing.T) {
	made := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	type subject struct {
		// distinct is what the strategy asks that the policy follows now.
		distinct bool
		plan     *v1alpha1.Remediation
		policy   *v1alpha1.ClusterRegoPolicy
		strategy *v1alpha1.RemediationStrategy
		approver string
		by       Approvers
	}
	recorded := func(text string) func(*subject) {
		return func(s *subject) { s.policy.Annotations[v1alpha1.AnnotationAuthors], s.policy.Generation = text, 3 }
	}
	fromSource := func(s *subject) { s.policy.Labels = map[string]string{v1alpha1.LabelSourceName: "src"} }
	administrator := func(by Approvers) func(*subject) {
		return func(s *subject) { s.by = by }
	}
	distinct := func(s *subject) { s.plan.Spec.Plan.Rollout.RequireDistinctApprover = true }
	// shared makes the plan one by a strategy that sue has written.
	shared := func(s *subject) {
		s.plan.Spec.Plan.StrategyRef = &v1alpha1.PlannedStrategy{Name: "careful", UID: "strategy", Generation: 1,
			Author: "sue", Authors: []string{"sue"}}
		s.strategy = &v1alpha1.RemediationStrategy{
			ObjectMeta: metav1.ObjectMeta{
				Name: "careful", UID: "strategy", Annotations: map[string]string{v1alpha1.AnnotationAuthor: "sue"}}}
	}
	by := func(user string) func(*subject) {
		return func(s *subject) { s.approver = user }
	}
	reject := func(s *subject) { s.plan.Spec.Approval.Decision = v1alpha1.DecisionReject }
	taken := func(s *subject) {
		s.plan.Status.Approval = &v1alpha1.ApprovalRecord{Decision: v1alpha1.DecisionReject, Approver: "cid",
			DecisionTime: metav1.MicroTime(made)}
	}
	decided := func(d v1alpha1.ApprovalDecision) func(*subject) {
		return func(s *subject) { s.plan.Status.Approval.Decision = d }
	}
	// step makes the plan one whose next wave must be approved too; its first was.
	step := func(s *subject) {
		s.plan.Spec.Plan.Waves = []v1alpha1.PlannedWave{{Targets: 1, Approval: v1alpha1.ApprovalRequired}, {Targets: 2}}
		s.plan.Status.Wave = 1
	}
	to := func(wave int32) func(*subject) {
		return func(s *subject) { s.plan.Spec.Approval.Wave = wave }
	}
	automatic := func(s *subject) { s.plan.Spec.Plan.Rollout.Mode = v1alpha1.RemediationAutomatic }
	first := func(s *subject) { s.plan.Status.Wave = 0 }
	cases := map[string]struct {
		reason string
		change []func(*subject)
		want   string // the reason; empty when the answer counts
		says   string
	}{
		"a yes to the plan counts": {},
		"a no counts":              {change: []func(*subject){reject}},
		"a yes to a step counts": {
			change: []func(*subject){taken, decided(v1alpha1.DecisionApprove), step, to(1)}},
		"a yes to a step counts in mode Automatic": {change: []func(*subject){automatic, step, to(1)}},
		"a yes to a step comes when it is done": {change: []func(*subject){automatic, step, first, to(1)},
			want: v1alpha1.ReasonApproverRefused, says: "others after a step with approval: Required"},
		"a yes to another wave than the one that waits": {change: []func(*subject){automatic, step, to(0)},
			want: v1alpha1.ReasonApproverRefused,
			says: "spec.approval.wave is 0, and the plan awaits the answer to wave 1"},
		"an author may not approve a step either": {
			change: []func(*subject){automatic, step, to(1), distinct, by("ann")},
			want:   v1alpha1.ReasonApproverRefused, says: "ann has written policy p"},
		"a plan in another mode awaits nobody": {
			change: []func(*subject){func(s *subject) {
				s.plan.Spec.Plan.Rollout.Mode = v1alpha1.RemediationAutomatic
			}},
			want: v1alpha1.ReasonApproverRefused, says: "is in mode Automatic and awaits no approval"},
		"an ended plan awaits nobody": {
			change: []func(*subject){func(s *subject) {
				s.plan.Status.Phase, s.plan.Status.CompletionTime = v1alpha1.PhaseSuperseded, &metav1.MicroTime{}
			}},
			want: v1alpha1.ReasonApproverRefused, says: "has ended as Superseded"},
		"a plan being aborted awaits nobody": {
			change: []func(*subject){func(s *subject) { s.plan.Spec.DesiredState = v1alpha1.StateAborted }},
			want:   v1alpha1.ReasonApproverRefused, says: "is being ended"},
		"a plan being deleted awaits nobody": {
			change: []func(*subject){func(s *subject) { s.plan.DeletionTimestamp = &made }},
			want:   v1alpha1.ReasonApproverRefused, says: "is being ended"},
		"a second answer is refused": {
			change: []func(*subject){taken},
			want:   v1alpha1.ReasonApproverRefused, says: "was answered already: Reject by cid; an answer " +
				"can't be changed; for a new plan, which awaits an answer again: evenkeel rollout retry "},
		"a no to a plan at work is told how to end it": {
			change: []func(*subject){taken, decided(v1alpha1.DecisionApprove)},
			want:   v1alpha1.ReasonApproverRefused, says: "to end it: evenkeel rollout abort "},
		"a no to a plan that has ended is told how to undo it": {
			change: []func(*subject){taken, decided(v1alpha1.DecisionApprove), func(s *subject) {
				s.plan.Status.Phase, s.plan.Status.CompletionTime = v1alpha1.PhaseSucceeded, &metav1.MicroTime{}
			}},
			want: v1alpha1.ReasonApproverRefused, says: "to have its changes undone: evenkeel rollout undo "},
		"a nameless answer is refused": {
			reason: "admission has not seen it", change: []func(*subject){by("")},
			want: v1alpha1.ReasonApproverRefused, says: "admission hasn't recorded who answered"},
		"a plan of a deleted policy awaits nobody": {
			change: []func(*subject){func(s *subject) { s.policy = nil }},
			want:   v1alpha1.ReasonApproverRefused, says: "its policy p is gone"},
		"a plan of another policy of the name awaits nobody": {
			change: []func(*subject){func(s *subject) { s.policy.UID = "newer" }},
			want:   v1alpha1.ReasonApproverRefused, says: "is gone"},
		"the author may approve where nothing else is asked for": {change: []func(*subject){by("ann")}},
		"the author may not approve where another is required": {
			change: []func(*subject){distinct, by("ann")},
			want:   v1alpha1.ReasonApproverRefused, says: "ann has written policy p"},
		"another person may approve where another is required": {change: []func(*subject){distinct}},
		"the author may say no where another is required": {
			reason: "stopping is never a matter of two", change: []func(*subject){distinct, by("ann"), reject}},
		"whoever wrote the policy as it was planned may not approve": {
			reason: "a later touch by somebody else doesn't make the rule theirs",
			change: []func(*subject){distinct, by("ann"), func(s *subject) {
				s.policy.Annotations[v1alpha1.AnnotationAuthor] = "cid"
			}},
			want: v1alpha1.ReasonApproverRefused, says: "ann has written policy p"},
		"whoever changed the policy since may not approve": {
			change: []func(*subject){distinct, func(s *subject) {
				s.policy.Annotations[v1alpha1.AnnotationAuthor] = "bob"
			}},
			want: v1alpha1.ReasonApproverRefused, says: "bob has written policy p"},
		"what the policy requires now holds for a plan made before": {
			change: []func(*subject){by("ann"), func(s *subject) {
				s.distinct = true
			}},
			want: v1alpha1.ReasonApproverRefused, says: "ask another person"},
		"an author who isn't recorded could be anybody": {
			change: []func(*subject){distinct, func(s *subject) { s.policy.Annotations = nil }},
			want:   v1alpha1.ReasonApproverRefused, says: "annotation evenkeel.dev/author"},
		"an author who wasn't recorded in the plan could be anybody": {
			change: []func(*subject){distinct, func(s *subject) { s.plan.Spec.Plan.Policy.Author = "" }},
			want:   v1alpha1.ReasonApproverRefused, says: "then delete Remediation p-1"},
		"whoever committed a policy to a repository could be anybody": {
			change: []func(*subject){distinct, func(s *subject) {
				s.policy.Labels = map[string]string{
					v1alpha1.LabelSourceNamespace: "ns", v1alpha1.LabelSourceName: "src"}
			}},
			want: v1alpha1.ReasonApproverRefused, says: "comes from PolicySource ns/src"},
		"whoever has ever changed the policy may not approve, whoever changed it last": {
			reason: "a trivial edit by somebody else doesn't make the rule theirs",
			change: []func(*subject){distinct, recorded(`{"users":["bob","ann"],"generation":3}`)},
			want:   v1alpha1.ReasonApproverRefused, says: "bob has written policy p, or changed it"},
		"whoever had changed it when it was planned may not either": {
			change: []func(*subject){distinct, func(s *subject) {
				s.plan.Spec.Plan.Policy.Authors = []string{"bob", "ann"}
			}},
			want: v1alpha1.ReasonApproverRefused, says: "bob has written policy p"},
		"somebody who isn't one of its authors may": {
			change: []func(*subject){distinct, recorded(`{"users":["cid","ann"],"generation":3}`)}},
		"of more authors than can be recorded anybody might be one": {
			change: []func(*subject){distinct, recorded(`{"users":["cid","ann"],"generation":3,"more":true}`)},
			want:   v1alpha1.ReasonApproverRefused, says: "(annotation evenkeel.dev/authors names 2)"},
		"a change that admission hasn't seen could be anybody's": {
			change: []func(*subject){distinct, recorded(`{"users":["cid","ann"],"generation":2}`)},
			want:   v1alpha1.ReasonApproverRefused},
		"nobody is known who has written the policy": {
			change: []func(*subject){distinct, recorded(`{"generation":3,"more":true}`)},
			want:   v1alpha1.ReasonApproverRefused, says: "who has written policy p isn't recorded"},
		"nobody needs to be known where no other is asked for": {
			change: []func(*subject){recorded(`{"users":["cid","ann"],"generation":3,"more":true}`)}},
		"what came from a repository has unknown authors when its label is gone, too": {
			reason: "a deleted source leaves its policies without labels",
			change: []func(*subject){distinct, recorded(`{"users":["ann"],"generation":3,"source":true}`)},
			want:   v1alpha1.ReasonApproverRefused, says: "comes from a PolicySource"},
		"the author may not approve where the administrator asks for another": {
			reason: "the policy doesn't ask for it",
			change: []func(*subject){by("ann"), administrator(Approvers{Distinct: true})},
			want:   v1alpha1.ReasonApproverRefused, says: "--remediation-require-distinct-approver"},
		"another may where the administrator asks for one": {
			change: []func(*subject){administrator(Approvers{Distinct: true})}},
		"no policy of a repository can be approved where the administrator asks for another": {
			change: []func(*subject){fromSource, administrator(Approvers{Distinct: true})},
			want:   v1alpha1.ReasonApproverRefused, says: "--remediation-sources-are-reviewed"},
		"one can where the administrator says that repositories are reviewed": {
			change: []func(*subject){fromSource, administrator(Approvers{Distinct: true, SourcesReviewed: true}),
				func(s *subject) { s.plan.Spec.Plan.Policy.Author = "" }}},
		"what the policy itself asks for isn't lifted by that": {
			change: []func(*subject){fromSource, distinct,
				administrator(Approvers{Distinct: true, SourcesReviewed: true})},
			want: v1alpha1.ReasonApproverRefused},
		"who has written it in the cluster is refused all the same": {
			reason: "the label of a source is anybody's to set",
			change: []func(*subject){fromSource, by("ann"),
				administrator(Approvers{Distinct: true, SourcesReviewed: true})},
			want: v1alpha1.ReasonApproverRefused},
		"the author of the strategy may approve where nothing else is asked for": {
			change: []func(*subject){shared, by("sue")}},
		"the author of the strategy that the plan was made by may not where another is required": {
			reason: "how careful the rollout is, she has said",
			change: []func(*subject){shared, distinct, by("sue")},
			want:   v1alpha1.ReasonApproverRefused, says: "sue has written RemediationStrategy careful"},
		"nor where the administrator asks for another": {
			change: []func(*subject){shared, by("sue"), administrator(Approvers{Distinct: true})},
			want:   v1alpha1.ReasonApproverRefused, says: "--remediation-require-distinct-approver"},
		"nor whoever had changed the strategy before": {
			change: []func(*subject){shared, distinct, func(s *subject) {
				s.plan.Spec.Plan.StrategyRef.Authors = []string{"bob", "sue"}
			}},
			want: v1alpha1.ReasonApproverRefused, says: "bob has written RemediationStrategy careful"},
		"nor whoever has changed it since": {
			change: []func(*subject){shared, distinct, func(s *subject) {
				s.strategy.Annotations[v1alpha1.AnnotationAuthors],
					s.strategy.Generation = `{"users":["sue","bob"],"generation":2}`, 2
			}},
			want: v1alpha1.ReasonApproverRefused, says: "bob has written RemediationStrategy careful"},
		"somebody who has written neither may": {change: []func(*subject){shared, distinct}},
		"a strategy's author who isn't recorded could be anybody": {
			reason: "it was written while admission was away",
			change: []func(*subject){shared, distinct, func(s *subject) { s.strategy.Annotations = nil }},
			want:   v1alpha1.ReasonApproverRefused,
			says:   "not all who have written RemediationStrategy careful are recorded"},
		"one who wasn't recorded in the plan could be, too": {
			change: []func(*subject){shared, distinct, func(s *subject) { s.plan.Spec.Plan.StrategyRef.Author = "" }},
			want:   v1alpha1.ReasonApproverRefused},
		"a plan of a deleted strategy awaits nobody": {
			change: []func(*subject){shared, func(s *subject) { s.strategy = nil }},
			want:   v1alpha1.ReasonApproverRefused,
			says:   "RemediationStrategy careful, by which it was made, is gone"},
		"a plan of another strategy of the name awaits nobody": {
			reason: "to make it anew must not make its authors forgotten",
			change: []func(*subject){shared, distinct, func(s *subject) { s.strategy.UID = "newer" }},
			want:   v1alpha1.ReasonApproverRefused, says: "is gone"},
		"what the strategy requires now holds for a plan made before": {
			reason: "anyone who asks reads the policy with the strategy that it follows now",
			change: []func(*subject){shared, by("sue"), func(s *subject) {
				s.distinct = true
			}},
			want: v1alpha1.ReasonApproverRefused},
		"an author's name that is too long to compare could be anybody": {
			change: []func(*subject){distinct, func(s *subject) {
				s.policy.Annotations[v1alpha1.AnnotationAuthor] = strings.Repeat("n", 254)
			}},
			want: v1alpha1.ReasonApproverRefused},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &subject{
				approver: "bob",
				plan: &v1alpha1.Remediation{
					ObjectMeta: metav1.ObjectMeta{Name: "p-1", UID: "plan", CreationTimestamp: made},
					Spec: v1alpha1.RemediationSpec{
						Approval: &v1alpha1.PlanApproval{Decision: v1alpha1.DecisionApprove},
						Plan: v1alpha1.RemediationPlan{
							Hash: "hash", Policy: v1alpha1.PlannedPolicy{Name: "p", UID: "policy", Author: "ann"},
							Rollout: v1alpha1.PlannedRollout{Mode: v1alpha1.RemediationManual}}}},
				policy: &v1alpha1.ClusterRegoPolicy{
					ObjectMeta: metav1.ObjectMeta{
						Name: "p", UID: "policy", Annotations: map[string]string{v1alpha1.AnnotationAuthor: "ann"}}},
			}
			for _, change := range tc.change {
				change(s)
			}
			got := Refuse(s.plan, s.approver, Asked{Policy: s.policy, Distinct: s.distinct, Strategy: s.strategy}, s.by)
			if got.Reason != tc.want || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: got %+v, want %q with %q", tc.reason, got, tc.want, tc.says)
			}
		})
	}
}

func TestRefuseProposal(t *testing.T) {
	const shown, other = "sha256:shown", "sha256:other"
	for name, tc := range map[string]struct {
		decision      v1alpha1.ApprovalDecision
		given, digest string
		says          string // empty when it counts
	}{
		"a yes to what was shown":                  {v1alpha1.DecisionApprove, shown, shown, ""},
		"a yes to the plan, whatever it does":      {v1alpha1.DecisionApprove, "", shown, ""},
		"a yes to something else":                  {v1alpha1.DecisionApprove, other, shown, "which is sha256:shown"},
		"a yes to what isn't known yet":            {v1alpha1.DecisionApprove, shown, "", "aren't known yet"},
		"a no, whatever it was that was looked at": {v1alpha1.DecisionReject, other, shown, ""},
	} {
		plan := &v1alpha1.Remediation{Spec: v1alpha1.RemediationSpec{
			Approval: &v1alpha1.PlanApproval{Decision: tc.decision, ProposalDigest: tc.given}}}
		got := RefuseProposal(plan, tc.digest)
		if (got != Refusal{}) != (tc.says != "") || !strings.Contains(got.Message, tc.says) ||
			tc.says != "" && got.Reason != v1alpha1.ReasonProposalMismatch {
			t.Errorf("%s: %+v, want %q", name, got, tc.says)
		}
	}
}
