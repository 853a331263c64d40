// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
)

// RequireNewPods leaves a workload alone of which no Pod, or not each, would run what
// the fix changes in its template: the Pods that are ready are of the old one, and
// prove nothing. Metrics don't tell either, for they measure the old Pods.
func RequireNewPods(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	if a.Patched == nil || a.Plan.Rollout.Mode == v1alpha1.RemediationDryRun ||
		healthcheck.TakesUnknown(a.Plan.Rollout) {
		return nil
	}
	changed := action.Diff(a.Object.Object, a.Patched)
	if !slices.ContainsFunc(changed, func(f action.Field) bool { return kube.InTemplate(f.Path) }) {
		return nil
	}
	why := kube.KeepsOldPods(&unstructured.Unstructured{Object: a.Patched})
	if why == "" {
		return nil
	}
	if a.Canary {
		return a.noCanary(v1alpha1.ReasonHealthUnknown, healthcheck.OldPods(why))
	}
	return a.Failed(v1alpha1.ReasonHealthUnknown, healthcheck.OldPods(why))
}
