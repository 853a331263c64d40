// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
)

// target is one resource that a webhook is called for.
type target struct {
	discovery.Resource
	operations string // a comma-separated, sorted set: comparable
}

// rules are the webhook rules that cover what the policies concern, and no more.
// Kinds that the API server doesn't serve (yet) are left out and named in
// unknown; any other failure to look a kind up is an error.
//
// Each rule names a resource in its preferred version only. With matchPolicy
// Equivalent the API server converts requests in other versions to it, so that a
// rule in Rego sees the same version here as in the scan.
func rules(policies []*v1alpha1.ClusterRegoPolicy, kinds *discovery.Kinds) (
	out []admissionregistrationv1.RuleWithOperations, unknown []string, err error) {
	operations := map[discovery.Resource]map[v1alpha1.Operation]bool{}
	resolve := func(p *v1alpha1.ClusterRegoPolicy, gk match.GroupKind, add func(discovery.Resource)) error {
		res, err := kinds.Resolve(gk.Group, gk.Kind)
		if errors.Is(err, discovery.ErrUnknownKind) {
			unknown = append(unknown, gk.String())
			return nil
		}
		if err != nil {
			return fmt.Errorf("policy %s: %w", p.Name, err)
		}
		add(res)
		return nil
	}
	for _, p := range policies {
		for _, gk := range match.Kinds(p) {
			if exempt.NeverAsked(gk.Group, gk.Kind) != "" {
				continue
			}
			if err := resolve(p, gk, func(res discovery.Resource) {
				addOperations(operations, res, match.Operations(p, gk))
			}); err != nil {
				return nil, nil, err
			}
		}
		for _, s := range match.Subresources(p) {
			if err := resolve(p, s.Parent, func(res discovery.Resource) {
				addSubresource(operations, res, s.Name, v1alpha1.Operation(s.Operation))
			}); err != nil {
				return nil, nil, err
			}
		}
	}
	slices.Sort(unknown)
	return mergeRules(targets(operations)), slices.Compact(unknown), nil
}

func addOperation(into map[discovery.Resource]map[v1alpha1.Operation]bool, res discovery.Resource,
	op v1alpha1.Operation) {
	if into[res] == nil {
		into[res] = map[v1alpha1.Operation]bool{}
	}
	into[res][op] = true
}

func addSubresource(into map[discovery.Resource]map[v1alpha1.Operation]bool, res discovery.Resource, name string,
	op v1alpha1.Operation) {
	res.Plural += "/" + name
	addOperation(into, res, op)
}

func addOperations(into map[discovery.Resource]map[v1alpha1.Operation]bool, res discovery.Resource,
	operations []v1alpha1.Operation) {
	for _, op := range operations {
		addOperation(into, res, op)
		for _, name := range subresourcesJudged(res, op) {
			addSubresource(into, res, name, v1alpha1.OperationUpdate)
		}
	}
}

// subresourcesJudged are the subresources that change what a Pod runs: their
// requests are updates of the Pod, and one of them adds containers.
func subresourcesJudged(res discovery.Resource, op v1alpha1.Operation) []string {
	switch {
	case res.Group != "" || res.Plural != "pods":
		return nil
	case op == v1alpha1.OperationUpdate:
		return exempt.JudgedSubresources()
	case op == v1alpha1.OperationCreate:
		return []string{match.EphemeralContainers}
	default:
		return nil
	}
}

func targets(operations map[discovery.Resource]map[v1alpha1.Operation]bool) []target {
	out := make([]target, 0, len(operations))
	for res, set := range operations {
		var names []string
		for op := range set {
			names = append(names, string(op))
		}
		slices.Sort(names)
		out = append(out, target{Resource: res, operations: strings.Join(names, ",")})
	}
	slices.SortFunc(out, func(a, b target) int {
		return cmp.Or(
			cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.operations, b.operations),
			cmp.Compare(a.scope(), b.scope()),
			cmp.Compare(a.Plural, b.Plural),
		)
	})
	return out
}

func (t target) scope() admissionregistrationv1.ScopeType {
	if t.Namespaced {
		return admissionregistrationv1.NamespacedScope
	}
	return admissionregistrationv1.ClusterScope
}

// mergeRules makes one rule of neighbouring targets that differ by resource only.
func mergeRules(targets []target) []admissionregistrationv1.RuleWithOperations {
	var out []admissionregistrationv1.RuleWithOperations
	for i, t := range targets {
		if i > 0 && sameRule(targets[i-1], t) {
			last := &out[len(out)-1]
			last.Resources = append(last.Resources, t.Plural)
			continue
		}
		scope := t.scope()
		rule := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
			APIGroups:   []string{t.Group},
			APIVersions: []string{t.Version},
			Resources:   []string{t.Plural},
			Scope:       &scope,
		}}
		for op := range strings.SplitSeq(t.operations, ",") {
			rule.Operations = append(rule.Operations, admissionregistrationv1.OperationType(op))
		}
		out = append(out, rule)
	}
	return out
}

func sameRule(a, b target) bool {
	return a.Group == b.Group && a.Version == b.Version && a.operations == b.operations && a.Namespaced == b.Namespaced
}
