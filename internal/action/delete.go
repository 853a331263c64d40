// SPDX-License-Identifier: Apache-2.0

package action

import (
	"maps"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// deleteDefinition deletes the judged object; what depends on it is collected in the
// background. The record keeps its manifest: undoing it makes the object again,
// under a new UID and without its status.
func deleteDefinition() Definition {
	return Definition{Type: policy.ActionDelete, Allowed: v1alpha1.ActionDelete,
		Needs:    []Permission{{Verb: "delete"}, {Verb: "create"}},
		Describe: func(policy.Action, int) string { return "delete it" },
		rank:     rankRemove, write: remove}
}

func remove(obj map[string]any, _ policy.Action, _ time.Time) (Step, error) {
	kind := kindOf(obj)
	if why, kept := keptKinds()[kind]; kept {
		return Step{}, refuse(obj, policy.ActionDelete, why)
	}
	if kind.Group == v1alpha1.GroupVersion.Group {
		return Step{}, refuse(obj, policy.ActionDelete, "Evenkeel's own kinds aren't deleted by a fix")
	}
	return Step{Type: v1alpha1.ActionDelete, Object: Manifest(obj)}, nil
}

// keptKinds are the kinds that no fix deletes, with the reason.
func keptKinds() map[policy.GroupKind]string {
	const state = "the data that it holds would be lost, and making it again wouldn't bring them back"
	return map[policy.GroupKind]string{
		{Kind: "Namespace"}:             "everything in it would be deleted too",
		{Kind: "PersistentVolume"}:      state,
		{Kind: "PersistentVolumeClaim"}: state,
		{Group: "apiextensions.k8s.io",
			Kind: "CustomResourceDefinition"}: "all objects of its kind would be deleted too",
		{Kind: "Secret"}: "its values mustn't be recorded, so it couldn't be made again",
		{Kind: "Node"}:   "every Pod on it would be deleted too",
	}
}

// Manifest is an object without what the server itself keeps: what makes it again.
func Manifest(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	delete(out, "status")
	metadata, _ := obj["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	maps.DeleteFunc(metadata, func(key string, _ any) bool {
		return slices.Contains([]string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp",
			"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}, key)
	})
	out["metadata"] = metadata
	return deepCopy(out)
}
