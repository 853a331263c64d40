// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
)

// A fix that only creates leaves a Namespace alone in which nothing is written, and doesn't fail for it.
func TestAFixThatCreatesKeepsOutOfExemptNamespaces(t *testing.T) {
	d := newDesk(t)
	d.Targets.Reach = limits.Reach{Exempt: []string{"shop"}}
	d.Plan.Rollout.AllowedActions = []v1alpha1.ActionType{v1alpha1.ActionCreate}
	for name, state := range map[string]v1alpha1.TargetState{"shop": v1alpha1.TargetSkipped, "other": ""} {
		d.Target.Object = v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: name}
		got := v1alpha1.TargetState("")
		if rec := RespectReach(t.Context(), d.Attempt); rec != nil {
			got = rec.State
			if rec.Reason != v1alpha1.ReasonNotAllowed {
				t.Errorf("Namespace %s: %s: %s", name, rec.Reason, rec.Message)
			}
		}
		if got != state {
			t.Errorf("Namespace %s: it is %q, want %q", name, got, state)
		}
	}
}
