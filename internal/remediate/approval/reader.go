// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Reader reads what people have said of plans.
type Reader struct {
	reader client.Reader
	clock  clock.PassiveClock
	// approvers is what the cluster's administrator asks of whoever approves a plan.
	approvers canary.Approvers
}

// NewReader reads answers past every cache. It takes the options that say whom and what to read, and how late it is.
func NewReader(o Options) *Reader {
	return &Reader{reader: o.Reader, clock: o.Clock, approvers: o.Approvers}
}

// Read observes what people have said of a plan in mode Manual. The first
// answer that counts is recorded in the plan's status, which is persisted with
// this step: what becomes of the RemediationApproval then changes nothing. proposal is what
// is to be approved, of a plan that nobody has answered; waits says why that can't be known
// yet, or is empty.
func (c *Reader) Read(ctx context.Context, rem *v1alpha1.Remediation, proposal *preview.Proposal, waits string) (
	rollout.Approval, error) {
	if rem.Spec.Plan.Strategy.Mode != v1alpha1.RemediationManual {
		return rollout.Approval{}, nil
	}
	if rem.Status.Approval == nil {
		given, err := c.answer(ctx, rem, proposal)
		if err != nil {
			return rollout.Approval{}, err
		}
		rem.Status.Approval = given
	}
	return approvalOf(rem, proposal, waits, c.approvers, c.clock.Now()), nil
}

// approvalOf is what the status of a plan in mode Manual says of its approval.
func approvalOf(rem *v1alpha1.Remediation, proposal *preview.Proposal, waits string, by canary.Approvers,
	now time.Time) rollout.Approval {
	if given := rem.Status.Approval; given != nil {
		return rollout.Approval{Needed: true, Decision: given.Decision, Message: Describe(given)}
	}
	timeout := rem.Spec.Plan.Strategy.Approval.Timeout.Duration
	if timeout <= 0 {
		timeout = v1alpha1.DefaultApprovalTimeout
	}
	a := rollout.Approval{Needed: true, Message: request(rem, proposal, by) + notYet(proposal, waits),
		Overdue: now.Sub(rem.CreationTimestamp.Time) > timeout}
	if a.Overdue {
		a.Message = fmt.Sprintf("nobody has answered within %s. %s", timeout, a.Message)
	}
	return a
}

// answer reads the answers anew and returns the first that counts, or nil. All
// that admission has judged is judged again: an answer may have been given while
// nobody looked, and the policy may have another author since.
func (c *Reader) answer(ctx context.Context, rem *v1alpha1.Remediation, proposal *preview.Proposal) (
	*v1alpha1.ApprovalRecord, error) {
	list := &v1alpha1.RemediationApprovalList{}
	if err := c.reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the answers to plan %s: %w", rem.Name, err)
	}
	given := answersTo(rem, list.Items)
	if len(given) == 0 {
		return nil, nil
	}
	of, err := catalog.Asked(ctx, c.reader, rem)
	if err != nil {
		return nil, err
	}
	return firstThatCounts(given, rem, proposal, of, c.approvers), nil
}

// answersTo are the answers to a plan, the oldest first.
func answersTo(rem *v1alpha1.Remediation, all []v1alpha1.RemediationApproval) []v1alpha1.RemediationApproval {
	given := slices.DeleteFunc(all, func(a v1alpha1.RemediationApproval) bool {
		return a.Spec.RemediationRef != v1alpha1.RefTo(rem) || a.DeletionTimestamp != nil
	})
	slices.SortFunc(given, inOrder)
	return given
}

// firstThatCounts records the first answer that counts; nil when none does.
func firstThatCounts(given []v1alpha1.RemediationApproval, rem *v1alpha1.Remediation, proposal *preview.Proposal,
	of canary.Asked, by canary.Approvers) *v1alpha1.ApprovalRecord {
	for i := range given {
		if a := &given[i]; agrees(a, proposal) && canary.Refuse(a, rem, of, by) == (canary.Refusal{}) {
			return &v1alpha1.ApprovalRecord{ApprovalRef: v1alpha1.RefTo(a), Decision: a.Spec.Decision,
				Approver: a.Spec.Approver,
				Comment:  a.Spec.Comment, DecisionTime: metav1.NewMicroTime(a.CreationTimestamp.Time)}
		}
	}
	return nil
}

// agrees says whether an answer is to what a plan would do. Nobody can agree to what isn't
// known yet; a no is to all of it.
func agrees(a *v1alpha1.RemediationApproval, proposal *preview.Proposal) bool {
	return a.Spec.Decision == v1alpha1.DecisionReject ||
		proposal.Complete() && refuseProposal(a, proposal) == (canary.Refusal{})
}

