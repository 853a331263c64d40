package remediate

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// respectOwnership leaves objects alone that a controller makes, or that a tool
// keeps in step with a source of its own unless the strategy says to mend those.
func respectOwnership(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if action.ReachOwned(a.decision.Actions) {
		return nil // an eviction is the controller's own way, and asks it for another Pod
	}
	if owner, owned := kube.ControllerOf(a.object); owned {
		return a.skipped(v1alpha1.ReasonOwned, fmt.Sprintf("%s makes this object: it must be mended there", owner))
	}
	if manager, managed := kube.ManagedBy(a.object); managed && a.plan.Strategy.ManagedObjects != v1alpha1.ManagedRemediate {
		return a.skipped(v1alpha1.ReasonManaged, fmt.Sprintf("%s manages this object and would undo the fix; at its source: %s",
			manager, action.Describe(a.decision.Actions, 8)))
	}
	return nil
}
