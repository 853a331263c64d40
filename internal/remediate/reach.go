// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// respectReach leaves objects alone that no fix may write: those of namespaces that
// keep the cluster or the manager alive, and of kinds by which one gets other permissions.
func respectReach(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if why := a.targets.reach.Object(kindOfTarget(a.target.Object), a.target.Object.Namespace); why != "" {
		return a.skipped(v1alpha1.ReasonNotAllowed, why)
	}
	return nil
}

// respectFields refuses a fix that sets what only the cluster's administrator lets
// fixes set. It is asked before anything is sent, and by the preview.
func respectFields(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	for _, s := range a.steps {
		why := ""
		switch s.Type {
		case policy.ActionCreate:
			why = a.targets.reach.Create(s.Object)
		case policy.ActionDelete, policy.ActionEvict:
			why = a.targets.reach.Remove(a.object.Object)
		case policy.ActionPatch, policy.ActionRestart, policy.ActionScale: // judged as a whole below
		}
		if why != "" {
			return a.failed(v1alpha1.ReasonNotAllowed, why)
		}
	}
	if a.patched == nil {
		return nil
	}
	if why := a.targets.reach.Update(a.object.Object, a.patched); why != "" {
		return a.failed(v1alpha1.ReasonNotAllowed, why)
	}
	return nil
}

// staysInReach is the last word before a write is recorded: what the API server
// would store, with all that admission adds, is judged like the fix itself.
func staysInReach(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	for _, w := range a.writes {
		if w.Type != policy.ActionPatch || w.stored == nil {
			continue
		}
		if why := a.targets.reach.Update(a.object.Object, w.stored.Object); why != "" {
			return a.failed(v1alpha1.ReasonNotAllowed, "as the API server would store it: "+why)
		}
	}
	return nil
}

func kindOfTarget(ref v1alpha1.ObjectReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}
