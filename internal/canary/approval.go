// SPDX-License-Identifier: Apache-2.0

package canary

import (
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
	// Reason is the CamelCase reason for the answer's Ready condition.
	Reason string
	// Field is what is wrong in the answer.
	Field string
	// Message says why, and what to do.
	Message string
}

// Asked is what a plan was made by, as it is now.
type Asked struct {
	// Policy is with the strategy that it follows now; nil when it is gone.
	Policy *v1alpha1.ClusterRegoPolicy
	// Strategy is the RemediationStrategy of the plan's; nil when it is gone, or the plan
	// was made by none.
	Strategy *v1alpha1.RemediationStrategy
}

// Refuse judges an answer to a plan, at admission and again when it is taken.
// plan is nil when there is none of that name.
func Refuse(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation, of Asked, by Approvers) Refusal {
	if r := refuseForm(a, plan); r != (Refusal{}) {
		return r
	}
	if r := refuseTime(a, plan); r != (Refusal{}) {
		return r
	}
	return refuseApprover(a, plan, of, by)
}

// refuseForm judges what the answer says, and of which plan.
func refuseForm(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation) Refusal {
	switch d := a.Spec.Decision; {
	case d != v1alpha1.DecisionApprove && d != v1alpha1.DecisionReject:
		return Refusal{v1alpha1.ReasonInvalid, "spec.decision", fmt.Sprintf("%q: must be Approve or Reject", d)}
	case plan == nil:
		return Refusal{v1alpha1.ReasonPlanNotFound, "spec.remediationRef.name", fmt.Sprintf(
			"there is no Remediation %q: kubectl get remediations lists those that there are",
			a.Spec.RemediationRef.Name)}
	case string(plan.UID) != a.Spec.RemediationRef.UID:
		return Refusal{v1alpha1.ReasonPlanMismatch, "spec.remediationRef.uid", fmt.Sprintf(
			"%q isn't the UID of Remediation %s, which is %q: the answer is to another plan of that name; review "+
				"this one, its targets and fixes, before you answer it",
			a.Spec.RemediationRef.UID, plan.Name, plan.UID)}
	case plan.Spec.Plan.Policy.Name != a.Spec.Policy:
		return Refusal{v1alpha1.ReasonPlanMismatch, "spec.policy", fmt.Sprintf(
			"Remediation %s is of policy %q, not of %q: name that policy, which asks for the verb approve on it",
			plan.Name, plan.Spec.Plan.Policy.Name, a.Spec.Policy)}
	}
	return Refusal{}
}

