// SPDX-License-Identifier: Apache-2.0

package action

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// scaleDefinition sets spec.replicas. It is recorded, told after a crash and undone
// like any patch. An autoscaler that owns the field sets it back, which
// verification tells from a fix that failed.
func scaleDefinition() Definition {
	return Definition{Type: policy.ActionScale, Allowed: v1alpha1.ActionScale, Needs: []Permission{{Verb: "patch"}},
		Describe: func(a policy.Action, _ int) string { return "scale it to " + formatInt(a.Replicas) },
		rank:     rankPatch, write: scale}
}

func scale(obj map[string]any, a policy.Action, _ time.Time) (Step, error) {
	const path = "/spec/replicas"
	value, _ := Lookup(obj, path)
	now, ok := value.(int64)
	if !ok {
		return Step{}, refuse(obj, policy.ActionScale, "it has no whole number at "+path)
	}
	step := Step{Type: v1alpha1.ActionPatch}
	if now != a.Replicas {
		step.Ops = []policy.PatchOp{{Op: "replace", Path: path, Value: a.Replicas, HasValue: true}}
	}
	return step, nil
}
