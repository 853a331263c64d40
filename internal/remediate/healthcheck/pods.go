// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// OldPods says what a person can do about a workload that keeps its old Pods.
func OldPods(why string) string {
	return why +
		"; so that no verification could find that the fix does harm. Let its controller replace its Pods, or set " +
		"health.unknown: Allow in its RemediationStrategy to go by the policy's verdict alone"
}

// TakesUnknown says whether the strategy takes health that nobody can tell for well.
func TakesUnknown(s v1alpha1.PlannedRollout) bool {
	return s.UnknownHealth == v1alpha1.UnknownHealthAllow
}

// CheckNewPods looks at a check that passed: whose Pods has it seen? Old ones, or none
// where there were some, are no evidence, whoever has seen to that since the write.
func CheckNewPods(s v1alpha1.PlannedRollout, obj *unstructured.Unstructured, rec *v1alpha1.TargetRecord,
	c *rollout.Check) *rollout.Check {
	if c.Result != rollout.CheckPassed || TakesUnknown(s) {
		return c
	}
	why := scaledAway(obj, rec)
	if why == "" && writesAt(rec, kube.InTemplate) {
		why = kube.KeepsOldPods(obj)
		if runs, old := kube.RunsTemplate(obj); why == "" && !runs &&
			kube.ParseHealth(rec.Write.HealthBefore) != kube.Failed {
			why = old
		}
	}
	if why == "" {
		return c
	}
	return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonHealthUnknown,
		Message: "clean, but no health is proven: " + why}
}

// scaledAway says that a workload which had ready Pods before the write is to have none
// by now, though no write of the fix has scaled it.
func scaledAway(obj *unstructured.Unstructured, rec *v1alpha1.TargetRecord) string {
	wanted, told := kube.WantedPods(obj)
	if !told || wanted > 0 || rec.Write.ReadyBefore == 0 || writesAt(rec, func(path string) bool {
		return path == "/spec/replicas"
	}) {
		return ""
	}
	return fmt.Sprintf("it had %d ready Pods before the write, and has been scaled to 0 since: scale it up again",
		rec.Write.ReadyBefore)
}

// writesAt says whether a write of the target changes a place.
func writesAt(rec *v1alpha1.TargetRecord, place func(string) bool) bool {
	for _, w := range record.WritesOf(rec) {
		if slices.ContainsFunc(w.Fields, func(f v1alpha1.FieldChange) bool {
			return w.Object == nil && place(f.Path)
		}) {
			return true
		}
	}
	return false
}
