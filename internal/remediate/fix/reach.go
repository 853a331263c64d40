// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// RespectReach leaves objects alone that no fix may write: those of namespaces that
// keep the cluster or the manager alive, and of kinds by which one gets other permissions.
func RespectReach(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	ref := a.Target.Object
	if why := a.Targets.Reach.Target(KindOfTarget(ref), ref.Namespace, ref.Name,
		v1alpha1.OnlyCreates(a.Plan.Rollout.AllowedActions)); why != "" {
		return a.Skipped(v1alpha1.ReasonNotAllowed, why)
	}
	return nil
}

// RespectFields refuses a fix that sets what only the cluster's administrator lets
// fixes set. It is asked before anything is sent, and by the preview.
func RespectFields(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	for _, s := range a.Steps {
		why := ""
		switch {
		case s.Type.Creates():
			why = a.Targets.Reach.Create(s.Object)
		case s.Type.Removes():
			why = a.Targets.Reach.Remove(a.Object.Object)
		default: // a patch: judged as a whole below
		}
		if why != "" {
			return a.Failed(v1alpha1.ReasonNotAllowed, why)
		}
	}
	if a.Patched == nil {
		return nil
	}
	if why := a.Targets.Reach.Update(a.Object.Object, a.Patched); why != "" {
		return a.Failed(v1alpha1.ReasonNotAllowed, why)
	}
	return nil
}

// StaysInReach is the last word before a write is recorded: what the API server
// would store, with all that admission adds, is judged like the fix itself.
func StaysInReach(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	for _, w := range a.Writes {
		if w.Type != v1alpha1.ActionPatch || w.Stored == nil {
			continue
		}
		if why := a.Targets.Reach.Update(a.Object.Object, w.Stored.Object); why != "" {
			return a.Failed(v1alpha1.ReasonNotAllowed, "as the API server would store it: "+why)
		}
	}
	return nil
}

// KindOfTarget is the kind of a target, without its version.
func KindOfTarget(ref v1alpha1.ObjectReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}