// refuseTime judges whether the plan waits for an answer.
func refuseTime(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation) Refusal {
	not := func(format string, args ...any) Refusal {
		return Refusal{v1alpha1.ReasonNotAwaited, "spec.remediationRef.name",
			fmt.Sprintf("Remediation %s ", plan.Name) + fmt.Sprintf(format, args...)}
	}
	switch {
	case plan.Spec.Plan.Strategy.Mode != v1alpha1.RemediationManual:
		return not("is in mode %s and awaits no approval: only plans of policies with spec.remediation.mode Manual do",
			plan.Spec.Plan.Strategy.Mode)
	case plan.Status.Approval != nil && !InEffect(a, plan):
		taken := plan.Status.Approval
		return Refusal{v1alpha1.ReasonAlreadyAnswered, "spec.remediationRef.name",
			fmt.Sprintf("Remediation %s was answered already: %s by %s (%s); an answer can't be changed; %s",
				plan.Name, taken.Decision, taken.Approver, taken.ApprovalRef.Name, instead(plan))}
	case plan.Status.CompletionTime != nil:
		return not("has ended as %s and awaits no approval", plan.Status.Phase)
	case plan.DeletionTimestamp != nil || ending(plan.Spec.DesiredState):
		return not("is being ended and awaits no approval")
	}
	return Refusal{}
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

// refuseApprover judges who answers. A no may come from anybody who may answer.
func refuseApprover(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation, of Asked, by Approvers) Refusal {
	pol := of.Policy
	if a.Spec.Approver == "" {
		return Refusal{v1alpha1.ReasonApproverUnknown, "spec.approver",
			"admission hasn't recorded who answers: delete this answer and give it again"}
	}
	if pol == nil || string(pol.UID) != plan.Spec.Plan.Policy.UID {
		return Refusal{v1alpha1.ReasonNotAwaited, "spec.remediationRef.name",
			fmt.Sprintf("policy %s of Remediation %s is gone: nothing is to be approved",
				plan.Spec.Plan.Policy.Name, plan.Name)}
	}
	if made := plan.Spec.Plan.StrategyRef; made != nil && (of.Strategy == nil || string(of.Strategy.UID) != made.UID) {
		return Refusal{v1alpha1.ReasonNotAwaited, "spec.remediationRef.name",
			fmt.Sprintf("RemediationStrategy %s, by which Remediation %s was made, is gone: nothing is to be approved",
				made.Name, plan.Name)}
	}
	if a.Spec.Decision == v1alpha1.DecisionReject || !asksDistinct(plan, pol, by) {
		return Refusal{}
	}
	if refused := refuseAuthor(a.Spec.Approver, plan, pol, by); refused != (Refusal{}) || of.Strategy == nil {
		return refused
	}
	return refuseStrategyAuthor(a.Spec.Approver, plan, of.Strategy, by)
}

// asksDistinct says whether no author may approve.
func asksDistinct(plan *v1alpha1.Remediation, pol *v1alpha1.ClusterRegoPolicy, by Approvers) bool {
	return by.Distinct || plan.Spec.Plan.Strategy.Approval.RequireDistinctApprover ||
		pol.Spec.Remediation.Approval.RequireDistinctApprover
}

// refuseAuthor refuses all who have ever changed the policy's spec: a later touch by
// somebody else doesn't make the rule theirs. Where one of them isn't known, everybody
// might be the one.
func refuseAuthor(approver string, plan *v1alpha1.Remediation, pol *v1alpha1.ClusterRegoPolicy, by Approvers) Refusal {
	wrote := authors.Of(pol)
	if approver == plan.Spec.Plan.Policy.Author || slices.Contains(plan.Spec.Plan.Policy.Authors, approver) ||
		wrote.Wrote(approver) {
		return Refusal{v1alpha1.ReasonSelfApproval, "spec.approver", fmt.Sprintf(
			"%s has written policy %s%s, or changed it since it was made, and %s: ask another person",
			approver, pol.Name, orTemplate(pol), whoAsks(by))}
	}
	why := ""
	switch {
	case wrote.Source && !sourcesReviewed(plan, pol, by):
		why = unknownCommitter(pol)
	case wrote.More && len(wrote.Users) > 0:
		why = fmt.Sprintf("more people have changed policy %s%s than are recorded (annotation %s names %d), so that "+
			"anybody might be one of them, and %s: "+
			"somebody who answers for all of it deletes it and recreates it", pol.Name, orTemplate(pol),
			v1alpha1.AnnotationAuthors, len(wrote.Users), whoAsks(by))
	case wrote.More:
		why = fmt.Sprintf("who has written policy %s%s isn't recorded (annotation %s), and %s: somebody who answers "+
			"for all of it deletes it and recreates it by a request that admission sees",
			pol.Name, orTemplate(pol), v1alpha1.AnnotationAuthors, whoAsks(by))
	case plan.Spec.Plan.Policy.Author == "" && !wrote.Source:
		why = fmt.Sprintf("who had written policy %s wasn't recorded when it was planned (annotation %s), and %s: "+
			"make sure that it is by now, then delete Remediation %s, so that it is planned again",
			pol.Name, v1alpha1.AnnotationAuthor, whoAsks(by), plan.Name)
	default:
		return Refusal{}
	}
	return Refusal{v1alpha1.ReasonAuthorUnknown, "spec.approver", why}
}

// refuseStrategyAuthor refuses all who have ever changed the spec of the RemediationStrategy
// that a plan was made by: how careful the rollout is, they have said.
func refuseStrategyAuthor(approver string, plan *v1alpha1.Remediation, s *v1alpha1.RemediationStrategy,
	by Approvers) Refusal {
	wrote, made := authors.Of(s), plan.Spec.Plan.StrategyRef
	switch {
	case approver == made.Author || slices.Contains(made.Authors, approver) || wrote.Wrote(approver):
		return Refusal{v1alpha1.ReasonSelfApproval, "spec.approver", fmt.Sprintf(
			"%s has written RemediationStrategy %s, by which the plan was made, or changed it since it was made, and "+
				"%s: ask another person",
			approver, s.Name, whoAsks(by))}
	case wrote.More || wrote.Source || made.Author == "":
		return Refusal{v1alpha1.ReasonAuthorUnknown, "spec.approver", fmt.Sprintf(
			"not all who have written RemediationStrategy %s are recorded (annotation %s), and %s: somebody who "+
				"answers for all of it deletes the strategy and recreates it by a request that admission sees; a new "+
				"plan follows",
			s.Name, v1alpha1.AnnotationAuthors, whoAsks(by))}
	}
	return Refusal{}
}

// sourcesReviewed says whether the administrator's word for the repositories counts:
// a policy that itself asks for another approver is heard all the same.
func sourcesReviewed(plan *v1alpha1.Remediation, pol *v1alpha1.ClusterRegoPolicy, by Approvers) bool {
	return by.SourcesReviewed && !asksDistinct(plan, pol, Approvers{})
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
	return "it requires that somebody else approves (spec.remediation.approval.requireDistinctApprover)"
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

// InEffect says whether the answer is the one that the plan acts by. Another one may
// have got its name since.
func InEffect(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation) bool {
	taken := plan.Status.Approval
	return taken != nil && taken.ApprovalRef == v1alpha1.RefTo(a)
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
