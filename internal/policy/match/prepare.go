// SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func newCandidate(p *v1alpha1.ClusterRegoPolicy) (*candidate, error) {
	match := &p.Spec.Match
	if err := checkKinds(match.Kinds); err != nil {
		return nil, err
	}
	if err := checkReferences(match.References); err != nil {
		return nil, err
	}
	prepared := &candidate{definition: p}
	var err error
	if err = checkOperations(p.Spec.Admission.Operations); err != nil {
		return nil, err
	}
	if err = checkSubresources(p); err != nil {
		return nil, err
	}
	if prepared.namespaces, err = globs("spec.match.namespaces", match.Namespaces); err != nil {
		return nil, err
	}
	if prepared.excluded, err = globs("spec.match.excludedNamespaces", match.ExcludedNamespaces); err != nil {
		return nil, err
	}
	if prepared.byNamespace, err = selector("spec.match.namespaceSelector", match.NamespaceSelector); err != nil {
		return nil, err
	}
	if prepared.byObject, err = selector("spec.match.objectSelector", match.ObjectSelector); err != nil {
		return nil, err
	}
	return prepared, nil
}

func checkKinds(entries []v1alpha1.KindMatch) error {
	if len(entries) == 0 {
		return errors.New("spec.match.kinds is empty: name the kinds that the policy concerns")
	}
	for i, entry := range entries {
		field := fmt.Sprintf("spec.match.kinds[%d]", i)
		if entry.APIGroups != nil && len(entry.APIGroups) == 0 {
			return fmt.Errorf("%s.apiGroups is empty: name the groups, or leave it out for the core group", field)
		}
		if len(entry.Kinds) == 0 {
			return fmt.Errorf("%s.kinds is empty: name the kinds, for example Deployment", field)
		}
		for _, group := range entry.APIGroups {
			if group != "" && len(validation.IsDNS1123Subdomain(group)) > 0 {
				return fmt.Errorf(
					"%s.apiGroups: %q isn't an API group: name it without version or wildcard, for example apps", field,
					group)
			}
		}
		for _, kind := range entry.Kinds {
			if len(validation.IsDNS1035Label(strings.ToLower(kind))) > 0 {
				return fmt.Errorf("%s.kinds: %q isn't a kind: name it without wildcard, for example Deployment", field,
					kind)
			}
		}
	}
	return nil
}

// checkReferences refuses Secrets: a rule could tell whoever is refused, or reads a report, what they hold.
func checkReferences(references []v1alpha1.ReferencedKind) error {
	for i, r := range references {
		if r.APIGroup == "" && r.Kind == "Secret" {
			return fmt.Errorf("spec.match.references[%d]: a Secret can't be referenced: it would be kept in memory, "+
				"and what it holds could be shown to anyone who is refused", i)
		}
	}
	return nil
}

func checkOperations(operations []v1alpha1.Operation) error {
	for _, operation := range operations {
		switch operation {
		case v1alpha1.OperationCreate, v1alpha1.OperationUpdate, v1alpha1.OperationDelete, v1alpha1.OperationConnect:
		default:
			return fmt.Errorf(
				"spec.admission.operations: %q is unknown: it may hold CREATE, UPDATE, DELETE and CONNECT", operation)
		}
	}
	return nil
}

// globs prepares patterns whose wildcards are * and ?. They become regular
// expressions, which match in linear time: glob libraries backtrack, and a
// pattern of many stars could hold up admission.
func globs(field string, patterns []string) ([]*regexp.Regexp, error) {
	wildcards := strings.NewReplacer("*", ".*", "?", ".")
	prepared := make([]*regexp.Regexp, 0, len(patterns))
	for _, pattern := range patterns {
		if pattern == "" || strings.Trim(pattern, "abcdefghijklmnopqrstuvwxyz0123456789-*?") != "" {
			return nil, fmt.Errorf(
				"%s: %q can't match a namespace: use lower-case letters, digits and \"-\", with * and ? as wildcards",
				field, pattern)
		}
		compiled, err := regexp.Compile("^" + wildcards.Replace(pattern) + "$")
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", field, pattern, err)
		}
		prepared = append(prepared, compiled)
	}
	return prepared, nil
}

// Namespaces gives what says whether namespaces of a name are among those that a policy's match names. The error is
// that it names some that can't be.
func Namespaces(m *v1alpha1.Match) (named func(namespace string) bool, err error) {
	included, err := globs("spec.match.namespaces", m.Namespaces)
	if err != nil {
		return nil, err
	}
	excluded, err := globs("spec.match.excludedNamespaces", m.ExcludedNamespaces)
	if err != nil {
		return nil, err
	}
	return func(namespace string) bool {
		return (len(included) == 0 || anyMatches(included, namespace)) && !anyMatches(excluded, namespace)
	}, nil
}

// selector is nil when it would leave nothing out.
func selector(field string, written *v1alpha1.LabelSelector) (labels.Selector, error) {
	if !written.Selects() {
		return nil, nil //nolint:nilnil // no selector is neither an error nor a selector
	}
	prepared, err := written.Selector()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return prepared, nil
}
