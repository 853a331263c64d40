// SPDX-License-Identifier: Apache-2.0

package match

import (
	"cmp"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// GroupKind names a kind whatever its version.
type GroupKind = policy.GroupKind

// PodTemplateKinds are the workload kinds that hold a pod template.
func PodTemplateKinds() []GroupKind { return policy.PodTemplateKinds() }

// Kinds are the kinds that the policy concerns, those that it reaches through
// pod templates included, sorted by group and kind, each once.
func Kinds(p *v1alpha1.ClusterRegoPolicy) []GroupKind {
	kinds := Named(p)
	if reachesTemplates(p) {
		kinds = append(kinds, PodTemplateKinds()...)
	}
	slices.SortFunc(kinds, func(a, b GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(kinds)
}

// StandingKinds are the kinds whose existing objects the policy judges: none when it
// judges nothing but deletions.
func StandingKinds(p *v1alpha1.ClusterRegoPolicy) []GroupKind {
	ops := WrittenOperations(p)
	if !slices.Contains(ops, v1alpha1.OperationCreate) && !slices.Contains(ops, v1alpha1.OperationUpdate) {
		return nil
	}
	return Kinds(p)
}

// Operations are the operations that the policy judges on a kind. One that judges
// the creation of Pods also judges what becomes a Pod: whatever changes the template
// of a workload, and a container that is added to a running Pod.
func Operations(p *v1alpha1.ClusterRegoPolicy, kind GroupKind) []v1alpha1.Operation {
	operations := slices.DeleteFunc(slices.Clone(WrittenOperations(p)), func(op v1alpha1.Operation) bool {
		return op == v1alpha1.OperationConnect
	})
	if slices.Contains(operations, v1alpha1.OperationCreate) &&
		!slices.Contains(operations, v1alpha1.OperationUpdate) && holdsTemplate(kind) && reachesTemplates(p) {
		return append(operations, v1alpha1.OperationUpdate)
	}
	return operations
}

// JudgesUpdates says that the policy names UPDATE itself. One that doesn't judges
// updates for what they add only.
func JudgesUpdates(p *v1alpha1.ClusterRegoPolicy) bool {
	return slices.Contains(WrittenOperations(p), v1alpha1.OperationUpdate)
}

// WrittenOperations are the operations that the policy names, or the default.
func WrittenOperations(p *v1alpha1.ClusterRegoPolicy) []v1alpha1.Operation {
	if len(p.Spec.Admission.Operations) == 0 {
		return DefaultOperations()
	}
	return p.Spec.Admission.Operations
}

// DefaultOperations are those of a policy that names none.
func DefaultOperations() []v1alpha1.Operation {
	return []v1alpha1.Operation{v1alpha1.OperationCreate, v1alpha1.OperationUpdate}
}

func holdsTemplate(kind GroupKind) bool { return slices.Contains(PodTemplateKinds(), kind) }

// ViaPodTemplate says that the policy concerns the kind only because the kind
// holds a pod template and the policy concerns Pods.
func ViaPodTemplate(p *v1alpha1.ClusterRegoPolicy, kind GroupKind) bool {
	return templatesWanted(p) && policy.ReachedByTemplate(Named(p), kind)
}

// Named spells out match.kinds, but for subresources.
func Named(p *v1alpha1.ClusterRegoPolicy) []GroupKind {
	return kindsIn(slices.DeleteFunc(slices.Clone(p.Spec.Match.Kinds), func(r v1alpha1.KindMatch) bool {
		return len(r.Subresources) > 0
	}))
}

func kindsIn(entries []v1alpha1.KindMatch) []GroupKind {
	var kinds []GroupKind
	for _, entry := range entries {
		for _, group := range entry.Groups() {
			for _, kind := range entry.Kinds {
				kinds = append(kinds, GroupKind{Group: group, Kind: kind})
			}
		}
	}
	return kinds
}

func templatesWanted(p *v1alpha1.ClusterRegoPolicy) bool {
	return p.Spec.Match.PodTemplates == nil || *p.Spec.Match.PodTemplates
}

func reachesTemplates(p *v1alpha1.ClusterRegoPolicy) bool {
	return templatesWanted(p) && slices.Contains(Named(p), policy.PodKind())
}
