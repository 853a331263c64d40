// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/history"
)

// leftOut is why the objects of a namespace aren't fixed now.
type leftOut struct{ reason, message string }

// leaveOut finds the namespaces that the draft leaves out: those in which alone plans of
// this revision have failed, and those that breakers keep back while others can go on.
func (d *draft) leaveOut(now time.Time, found []policy.Finding) {
	d.leftOut = map[string]leftOut{}
	if d.strategy.Mode.Runs() && breaker.FixableOutside(found, d.keptBack) {
		for namespace, why := range d.keptBack {
			d.leftOut[namespace] = leftOut{v1alpha1.ReasonBreakerOpen, why}
		}
	}
	if !d.strategy.Mode.Runs() || len(d.plans) == 0 {
		return
	}
	for namespace, why := range history.StandingOf(d.policy, d.plans, d.revision, now).LeftOut() {
		d.leftOut[namespace] = leftOut{v1alpha1.ReasonNamespaceFailed, why}
	}
}

// outside tells people which namespaces the plan leaves out, or "".
func (d *draft) outside() string {
	counts := map[string]int{}
	for _, c := range d.ineligible {
		if d.leftOut[c.object.Namespace].reason == c.reason {
			counts[c.object.Namespace]++
		}
	}
	var text strings.Builder
	for _, namespace := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "; %d objects of namespace %s are left out: %s", counts[namespace], namespace,
			d.leftOut[namespace].message)
	}
	return text.String()
}
