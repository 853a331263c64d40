// SPDX-License-Identifier: Apache-2.0

package match

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Index finds the policies that concern a request: by group and kind first, then
// by what is left of their match. It is immutable and safe for concurrent use.
type Index struct {
	byKind map[GroupKind][]*candidate
	// bySubresource holds those that concern a subresource, by its name: "pods/exec".
	bySubresource map[string][]*candidate
}

// NewIndex prepares the policies. The error names the policy and the field.
func NewIndex(policies []*v1alpha1.ClusterRegoPolicy) (*Index, error) {
	index := &Index{byKind: map[GroupKind][]*candidate{}, bySubresource: map[string][]*candidate{}}
	ordered := slices.SortedFunc(slices.Values(policies), byName)
	for _, p := range ordered {
		prepared, err := newCandidate(p)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
		for _, kind := range Kinds(p) {
			index.byKind[kind] = append(index.byKind[kind], prepared)
		}
		for _, s := range Subresources(p) {
			index.bySubresource[s.String()] = append(index.bySubresource[s.String()], prepared)
		}
	}
	return index, nil
}

// Match gives the names of the policies that concern the request, sorted. Where a
// policy selects namespaces by label and the request doesn't hold the namespace's
// object, the policy is taken to concern it: see NeedsNamespace.
func (x *Index) Match(r *policy.Request) []string {
	candidates := x.byKind[r.Kind.GroupKind()]
	if s, ok := policy.SubresourceOf(r); ok {
		candidates = x.bySubresource[s.String()]
	}
	var names []string
	for _, c := range candidates {
		if c.concerns(r) {
			names = append(names, c.definition.Name)
		}
	}
	return names
}

// Validate checks all of a policy's match. The error names the field and says
// what is allowed there.
func Validate(p *v1alpha1.ClusterRegoPolicy) error {
	_, err := newCandidate(p)
	return err
}

func byName(a, b *v1alpha1.ClusterRegoPolicy) int {
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}
