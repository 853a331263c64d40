// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"io"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

func actsOf(rem *v1alpha1.Remediation) []request.Act {
	var acts []request.Act
	if a := rem.Status.Approval; a != nil && rem.AnsweredBy() == nil {
		acts = append(acts, request.Act{Of: rem.Name, At: a.DecisionTime.Time, What: string(a.Decision),
			User: a.Approver, Why: a.Comment})
	}
	return append(acts, request.ActsOf(rem.Name, v1alpha1.Requests(rem))...)
}

// printActs lists what people have asked of plans; nothing when nobody has asked anything.
func printActs(plans []v1alpha1.Remediation, out io.Writer) error {
	var acts []request.Act
	for i := range plans {
		acts = append(acts, actsOf(&plans[i])...)
	}
	if len(acts) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return request.PrintActs(out, "PLAN", acts)
}
