// SPDX-License-Identifier: Apache-2.0

package match

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// candidate is one policy's match, prepared.
type candidate struct {
	definition *v1alpha1.ClusterRegoPolicy
	namespaces []*regexp.Regexp
	excluded   []*regexp.Regexp
	// byNamespace and byObject are nil when the policy has no such selector.
	byNamespace labels.Selector
	byObject    labels.Selector
}

// concerns decides everything but the kind, cheapest part first.
func (c *candidate) concerns(r *policy.Request) bool {
	return c.concernsOperation(r) &&
		!c.exempts(r) &&
		c.concernsNamespace(r) &&
		c.concernsNamespaceLabels(r) &&
		c.concernsLabels(r) &&
		!c.judgedAtOwner(r)
}

// concernsOperation: an audit asks of objects that exist, so of those that the
// policy would judge on their way in.
func (c *candidate) concernsOperation(r *policy.Request) bool {
	operations := WrittenOperations(c.definition)
	created := slices.Contains(operations, v1alpha1.OperationCreate)
	switch {
	case r.Audit:
		return created || slices.Contains(operations, v1alpha1.OperationUpdate)
	case created && AddsContainer(r):
		return true
	case r.Operation == policy.Connect:
		return slices.Contains(operations, v1alpha1.OperationConnect)
	default:
		return slices.Contains(Operations(c.definition, r.Kind.GroupKind()), v1alpha1.Operation(r.Operation))
	}
}

// AddsContainer says that the request adds a container to a running Pod.
func AddsContainer(r *policy.Request) bool {
	return r.SubResource == EphemeralContainers && r.Kind.GroupKind() == policy.PodKind()
}

func (c *candidate) exempts(r *policy.Request) bool {
	if r.Audit {
		return false
	}
	admission := &c.definition.Spec.Admission
	return slices.Contains(admission.Exempt.Users, r.UserInfo.Username) ||
		slices.ContainsFunc(admission.Exempt.Groups, func(group string) bool {
			return slices.Contains(r.UserInfo.Groups, group)
		})
}

func (c *candidate) concernsNamespace(r *policy.Request) bool {
	namespace, inNamespace := namespaceOf(r)
	if !inNamespace {
		return len(c.namespaces) == 0
	}
	if len(c.namespaces) > 0 && !anyMatches(c.namespaces, namespace) {
		return false
	}
	return !anyMatches(c.excluded, namespace)
}

// concernsNamespaceLabels: a Namespace is selected by its own labels, before or
// after the change; another cluster-scoped object is in no namespace, so none is
// selected.
func (c *candidate) concernsNamespaceLabels(r *policy.Request) bool {
	switch {
	case c.byNamespace == nil:
		return true
	case isNamespace(r):
		return selectsEither(c.byNamespace, r)
	case r.Namespace == "":
		return false
	case r.NamespaceObject == nil:
		return true
	default:
		return c.byNamespace.Matches(labelsOf(r.NamespaceObject))
	}
}

func (c *candidate) concernsLabels(r *policy.Request) bool {
	return c.byObject == nil || selectsEither(c.byObject, r)
}

// judgedAtOwner: an audit leaves an object to its owner's verdict, unless it is to be judged itself. Admission does so
// where nothing is refused, and only for what a built-in controller makes: nobody
// escapes by writing an owner reference. Where something may be refused, what a
// controller makes is judged, see Maker.
func (c *candidate) judgedAtOwner(r *policy.Request) bool {
	if r.Audit {
		return !r.Itself && ownedByJudged(c.definition, r.Kind.GroupKind(), r.Judged())
	}
	_, made := Maker(c.definition, r)
	return made && c.definition.Spec.Admission.Action != v1alpha1.AdmissionDeny &&
		!c.definition.Spec.Match.ObjectSelector.Selects()
}

// NeedsNamespace says that the policy can't be said to concern the request or
// not, because it selects namespaces by label and the request doesn't hold its
// namespace's object.
func NeedsNamespace(p *v1alpha1.ClusterRegoPolicy, r *policy.Request) bool {
	return p.Spec.Match.NamespaceSelector.Selects() &&
		r.Namespace != "" && r.NamespaceObject == nil && !isNamespace(r)
}

// namespaceOf is the namespace that counts for the request: its own name for a
// Namespace. It is false for other cluster-scoped objects.
func namespaceOf(r *policy.Request) (string, bool) {
	if !isNamespace(r) {
		return r.Namespace, r.Namespace != ""
	}
	if r.Name != "" {
		return r.Name, true
	}
	name, _ := metadata(r.Judged())["name"].(string)
	return name, true
}

func isNamespace(r *policy.Request) bool {
	return r.Kind.GroupKind() == policy.NamespaceKind()
}

func anyMatches(globs []*regexp.Regexp, namespace string) bool {
	return slices.ContainsFunc(globs, func(g *regexp.Regexp) bool { return g.MatchString(namespace) })
}

// selectsEither tries the object after the change and the one before it, so that
// nobody leaves a policy by taking a label off. Labels that weren't read may be
// any.
func selectsEither(selector labels.Selector, r *policy.Request) bool {
	return r.Partial || r.Object != nil && selector.Matches(labelsOf(r.Object)) ||
		r.OldObject != nil && selector.Matches(labelsOf(r.OldObject))
}

func labelsOf(object map[string]any) labels.Set {
	written, _ := metadata(object)["labels"].(map[string]any)
	set := make(labels.Set, len(written))
	for key, value := range written {
		if text, ok := value.(string); ok {
			set[key] = text
		}
	}
	return set
}

func metadata(object map[string]any) map[string]any {
	m, _ := object["metadata"].(map[string]any)
	return m
}
