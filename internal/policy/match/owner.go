// SPDX-License-Identifier: Apache-2.0

package match

import (
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// JudgedAtOwner says that the policy judges the object at its controller: both
// come to the policy through Pods and pod templates, so the owner's verdict is
// the object's. A policy that selects objects by label judges each by itself,
// because the owner may lack the label.
func JudgedAtOwner(p *v1alpha1.ClusterRegoPolicy, obj map[string]any) bool {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	return ownedByJudged(p, GroupKind{Group: groupOf(apiVersion), Kind: kind}, obj)
}

func ownedByJudged(p *v1alpha1.ClusterRegoPolicy, kind GroupKind, obj map[string]any) bool {
	if !reachesTemplates(p) || p.Spec.Match.ObjectSelector.Selects() {
		return false
	}
	if kind != policy.PodKind() && !ViaPodTemplate(p, kind) {
		return false
	}
	owner, ok := controllerOf(obj)
	return ok && slices.Contains(Kinds(p), owner) && holdsTemplate(owner) && slices.Contains(madeFrom(owner), kind)
}

// madeFrom are the kinds that the built-in controller of a workload makes from its
// template. Anybody may write an owner reference, so one that no controller writes
// hides nothing: a Deployment is never judged at another.
func madeFrom(workload GroupKind) []GroupKind {
	switch workload.Kind {
	case "Deployment":
		return []GroupKind{{Group: "apps", Kind: "ReplicaSet"}}
	case "CronJob":
		return []GroupKind{{Group: "batch", Kind: "Job"}}
	default:
		return []GroupKind{policy.PodKind()}
	}
}

// controllerOf is the kind of the owner reference that is marked as controller.
func controllerOf(obj map[string]any) (GroupKind, bool) {
	owner, ok := ControllerOf(obj)
	return owner.GroupKind(), ok
}

func groupOf(apiVersion string) string {
	group, _, hasGroup := strings.Cut(apiVersion, "/")
	if !hasGroup {
		return ""
	}
	return group
}

// isWorkloadController says that the user is one of the controllers that make
// Pods and workloads from a template, as kube-controller-manager runs them: with
// a service account each, or all as itself.
func isWorkloadController(username string) bool {
	if username == "system:kube-controller-manager" {
		return true
	}
	account, ok := strings.CutPrefix(username, "system:serviceaccount:kube-system:")
	return ok && slices.Contains([]string{
		"cronjob-controller",
		"daemon-set-controller",
		"deployment-controller",
		"job-controller",
		"replicaset-controller",
		"replication-controller",
		"statefulset-controller",
	}, account)
}
