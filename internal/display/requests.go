// SPDX-License-Identifier: Apache-2.0

package display

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// requests draws what people have asked of the plan: who, when and why.
func (r Rollout) requests(d *drawing) {
	requests := v1alpha1.Requests(r.Remediation)
	if len(requests) == 0 {
		return
	}
	d.section("Asked for")
	for i := range requests {
		asked := &requests[i]
		d.add(plain, "  %-8s %s%s by %s", asked.Action, asked.RequestTime.UTC().Format(time.RFC3339),
			v1alpha1.UntilText(asked.UntilTime), asked)
	}
	if len(requests) >= v1alpha1.MaxRequests {
		d.add(faint, "  %s", v1alpha1.OlderRequests)
	}
}
