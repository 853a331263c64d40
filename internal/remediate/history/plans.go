// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Blocked says why a policy's revision isn't planned again: its plans did harm or
// proved that the fix doesn't work, in more than one namespace or in all that violates,
// or a person rejected or ended the latest, or had any undone, and neither the policy has
// changed since nor has a person said to try again. plans are all of the policy, the
// oldest first.
func Blocked(pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation, revision string, stand Standing,
	found []policy.Finding) string {
	if rem := UndonePlan(pol, plans, revision); rem != nil {
		return notAgain(*rem)
	}
	if stand.Blocks >= 0 {
		return notAgain(*stand.plans[stand.Blocks])
	}
	for _, aside := range stand.Aside {
		if aside.Until.IsZero() && !breaker.FixableOutside(found, stand.Aside) {
			return notAgain(*stand.plans[aside.End])
		}
	}
	return ""
}

func notAgain(rem v1alpha1.Remediation) string {
	return fmt.Sprintf(
		"plan %s of this revision ended as %s: fix the policy, or say to try again: evenkeel rollout retry %s",
		rem.Name, rem.Status.Phase, rem.Name)
}

// UndonePlan is the plan of a revision that a person had undone last, unless a person
// has said since to try again, of it or of one that ended later. An empty
// revision stands for any. Nil: there is none.
func UndonePlan(pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation, revision string) *v1alpha1.Remediation {
	var last *v1alpha1.Remediation
	var forgiven time.Time
	for i := range plans {
		rem := &plans[i]
		if rem.RetryAsked() {
			forgiven = rem.EndTime()
		}
		same := rem.Spec.Plan.Policy.UID == string(pol.UID) &&
			(revision == "" || rem.Spec.Plan.Policy.Revision == revision)
		if same && wasUndone(rem) && (last == nil || rem.EndTime().After(last.EndTime())) {
			last = rem
		}
	}
	if last != nil && !last.EndTime().After(forgiven) {
		return nil
	}
	return last
}

func wasUndone(rem *v1alpha1.Remediation) bool {
	return rem.Status.Phase.Final() && rem.Status.Reason == v1alpha1.ReasonUndone
}
