// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/authors"
)

// Approvers is what the cluster's administrator asks of those who approve, whatever a
// policy says.
type Approvers struct {
	// Distinct refuses the approval of an author for every policy.
	Distinct bool
	// SourcesReviewed says that the repositories of PolicySources let nothing in
	// without a second person: there, nobody is refused for being unknown.
	SourcesReviewed bool
}

// Refusal says why a person's answer to a plan doesn't count. The zero Refusal
// means that it does.
type Refusal struct {
	// Reason is a CamelCase reason of the plan.
	Reason string
	// Message says why, and what to do.
	Message string
}

// Asked is what a plan was made by, as it is now.
type Asked struct {
	// Policy is nil when it is gone.
	Policy *v1alpha1.ClusterRegoPolicy
	// Distinct says that the strategy that the policy follows now lets no author approve.
	Distinct bool
	// Strategy is the RemediationStrategy of the plan's; nil when it is gone, or the plan
	// was made by none.
	Strategy *v1alpha1.RemediationStrategy
}

// Refuse judges the answer in a plan's spec, at admission and again when the plan acts on it. approver is who gave
// it, and empty where that isn't recorded. A rejection may come from anybody who may answer.
func Refuse(plan *v1alpha1.Remediation, approver string, of Asked, by Approvers) Refusal {
	why := cmp.Or(Unawaited(plan), otherWave(plan), gone(plan, of))
	switch {
	case why != "":
	case approver == "":
		why = "admission hasn't recorded who answered"
	case plan.Spec.Approval.Decision != v1alpha1.DecisionReject && asksDistinct(plan, of, by):
		why = refuseAuthor(approver, plan, of, by)
		if why == "" && of.Strategy != nil {
			why = refuseStrategyAuthor(approver, plan, of, by)
		}
	}
	if why == "" {
		return Refusal{}
	}
	return Refusal{v1alpha1.ReasonApproverRefused, why}
}

// gone says what a plan was made by that isn't there any more; empty for nothing.
func gone(plan *v1alpha1.Remediation, of Asked) string {
	switch made := plan.Spec.Plan.StrategyRef; {
	case of.Policy == nil || string(of.Policy.UID) != plan.Spec.Plan.Policy.UID:
		return fmt.Sprintf("its policy %s is gone: nothing is to be approved", plan.Spec.Plan.Policy.Name)
	case made != nil && (of.Strategy == nil || string(of.Strategy.UID) != made.UID):
		return fmt.Sprintf("RemediationStrategy %s, by which it was made, is gone: nothing is to be approved",
			made.Name)
	}
	return ""
}

// Unawaited says why a plan awaits no answer; empty when it does.
func Unawaited(plan *v1alpha1.Remediation) string {
	_, awaits := plan.AwaitsApproval()
	switch taken := plan.Status.Approval; {
	case !awaits && taken == nil:
		return fmt.Sprintf("it is in mode %s and awaits no approval: only plans of policies with "+
			"spec.remediation.mode Manual do, and others after a step with approval: Required",
			plan.Spec.Plan.Rollout.Mode)
	case !awaits:
		return fmt.Sprintf("it was answered already: %s by %s; an answer can't be changed; %s", taken.Decision,
			taken.Approver, instead(plan))
	case plan.Status.CompletionTime != nil:
		return fmt.Sprintf("it has ended as %s and awaits no approval", plan.Status.Phase)
	case plan.DeletionTimestamp != nil || ending(plan.Spec.DesiredState):
		return "it is being ended and awaits no approval"
	}
	return ""
}

// otherWave refuses the answer to another wave than the one that waits; empty for none.
func otherWave(plan *v1alpha1.Remediation) string {
	wave, _ := plan.AwaitsApproval()
	if plan.Spec.Approval.Wave == wave {
		return ""
	}
	return fmt.Sprintf("spec.approval.wave is %d, and the plan awaits the answer to wave %d: use evenkeel rollout "+
		"approve %s, which sets it", plan.Spec.Approval.Wave, wave, plan.Name)
}

// RefuseProposal refuses an approval of other changes than those of digest; empty while they aren't known.
func RefuseProposal(plan *v1alpha1.Remediation, digest string) Refusal {
	a := plan.Spec.Approval
	switch {
	case a.ProposalDigest == "" || a.ProposalDigest == digest || a.Decision == v1alpha1.DecisionReject:
		return Refusal{}
	case digest == "" && a.Wave > 0:
		return Refusal{v1alpha1.ReasonProposalMismatch,
			"spec.approval.proposalDigest: only plans in mode Manual have one: leave it out"}
	case digest == "":
		return Refusal{v1alpha1.ReasonProposalMismatch, "spec.approval.proposalDigest: the plan's changes aren't " +
			"known yet; approve it once status.proposalDigest is set"}
	}
	return Refusal{v1alpha1.ReasonProposalMismatch, fmt.Sprintf("spec.approval.proposalDigest: %s isn't the digest of "+
		"the plan's changes, which is %s: review them (evenkeel rollout get %s) before you answer", a.ProposalDigest,
		digest, plan.Name)}
}

// instead is what somebody can do who would answer otherwise than a plan was answered.
func instead(plan *v1alpha1.Remediation) string {
	switch {
	case plan.Status.Approval.Decision == v1alpha1.DecisionReject:
		return "for a new plan, which awaits an answer again: evenkeel rollout retry " + plan.Name
	case plan.Status.CompletionTime == nil:
		return "to end it: evenkeel rollout abort " + plan.Name
	default:
		return "to have its changes undone: evenkeel rollout undo " + plan.Name
	}
}

