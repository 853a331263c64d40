// SPDX-License-Identifier: Apache-2.0

package action

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// evictDefinition evicts a Pod by the Eviction API, which keeps to
// PodDisruptionBudgets. It is the one action for Pods that a controller makes, and
// for those alone: nothing would bring another Pod back.
func evictDefinition() Definition {
	pod := policy.PodKind()
	return Definition{Kind: &pod, Type: policy.ActionEvict, Allowed: v1alpha1.ActionEvict,
		Needs: []Permission{{Verb: "create", Subresource: "eviction"}}, Owned: true,
		NoUndo:   "an evicted Pod can't be brought back: its controller has made another",
		Describe: func(policy.Action, int) string { return "evict it" },
		rank:     rankRemove, write: evict}
}

func evict(obj map[string]any, _ policy.Action, _ time.Time) (Step, error) {
	if kindOf(obj) != policy.PodKind() {
		return Step{}, refuse(obj, policy.ActionEvict, "only Pods are evicted")
	}
	if _, mirror := Lookup(obj, "/metadata/annotations/kubernetes.io~1config.mirror"); mirror {
		return Step{}, refuse(obj, policy.ActionEvict, "its node makes it from a file: change that")
	}
	owners, _ := Lookup(obj, "/metadata/ownerReferences")
	list, _ := owners.([]any)
	for _, owner := range list {
		if controller, _ := Lookup(owner, "/controller"); controller == true {
			return Step{Type: v1alpha1.ActionEvict}, nil
		}
	}
	return Step{}, refuse(obj, policy.ActionEvict,
		"no controller made it, so nothing would make another: delete it if it isn't needed")
}
