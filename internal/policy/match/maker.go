// SPDX-License-Identifier: Apache-2.0

package match

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// EphemeralContainers is the subresource that adds containers to a running Pod.
const EphemeralContainers = "ephemeralcontainers"

// Owner is the controller that an object names.
type Owner struct {
	APIVersion, Kind, Name, UID string
}

// GroupKind is the owner's kind whatever its version.
func (o Owner) GroupKind() GroupKind {
	return GroupKind{Group: groupOf(o.APIVersion), Kind: o.Kind}
}

// ControllerOf is the owner that an object marks as its controller.
func ControllerOf(object map[string]any) (Owner, bool) {
	references, _ := metadata(object)["ownerReferences"].([]any)
	for _, reference := range references {
		fields, _ := reference.(map[string]any)
		if controls, _ := fields["controller"].(bool); !controls {
			continue
		}
		var owner Owner
		owner.APIVersion, _ = fields["apiVersion"].(string)
		owner.Kind, _ = fields["kind"].(string)
		owner.Name, _ = fields["name"].(string)
		owner.UID, _ = fields["uid"].(string)
		return owner, true
	}
	return Owner{}, false
}

// Maker is the workload from whose template a built-in controller makes or changes
// the object of an admission request, if the policy judges all that can come into
// that template: then what the object has of it has been judged there, or was there
// before the policy was, and an old violator still gets its Pods. What it doesn't have
// of it, a container that a webhook injects, say, has been judged nowhere.
//
// A policy whose namespaceSelector may begin to select a namespace judges nothing that
// the namespace held before, so that no workload speaks for its Pods. Nor does one speak
// for them to a policy with match conditions, which may have let anything into it.
func Maker(p *v1alpha1.ClusterRegoPolicy, r *policy.Request) (Owner, bool) {
	kind := r.Kind.GroupKind()
	if r.Audit || r.Operation == policy.Delete || r.Object == nil || !isWorkloadController(r.UserInfo.Username) {
		return Owner{}, false
	}
	if !reachesTemplates(p) || kind != policy.PodKind() && !ViaPodTemplate(p, kind) {
		return Owner{}, false
	}
	if !judgesAllThatComes(p) {
		return Owner{}, false
	}
	owner, ok := ControllerOf(r.Object)
	return owner, ok && holdsTemplate(owner.GroupKind())
}

// judgesAllThatComes says that nothing comes into a workload that the policy concerns
// without its say.
func judgesAllThatComes(p *v1alpha1.ClusterRegoPolicy) bool {
	return len(p.Spec.Admission.MatchConditions) == 0 &&
		slices.Contains(WrittenOperations(p), v1alpha1.OperationCreate) &&
		selectsForEver(p.Spec.Match.NamespaceSelector)
}

// selectsForEver says that a namespace which the selector leaves out can't come to be
// selected: it asks for nothing but the label that holds the namespace's name.
func selectsForEver(written *v1alpha1.LabelSelector) bool {
	if written == nil {
		return true
	}
	for key := range written.MatchLabels {
		if key != corev1.LabelMetadataName {
			return false
		}
	}
	return !slices.ContainsFunc(written.MatchExpressions, func(e v1alpha1.LabelSelectorRequirement) bool {
		return e.Key != corev1.LabelMetadataName
	})
}

// Concerns says that a policy concerns a request, as its index would.
func Concerns(p *v1alpha1.ClusterRegoPolicy, r *policy.Request) bool {
	prepared, err := newCandidate(p)
	return err == nil && slices.Contains(Kinds(p), r.Kind.GroupKind()) && prepared.concerns(r)
}
