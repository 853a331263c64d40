// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/history"
)

// LeftOut is why the objects of a namespace aren't fixed now.
type LeftOut struct{ Reason, Message string }

// anyPlanOf is a plan that holds no breaker's permit, for no plan has this name.
func anyPlanOf(pol *v1alpha1.ClusterRegoPolicy) *v1alpha1.Remediation {
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "a plan of " + pol.Name}}
	rem.Spec.Plan.Policy.Name, rem.Spec.Plan.Rollout.Mode = pol.Name, pol.Spec.Remediation.Mode
	return rem
}

// leaveOut finds the namespaces that the draft leaves out.
func (d *draft) leaveOut(now time.Time, found []policy.Finding) {
	var failedIn map[string]string
	if len(d.plans) > 0 {
		failedIn = history.StandingOf(d.policy, d.plans, d.revision, now).LeftOut()
	}
	d.leftOut = NamespacesLeftOut(d.rollout.Mode, failedIn, d.keptBack, found)
}

// NamespacesLeftOut are the namespaces that a plan leaves out, by name: those in which alone
// plans of its revision have failed, and those that breakers keep back while others can go
// on, each with why. What writes nothing leaves out none.
func NamespacesLeftOut(mode v1alpha1.RemediationMode, failedIn, keptBack map[string]string,
	found []policy.Finding) map[string]LeftOut {
	out := map[string]LeftOut{}
	if !mode.Runs() {
		return out
	}
	if breaker.FixableOutside(found, keptBack) {
		for namespace, why := range keptBack {
			out[namespace] = LeftOut{v1alpha1.ReasonBreakerOpen, why}
		}
	}
	for namespace, why := range failedIn {
		out[namespace] = LeftOut{v1alpha1.ReasonNamespaceFailed, why}
	}
	return out
}

// outside tells people which namespaces the plan leaves out, or "".
func (d *draft) outside() string {
	counts := map[string]int{}
	for _, c := range d.ineligible {
		if d.leftOut[c.object.Namespace].Reason == c.reason {
			counts[c.object.Namespace]++
		}
	}
	var text strings.Builder
	for _, namespace := range slices.Sorted(maps.Keys(counts)) {
		n := counts[namespace]
		fmt.Fprintf(&text, "; %s of namespace %s %s left out: %s", prose.Count(n, "object"), namespace,
			prose.Verb(n, "is", "are"), d.leftOut[namespace].Message)
	}
	return text.String()
}
