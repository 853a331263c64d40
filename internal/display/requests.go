// SPDX-License-Identifier: Apache-2.0

package display

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// requests draws what people have asked of the plan: who, when and why.
func (r Rollout) requests(d *drawing) {
	if len(r.Remediation.Spec.Requests) == 0 {
		return
	}
	d.section("Asked for")
	for i := range r.Remediation.Spec.Requests {
		asked := &r.Remediation.Spec.Requests[i]
		d.add(plain, "  %-8s %s%s by %s", asked.Action, asked.RequestTime.UTC().Format(time.RFC3339),
			v1alpha1.UntilText(asked.UntilTime), asked)
	}
	if len(r.Remediation.Spec.Requests) >= v1alpha1.MaxRequests {
		d.add(faint, "  %s", v1alpha1.OlderRequests)
	}
}
