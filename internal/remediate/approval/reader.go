// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
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
	// approvers is what the cluster's administrator requires of approvers.
	approvers canary.Approvers
}

// NewReader makes a Reader. The reader given reads past every cache.
func NewReader(reader client.Reader, c clock.PassiveClock, approvers canary.Approvers) *Reader {
	return &Reader{reader: reader, clock: c, approvers: approvers}
}

// Read observes what people have said of a plan that needs an approval. An answer that
// counts is recorded in the plan's status, which is persisted with this step. proposal is what
// is to be approved, of a plan that nobody has answered; waits says why that can't be known
// yet, or is empty.
func (c *Reader) Read(ctx context.Context, rem *v1alpha1.Remediation, proposal *preview.Proposal, waits string) (
	rollout.Approval, error) {
	if _, asks := rem.ApprovalWave(); !asks {
		return rollout.Approval{}, nil
	}
	var refused canary.Refusal
	if wave, awaits := rem.AwaitsApproval(); awaits {
		if wave == 0 {
			rem.Status.ProposalDigest = proposal.Digest
		}
		if answers(rem, wave) {
			of, err := catalog.Asked(ctx, c.reader, rem)
			if err != nil {
				return rollout.Approval{}, err
			}
			refused = take(rem, proposal, of, c.approvers)
		}
	}
	return approvalOf(rem, refused, proposal, waits, c.approvers, c.clock.Now()), nil
}

// answers reports whether the answer in a plan's spec is that to a wave.
func answers(rem *v1alpha1.Remediation, wave int32) bool {
	return rem.Spec.Approval != nil && rem.Spec.Approval.Wave == wave
}

// take records a plan's answer in its status if it counts, or says why it doesn't. It
// repeats all checks of admission: the answer may have bypassed admission, and the policy may have
// another author since. An approval counts only once the changes are known.
func take(rem *v1alpha1.Remediation, proposal *preview.Proposal, of canary.Asked, by canary.Approvers) canary.Refusal {
	given, asked, approver := rem.Spec.Approval, rem.AnsweredBy(), ""
	if asked != nil {
		approver = asked.User
	}
	if refused := canary.Refuse(rem, approver, of, by); refused != (canary.Refusal{}) {
		return refused
	}
	if given.Decision != v1alpha1.DecisionReject {
		digest := rem.Status.ProposalDigest
		if given.Wave == 0 {
			if digest = proposal.Digest; !proposal.Complete() {
				return canary.Refusal{}
			}
		}
		if refused := canary.RefuseProposal(rem, digest); refused != (canary.Refusal{}) {
			return refused
		}
	}
	rem.Status.Approval = &v1alpha1.ApprovalRecord{Decision: given.Decision, Wave: given.Wave, Approver: approver,
		Comment: given.Comment, DecisionTime: metav1.NewMicroTime(asked.RequestTime.Time)}
	return canary.Refusal{}
}

// approvalOf is what the status of a plan says of its approval. refused says why the answer that it got
// doesn't count.
func approvalOf(rem *v1alpha1.Remediation, refused canary.Refusal, proposal *preview.Proposal, waits string,
	by canary.Approvers, now time.Time) rollout.Approval {
	wave, awaits := rem.AwaitsApproval()
	if given := rem.Status.Approval; !awaits {
		return rollout.Approval{Needed: true, Decision: given.Decision, Message: Describe(given)}
	}
	if refused != (canary.Refusal{}) {
		return rollout.Approval{Needed: true, Refused: refused.Reason, Message: fmt.Sprintf("the answer doesn't "+
			"count: %s. It can't be changed; to have the policy planned again: evenkeel rollout abort %s, then "+
			"evenkeel rollout retry %[2]s", refused.Message, rem.Name)}
	}
	if answers(rem, wave) {
		return rollout.Approval{Needed: true, Message: fmt.Sprintf("approved by %s", rem.AnsweredBy()) +
			notYet(proposal, waits)}
	}
	timeout := rem.Spec.Plan.Rollout.ApprovalTimeout.Duration
	if timeout <= 0 {
		timeout = v1alpha1.DefaultApprovalTimeout
	}
	a := rollout.Approval{Needed: true, Message: request(rem, wave, proposal, by) + notYet(proposal, waits),
		Overdue: now.Sub(Asked(rem)) > timeout}
	if a.Overdue {
		a.Message = fmt.Sprintf("nobody has answered within %s. %s", timeout, a.Message)
	}
	return a
}

// Asked is when the plan asked for the answer that it awaits.
func Asked(rem *v1alpha1.Remediation) time.Time {
	switch s := &rem.Status; {
	case s.Wave > 0 && s.HeldTime != nil:
		return s.HeldTime.Time
	case s.Wave > 0 && s.WaveStartTime != nil:
		return s.WaveStartTime.Time
	}
	return rem.CreationTimestamp.Time
}

// notYet says how far it is known what is to be approved; empty when it is.
func notYet(proposal *preview.Proposal, waits string) string {
	switch {
	case proposal == nil || proposal.Complete(): // after the first wave there is none
		return ""
	case waits != "":
		return ". No approval counts before the changes are known, and they can't be computed: " + waits
	}
	return fmt.Sprintf(". No approval counts before the changes are known: computed for %d of %s", proposal.Known,
		prose.Count(proposal.All, "target"))
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
func request(rem *v1alpha1.Remediation, wave int32, proposal *preview.Proposal, by canary.Approvers) string {
	answer := v1alpha1.PlanApproval{Decision: v1alpha1.DecisionApprove, Wave: wave}
	targets, after := rem.Spec.Plan.Targets, ""
	if wave == 0 {
		answer.ProposalDigest = proposal.Digest
	} else {
		targets = rem.Status.Counts.Pending
		after = fmt.Sprintf("%s of %d fixed and soaked, %s fixed; ", prose.Count(wave, "wave"),
			len(rem.Spec.Plan.Waves), prose.Count(rem.Status.Counts.Done, "target"))
	}
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"uid": rem.UID}, // can always be marshalled
		"spec": map[string]any{"approval": answer}})
	distinct := ""
	if by.Distinct || rem.Spec.Plan.Rollout.RequireDistinctApprover {
		distinct = ", who hasn't written " + written(rem) + ","
	}
	return after + fmt.Sprintf("%s of policy %s (owner %s) %s for a person%s to answer: evenkeel rollout approve %s "+
		"(or reject), or: kubectl patch remediation %[6]s --type=merge -p '%[7]s'",
		prose.Count(targets, "target"), rem.Spec.Plan.Policy.Name, rem.Spec.Plan.Policy.Owner,
		prose.Verb(targets, "waits", "wait"), distinct, rem.Name, patch)
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
