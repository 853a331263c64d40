// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/policy"
)

// act is something that a person has asked of a plan.
type act struct {
	at              time.Time
	what, user, why string
}

// actsOf are what people have asked of a plan, as far as it remembers, the oldest first.
func actsOf(rem *v1alpha1.Remediation) []act {
	var acts []act
	if a := rem.Status.Approval; a != nil {
		acts = append(acts, act{at: a.At.Time, what: string(a.Decision), user: a.Approver, why: a.Comment})
	}
	for _, r := range rem.Spec.Requests {
		acts = append(acts, act{at: r.Time.Time, what: string(r.Action), user: r.User, why: r.Reason})
	}
	slices.SortStableFunc(acts, func(a, b act) int { return a.at.Compare(b.at) })
	return acts
}

// printActs lists what people have asked of plans; nothing when nobody has asked anything.
func printActs(plans []v1alpha1.Remediation, out io.Writer) error {
	if !slices.ContainsFunc(plans, func(rem v1alpha1.Remediation) bool { return len(actsOf(&rem)) > 0 }) {
		return nil
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	table := output.Columns(out, "PLAN", "WHEN", "ASKED FOR", "BY", "WHY")
	for i := range plans {
		for _, a := range actsOf(&plans[i]) {
			output.Row(table, plans[i].Name, a.at.UTC().Format("2006-01-02 15:04:05Z"), a.what,
				cmp.Or(policy.OneLine(a.user), "-"), cmp.Or(policy.OneLine(a.why), "-"))
		}
	}
	return table.Flush()
}
