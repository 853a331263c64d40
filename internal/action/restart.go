// SPDX-License-Identifier: Apache-2.0

package action

import (
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// RestartedAt is the annotation of the pod template that kubectl rollout restart
// sets (k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go).
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// restartDefinition makes a workload replace its Pods by a new annotation on its pod
// template. It is recorded, told after a crash and undone like any patch; undoing
// it replaces the Pods once more.
func restartDefinition() Definition {
	return Definition{Type: policy.ActionRestart, Allowed: v1alpha1.ActionRestart, Needs: []Permission{{Verb: "patch"}},
		Describe: func(policy.Action, int) string { return "restart its Pods" },
		rank:     rankPatch, write: restart}
}

func restart(obj map[string]any, _ policy.Action, at time.Time) (Step, error) {
	const template = "/spec/template"
	if slices.Contains(notRolledOut(), kindOf(obj)) {
		return Step{}, refuse(obj, policy.ActionRestart,
			"its controller doesn't replace Pods when the pod template changes")
	}
	if spec, _ := Lookup(obj, template+"/spec"); !isObject(spec) {
		return Step{}, refuse(obj, policy.ActionRestart, "it has no pod template at /spec/template")
	}
	value := any(at.UTC().Format(time.RFC3339))
	op := policy.PatchOp{Op: "add", Path: template + "/metadata/annotations/" + "kubectl.kubernetes.io~1restartedAt",
		Value: value, HasValue: true}
	if annotations, _ := Lookup(obj, template+"/metadata/annotations"); !isObject(annotations) {
		op.Path, op.Value = template+"/metadata/annotations", map[string]any{RestartedAt: value}
	}
	if metadata, _ := Lookup(obj, template+"/metadata"); !isObject(metadata) {
		op.Path, op.Value = template+"/metadata", map[string]any{"annotations": op.Value}
	}
	return Step{Type: v1alpha1.ActionPatch, Ops: []policy.PatchOp{op}}, nil
}

// notRolledOut are the kinds with a pod template whose running Pods stay as they are.
func notRolledOut() []policy.GroupKind {
	return []policy.GroupKind{{Kind: "ReplicationController"}, {Group: "apps", Kind: "ReplicaSet"},
		{Group: "batch", Kind: "Job"}, {Group: "batch", Kind: "CronJob"}}
}

func isObject(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}