// refuseProposal refuses a yes to other changes than the plan's, once those are known.
func refuseProposal(a *v1alpha1.RemediationApproval, proposal *preview.Proposal) canary.Refusal {
	digest := a.Spec.ProposalDigest
	if digest == "" || digest == proposal.Digest || !proposal.Complete() || a.Spec.Decision == v1alpha1.DecisionReject {
		return canary.Refusal{}
	}
	return canary.Refusal{Reason: v1alpha1.ReasonProposalMismatch, Field: "spec.proposalDigest", Message: fmt.Sprintf(
		"%s isn't the digest of the changes of Remediation %s, which is %s: review them (evenkeel rollout get %s) "+
			"before you answer again", digest, a.Spec.RemediationRef.Name, proposal.Digest, a.Spec.RemediationRef.Name)}
}

// notYet says how far it is known what is to be approved; empty when it is.
func notYet(proposal *preview.Proposal, waits string) string {
	switch {
	case proposal.Complete():
		return ""
	case waits != "":
		return ". No approval counts before the changes are known, and they can't be computed: " + waits
	}
	return fmt.Sprintf(". No approval counts before the changes are known: computed for %d of %s", proposal.Known,
		prose.Count(proposal.All, "target"))
}

// inOrder puts the oldest answer first. The API keeps whole seconds: of answers
// within one a no comes first, for it does no harm.
func inOrder(a, b v1alpha1.RemediationApproval) int {
	no := func(a v1alpha1.RemediationApproval) int {
		if a.Spec.Decision == v1alpha1.DecisionReject {
			return 0
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(no(a), no(b)),
		cmp.Compare(a.Name, b.Name))
}

// Describe tells who answered and what.
func Describe(r *v1alpha1.ApprovalRecord) string {
	text := fmt.Sprintf("%s by %s", map[v1alpha1.ApprovalDecision]string{
		v1alpha1.DecisionApprove: "approved", v1alpha1.DecisionReject: "rejected"}[r.Decision], r.Approver)
	if r.Comment != "" {
		text += ": " + r.Comment
	}
	return text
}

// request asks for an answer, and says how to give one.
func request(rem *v1alpha1.Remediation, proposal *preview.Proposal, by canary.Approvers) string {
	spec := map[string]any{"remediationRef": v1alpha1.RefTo(rem), "policy": rem.Spec.Plan.Policy.Name,
		"decision": v1alpha1.DecisionApprove}
	if proposal.Digest != "" {
		spec["proposalDigest"] = proposal.Digest
	}
	answer, _ := json.Marshal(map[string]any{ // strings can always be marshalled
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "RemediationApproval",
		"metadata": map[string]any{"generateName": rem.Name + "-"}, "spec": spec,
	})
	distinct := ""
	if by.Distinct || rem.Spec.Plan.Strategy.Approval.RequireDistinctApprover {
		distinct = ", who hasn't written " + written(rem) + ","
	}
	return fmt.Sprintf("%s of policy %s (owner %s) %s for a person%s to answer: evenkeel rollout approve %s "+
		"(or reject), or: echo '%s' | kubectl create -f -",
		prose.Count(rem.Spec.Plan.Targets, "target"), rem.Spec.Plan.Policy.Name, rem.Spec.Plan.Policy.Owner,
		prose.Verb(rem.Spec.Plan.Targets, "waits", "wait"), distinct, rem.Name, answer)
}

// written is what the plan was made by, and who has written it. The authors of a policy are
// those of its template too.
func written(rem *v1alpha1.Remediation) string {
	plan := &rem.Spec.Plan
	if plan.StrategyRef == nil {
		return "the policy" + named(plan.Policy.Authors)
	}
	users := slices.Concat(plan.Policy.Authors, plan.StrategyRef.Authors)
	slices.Sort(users)
	return "the policy, its template or its strategy" + named(slices.Compact(users))
}

// named names the authors whose answer won't count, the first few of them.
func named(users []string) string {
	const most = 8
	switch n := len(users); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf(" (as %s and %d more have)", strings.Join(users[:most], ", "), n-most)
	default:
		return " (as " + strings.Join(users, ", ") + map[bool]string{true: " has)", false: " have)"}[n == 1]
	}
}

// PlanOf is the plan that an answer is to.
func PlanOf(_ context.Context, obj client.Object) []ctrl.Request {
	a, ok := obj.(*v1alpha1.RemediationApproval)
	if !ok {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: a.Spec.RemediationRef.Name}}}
}