// ending says whether people want a plan to end.
func ending(state v1alpha1.DesiredState) bool {
	return state == v1alpha1.StateAborted || state == v1alpha1.StateUndone
}

// asksDistinct says whether no author may approve.
func asksDistinct(plan *v1alpha1.Remediation, of Asked, by Approvers) bool {
	return by.Distinct || plan.Spec.Plan.Rollout.RequireDistinctApprover || of.Distinct
}

// refuseAuthor refuses all who have ever changed the policy's spec: a later touch by
// somebody else doesn't make the rule theirs. Where one of them isn't known, everybody
// might be the one.
func refuseAuthor(approver string, plan *v1alpha1.Remediation, of Asked, by Approvers) string {
	pol := of.Policy
	wrote := authors.Of(pol)
	if approver == plan.Spec.Plan.Policy.Author || slices.Contains(plan.Spec.Plan.Policy.Authors, approver) ||
		wrote.Wrote(approver) {
		return fmt.Sprintf("%s has written policy %s%s, or changed it since it was made, and %s: ask another person",
			approver, pol.Name, orTemplate(pol), whoAsks(by))
	}
	switch {
	case wrote.Source && !sourcesReviewed(plan, of, by):
		return unknownCommitter(pol)
	case wrote.More && len(wrote.Users) > 0:
		return fmt.Sprintf("more people have changed policy %s%s than are recorded (annotation %s names %d), so that "+
			"anybody might be one of them, and %s: "+
			"somebody who answers for all of it deletes it and recreates it", pol.Name, orTemplate(pol),
			v1alpha1.AnnotationAuthors, len(wrote.Users), whoAsks(by))
	case wrote.More:
		return fmt.Sprintf("who has written policy %s%s isn't recorded (annotation %s), and %s: somebody who answers "+
			"for all of it deletes it and recreates it by a request that admission sees",
			pol.Name, orTemplate(pol), v1alpha1.AnnotationAuthors, whoAsks(by))
	case plan.Spec.Plan.Policy.Author == "" && !wrote.Source:
		return fmt.Sprintf("who had written policy %s wasn't recorded when it was planned (annotation %s), and %s: "+
			"make sure that it is by now, then delete Remediation %s, so that it is planned again",
			pol.Name, v1alpha1.AnnotationAuthor, whoAsks(by), plan.Name)
	}
	return ""
}

// refuseStrategyAuthor refuses all who have ever changed the spec of the RemediationStrategy
// that a plan was made by: how careful the rollout is, they have said.
func refuseStrategyAuthor(approver string, plan *v1alpha1.Remediation, of Asked, by Approvers) string {
	s := of.Strategy
	wrote, made := authors.Of(s), plan.Spec.Plan.StrategyRef
	switch {
	case approver == made.Author || slices.Contains(made.Authors, approver) || wrote.Wrote(approver):
		return fmt.Sprintf(
			"%s has written RemediationStrategy %s, by which the plan was made, or changed it since it was made, and "+
				"%s: ask another person",
			approver, s.Name, whoAsks(by))
	case wrote.More || wrote.Source && !sourcesReviewed(plan, of, by) || made.Author == "" && !wrote.Source:
		return fmt.Sprintf(
			"not all who have written RemediationStrategy %s are recorded (annotation %s), and %s: somebody who "+
				"answers for all of it deletes the strategy and recreates it by a request that admission sees; a new "+
				"plan follows",
			s.Name, v1alpha1.AnnotationAuthors, whoAsks(by))
	}
	return ""
}

// sourcesReviewed says whether the administrator's word for the repositories counts:
// a policy that itself asks for another approver is heard all the same.
func sourcesReviewed(plan *v1alpha1.Remediation, of Asked, by Approvers) bool {
	return by.SourcesReviewed && !asksDistinct(plan, of, Approvers{})
}

// orTemplate names the template whose authors are the policy's too.
func orTemplate(pol *v1alpha1.ClusterRegoPolicy) string {
	if pol.Spec.TemplateRef == nil {
		return ""
	}
	return " or its RegoTemplate " + pol.Spec.TemplateRef.Name
}

// whoAsks says who requires that no author approves.
func whoAsks(by Approvers) string {
	if by.Distinct {
		return "the cluster's administrator requires that somebody else approves " +
			"(--remediation-require-distinct-approver)"
	}
	return "it requires that somebody else approves (approval.requireDistinctApprover)"
}

// unknownCommitter says what to do about a policy from a repository.
func unknownCommitter(pol *v1alpha1.ClusterRegoPolicy) string {
	from := "a PolicySource"
	if source := pol.Labels[v1alpha1.LabelSourceName]; source != "" {
		from = "PolicySource " + pol.Labels[v1alpha1.LabelSourceNamespace] + "/" + source
	}
	return fmt.Sprintf("policy %s requires an approver who hasn't written it, and comes from %s: who has written it "+
		"only the repository knows. "+
		"Let the repository ask for a second person's review, and set requireDistinctApprover to false there; where "+
		"the flag --remediation-require-distinct-approver asks for it, the administrator adds "+
		"--remediation-sources-are-reviewed",
		pol.Name, from)
}

// Author is the user who last changed the spec of a policy or a strategy, or empty when that isn't
// known. Of one from a repository it isn't: the manager has written it, and
// whoever committed it may be anybody, the approver too.
func Author(obj metav1.Object) string {
	author := obj.GetAnnotations()[v1alpha1.AnnotationAuthor]
	if wrote := authors.Of(obj); wrote.Source || !wrote.Wrote(author) {
		return ""
	}
	return author
}
