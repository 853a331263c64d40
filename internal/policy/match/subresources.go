// SPDX-License-Identifier: Apache-2.0

package match

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Subresources are the subresources that the policy concerns, in the order of
// policy.Subresources.
func Subresources(p *v1alpha1.ClusterRegoPolicy) []policy.Subresource {
	return slices.DeleteFunc(policy.Subresources(), func(s policy.Subresource) bool {
		return !slices.ContainsFunc(p.Spec.Match.Kinds, func(r v1alpha1.KindMatch) bool {
			return namesSubresource(&r, s)
		})
	})
}

func namesSubresource(r *v1alpha1.KindMatch, s policy.Subresource) bool {
	return slices.Contains(r.Groups(), s.Parent.Group) && slices.Contains(r.Kinds, s.Parent.Kind) &&
		slices.Contains(r.Subresources, v1alpha1.Subresource(s.Name))
}

// checkSubresources refuses what could never match: a subresource that its kind
// doesn't have, an operation that it doesn't know, labels that nothing sent has.
func checkSubresources(p *v1alpha1.ClusterRegoPolicy) error {
	found := Subresources(p)
	for i, resource := range p.Spec.Match.Kinds {
		for _, name := range resource.Subresources {
			if !slices.ContainsFunc(found, func(s policy.Subresource) bool {
				return s.Name == string(name) && namesSubresource(&resource, s)
			}) {
				return fmt.Errorf("spec.match.kinds[%d].subresources: none of the kinds %q has the subresource %q "+
					"that admission can judge: %s", i, resource.Kinds, name, whichHave(string(name)))
			}
		}
	}
	operations := WrittenOperations(p)
	for _, s := range found {
		if !slices.Contains(operations, v1alpha1.Operation(s.Operation)) {
			return fmt.Errorf("spec.admission.operations: %s is judged on %s, which isn't among them: add it", s,
				s.Operation)
		}
	}
	connects := slices.ContainsFunc(found, func(s policy.Subresource) bool { return s.Operation == policy.Connect })
	switch {
	case slices.Contains(operations, v1alpha1.OperationConnect) && !connects:
		return fmt.Errorf("spec.admission.operations: CONNECT concerns subresources only: name them in " +
			"spec.match.kinds[].subresources, for example exec of Pod")
	case len(found) > 0 && p.Spec.Match.ObjectSelector.Selects():
		return fmt.Errorf("spec.match.objectSelector: what is sent to %s bears no labels, so none would be selected: "+
			"leave the selector out, or use namespaceSelector", found[0])
	}
	return nil
}

func whichHave(name string) string {
	text := "name a kind that has it"
	for _, s := range policy.Subresources() {
		if s.Name == name {
			text += ", such as " + s.Parent.Kind
			break
		}
	}
	return text
}
